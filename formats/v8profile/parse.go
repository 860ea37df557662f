package v8profile

import (
	"bytes"
	"hash/maphash"
	"math"

	"github.com/flameox/flameox/formats/jsonscan"
)

type parser struct {
	r      *jsonscan.Reader
	p      Profile
	known  bool             // a member of a profile was met
	frames map[uint64]int32 // by the hash of what the document says of them: the same function is called from many places
	texts  [][]byte         // what the document says of each frame
	seed   maphash.Seed
	names  map[string]string // URLs and ids of scripts, which many functions share
	at     map[int64]int32   // node by id

	ids      []int64 // by node
	spans    []span  // of kids, by node
	kids     []int64 // ids
	ticks    []Tick
	tickSpan []span
	samples  []int64 // ids
	sized    []int64 // size of each heap sample
	noID     bool    // a node of a heap profile has no id

	head, nodes, deltas, start, end, stamps bool
}

// newParser makes room for the nodes that data of this size usually has.
func newParser(data []byte) *parser {
	n := len(data) / 160
	return &parser{
		r:      jsonscan.New(data),
		frames: map[uint64]int32{},
		seed:   maphash.MakeSeed(),
		names:  map[string]string{},
		at:     make(map[int64]int32, n),
		ids:    make([]int64, 0, n),
		spans:  make([]span, 0, n),
		p:      Profile{Nodes: make([]Node, 0, n)},
	}
}

type span struct{ from, to int }

func (p *parser) refuse(code, format string, args ...any) { p.r.Stop(refuse(code, format, args...)) }

func (p *parser) member(name []byte) {
	switch string(name) {
	case "nodes":
		p.known, p.nodes = true, true
		p.r.Array(p.node)
	case "head":
		p.known, p.head = true, true
		p.tree()
	case "samples":
		p.p.HasSamples = true
		p.r.Array(p.sample)
	case "timeDeltas":
		p.deltas = true
		p.r.Array(func() { p.p.Deltas = append(p.p.Deltas, p.r.Int()) })
	case "startTime":
		p.start, p.p.Start = true, p.r.Int()
	case "endTime":
		p.end, p.p.End = true, p.r.Int()
	case "timestamps":
		p.stamps = true
		p.r.Skip()
	default:
		p.r.Skip()
	}
}

// node reads one node of a CPU profile.
func (p *parser) node() {
	if len(p.p.Nodes) == math.MaxInt32 {
		p.refuse(Contradiction, "the profile has more than %d nodes", math.MaxInt32)
		return
	}
	n := Node{Frame: -1, Parent: -1}
	var id int64
	var hasID bool
	kids, ticks := span{len(p.kids), len(p.kids)}, span{len(p.ticks), len(p.ticks)}
	p.r.Object(func(name []byte) {
		switch string(name) {
		case "id":
			hasID, id = true, p.r.Int()
		case "callFrame":
			n.Frame = p.frame()
		case "hitCount":
			p.p.HasHits, n.Hits = true, p.amount("hitCount")
		case "children":
			if !p.r.Null() {
				p.r.Array(func() { p.kids = append(p.kids, p.r.Int()) })
			}
			kids.to = len(p.kids)
		case "positionTicks":
			if !p.r.Null() {
				p.r.Array(p.tick)
			}
			ticks.to = len(p.ticks)
		default:
			p.r.Skip()
		}
	})
	switch {
	case p.r.Err() != nil:
		return
	case n.Frame < 0:
		p.refuse(NotAProfile, "node %d of the list has no callFrame, so it is none of a profile of V8", len(p.p.Nodes)+1)
		return
	case !hasID:
		p.refuse(NotAProfile, "node %d of the list has no id, so it is none of a profile of V8", len(p.p.Nodes)+1)
		return
	}
	p.identify(id)
	p.spans, p.tickSpan, p.p.Nodes = append(p.spans, kids), append(p.tickSpan, ticks), append(p.p.Nodes, n)
}

// identify makes id that of the node that is added next.
func (p *parser) identify(id int64) {
	if _, taken := p.at[id]; taken {
		p.refuse(Contradiction, "the profile contradicts itself: two nodes have the id %d", id)
	}
	p.at[id] = int32(len(p.p.Nodes))
	p.ids = append(p.ids, id)
}

func (p *parser) amount(what string) int64 {
	n := p.r.Int()
	if n < 0 {
		p.refuse(Contradiction, "the profile contradicts itself: a node has the %s %d, and none is below 0", what, n)
	}
	return n
}

func (p *parser) tick() {
	var t Tick
	p.r.Object(func(name []byte) {
		switch string(name) {
		case "line":
			t.Line = p.amount("position")
		case "ticks":
			t.Ticks = p.amount("number of ticks")
		default:
			p.r.Skip()
		}
	})
	p.ticks = append(p.ticks, t)
}

// frame reads a call frame, and looks up those that have been read.
func (p *parser) frame() int32 {
	text, offset := p.r.Raw()
	if p.r.Err() != nil {
		return -1
	}
	hash := maphash.Bytes(p.seed, text)
	i, known := p.frames[hash]
	if known && bytes.Equal(p.texts[i], text) {
		return i
	}
	f := CallFrame{Line: -1, Column: -1}
	r := jsonscan.Part(text, offset)
	r.Object(func(name []byte) {
		switch string(name) {
		case "functionName":
			f.Function = r.Text()
		case "scriptId":
			f.Script = p.shared(r.Text())
		case "url":
			f.URL = p.shared(r.Text())
		case "lineNumber":
			f.Line = r.Int()
		case "columnNumber":
			f.Column = r.Int()
		default:
			r.Skip()
		}
	})
	if r.Err() != nil {
		p.r.Stop(r.Err())
		return -1
	}
	i = int32(len(p.p.Frames))
	p.p.Frames, p.texts = append(p.p.Frames, f), append(p.texts, text)
	if !known { // else the frames of a hash that stands for two are read each time
		p.frames[hash] = i
	}
	return i
}

func (p *parser) shared(s string) string {
	if known, ok := p.names[s]; ok {
		return known
	}
	p.names[s] = s
	return s
}

// sample reads a sample of either kind of profile: an id, or an object with a size.
func (p *parser) sample() {
	if p.r.Kind() != '{' {
		p.samples = append(p.samples, p.r.Int())
		return
	}
	var id, size int64
	var hasID, hasSize bool
	p.r.Object(func(name []byte) {
		switch string(name) {
		case "nodeId":
			hasID, id = true, p.r.Int()
		case "size":
			hasSize, size = true, p.amount("sample size")
		default:
			p.r.Skip()
		}
	})
	if p.r.Err() == nil && (!hasID || !hasSize) {
		p.refuse(NotAProfile, "a sample has no nodeId or no size, so it is none of a heap profile of V8")
	}
	p.samples, p.sized = append(p.samples, id), append(p.sized, size)
}

// finish checks what needs the whole document.
func (p *parser) finish() (*Profile, error) {
	out := &p.p
	switch {
	case p.head && p.nodes:
		return nil, refuse(NotAProfile, "the payload has both nodes and head, so it is neither a CPU profile nor a heap profile of V8")
	case p.head:
		out.Kind = Heap
	case p.nodes:
		out.Kind = CPU
	default:
		return nil, refuse(NotAProfile, "the payload is JSON, but has neither nodes nor head: it is no profile of V8")
	}
	if len(out.Nodes) == 0 {
		return nil, refuse(NotAProfile, "the profile has no node, not even the root that V8 always writes")
	}
	if out.Kind == Heap {
		if err := p.heap(); err != nil {
			return nil, err
		}
		return out, out.link()
	}
	if err := p.cpu(); err != nil {
		return nil, err
	}
	return out, out.link()
}

func (p *parser) cpu() error {
	out := &p.p
	if !p.start || !p.end || out.End < out.Start {
		return refuse(Contradiction, "the profile says no time from startTime (%d) to endTime (%d), so nothing can be said of how long it took", out.Start, out.End)
	}
	for i, s := range p.spans {
		for _, id := range p.kids[s.from:s.to] {
			child, ok := p.at[id]
			switch {
			case !ok:
				return refuse(Contradiction, "the profile contradicts itself: node %d has the child %d, which is not there", p.ids[i], id)
			case out.Nodes[child].Parent >= 0:
				return refuse(Contradiction, "the profile contradicts itself: node %d has two parents, or one twice", id)
			}
			out.Nodes[child].Parent = int32(i)
		}
		n := &out.Nodes[i]
		n.Ticks = p.ticks[p.tickSpan[i].from:p.tickSpan[i].to:p.tickSpan[i].to]
		left := n.Hits
		for _, t := range n.Ticks {
			if left -= t.Ticks; left < 0 {
				return refuse(Contradiction, "the profile contradicts itself: the lines of node %d have more ticks than its %d hits", p.ids[i], n.Hits)
			}
		}
	}
	if len(p.sized) > 0 {
		return refuse(NotAProfile, "the profile has the nodes of a CPU profile and the samples of a heap profile")
	}
	if p.stamps && !p.deltas && len(p.samples) > 0 {
		return refuse(Legacy, "the profile has timestamps where timeDeltas are expected: it is in the form that Chrome wrote until 2016")
	}
	if len(p.samples) != len(out.Deltas) {
		return refuse(Contradiction, "the profile contradicts itself: it has %d samples and %d timeDeltas, and one belongs to each", len(p.samples), len(out.Deltas))
	}
	out.Samples = make([]int32, len(p.samples))
	at := out.Start
	for i, id := range p.samples {
		node, ok := p.at[id]
		if !ok {
			return refuse(Contradiction, "the profile contradicts itself: sample %d is of node %d, which is not there", i+1, id)
		}
		out.Samples[i] = node
		d := out.Deltas[i]
		if (d > 0 && at > math.MaxInt64-d) || (d < 0 && at < math.MinInt64-d) {
			return refuse(Contradiction, "the profile contradicts itself: its timeDeltas add up to more than 64 bits hold")
		}
		at += d
	}
	return nil
}
