package chrometrace

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/formats/v8profile"
)

// The metrics of the samples that V8 takes, as they are called wherever its profiles are read.
var (
	SelfTime = profile.Metric{Name: "cpu.self_time", Unit: "ns"}
	HitCount = profile.Metric{Name: "cpu.hit_count", Unit: "count"}
)

// Samples are what is known of the CPU samples of a trace. Chrome and Node write a profile of one thread in pieces: an event Profile that says when it
// began, and events ProfileChunk with the nodes of the call tree that are new and the samples since the piece before. A sample lasts until the next one, the
// last until the end that a piece says; where none does, the last has no time.
type Samples struct {
	Profiles  int
	Count     int64 // samples with a stack
	Pieces    int64 // events that were read
	Bad       int64 // events of samples in another form: passed over
	Unstarted int   // profiles without the event that says when they began
	Unended   int   // profiles whose end no piece says
	Backwards int64 // samples that stand behind a later one
	Lost      int64 // samples of a node that the trace does not have, or without a time of their own
	Orphans   int64 // nodes below one that the trace does not have: they stand at the root
	Overlong  int   // profiles of more time than 64 bits of nanoseconds hold: left out
	FirstBad  int64 // where the first bad event stands, in bytes
	Beside    int   // profiles of threads that have several
	Twice     int64 // nodes with the id of another: the first one is meant
}

// The codes of limitations of samples.
const (
	SamplesBad     = "samples_rejected"
	SamplesCut     = "sample_profiles_cut"
	SamplesLost    = "samples_lost"
	SamplesOrder   = "samples_out_of_order"
	SamplesTwice   = "samples_of_several_profiles"
	SamplesSampled = "sampled_estimate"
)

func (s *Samples) limitations() (list []evidence.Limitation, partial bool) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if s.Bad > 0 {
		say(SamplesBad, "%d events Profile, ProfileChunk or CpuProfile are not in a form that is known and were passed over, with their samples; the first one is at byte %d", s.Bad, s.FirstBad)
	}
	if s.Lost > 0 {
		say(SamplesLost, "%d samples are of a place in the call tree that the trace does not have, or have no time of their own; they are left out", s.Lost)
	}
	if s.Orphans > 0 {
		say(SamplesLost, "%d places in the call tree are below one that the trace does not have; their stacks begin with them", s.Orphans)
	}
	if s.Twice > 0 {
		say(SamplesBad, "%d places in the call tree have the id of another; samples of it are taken for the one that the trace has first", s.Twice)
	}
	if s.Overlong > 0 {
		say(SamplesLost, "%d profiles of samples take more nanoseconds than 64 bits hold, and are left out", s.Overlong)
	}
	partial = len(list) > 0
	if s.Unstarted > 0 {
		say(SamplesCut, "%d profiles of samples have no event that says when they began: they begin with their first sample", s.Unstarted)
	}
	if s.Unended > 0 {
		say(SamplesCut, "%d profiles of samples do not say when they ended: the last sample of each has no time", s.Unended)
	}
	if s.Backwards > 0 {
		say(SamplesOrder, "%d samples stand behind a later one; they were put in the order of their times", s.Backwards)
	}
	if s.Beside > 0 {
		say(SamplesTwice, "%d profiles of samples are of a thread that has several: where they were taken at once the same time is counted in each, and their label profile tells them apart", s.Beside)
	}
	if s.Count > 0 {
		say(SamplesSampled, "times and hits are estimates from samples of JavaScript stacks; functions are those of the code that ran, no source map is applied")
	}
	return list, partial
}

// sampler takes the events of samples.
type sampler struct {
	c        *timeline.Collector
	out      Samples
	profiles []*sampled
	at       map[string]*sampled
	frames   map[v8profile.CallFrame]int32
	list     []v8profile.CallFrame
	texts    map[string]string
	memory   int64
	most     int64
	far      bool // a time of the profile that is joined did not fit
}

// sampled is the profile of one thread.
type sampled struct {
	id       string
	track    timeline.Track
	started  bool
	start    int64 // microseconds
	end      int64
	ended    bool
	pieces   []piece
	complete *v8profile.Profile // of an event that has a whole profile
}

// piece is what one event says.
type piece struct {
	at, ordinal int64
	nodes       []sampledNode
	samples     []int64
	deltas      []int64
}

type sampledNode struct {
	id, parent int64
	frame      int32
	hasParent  bool
}

// takes says whether an event has samples.
func takes(e *Event) bool {
	switch {
	case e.Phase == 'P':
		return bytes.Equal(e.Name.Raw, []byte("Profile")) || bytes.Equal(e.Name.Raw, []byte("ProfileChunk"))
	case e.Phase == 'I' || e.Phase == 'i':
		return bytes.Equal(e.Name.Raw, []byte("CpuProfile")) && bytes.Contains(e.Args.Raw, []byte(`"cpuProfile"`))
	}
	return false
}

func newSampler(c *timeline.Collector) *sampler {
	return &sampler{c: c, at: map[string]*sampled{}, frames: map[v8profile.CallFrame]int32{}, texts: map[string]string{}, most: c.Memory() / 4}
}

// add takes an event.
func (s *sampler) add(e *Event) error {
	s.out.Pieces++
	// What it becomes is about as large as its text.
	if s.memory += 2 * int64(len(e.Args.Raw)); s.memory > s.most && s.most > 0 {
		return &evidence.BudgetError{What: "bytes of memory for CPU samples", Table: "stacks", Limit: s.most}
	}
	d := data{s: s, piece: piece{at: e.Start, ordinal: e.Ordinal}}
	if e.Args.Raw != nil { // a piece may say nothing
		r := jsonscan.Part(e.Args.Raw, e.Offset)
		r.Object(func(name []byte) {
			if string(name) == "data" && r.Kind() == '{' {
				d.read(r)
				return
			}
			r.Skip()
		})
		d.bad = d.bad || r.Err() != nil
	}
	if d.bad {
		if s.out.Bad++; s.out.Bad == 1 {
			s.out.FirstBad = e.Offset
		}
		return nil
	}
	p := s.profile(e)
	if string(e.Name.Raw) == "Profile" || d.whole != nil {
		// Pieces are written by another thread than the one that is sampled, which the first event is of.
		p.track = s.c.Thread(e.Process, e.Thread)
		p.started, p.start = true, e.Start/1000
	}
	if d.started {
		p.started, p.start = true, d.start
	}
	if d.ended {
		p.ended, p.end = true, d.end
	}
	p.complete = cmp.Or(p.complete, d.whole)
	if len(d.nodes)+len(d.samples) > 0 {
		p.pieces = append(p.pieces, d.piece)
	}
	return nil
}

// profile is the profile that an event belongs to: of its process and id.
func (s *sampler) profile(e *Event) *sampled {
	key := string(e.Process) + "\x00" + string(e.ID)
	if e.Phase != 'P' {
		key = fmt.Sprint("whole", e.Ordinal)
	}
	p := s.at[key]
	if p == nil {
		p = &sampled{id: strings.ToValidUTF8(string(e.ID), "\uFFFD"), track: s.c.Thread(e.Process, e.Thread)}
		s.at[key] = p
		s.profiles = append(s.profiles, p)
	}
	return p
}

// data is args.data of one event.
type data struct {
	s              *sampler
	started, ended bool
	start, end     int64
	whole          *v8profile.Profile
	bad            bool
	piece
}

func (d *data) read(r *jsonscan.Reader) {
	r.Object(func(name []byte) {
		switch string(name) {
		case "startTime":
			d.started, d.start = true, r.Int()
		case "endTime":
			d.ended, d.end = true, r.Int()
		case "timeDeltas":
			r.Array(func() { d.deltas = append(d.deltas, r.Int()) })
		case "cpuProfile":
			d.tree(r)
		default:
			r.Skip()
		}
	})
}

// tree reads cpuProfile: the nodes and samples of a piece, or a whole profile, whose nodes have children.
func (d *data) tree(r *jsonscan.Reader) {
	if r.Kind() != '{' {
		r.Skip()
		return
	}
	raw, offset := r.Raw()
	part := jsonscan.Part(raw, offset)
	whole := false
	part.Object(func(name []byte) {
		switch string(name) {
		case "nodes":
			part.Array(func() { whole = d.node(part) || whole })
		case "samples":
			part.Array(func() { d.samples = append(d.samples, part.Int()) })
		case "timeDeltas":
			part.Array(func() { d.deltas = append(d.deltas, part.Int()) })
		case "startTime":
			d.started, d.start = true, part.Int()
		case "endTime":
			d.ended, d.end = true, part.Int()
		default:
			part.Skip()
		}
	})
	if !whole {
		if part.Err() != nil {
			r.Stop(part.Err())
		}
		return
	}
	p, err := v8profile.Parse(raw)
	d.nodes, d.samples, d.deltas = nil, nil, nil
	if d.whole = p; err != nil || p.Kind != v8profile.CPU {
		d.bad = true
	}
}

// node reads a node. A node with a list of children is one of a whole profile.
func (d *data) node(r *jsonscan.Reader) (children bool) {
	n := sampledNode{frame: -1}
	hasID := false
	r.Object(func(name []byte) {
		switch string(name) {
		case "id":
			hasID, n.id = true, r.Int()
		case "parent":
			n.hasParent, n.parent = true, r.Int()
		case "callFrame":
			n.frame = d.s.frame(r)
		case "children":
			children = true
			r.Skip()
		default:
			r.Skip()
		}
	})
	d.bad = d.bad || !hasID || n.frame < 0
	d.nodes = append(d.nodes, n)
	return children
}

func (s *sampler) frame(r *jsonscan.Reader) int32 {
	f := v8profile.CallFrame{Line: -1, Column: -1}
	r.Object(func(name []byte) {
		switch string(name) {
		case "functionName":
			f.Function = s.text(r)
		case "scriptId":
			f.Script = s.shared(identifier(r))
		case "url":
			f.URL = s.text(r)
		case "lineNumber":
			f.Line = r.Int()
		case "columnNumber":
			f.Column = r.Int()
		default:
			r.Skip()
		}
	})
	i, ok := s.frames[f]
	if !ok {
		i = int32(len(s.list))
		s.frames[f] = i
		s.list = append(s.list, f)
	}
	return i
}

func (s *sampler) text(r *jsonscan.Reader) string { return s.shared(text(r).Bytes()) }

func (s *sampler) shared(b []byte) string {
	t, ok := s.texts[string(b)]
	if !ok {
		t = string(b)
		s.texts[t] = t
	}
	return t
}
