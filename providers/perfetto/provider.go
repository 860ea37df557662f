package perfetto

import (
	"context"
	"errors"
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfetto"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers"
)

// MediaType of the format, which has no registered one; this is ours.
const MediaType = "application/x-perfetto-trace"

// Role of an artifact that is a trace.
const Role = "perfetto_trace"

// UnexpectedExit is the reason of a run that ended otherwise than its workload declares.
const UnexpectedExit = "unexpected_exit"

// Provider reads traces. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "perfetto" }

// Version is that of the rows.
func (Provider) Version() int { return 2 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "Perfetto's traces, of Android, Linux, Chrome and programs with its SDK"
}

// Formats is the one format.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "perfetto", MediaType: MediaType, Role: Role, Detect: perfetto.Detect}}
}

// ExtractOptions say how much of the trace becomes rows of trace_events. Sums are always of all of it.
type ExtractOptions struct {
	Events int  `arg:"events" default:"100000" doc:"rows of trace_events that are kept of slices, the longest; a quarter as many of asynchronous slices, and of instants, counters and flows" facet:"definition"`
	Full   bool `arg:"full" default:"false" doc:"keep every event in trace_events, as far as the budget goes" facet:"definition"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

// Validate accepts what can be read to its end, or to where the trace breaks off.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	c := timeline.New(timeline.Options{Budget: evidence.DefaultBudget()})
	defer c.Close()
	sum, err := read(ctx, in, evidence.DefaultBudget(), c)
	var over *evidence.BudgetError
	if errors.As(err, &over) {
		err = providers.Refuse(providers.MemoryBudget, "%s", over.Error())
	}
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	default:
		r.Limitations, _ = sum.Limitations()
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// Extract fills frames, frame_values, call_edges, stacks and trace_events.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{Events: timeline.DefaultEvents}
	} else if !ok {
		return evidence.Outcome{}, fmt.Errorf("perfetto: extraction options are a %T, not *perfetto.ExtractOptions", options)
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
	opt := timeline.Options{Budget: budget, Events: o.Events, Full: o.Full, File: in.Paths.File}
	if o.Events == 0 {
		opt.Events = -1
	}
	c := timeline.New(opt)
	defer c.Close()
	trace, err := read(ctx, in, budget, c)
	if err != nil {
		return out, err
	}
	limits, partial := trace.Limitations()
	sum, err := c.Finish(ctx, sink)
	if err != nil {
		return out, err
	}
	out.Limitations = append(limits, sum.Limitations...)
	out.Results = sum.Results()
	switch {
	case partial || sum.Partial:
		out.State = evidence.Partial
	case sink.Rows() == 0:
		out.State = evidence.Empty
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: perfetto.NoEvents, Text: "the trace is whole and has no track event with a time"})
	}
	return out, nil
}

// read reads the run's trace into c, within the budget. What is wrong with the trace is a *providers.Refusal.
func read(ctx context.Context, in providers.Input, budget evidence.Budget, c *timeline.Collector) (perfetto.Summary, error) {
	a, err := in.Find(Role)
	if err != nil {
		return perfetto.Summary{}, err
	}
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return perfetto.Summary{}, providers.Refuse(providers.InputBudget, "%s has %d bytes, and the extraction may read %d; raise its budget", a.Name, a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return perfetto.Summary{}, err
	}
	defer f.Close()
	sum, err := perfetto.Feed(ctx, f, perfetto.Limits{Bytes: budget.InputBytes}, c)
	var bad *perfetto.Error
	if errors.As(err, &bad) {
		return sum, providers.Refuse(bad.Code, "%s: %s", a.Name, bad.Error())
	}
	return sum, err
}
