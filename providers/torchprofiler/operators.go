package torchprofiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/jsonscan"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// operators sums the calls of operators while a trace is read and nested.
type operators struct {
	c     *timeline.Collector
	first int64 // ordinal of the trace's first event

	launched map[string]launched // by External id: what an operator launched
	most     int
	lost     int64 // launches of which nothing is remembered
	device   bool  // a trace has launches by External id
	memoryOf bool  // a trace has memory events
	zeroed   int64
	events   int64 // of devices
	rank     *int64
	world    *int64
	rankless int

	sums map[operator]*evidence.Operator
	full int64 // calls of operators that there was no room for
	max  int
}

type operator struct{ name, category, shapes, phase timeline.Text }

type launched struct{ ns, n int64 }

func newOperators(budget evidence.Budget) *operators {
	o := &operators{launched: map[string]launched{}, sums: map[operator]*evidence.Operator{}, most: 4 << 20, max: 1 << 20}
	if m := budget.Memory; m > 0 {
		o.most, o.max = int(m/16/80), int(m/16/320)
	}
	return o
}

// deviceCategory says whether events of a category ran on an accelerator.
func deviceCategory(category []byte) bool {
	switch string(category) {
	case "kernel", "gpu_memcpy", "gpu_memset", "concurrent_kernel":
		return true
	}
	return false
}

// event looks at each event before it is nested.
func (o *operators) event(e *chrometrace.Event) error {
	e.Ordinal += o.first
	if e.Phase == 'i' && string(e.Name.Raw) == memoryEvent {
		o.memoryOf = true
	}
	if !deviceCategory(e.Category.Raw) || e.Phase != 'X' {
		return nil
	}
	if e.Start == 0 {
		o.zeroed++
		return chrometrace.ErrPass
	}
	o.events++
	id := e.Args.External
	if len(id) == 0 || string(id) == "0" {
		return nil
	}
	o.device = true
	l, ok := o.launched[string(id)]
	if !ok && len(o.launched) == o.most {
		o.lost++
		return nil
	}
	o.launched[string(id)] = launched{l.ns + e.Duration, l.n + 1}
	return nil
}

// memoryEvent is how the profiler calls an allocation and what frees it.
const memoryEvent = "[memory]"

func (o *operators) memory(name timeline.Text) bool { return o.c.String(name) == memoryEvent }

// slice adds a call.
func (o *operators) slice(s *timeline.Slice) {
	category := o.c.String(s.Category)
	if category != "cpu_op" && category != "user_annotation" {
		return
	}
	k := operator{s.Name, s.Category, s.Shapes, s.Phase}
	sum := o.sums[k]
	if sum == nil {
		if len(o.sums) == o.max {
			o.full++
			return
		}
		sum = &evidence.Operator{Name: o.c.String(s.Name), Category: category, Shapes: o.text(s.Shapes), Phase: o.text(s.Phase)}
		if o.device {
			sum.Device, sum.Launches = new(int64), new(int64)
		}
		if o.memoryOf {
			sum.Allocated, sum.Freed = new(int64), new(int64)
		}
		o.sums[k] = sum
	}
	sum.Calls++
	sum.Self += s.Self
	if s.Outermost {
		sum.Total += s.Duration
	}
	sum.Max = max(sum.Max, s.Duration)
	if o.device {
		if l, ok := o.launched[o.c.IDText(s.External)]; ok {
			*sum.Device += l.ns
			*sum.Launches += l.n
		}
	}
	if o.memoryOf {
		*sum.Allocated += s.Allocated
		*sum.Freed += s.Freed
	}
}

func (o *operators) text(t timeline.Text) *string {
	if t == timeline.NoText {
		return nil
	}
	s := o.c.String(t)
	return &s
}

// write writes the operators, the one with the longest total first.
func (o *operators) write(sink *evidence.Sink, room int64) (lost []evidence.Limitation, err error) {
	list := make([]*evidence.Operator, 0, len(o.sums))
	for _, s := range o.sums {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *evidence.Operator) int {
		if a.Total != b.Total {
			if a.Total > b.Total {
				return -1
			}
			return 1
		}
		return strings.Compare(rank(a), rank(b))
	})
	var calls, total int64
	for i, s := range list {
		if int64(i) >= room {
			calls, total = calls+s.Calls, total+s.Total
			continue
		}
		if err := sink.Operators.Put(s); err != nil {
			return nil, err
		}
	}
	if calls+o.full > 0 {
		lost = append(lost, evidence.Limitation{Code: OperatorsCut, Text: fmt.Sprintf("operators has %d of %d rows, the longest; the others have %d calls and %d ns together, and for %d calls more there was no room at all", min(room, int64(len(list))), len(list), calls, total, o.full)})
	}
	return lost, nil
}

// rank orders operators of equal time.
func rank(o *evidence.Operator) string {
	s := o.Name + "\x00" + o.Category
	for _, p := range []*string{o.Shapes, o.Phase} {
		s += "\x00"
		if p != nil {
			s += "1" + *p
		}
	}
	return s
}

// about takes what the trace's other members say of it.
func (o *operators) about(t *chrometrace.Summary) {
	var rank, world *int64
	r := jsonscan.New(t.Members["distributedInfo"])
	r.Object(func(name []byte) {
		switch string(name) {
		case "rank":
			n := r.Int()
			rank = &n
		case "world_size":
			n := r.Int()
			world = &n
		default:
			r.Skip()
		}
	})
	if r.Err() != nil || rank == nil { // also where a name stands twice: a rank is no guess
		o.rankless++
		return
	}
	o.rank, o.world = rank, world
}

func (o *operators) limitations() (list []evidence.Limitation) {
	if o.zeroed > 0 {
		list = append(list, evidence.Limitation{Code: DeviceTimeLost, Text: fmt.Sprintf("%d events of a device have the time 0: the producer lost their times, so they are in no sum and no row", o.zeroed)})
	}
	if o.lost > 0 {
		list = append(list, evidence.Limitation{Code: LaunchesUnknown, Text: fmt.Sprintf("%d events of devices belong to operators beyond those that memory holds; device_ns and launches are without them", o.lost)})
	}
	if o.rankless > 0 {
		list = append(list, evidence.Limitation{Code: Rankless, Text: "the trace does not say which rank of a distributed run it is of: it has no distributedInfo that says one, as of a run in one process"})
	}
	return list
}

func (o *operators) results(r map[string]any) {
	r["operators"], r["device_events"] = int64(len(o.sums)), o.events
	if o.rank != nil {
		r["rank"] = *o.rank
	}
	if o.world != nil {
		r["world_size"] = *o.world
	}
}

// pythonCall is how the profiler names a call of a Python function: file(line): function.
var pythonCall = pattern.Lazy{Expr: `^(.+)\((\d+)\): (.+)$`}

// frame takes the place out of the name of a Python function, which is how the profiler writes it down.
func frame(paths providers.Paths) func(*profile.Frame) {
	return func(f *profile.Frame) {
		if f.Module != "python_function" {
			return
		}
		m := pythonCall.FindStringSubmatch(f.Function)
		if m == nil {
			return
		}
		var line int64
		if _, err := fmt.Sscan(m[2], &line); err != nil {
			return
		}
		f.Language, f.Function, f.File, f.Line = "Python", m[3], paths.File(m[1]), profile.Some(line)
	}
}
