package timeline

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
)

// Tolerance is how much later than the slice it lies in a slice may end, in nanoseconds: producers that write microseconds cut beginnings and
// durations off on their own.
const Tolerance = 1000

// MaxOpen is the number of slices that may be open on one track.
const MaxOpen = 1 << 16

// searched is how many open slices are looked at for one that a slice lies in; only overlaps need more than a few.
const searched = 256

// phasePrefix is how a program names the phase of what lies within a slice.
const phasePrefix = "flameox.phase:"

// open is a slice that began.
type open struct {
	record
	parent    int32 // index of the slice around it, -1 for none
	node      uint32
	stop      int64 // end of a complete slice, noEnd of one that an End ends
	covered   int64 // what lies within was counted up to here
	inside    int64 // time of what lies directly within
	phase     Text
	depth     int32
	allocated int64
	freed     int64
}

const noEnd = math.MaxInt64

// nest puts the ordered records of each track into each other.
type nest struct {
	c       *Collector
	track   Track
	within  uint64
	started bool
	async   bool
	stack   []open

	ahead  ahead
	same   []record // of one instant
	starts []record
	points []record

	frames  []frameKey
	frameAt map[frameKey]uint32
	nodes   []node
	nodeAt  map[nodeKey]uint32
	phases  map[Text]Text // what a name says
}

func (n *nest) init(c *Collector) {
	*n = nest{c: c, frameAt: map[frameKey]uint32{}, nodeAt: map[nodeKey]uint32{}, phases: map[Text]Text{}}
}

// take takes the next record in order, of which a beginning may have its duration already.
func (n *nest) take(r *record) error {
	if !n.started || r.track != n.track || r.within != n.within {
		if err := n.endTrack(); err != nil {
			return err
		}
		n.track, n.within, n.started, n.async = r.track, r.within, true, n.c.tracks[r.track].async
	} else if len(n.same) > 0 && n.same[0].start != r.start {
		if err := n.instant(); err != nil {
			return err
		}
	}
	n.same = append(n.same, *r)
	return nil
}

// endTrack ends what is open at the end of a track.
func (n *nest) endTrack() error {
	if err := n.instant(); err != nil {
		return err
	}
	for len(n.stack) > 0 {
		top := len(n.stack) - 1
		if n.stack[top].stop == noEnd {
			n.c.count.Unended++
			n.stack[top].duration = -1
		}
		if err := n.closed(top); err != nil {
			return err
		}
	}
	return nil
}

// instant takes all records of one instant of a track, which are in n.same.
func (n *nest) instant() error {
	if len(n.same) == 0 {
		return nil
	}
	at := n.same[0].start
	if err := n.expire(at); err != nil {
		return err
	}
	// An end without a name says nothing of what it ends but by where it stands.
	if len(n.same) == 1 || slices.ContainsFunc(n.same, func(r record) bool { return r.kind == End && r.name == NoText }) {
		for i := range n.same {
			r := &n.same[i]
			var err error
			switch r.kind {
			case Complete, Begin:
				err = n.begin(r)
			case End:
				err = n.end(r)
			default:
				err = n.point(r)
			}
			if err != nil {
				return err
			}
		}
		n.same = n.same[:0]
		return nil
	}
	ends := n.same[:0]
	n.starts, n.points = n.starts[:0], n.points[:0]
	for i := range n.same {
		switch r := n.same[i]; r.kind {
		case Complete, Begin:
			n.starts = append(n.starts, r)
		case End:
			ends = append(ends, r)
		default:
			n.points = append(n.points, r)
		}
	}
	slices.SortStableFunc(n.starts, longerFirst)
	if err := n.match(ends, n.starts); err != nil {
		return err
	}
	for i := range n.points {
		if err := n.point(&n.points[i]); err != nil {
			return err
		}
	}
	n.same = n.same[:0]
	return nil
}

// longerFirst orders slices that begin together. A beginning whose end is not known lasts longest; of two that last as long the one that was begun is around the other.
func longerFirst(a, b record) int {
	lasts := func(r *record) int64 {
		if r.duration < 0 {
			return noEnd
		}
		return r.duration
	}
	if c := cmp.Compare(lasts(&b), lasts(&a)); c != 0 || a.kind == b.kind {
		return c
	}
	if a.kind == Begin {
		return -1
	}
	return 1
}

// match ends and begins what ends and begins at one instant.
func (n *nest) match(ends, starts []record) error {
	for {
		// An end that has the name of what is open goes first.
		if i := slices.IndexFunc(ends, n.fits); i >= 0 {
			e := ends[i]
			ends = slices.Delete(ends, i, i+1)
			if err := n.end(&e); err != nil {
				return err
			}
			continue
		}
		if len(starts) > 0 {
			if err := n.begin(&starts[0]); err != nil {
				return err
			}
			starts = starts[1:]
			continue
		}
		for i := range ends {
			if err := n.end(&ends[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// fits says whether an end names the innermost slice that waits for one.
func (n *nest) fits(e record) bool {
	i := n.waiting()
	return i >= 0 && e.name == n.stack[i].name
}

// waiting is the innermost slice that waits for an end, -1 for none.
func (n *nest) waiting() int {
	for i := len(n.stack) - 1; i >= 0; i-- {
		if n.stack[i].stop == noEnd {
			return i
		}
	}
	return -1
}

// expire ends the complete slices that end at or before a time, as far as they are innermost.
func (n *nest) expire(at int64) error {
	for top := len(n.stack) - 1; top >= 0 && n.stack[top].stop <= at; top-- {
		if err := n.closed(top); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a slice within the innermost one that it lies in.
func (n *nest) begin(r *record) error {
	if err := n.expire(r.start); err != nil {
		return err
	}
	stop := int64(noEnd)
	if r.kind == Complete {
		stop = r.end()
	}
	parent := len(n.stack) - 1
	overlaps, within := false, stop
	for steps := 0; parent >= 0; parent-- {
		p := &n.stack[parent]
		if p.stop == noEnd || stop <= p.stop || stop == noEnd && p.stop > r.start {
			break
		}
		if stop-Tolerance <= p.stop && p.stop > r.start {
			n.c.count.Rounded++
			// What lies in it has to lie in the one around it too: a stair of such ends is no stack.
			within = p.stop
			break
		}
		overlaps = overlaps || p.stop > r.start
		if steps++; steps == searched {
			parent = -1
			break
		}
	}
	if overlaps && !n.async {
		n.c.count.Overlapping++
	}
	if len(n.stack) == MaxOpen {
		return &evidence.BudgetError{What: "slices that are open at once on one track", Table: "stacks", Limit: MaxOpen}
	}
	n.stack = append(n.stack, open{record: *r, parent: int32(parent), stop: within, covered: r.start, node: noNode})
	o := &n.stack[len(n.stack)-1]
	above := uint32(noNode)
	if parent >= 0 {
		p := &n.stack[parent]
		o.depth, o.phase, above = p.depth+1, p.phase, p.node
		if r.kind == Complete {
			n.cover(parent, r.start, stop)
		}
	}
	if own := n.phaseOf(r); own != NoText {
		o.phase = own
	}
	if n.async {
		return nil
	}
	var err error
	o.node, err = n.child(above, o)
	return err
}

// cover counts the time of a slice as inside the one around it, without what another slice covered.
func (n *nest) cover(parent int, from, to int64) {
	p := &n.stack[parent]
	from, to = max(from, p.covered), min(to, p.stop)
	if to > from {
		p.inside += to - from
		p.covered = to
	}
}

func (n *nest) phaseOf(r *record) Text {
	if r.phase != NoText {
		return r.phase
	}
	p, ok := n.phases[r.name]
	if !ok {
		if name, is := strings.CutPrefix(n.c.texts.list[r.name], phasePrefix); is && name != "" {
			p, _ = n.c.texts.known(name) // a part of what is held already
		}
		n.phases[r.name] = p
	}
	return p
}

// end closes the innermost slice that waits for it.
func (n *nest) end(e *record) error {
	i := n.waiting()
	if i < 0 {
		n.c.count.Unbegun++
		return nil
	}
	// What ended at this instant below another end of it is innermost only now.
	if err := n.expire(e.start); err != nil {
		return err
	}
	o := &n.stack[i]
	if e.name != NoText && e.name != o.name {
		n.c.count.Misnamed++
	}
	o.duration = e.start - o.start
	if e.has&hasBytes != 0 {
		o.bytes, o.has = e.bytes, o.has|hasBytes
	}
	if p := int(o.parent); p >= 0 {
		n.cover(p, o.start, e.start)
	}
	if i == len(n.stack)-1 {
		return n.closed(i)
	}
	// Complete slices began within it and end later.
	n.c.count.Overlapping += int64(len(n.stack) - 1 - i)
	for j := i + 1; j < len(n.stack); j++ {
		switch p := &n.stack[j].parent; {
		case int(*p) == i:
			*p = o.parent
		case int(*p) > i:
			*p--
		}
	}
	return n.closed(i)
}

// closed takes a slice off the stack and accounts for it.
func (n *nest) closed(i int) error {
	o := n.stack[i]
	around := int64(-1)
	if o.parent >= 0 {
		around = n.stack[o.parent].ordinal
	}
	n.stack = slices.Delete(n.stack, i, i+1)
	self := int64(-1)
	if o.duration >= 0 {
		self = max(0, o.duration-o.inside)
	}
	if n.async {
		n.c.count.Async++
		return n.c.keep.slice(&o, around, self)
	}
	n.c.count.Slices++
	if self >= 0 {
		d := &n.nodes[o.node]
		d.count++
		if d.self > math.MaxInt64-self {
			return &evidence.BudgetError{What: "nanoseconds in one stack", Table: "stacks", Limit: math.MaxInt64}
		}
		d.self += self
		if n.c.opt.Slice != nil {
			n.c.opt.Slice(&Slice{
				Name: o.name, Category: o.category, Shapes: o.shapes, Phase: o.phase, External: ID{o.external, o.externalForm},
				Duration: o.duration, Self: self, Outermost: d.outer, Allocated: o.allocated, Freed: o.freed,
			})
		}
	}
	return n.c.keep.slice(&o, around, self)
}

// point takes what has no duration.
func (n *nest) point(r *record) error {
	around, depth, phase := int64(-1), int32(0), n.phaseOf(r)
	// Complete slices that ended are on the stack still where something above them is open.
	for i := len(n.stack) - 1; i >= 0; i-- {
		o := &n.stack[i]
		if o.stop <= r.start {
			continue
		}
		around, depth = o.ordinal, o.depth+1
		if phase == NoText {
			phase = o.phase
		}
		if n.c.opt.Memory != nil && r.has&hasBytes != 0 && n.c.opt.Memory(r.name) {
			if r.bytes >= 0 {
				o.allocated += r.bytes
			} else {
				o.freed -= r.bytes
			}
		}
		break
	}
	return n.c.keep.point(r, around, depth, phase)
}
