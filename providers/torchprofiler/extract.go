package torchprofiler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations and reasons.
const (
	UnexpectedExit  = "unexpected_exit"
	Unfinished      = "profiler_unfinished"
	ExtraCycles     = "cycles_unexpected"
	Rankless        = "rank_unavailable"
	DeviceTimeLost  = "device_time_missing"
	ClocksDiffer    = "clocks_differ"
	OperatorsCut    = "operators_dropped"
	LaunchesUnknown = "launches_incomplete"
)

// Formats are the traces of torch.profiler.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "torchprofiler", MediaType: MediaType, Role: Role, Detect: func(head []byte) bool {
		_, torch := chrometrace.Detect(head)
		return torch
	}}}
}

// ExtractOptions say how much of the trace becomes rows of trace_events. Sums are always of all of it.
type ExtractOptions struct {
	Events int  `arg:"events" default:"100000" doc:"rows of trace_events that are kept of slices, the longest; a quarter as many of instants, counters and flows" facet:"definition"`
	Full   bool `arg:"full" default:"false" doc:"keep every event in trace_events, as far as the budget goes" facet:"definition"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

// Validate accepts traces that are whole, of as many cycles as the schedule has.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	refuse := func(code, format string, args ...any) {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if err := diagnosed(in, &r, refuse); err != nil {
		return r, err
	}
	for _, a := range in.FindAll(RoleExtra) {
		refuse(ExtraCycles, "the run left %s, which is no cycle of its schedule: the program profiled more often, or wrote its own traces; let repeat be the number of cycles", a.Name)
	}
	for _, a := range in.FindAll(Role) {
		sum, err := read(ctx, a, evidence.DefaultBudget(), func(src io.Reader, limits chrometrace.Limits) (chrometrace.Summary, error) {
			return chrometrace.Scan(ctx, src, limits, func(*chrometrace.Event) error { return nil })
		})
		var bad *providers.Refusal
		switch {
		case errors.As(err, &bad):
			if bad.Code == chrometrace.NotJSON {
				bad.Text += "; versions of PyTorch write some names of Python functions with quotes that are not escaped: with_stack = false leaves those out"
			}
			r.Reasons = append(r.Reasons, bad.Limitation)
			continue
		case err != nil:
			return r, err
		case sum.Cut != "" || sum.Open:
			refuse(chrometrace.TraceCut, "%s: the trace has no end; what is there can be extracted after an import as chrometrace", a.Name)
		}
		list, _ := sum.Limitations()
		r.Limitations = append(r.Limitations, list...)
	}
	if _, err := traces(in); err != nil && len(r.Reasons) == 0 {
		return r, err
	}
	if !in.ExitExpected() {
		refuse(UnexpectedExit, "the command ended with status %d", in.Exit)
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// diagnosed reads how far the launcher came.
func diagnosed(in providers.Input, r *providers.Receipt, refuse func(code, format string, args ...any)) error {
	for _, a := range in.FindAll(RoleDiagnostics) {
		f, err := a.Open()
		if err != nil {
			return err
		}
		b, err := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", a.Name, err)
		}
		var d struct {
			Phase, Torch string
			Error        *struct{ Code, Text string }
		}
		if err := json.Unmarshal(b, &d); err != nil {
			refuse(Unfinished, "%s is not what the launcher writes (%v)", a.Name, err)
			continue
		}
		r.Producer = d.Torch
		switch {
		case d.Error != nil:
			refuse(d.Error.Code, "%s", d.Error.Text)
		case d.Phase != "completed":
			refuse(Unfinished, "the launcher came as far as %s and no further: the program ended its process by itself, or was ended", d.Phase)
		}
	}
	return nil
}

// traces are the run's, in their order.
func traces(in providers.Input) ([]providers.Artifact, error) {
	list := in.FindAll(Role)
	if len(list) == 0 {
		_, err := in.Find(Role) // says what there is instead
		return nil, err
	}
	return list, nil
}

// Extract fills frames, frame_values, call_edges, stacks, trace_events and operators.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{Events: timeline.DefaultEvents}
	} else if !ok {
		return evidence.Outcome{}, fmt.Errorf("torchprofiler: extraction options are a %T, not *torchprofiler.ExtractOptions", options)
	}
	if o.Events < 0 {
		return evidence.Outcome{}, fmt.Errorf("events = %d: write 0 or more; full = true keeps all of them", o.Events)
	}
	out, err := extract(ctx, in, o, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

func extract(ctx context.Context, in providers.Input, o *ExtractOptions, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	out := evidence.Outcome{State: evidence.Complete}
	list, err := traces(in)
	if err != nil {
		return out, err
	}
	ops := newOperators(budget)
	opt := timeline.Options{Budget: budget, Events: o.Events, Full: o.Full, File: in.Paths.File, Slice: ops.slice, Rows: ops.write, Memory: ops.memory, Frame: frame(in.Paths)}
	if o.Events == 0 {
		opt.Events = -1
	}
	c := timeline.New(opt)
	defer c.Close()
	ops.c = c
	partial := false
	var elements int64
	bases := map[string]bool{}
	for _, a := range list {
		ops.first = elements
		trace, err := read(ctx, a, budget, func(src io.Reader, limits chrometrace.Limits) (chrometrace.Summary, error) {
			return chrometrace.Feed(ctx, src, limits, c, ops.event)
		})
		if err != nil {
			return out, err
		}
		elements += trace.Elements
		bases[string(trace.Members["baseTimeNanoseconds"])] = true
		limits, bad := trace.Limitations()
		partial = partial || bad
		out.Limitations = append(out.Limitations, limits...)
		ops.about(&trace)
	}
	if len(bases) > 1 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: ClocksDiffer, Text: "the cycles count their time from different beginnings: times are comparable within one of them"})
	}
	sum, err := c.Finish(ctx, sink)
	if err != nil {
		return out, err
	}
	out.Limitations = append(append(out.Limitations, ops.limitations()...), sum.Limitations...)
	out.Results = sum.Results()
	ops.results(out.Results)
	out.Results["cycles"] = int64(len(list))
	switch {
	case partial || sum.Partial:
		out.State = evidence.Partial
	case sink.Rows() == 0:
		out.State = evidence.Empty
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: chrometrace.NoEvents, Text: "the trace is whole and has no event with a time: the profiler recorded nothing while it was active"})
	}
	return out, nil
}

// read lets fn read a trace, within the budget. What is wrong with it is a *providers.Refusal.
func read(ctx context.Context, a providers.Artifact, budget evidence.Budget, fn func(io.Reader, chrometrace.Limits) (chrometrace.Summary, error)) (chrometrace.Summary, error) {
	if err := ctx.Err(); err != nil {
		return chrometrace.Summary{}, err
	}
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return chrometrace.Summary{}, providers.Refuse(providers.InputBudget, "%s has %d bytes, and the extraction may read %d; raise its budget", a.Name, a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return chrometrace.Summary{}, err
	}
	defer f.Close()
	sum, err := fn(f, chrometrace.Limits{Bytes: budget.InputBytes})
	var bad *chrometrace.Error
	if errors.As(err, &bad) {
		return sum, providers.Refuse(bad.Code, "%s: %s", a.Name, bad.Error())
	}
	return sum, err
}
