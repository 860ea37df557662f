package chrometrace

import (
	"context"
	"errors"
	"io"

	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/formats/timeline"
)

// ErrPass is what each returns of an event that Feed is not to add.
var ErrPass = errors.New("the event is passed over")

// Feed reads a trace into c. each is called with every event before it is added, may set its ordinal, and may be nil. The error is as Scan's, or c's.
//
// Complete events, and B with E, become slices of their thread; b with e, and S with F, asynchronous slices by their category and id; i, I, R and n instants; each
// number of a counter a value. Flows bind by category and id. The CPU samples of V8 become stacks of c. The other phases (objects, memory dumps, contexts, other samples) are
// in Summary.Others.
func Feed(ctx context.Context, src io.Reader, limits Limits, c *timeline.Collector, each func(*Event) error) (Summary, error) {
	f := feeder{c: c, escaped: map[string]timeline.Text{}, others: map[byte]int64{}}
	sum, err := Scan(ctx, src, limits, func(e *Event) error {
		if each != nil {
			if err := each(e); errors.Is(err, ErrPass) {
				return nil
			} else if err != nil {
				return err
			}
		}
		return f.add(e)
	})
	sum.Others = f.others
	if f.samples != nil && err == nil {
		trees := f.samples.finish()
		sum.Samples = f.samples.out
		if len(trees) > 0 {
			c.Sampled(f.samples.sum(trees))
		}
	}
	return sum, err
}

type feeder struct {
	c       *timeline.Collector
	samples *sampler                 // nil where none were met
	escaped map[string]timeline.Text // of texts with escapes, as they stand
	others  map[byte]int64
	out     timeline.Event
	err     error
}

// escapedMost is the number of texts with escapes that are remembered.
const escapedMost = 1 << 14

func (f *feeder) text(t Text) timeline.Text {
	if f.err != nil {
		return timeline.NoText
	}
	var out timeline.Text
	if !t.Escaped {
		out, f.err = f.c.Text(t.Raw)
		return out
	}
	if out, ok := f.escaped[string(t.Raw)]; ok {
		return out
	}
	out, f.err = f.c.Text(jsonscan.Unquote(t.Raw))
	if len(f.escaped) < escapedMost && len(t.Raw) < 1024 {
		f.escaped[string(t.Raw)] = out
	}
	return out
}

func (f *feeder) id(b []byte) timeline.ID {
	if f.err != nil || b == nil {
		return timeline.ID{}
	}
	var out timeline.ID
	out, f.err = f.c.ID(b)
	return out
}

func (f *feeder) add(e *Event) error {
	if takes(e) {
		if f.samples == nil {
			f.samples = newSampler(f.c)
		}
		return f.samples.add(e)
	}
	o := &f.out
	*o = timeline.Event{Ordinal: e.Ordinal, Start: e.Start}
	switch e.Phase {
	case 'X':
		o.Kind, o.Duration = timeline.Complete, e.Duration
	case 'B', 'b', 'S':
		o.Kind = timeline.Begin
	case 'E', 'e', 'F':
		o.Kind = timeline.End
	case 'i', 'I', 'R', 'n', 'T', 'p':
		o.Kind = timeline.Instant
	case 'C':
		o.Kind = timeline.Counter
	case 's':
		o.Kind = timeline.FlowStart
	case 't':
		o.Kind = timeline.FlowStep
	case 'f':
		o.Kind = timeline.FlowEnd
	case 'M':
		f.metadata(e)
		return nil
	default:
		f.others[e.Phase]++
		return nil
	}
	o.Name, o.Category = f.text(e.Name), f.text(e.Category)
	switch e.Phase {
	case 'b', 'e', 'n', 'S', 'T', 'p', 'F':
		o.Track, o.Within = f.c.Async(e.Process, e.Thread), identity(e.Category.Raw, e.ID, e.Process)
		o.Correlation = f.id(e.ID)
	case 's', 't', 'f':
		o.Track, o.Correlation = f.c.Thread(e.Process, e.Thread), f.id(e.ID)
		f.c.Flow(o.Kind, identity(e.Category.Raw, e.ID, nil))
	case 'C':
		o.Track = f.c.Thread(e.Process, e.Thread)
		return f.counter(e)
	default:
		o.Track = f.c.Thread(e.Process, e.Thread)
	}
	if e.Args.Raw != nil {
		f.args(&e.Args)
	}
	if f.err != nil {
		return f.err
	}
	return f.c.Add(o)
}

func (f *feeder) args(a *Args) {
	o := &f.out
	if a.Correlation != nil {
		o.Correlation = f.id(a.Correlation)
	}
	o.External = f.id(a.External)
	o.Shapes, o.Phase, o.File = f.text(Text{Raw: a.Shapes}), f.text(a.Phase), f.text(a.File)
	o.Line, o.Device, o.Stream, o.Bytes = timeline.Number(a.Line), timeline.Number(a.Device), timeline.Number(a.Stream), timeline.Number(a.Bytes)
	if a.Total.OK {
		o.Value, o.HasValue = float64(a.Total.N), true
	}
}

// counter adds each series of a counter as an event of its own.
func (f *feeder) counter(e *Event) error {
	o := &f.out
	for _, v := range e.Args.Series {
		if o.Value, o.HasValue = v.Float(); !o.HasValue {
			continue
		}
		o.Series = f.text(v.Name)
		if f.err != nil {
			return f.err
		}
		if err := f.c.Add(o); err != nil {
			return err
		}
	}
	return f.err
}

func (f *feeder) metadata(e *Event) {
	switch string(e.Name.Raw) {
	case "thread_name":
		f.c.NameThread(e.Process, e.Thread, string(e.Args.Name.Bytes()))
	case "process_name":
		f.c.NameProcess(e.Process, string(e.Args.Name.Bytes()))
	}
}

// identity is a hash of what tells asynchronous events or flows apart. It is FNV-1a, which is the same everywhere.
func identity(category, id, process []byte) uint64 {
	h := uint64(14695981039346656037)
	mix := func(b []byte) {
		for _, c := range b {
			h = (h ^ uint64(c)) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	mix(category)
	mix(id)
	mix(process)
	return h
}
