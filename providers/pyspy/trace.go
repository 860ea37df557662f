package pyspy

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/providers"
)

// TraceMediaType is what a profile in Chrome's Trace Event Format is registered as.
const TraceMediaType = "application/x-chrome-trace+json"

// SamplesMerged is the code of what a trace does not say.
const SamplesMerged = "samples_merged"

// scan reads a trace of py-spy within a budget. What is wrong with it is a *providers.Refusal.
func scan(a providers.Artifact, budget evidence.Budget, fn func(io.Reader, chrometrace.Limits) (chrometrace.Summary, error)) (chrometrace.Summary, error) {
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

// below says whether an event is of a frame that py-spy puts below stacks, for a thread or a process.
func below(e *chrometrace.Event) bool {
	return len(e.Args.File.Raw) == 0 && (e.Phase == 'B' || e.Phase == 'E') && belowStack.Match(e.Name.Bytes())
}

// validateTrace accepts a trace that py-spy closed and in which every event can be used.
func validateTrace(ctx context.Context, a providers.Artifact) (r providers.Receipt, err error) {
	sum, err := scan(a, evidence.DefaultBudget(), func(src io.Reader, limits chrometrace.Limits) (chrometrace.Summary, error) {
		return chrometrace.Scan(ctx, src, limits, func(*chrometrace.Event) error { return nil })
	})
	refused, ok := providers.Refused(err, nil)
	switch {
	case ok:
		r.Reasons = append(r.Reasons, refused.Limitations...)
		return r, nil
	case err != nil:
		return r, err
	}
	list, _ := sum.Limitations()
	for _, l := range list {
		if l.Code == chrometrace.TraceCut || l.Code == chrometrace.ArrayOpen { // py-spy writes the whole file at its end
			r.Reasons = append(r.Reasons, l)
		} else {
			r.Limitations = append(r.Limitations, l)
		}
	}
	return r, nil
}

// extractTrace sums the slices of a trace: each is the time in which one frame stood at one depth of a thread's stack.
func extractTrace(ctx context.Context, a providers.Artifact, n naming, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	out := evidence.Outcome{State: evidence.Complete}
	c := timeline.New(timeline.Options{
		Budget: budget, Duration: profile.Metric{Name: "pyspy.time", Unit: "ns"}, Events: -1, File: n.paths.File,
		Frame: func(f *profile.Frame) {
			line := f.Line
			if named := n.frame(place{name: f.Function, file: f.File}); named != nil {
				*f = *named
			}
			if n.lines {
				f.Line = line
			}
		},
	})
	defer c.Close()
	trace, err := scan(a, budget, func(src io.Reader, limits chrometrace.Limits) (chrometrace.Summary, error) {
		return chrometrace.Feed(ctx, src, limits, c, func(e *chrometrace.Event) error {
			if below(e) {
				return chrometrace.ErrPass
			}
			return nil
		})
	})
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
	case partial || sum.Partial || sum.Unended+sum.Unbegun+sum.Misnamed > 0:
		out.State = evidence.Partial
	case sink.Rows() == 0:
		out.State = evidence.Empty
		out.Limitations = append(out.Limitations, noSamples())
	}
	if sink.Rows() > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: SamplesMerged, Text: fmt.Sprintf("the trace has %d slices and no samples: equal frames of neighbouring samples are one slice, and a pause between two samples counts for the frames of both", sum.Slices)})
	}
	return out, nil
}
