package timeline

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"

	"github.com/flameox/flameox/evidence"
)

// kept is a row of trace_events as it is held.
type kept struct {
	record
	around, self int64 // -1 for none
	phase        Text
	depth        int32
	async        bool
	weight       int64
}

// lighter orders the row that goes first in front. Of equal weights the later one goes.
func lighter(a, b *kept) bool {
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c > 0
	}
	return order(&a.record, &b.record) > 0
}

// pool holds the heaviest rows of one sort.
type pool struct {
	rows     []kept
	most     int
	seen     int64
	lost     int64 // rows
	lostTime float64
}

func (p *pool) Len() int           { return len(p.rows) }
func (p *pool) Less(i, j int) bool { return lighter(&p.rows[i], &p.rows[j]) }
func (p *pool) Swap(i, j int)      { p.rows[i], p.rows[j] = p.rows[j], p.rows[i] }
func (p *pool) Push(x any)         {}
func (p *pool) Pop() any           { p.rows = p.rows[:len(p.rows)-1]; return nil }

func (p *pool) put(k *kept) {
	p.seen++
	if len(p.rows) < p.most {
		p.rows = append(p.rows, *k)
		if len(p.rows) == p.most {
			heap.Init(p)
		}
		return
	}
	p.lost++
	out := k
	if p.most > 0 && lighter(&p.rows[0], k) {
		p.lostTime += duration(&p.rows[0])
		p.rows[0] = *k
		heap.Fix(p, 0)
		return
	}
	p.lostTime += duration(out)
}

func duration(k *kept) float64 { return float64(max(0, k.duration)) }

// keep chooses the rows of trace_events.
type keep struct {
	c       *Collector
	sink    *evidence.Sink
	full    bool
	pools   [3]pool // slices, asynchronous slices, the rest
	written int64
	row     evidence.TraceEvent
}

// rowBytes is about what a kept row takes.
const rowBytes = 192

func (k *keep) init(c *Collector, sink *evidence.Sink) {
	k.c, k.sink = c, sink
	all := int64(len(c.spill.part))
	for _, n := range c.spill.parts {
		all += n
	}
	rows := c.opt.Budget.Rows
	if k.full = c.opt.Full && (rows <= 0 || all <= rows/2); k.full {
		return
	}
	most := int64(max(0, c.opt.Events))
	if c.opt.Full { // as much of it as there is room for
		most = math.MaxInt32
	}
	for i, share := range [...]int64{most, most / 4, most / 4} {
		if rows > 0 {
			share = min(share, rows)
		}
		if m := c.opt.Budget.Memory; m > 0 {
			share = min(share, m/16/rowBytes)
		}
		k.pools[i].most = int(share)
	}
}

func (k *keep) slice(o *open, around, self int64) error {
	row := kept{record: o.record, around: around, self: self, phase: o.phase, depth: o.depth, async: k.c.nest.async, weight: o.duration}
	if k.full {
		return k.write(&row)
	}
	if row.async {
		k.pools[1].put(&row)
	} else {
		k.pools[0].put(&row)
	}
	return nil
}

func (k *keep) point(r *record, around int64, depth int32, phase Text) error {
	row := kept{record: *r, around: around, self: -1, phase: phase, depth: depth}
	if r.has&hasBytes != 0 {
		row.weight = max(r.bytes, -max(r.bytes, -math.MaxInt64))
	}
	if v := math.Abs(math.Float64frombits(r.value)); r.has&hasValue != 0 && r.has&hasBytes == 0 {
		row.weight = int64(min(v, math.MaxInt64/2))
	}
	if k.full {
		return k.write(&row)
	}
	k.pools[2].put(&row)
	return nil
}

// reserved is how many rows of the budget are not the profile's: those that are written, and of the others up to half for those that are kept.
func (k *keep) reserved() int64 {
	var n int64
	for i := range k.pools {
		n += int64(len(k.pools[i].rows))
	}
	if rows := k.c.opt.Budget.Rows; rows > 0 {
		n = min(n, (rows-k.sink.Rows())/2)
	}
	return n + k.sink.Rows()
}

// finish writes the kept rows, heaviest first, as far as the budget goes, and says what was dropped.
func (k *keep) finish(sink *evidence.Sink) (lost []evidence.Limitation, err error) {
	room := int64(math.MaxInt64)
	if rows := k.c.opt.Budget.Rows; rows > 0 {
		room = rows - sink.Rows()
	}
	for i, what := range [...]string{"slices", "asynchronous slices", "instants, counter values and flow events"} {
		p := &k.pools[i]
		slices.SortFunc(p.rows, func(a, b kept) int {
			if lighter(&b, &a) {
				return -1
			}
			return 1
		})
		for j := range p.rows {
			if room == 0 {
				p.lost++
				p.lostTime += duration(&p.rows[j])
				continue
			}
			if err := k.write(&p.rows[j]); err != nil {
				return nil, err
			}
			room--
		}
		if p.lost == 0 || k.c.opt.Events < 0 {
			continue
		}
		text := fmt.Sprintf("trace_events has the %s heaviest of %s %s; the %s others", number(p.seen-p.lost), number(p.seen), what, number(p.lost))
		if i < 2 {
			text += fmt.Sprintf(" have %s ns together", number(int64(min(p.lostTime, math.MaxInt64/2))))
		} else {
			text += " have the smallest values, or are later than those"
		}
		lost = append(lost, evidence.Limitation{Code: EventsDropped, Text: text + "; full = true keeps all of them. Sums and stacks are of the whole trace"})
	}
	return lost, nil
}

var kinds = [...]string{
	Complete: evidence.TraceSlice, Begin: evidence.TraceSlice, Instant: evidence.TraceInstant, Counter: evidence.TraceCounter,
	FlowStart: evidence.TraceFlowStart, FlowStep: evidence.TraceFlowStep, FlowEnd: evidence.TraceFlowEnd, End: "",
}

// Unnamed is the name of what its producer gave none.
const Unnamed = "<unnamed>"

func (k *keep) write(r *kept) error {
	c := k.c
	w := c.who(r.track)
	row := &k.row
	*row = evidence.TraceEvent{
		Event: r.ordinal, Kind: kinds[r.kind], Name: c.texts.list[r.name], Category: c.optional(r.category), Start: r.start,
		ProcessID: w.processID, Process: w.process, ThreadID: w.threadID, Thread: w.thread,
		Phase: c.optional(r.phase), Correlation: c.idText(r.correlation, r.correlationForm), External: c.idText(r.external, r.externalForm),
	}
	if row.Name == "" {
		row.Name = Unnamed
	}
	if r.async {
		row.Kind = evidence.TraceAsync
	}
	// What rows refer to is good until the sink has written them.
	if r.around >= 0 {
		row.Parent = ptr(r.around)
	}
	if r.kind <= End {
		if r.duration >= 0 {
			row.Duration, row.Self = ptr(r.duration), ptr(r.self)
		}
		row.Shapes = c.optional(r.shapes)
	}
	if r.kind <= Instant {
		row.Depth = ptr(int64(r.depth))
	}
	if r.kind == Counter {
		row.Series = c.optional(r.shapes)
	}
	if r.has&hasDevice != 0 {
		row.Device = ptr(int64(r.device))
	}
	if r.has&hasStream != 0 {
		row.Stream = ptr(int64(r.stream))
	}
	if r.has&hasBytes != 0 {
		row.Bytes = ptr(r.bytes)
	}
	if r.has&hasValue != 0 {
		row.Value = ptr(math.Float64frombits(r.value))
	}
	if r.has&hasLine != 0 {
		row.Line = ptr(r.line)
	}
	if r.file != NoText {
		row.File = ptr(c.file(r.file))
	}
	k.written++
	return k.sink.TraceEvents.Put(row)
}

func ptr[T any](v T) *T { return &v }

func (c *Collector) optional(t Text) *string {
	if t == NoText {
		return nil
	}
	return &c.texts.list[t]
}

func (c *Collector) file(t Text) string {
	if c.opt.File == nil {
		return c.texts.list[t]
	}
	f, ok := c.files[t]
	if !ok {
		f = c.opt.File(c.texts.list[t])
		c.files[t] = f
	}
	return f
}
