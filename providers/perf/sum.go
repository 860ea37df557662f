package perf

import (
	"context"
	"io"
	"path"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfscript"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// summing adds the samples of a text to an aggregation.
type summing struct {
	ctx     context.Context
	b       *profile.Builder
	paths   providers.Paths
	metrics []profile.Metric
	sum     perfscript.Summary

	processes map[int64]string
	of        map[string]counted // by event, as perf names it
	refs      []profile.Ref      // by number of the frame in the text
	path      []profile.Ref
	weights   []int64
	labels    map[string]string

	placed, cut  int64 // samples of one place; with as many frames as perf walks
	kernel       int   // frames of the kernel, and those without a name
	kernelNoName int
	unsized      []string // events whose samples have no period
	userOnly     []string
}

// counted is how samples of an event are weighed.
type counted struct {
	metric int
	unit   bool // each is one: they have no period
}

// walked is how many frames perf walks unless kernel.perf_event_max_stack says otherwise.
const walked = 127

// summed goes through a text twice: for its events, and for its samples.
func summed(ctx context.Context, open func() (io.ReadCloser, error), paths providers.Paths, budget evidence.Budget) (*summing, error) {
	s := &summing{ctx: ctx, paths: paths, of: map[string]counted{}, labels: map[string]string{}}
	f, err := open()
	if err != nil {
		return nil, err
	}
	survey, err := perfscript.Look(f)
	f.Close()
	if err != nil {
		return nil, err
	}
	s.processes = survey.Processes
	s.choose(survey.Events)
	if f, err = open(); err != nil {
		return nil, err
	}
	defer f.Close()
	if len(s.metrics) > 0 {
		s.b = profile.New(profile.Options{Metrics: s.metrics, Budget: budget})
		s.weights = make([]int64, len(s.metrics))
	}
	s.sum, err = perfscript.Read(f, s)
	return s, err
}

// choose makes the metrics. Events that differ only in how precise perf made them are one. Where any of its samples has no period, samples are counted.
func (s *summing) choose(events []perfscript.Event) {
	at := map[string]int{}
	unsized := map[string]bool{}
	for _, e := range events {
		name, _ := perfscript.Metric(e.Name)
		unsized[name] = unsized[name] || e.Unsized > 0
	}
	for _, e := range events {
		name, unit := perfscript.Metric(e.Name)
		i, ok := at[name]
		if !ok {
			if unsized[name] {
				unit = "count"
				s.unsized = append(s.unsized, name)
			}
			if perfscript.UserOnly(e.Name) {
				s.userOnly = append(s.userOnly, name)
			}
			i = len(s.metrics)
			at[name] = i
			s.metrics = append(s.metrics, profile.Metric{Name: "perf." + name, Unit: unit})
		}
		s.of[e.Name] = counted{i, unsized[name]}
	}
}

var (
	processMap = pattern.Lazy{Expr: `^perf-[0-9]+\.map$`}
	jitTask    = pattern.Lazy{Expr: `^\[JIT\] tid [0-9]+$`}
)

// Frame names a place. Numbers of processes are no part of a name, or no two runs would have a frame in common.
func (s *summing) Frame(f perfscript.Frame) (int32, error) {
	out := profile.Frame{Function: f.Symbol, Module: f.Object}
	switch {
	case processMap.MatchString(path.Base(f.Object)):
		out.Module = path.Dir(f.Object) + "/perf-*.map"
	case jitTask.MatchString(f.Object):
		out.Module = "[JIT]"
	case strings.HasPrefix(f.Object, "/"):
		out.Module = s.paths.File(f.Object)
	}
	if out.Function == "" {
		out.Address, out.HasAddress = f.Address, true
	}
	if f.Inlined {
		out.Inlined = profile.Yes
	}
	if strings.HasPrefix(f.Object, "[kernel") || strings.HasPrefix(f.Object, "[guest.kernel") {
		s.kernel++
		if f.Symbol == "" {
			s.kernelNoName++
		}
	}
	ref, err := s.b.Frame(out)
	s.refs = append(s.refs, ref)
	return int32(len(s.refs) - 1), err
}

// Sample adds one sample.
func (s *summing) Sample(one *perfscript.Sample) error {
	if s.sum.Samples++; s.sum.Samples%4096 == 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	if one.Placed {
		s.placed++
	}
	if len(one.Stack) >= walked {
		s.cut++
	}
	s.path = s.path[:0]
	for i := len(one.Stack) - 1; i >= 0; i-- {
		s.path = append(s.path, s.refs[one.Stack[i]])
	}
	clear(s.labels)
	thread := string(one.Comm)
	if thread != "" {
		s.labels["thread"] = thread
	}
	if process := s.processes[one.PID]; process != "" && process != thread && one.TID >= 0 {
		s.labels["process"] = process
	}
	c := s.of[string(one.Event)]
	clear(s.weights)
	s.weights[c.metric] = one.Period
	if c.unit {
		s.weights[c.metric] = 1
	}
	return s.b.Add(s.path, s.weights, s.labels)
}

// limitations are what the text says of itself. printed says that perf printed it just now, so it has no line that is cut, and names of this machine.
func (s *summing) limitations(printed bool) (list []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		list = append(list, limitation(code, format, args...))
	}
	if s.sum.Samples == 0 {
		say(NoSamples, "there is no sample: the run was too short for one, or did nothing that was counted")
	}
	if s.sum.Lost > 0 {
		say(Lost, "perf lost %d records because it could not keep up, beside %d samples; a lower frequency, call_graph = \"fp\" or fewer events lose less", s.sum.Lost, s.sum.Samples)
	}
	if s.sum.Invalid > 0 {
		say(LinesUnknown, "%d of %d lines are no part of any sample that is known; they are left out, the first is %s", s.sum.Invalid, s.sum.Lines, s.sum.First)
	}
	switch {
	case printed:
	case s.sum.Cut:
		say(Truncated, "the text breaks off in line %d", s.sum.Lines)
	case s.sum.Unfinished:
		say(EndUnknown, "the last line has no line end, so nothing shows whether the last stack is whole")
	}
	if len(s.unsized) > 0 {
		say(NoPeriods, "samples of %s have no period, so they are counted and say nothing of a time or an amount", strings.Join(s.unsized, ", "))
	}
	if s.placed > 0 {
		say(OnePlace, "%d of %d samples are one place, without callers: no call graph was recorded", s.placed, s.sum.Samples)
	}
	if s.cut > 0 {
		say(StacksCut, "%d of %d samples have %d frames or more, which is where perf stops unless kernel.perf_event_max_stack says otherwise; what called those is missing", s.cut, s.sum.Samples, walked)
	}
	if s.kernelNoName > 0 {
		say(KernelNames, "%d of %d places in the kernel have no name: kernel.kptr_restrict hides them from this user, or it is not the kernel that ran", s.kernelNoName, s.kernel)
	}
	if len(s.userOnly) > 0 {
		say(KernelLeftOut, "%s is of the program's own code: perf was asked, or allowed, to leave the kernel out (kernel.perf_event_paranoid)", strings.Join(s.userOnly, ", "))
	}
	if printed && s.sum.Samples > 0 {
		say(SymbolsOfHere, "names are those that perf found on this machine when it printed the recording: of programs and libraries by their build ids where it has them, and of the kernel that runs")
	}
	return list
}
