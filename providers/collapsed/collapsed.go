package collapsed

import (
	"context"
	"errors"
	"fmt"

	"github.com/flameox/flameox/evidence"
	format "github.com/flameox/flameox/formats/collapsed"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/providers"
)

// Role of an artifact that is collapsed stacks.
const Role = "profile"

// UnitUnknown is the code of what no such file says, UnexpectedExit of a run that ended otherwise than it was to.
const (
	UnitUnknown    = "unit_unknown"
	UnexpectedExit = "unexpected_exit"
)

// Provider reads collapsed stacks. The zero value is ready.
type Provider struct{}

// Name is the format's.
func (Provider) Name() string { return "collapsed" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "collapsed stacks: the text, a stack and a count a line, that flame graphs are drawn from"
}

// Formats is the format under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "collapsed", MediaType: format.MediaType, Role: Role, Detect: format.Detect}}
}

// ExtractOptions: an extraction has none.
func (Provider) ExtractOptions() any { return nil }

// Validate accepts texts that can be read and summed, and that do not break off in a line.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	_, limits, err := load(ctx, in, evidence.DefaultBudget())
	refused, ok := providers.Refused(err, nil)
	switch {
	case ok:
		r.Reasons = append(r.Reasons, refused.Limitations...)
	case err != nil:
		return r, err
	}
	for _, l := range limits {
		if l.Code == format.Truncated {
			r.Reasons = append(r.Reasons, l)
		} else {
			r.Limitations = append(r.Limitations, l)
		}
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// Extract fills frames, frame_values, call_edges and stacks.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	out, err := extract(ctx, in, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

var metric = profile.Metric{Name: "collapsed.count", Unit: "count"}

// load adds the stacks of a run to an aggregation.
func load(ctx context.Context, in providers.Input, budget evidence.Budget) (*profile.Builder, []evidence.Limitation, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	a, err := in.Find(Role)
	if err != nil {
		return nil, nil, err
	}
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return nil, nil, providers.Refuse(providers.InputBudget, "the file has %d bytes, and the extraction may read %d; raise its budget", a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b := profile.New(profile.Options{Metrics: []profile.Metric{metric}, Budget: budget})
	_, limits, err := format.AddTo(ctx, f, b, func(name string) *profile.Frame {
		if name == "" {
			return &profile.Frame{Function: "[unknown]", Synthetic: true}
		}
		return &profile.Frame{Function: name}
	})
	var bad *format.Error
	if errors.As(err, &bad) {
		err = providers.Refuse(bad.Code, "%s", bad.Text)
	}
	return b, limits, err
}

func extract(ctx context.Context, in providers.Input, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	b, limits, err := load(ctx, in, budget)
	if err != nil {
		return evidence.Outcome{}, err
	}
	sum, err := b.Finish(sink)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Results: map[string]any{
		"stacks": int64(sum.Records), "default_metric": metric.Name, "unit": metric.Unit, "total": sum.Totals[0],
	}}
	switch {
	case sum.Partial || incomplete(limits):
		out.State = evidence.Partial
	case sum.Stacks == 0:
		out.State = evidence.Empty
	}
	out.Limitations = append(limits, sum.Limitations...)
	if out.State != evidence.Empty {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: UnitUnknown, Text: "collapsed stacks do not say what their counts are of: samples, time, or bytes"})
	} else if len(limits) == 0 { // stacks, and all of them counted 0
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: format.NoStacks, Text: "the file is whole, and every stack in it has the count 0"})
	}
	return out, nil
}

// incomplete says whether something of the file is missing, or may be.
func incomplete(limits []evidence.Limitation) bool {
	for _, l := range limits {
		if l.Code != format.NoStacks {
			return true
		}
	}
	return false
}
