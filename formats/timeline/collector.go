package timeline

import (
	"context"
	"fmt"
	"math"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// Options say what becomes of a trace.
type Options struct {
	// Duration is the metric of self time, in ns; Count counts slices. A Count without a name is left out.
	Duration, Count profile.Metric
	Budget          evidence.Budget
	// Events is the number of rows of trace_events that are kept of slices, and a quarter of it each of asynchronous slices and of what has no duration. None where it
	// is negative, DefaultEvents where it is 0.
	Events int
	// Full keeps every event, in the order in which they end on each track, as far as the budget of rows goes.
	Full bool
	// File is how evidence names a file; nil leaves names as they are.
	File func(string) string
	// Frame may change the frame of a slice, which has the name as function, the category as module, and file and line.
	Frame func(*profile.Frame)
	// Slice is called with each slice of a thread that has a duration, when it ends. It may be nil.
	Slice func(*Slice)
	// Rows writes what the caller summed of Slice into tables of its own, room rows at most, before the others are written. It may be nil.
	Rows func(sink *evidence.Sink, room int64) ([]evidence.Limitation, error)
	// Memory says whether instants of a name allocate and free their bytes within the slice around them. It may be nil.
	Memory func(Text) bool
}

// DefaultEvents is how many slices trace_events has of a trace, unless all are asked for.
const DefaultEvents = 100_000

// The metrics of a trace that says nothing else.
var (
	SliceDuration = profile.Metric{Name: "trace.slice_duration", Unit: "ns"}
	SliceCount    = profile.Metric{Name: "trace.slice_count", Unit: "count"}
)

// Slice is a slice that ended.
type Slice struct {
	Name, Category, Shapes, Phase Text
	External                      ID
	Duration, Self                int64
	Outermost                     bool  // no slice around it is the same frame
	Allocated, Freed              int64 // bytes, by Options.Memory, directly within it
}

// Collector takes the events of one trace. It is for one goroutine. Close has to be called.
type Collector struct {
	opt       Options
	texts     texts
	tracks    []track
	trackAt   map[string]Track
	processes map[string]string
	whos      map[Track]*who
	files     map[Text]string
	key       []byte
	lastKey   string
	lastTrack Track

	spill spill
	count Counts
	zero  bool // a first time was met
	flows map[uint64]flowState

	nest    nest
	keep    keep
	sampled *Sampled
}

// Counts are what a trace holds.
type Counts struct {
	Slices, Async, Instants, Counters, Flows int64
	First, Last                              int64 // nanoseconds: the earliest beginning and the latest end
	Unended                                  int64 // beginnings without an end
	Unbegun                                  int64 // ends without a beginning
	Misnamed                                 int64 // ends whose name is not that of the beginning they belong to
	Overlapping                              int64 // slices that overlap another on their track and lie in neither
	Rounded                                  int64 // slices that end up to Tolerance behind the one they lie in
	OpenFlows                                int64 // flows without an end or a beginning
	CutTexts                                 int64 // texts longer than MaxText
	BadTexts                                 int64 // texts that were no UTF-8
}

// New makes a collector.
func New(opt Options) *Collector {
	if opt.Duration.Name == "" {
		opt.Duration, opt.Count = SliceDuration, SliceCount
	}
	if opt.Events == 0 {
		opt.Events = DefaultEvents
	}
	c := &Collector{
		opt: opt, trackAt: map[string]Track{}, processes: map[string]string{}, whos: map[Track]*who{}, files: map[Text]string{}, flows: map[uint64]flowState{},
		texts: texts{list: []string{""}, at: map[string]Text{"": NoText}, most: opt.Budget.Memory / 4},
		spill: spill{most: partRecords},
	}
	c.nest.init(c)
	return c
}

// Close gives back what the collector holds outside of memory.
func (c *Collector) Close() { c.spill.close() }

// Add adds an event.
func (c *Collector) Add(e *Event) error {
	if c.texts.bytes > c.texts.most && c.texts.most > 0 {
		return &evidence.BudgetError{What: "bytes of memory for distinct names and threads", Table: evidence.TraceEventsTable, Limit: c.texts.most}
	}
	switch e.Kind {
	case Instant:
		c.count.Instants++
	case Counter:
		c.count.Counters++
	case FlowStart, FlowStep, FlowEnd:
		c.count.Flows++
	}
	if !c.zero || e.Start < c.count.First {
		c.count.First = e.Start
	}
	last := e.Start
	if e.Kind == Complete {
		last += e.Duration
	}
	if !c.zero || last > c.count.Last {
		c.count.Last = last
	}
	c.zero = true
	r, err := c.spill.add()
	if err != nil {
		return err
	}
	r.set(e)
	return nil
}

// flowState says which ends of a flow were met.
type flowState uint8

const (
	flowBegan flowState = 1 << iota
	flowEnded
)

// Flow counts one end of a flow by a hash of what identifies it.
func (c *Collector) Flow(kind Kind, id uint64) {
	var bit flowState
	switch kind {
	case FlowStart:
		bit = flowBegan
	case FlowEnd:
		bit = flowEnded
	}
	have, ok := c.flows[id]
	if have |= bit; have == flowBegan|flowEnded {
		delete(c.flows, id)
	} else if ok || len(c.flows) < 1<<20 {
		c.flows[id] = have
	}
}

// Summary is what a trace became.
type Summary struct {
	Counts
	Metric  profile.Metric // of the profile, by which its rows are heavy
	Profile profile.Summary
	Rows    int64 // of trace_events
	Partial bool
	// Limitations are those of the events, then those of the sums.
	Limitations []evidence.Limitation
}

// Finish orders, nests, sums and writes what was added.
func (c *Collector) Finish(ctx context.Context, sink *evidence.Sink) (Summary, error) {
	var out Summary
	c.keep.init(c, sink)
	if err := c.spill.each(ctx, c.nest.record); err != nil {
		return out, err
	}
	if err := c.nest.drain(true, 0); err != nil {
		return out, err
	}
	if err := c.nest.endTrack(); err != nil {
		return out, err
	}
	var own []evidence.Limitation
	if c.opt.Rows != nil {
		room := int64(math.MaxInt64)
		if rows := c.opt.Budget.Rows; rows > 0 {
			room = (rows - sink.Rows() + 1) / 2
		}
		var err error
		if own, err = c.opt.Rows(sink, room); err != nil {
			return out, err
		}
	}
	c.count.OpenFlows = int64(len(c.flows))
	c.count.CutTexts, c.count.BadTexts = c.texts.cut, c.texts.bad
	out.Counts = c.count
	var err error
	if out.Metric, out.Profile, err = c.profile(ctx, sink); err != nil {
		return out, err
	}
	lost, err := c.keep.finish(sink)
	if err != nil {
		return out, err
	}
	out.Rows = c.keep.written
	out.Limitations = append(c.count.limitations(), lost...)
	out.Limitations = append(append(out.Limitations, own...), out.Profile.Limitations...)
	out.Partial = out.Profile.Partial || len(lost) > 0 || len(own) > 0
	return out, nil
}

// The codes of limitations.
const (
	EventsDropped  = "trace_events_dropped"
	UnendedSlices  = "slices_unended"
	UnbegunSlices  = "ends_unmatched"
	MisnamedEnds   = "nesting_mismatched"
	OverlapsBeside = "nesting_overlaps"
	EndsRounded    = "nesting_rounded"
	FlowsOpen      = "flows_unterminated"
	TextCut        = "text_cut"
	TextNotUTF8    = profile.TextNotUTF8
)

func (n *Counts) limitations() (list []evidence.Limitation) {
	say := func(code string, count int64, format string) {
		if count > 0 {
			list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, number(count))})
		}
	}
	say(UnendedSlices, n.Unended, "%s slices begin and have no end in the trace: they have no duration and no weight")
	say(UnbegunSlices, n.Unbegun, "%s ends have no beginning in the trace, and were passed over")
	say(MisnamedEnds, n.Misnamed, "%s ends have another name than the slice that was begun last, which they end: nesting and times of these are unreliable")
	say(OverlapsBeside, n.Overlapping, "%s slices overlap another one of their track without lying in it: they count beside it, so the track's busy time is less than the sum of its slices")
	say(EndsRounded, n.Rounded, "%s slices end up to a microsecond later than the slice they lie in, as producers that round times write them; self times are without what sticks out")
	say(FlowsOpen, n.OpenFlows, "%s flows have a beginning without an end, or an end without a beginning")
	say(TextCut, n.CutTexts, fmt.Sprintf("%%s texts are longer than %s bytes and were cut there", number(MaxText)))
	say(TextNotUTF8, n.BadTexts, "%s texts hold bytes that are not UTF-8; each run of such bytes reads as U+FFFD")
	return list
}

// Results are what expressions may read of a trace.
func (s *Summary) Results() map[string]any {
	r := map[string]any{
		"slices": s.Slices, "async_slices": s.Async, "instants": s.Instants, "counters": s.Counters, "flows": s.Flows,
		"duration_ns": s.Last - s.First, "default_metric": "", "unit": "", "total": int64(0),
	}
	if s.Metric.Name != "" && len(s.Profile.Totals) > 0 {
		r["default_metric"], r["unit"], r["total"] = s.Metric.Name, s.Metric.Unit, s.Profile.Totals[0]
	}
	return r
}
