package pyspy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/collapsed"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations and reasons, beside those of the formats.
const (
	Sampled        = "sampled_estimate"
	NoSamples      = "no_samples"
	OtherExporter  = "not_written_by_pyspy"
	NoThreads      = "threads_not_recorded"
	UnexpectedExit = "unexpected_exit"
)

// ExtractOptions say how fine frames are.
type ExtractOptions struct {
	Granularity string `arg:"granularity" default:"\"function\"" doc:"what one frame is: function, or line for a function at the line that ran" facet:"definition"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

// Formats are those that py-spy writes. None is known by its content: files of speedscope's format say who wrote them at their end, and raw
// ones do not, so they are imported as what they are declared.
func (Provider) Formats() []providers.Format {
	return []providers.Format{
		{Name: "pyspy", MediaType: speedscope.MediaType, Role: Role},
		{Name: "pyspy-raw", MediaType: collapsed.MediaType, Role: Role},
		{Name: "pyspy-chrometrace", MediaType: TraceMediaType, Role: Role},
	}
}

// Validate accepts profiles that can be read and summed.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	a, media, err := payload(ctx, in)
	if err != nil {
		return providers.Receipt{}, err
	}
	var r providers.Receipt
	if media == TraceMediaType {
		r, err = validateTrace(ctx, a)
	} else {
		r, err = validateStacks(ctx, a, media)
	}
	if err != nil {
		return r, err
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

func validateStacks(ctx context.Context, a providers.Artifact, media string) (r providers.Receipt, err error) {
	l, err := load(ctx, a, media, naming{}, evidence.DefaultBudget())
	refused, ok := providers.Refused(err, nil)
	switch {
	case ok:
		r.Reasons = append(r.Reasons, refused.Limitations...)
	case err != nil:
		return r, err
	}
	r.Producer = l.producer
	for _, limit := range l.limits {
		if limit.Code == collapsed.Truncated {
			r.Reasons = append(r.Reasons, limit)
		} else {
			r.Limitations = append(r.Limitations, limit)
		}
	}
	return r, nil
}

// Extract fills frames, frame_values, call_edges and stacks.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{Granularity: "function"}
	} else if !ok {
		return evidence.Outcome{}, fmt.Errorf("pyspy: extraction options are a %T, not *pyspy.ExtractOptions", options)
	}
	if o.Granularity != "function" && o.Granularity != "line" {
		return evidence.Outcome{}, fmt.Errorf("granularity = %q is not known; write \"function\" or \"line\"", o.Granularity)
	}
	out, err := extract(ctx, in, naming{in.Paths, o.Granularity == "line"}, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

// loaded is a profile that was added to an aggregation.
type loaded struct {
	b        *profile.Builder // nil where there is nothing to sum
	metric   profile.Metric
	producer string // version of py-spy, where the format says it
	samples  int64
	partial  bool
	limits   []evidence.Limitation
	results  map[string]any
}

// payload is the artifact of a run and the media type that it has: the declared one, or that of what it begins as.
func payload(ctx context.Context, in providers.Input) (a providers.Artifact, media string, err error) {
	if err := ctx.Err(); err != nil {
		return a, "", err
	}
	if a, err = in.Find(Role); err != nil {
		return a, "", err
	}
	for _, f := range outputs {
		if a.MediaType == f.media {
			return a, f.media, nil
		}
	}
	media, err = begin(a)
	return a, media, err
}

func load(ctx context.Context, a providers.Artifact, media string, n naming, budget evidence.Budget) (l loaded, err error) {
	if media == collapsed.MediaType {
		l, err = loadRaw(ctx, a, n, budget)
	} else {
		l, err = loadSpeedscope(ctx, a, n, budget)
	}
	if err == nil && l.samples == 0 {
		l.limits = append(l.limits, noSamples())
	}
	var one *speedscope.Error
	var other *collapsed.Error
	switch {
	case errors.As(err, &one):
		err = providers.Refuse(one.Code, "%s", one.Text)
	case errors.As(err, &other):
		err = providers.Refuse(other.Code, "%s", other.Text)
	}
	return l, err
}

func noSamples() evidence.Limitation {
	return evidence.Limitation{Code: NoSamples, Text: "the profile is whole and has no sample: the run was too short for one, or no thread of it ran in Python"}
}

// begin looks at a payload whose format was not declared.
func begin(a providers.Artifact) (media string, err error) {
	f, err := a.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := f.Read(head) // nothing to read is no JSON either
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xEF\xBB\xBF")), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		return speedscope.MediaType, nil
	case bytes.HasPrefix(head, []byte("[")):
		return TraceMediaType, nil
	}
	return collapsed.MediaType, nil
}

func loadSpeedscope(ctx context.Context, a providers.Artifact, n naming, budget evidence.Budget) (l loaded, err error) {
	const copies = 4 // the text, its frames, and what is made of them before the aggregation counts for itself
	data, err := providers.ReadWhole(a, budget, copies)
	if err != nil {
		return l, err
	}
	f, err := speedscope.Parse(data)
	if err != nil {
		return l, err
	}
	version, ok := strings.CutPrefix(f.Exporter, "py-spy@")
	if !ok {
		return l, providers.Refuse(OtherExporter, "%s is of speedscope's format and was written by %.60q, not by py-spy; import it as \"speedscope\"", a.Name, f.Exporter)
	}
	l.producer = version
	named := speedscope.Naming{Metric: "pyspy", Labels: labels, Frame: func(fr speedscope.Frame) *profile.Frame {
		return n.frame(place{fr.Name, fr.File, fr.Line})
	}}
	threads, processes := map[string]bool{}, map[string]bool{}
	for i := range f.Profiles {
		m := threadName.FindStringSubmatch(f.Profiles[i].Name)
		threads[f.Profiles[i].Name] = true
		if m != nil && m[1] != "" {
			processes[m[1]] = true
		}
	}
	l.results = map[string]any{"threads": int64(len(threads)), "processes": int64(max(1, len(processes)))}
	metrics := f.Metrics(named)
	if len(metrics) == 0 {
		return l, nil
	}
	l.metric = metrics[0]
	l.b = profile.New(profile.Options{Metrics: metrics, Budget: budget})
	added, err := f.AddTo(ctx, l.b, named)
	l.samples, l.partial, l.limits = added.Samples, added.Partial, added.Limitations
	return l, err
}

func loadRaw(ctx context.Context, a providers.Artifact, n naming, budget evidence.Budget) (l loaded, err error) {
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return l, providers.Refuse(providers.InputBudget, "%s has %d bytes, and the extraction may read %d; raise its budget", a.Name, a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return l, err
	}
	defer f.Close()
	l.metric = profile.Metric{Name: "pyspy.samples", Unit: "count"}
	l.b = profile.New(profile.Options{Metrics: []profile.Metric{l.metric}, Budget: budget})
	sum, limits, err := collapsed.AddTo(ctx, f, l.b, func(name string) *profile.Frame { return n.frame(rawPlace(name)) })
	l.samples = sum.Stacks
	for _, limit := range limits {
		if limit.Code != NoSamples {
			l.partial = true
			l.limits = append(l.limits, limit)
		}
	}
	return l, err
}

func extract(ctx context.Context, in providers.Input, n naming, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	a, media, err := payload(ctx, in)
	if err != nil {
		return evidence.Outcome{}, err
	}
	if media == TraceMediaType {
		return extractTrace(ctx, a, n, budget, sink)
	}
	l, err := load(ctx, a, media, n, budget)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Empty, Producer: l.producer, Limitations: l.limits, Results: l.results}
	if out.Results == nil {
		out.Results = map[string]any{}
	}
	if l.b == nil {
		return out, nil
	}
	sum, err := l.b.Finish(sink)
	if err != nil {
		return out, err
	}
	out.Results["samples"] = l.samples
	if l.metric.Unit == "count" {
		out.Results["samples"] = sum.Totals[0]
	}
	out.Results["default_metric"], out.Results["unit"], out.Results["total"] = l.metric.Name, l.metric.Unit, sum.Totals[0]
	out.Limitations = append(out.Limitations, sum.Limitations...)
	switch {
	case sum.Partial || l.partial:
		out.State = evidence.Partial
	case sum.Stacks > 0:
		out.State = evidence.Complete
	}
	if sum.Stacks > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: Sampled, Text: "figures are estimates from samples; where py-spy fell behind its rate the time is missing"})
		if l.metric.Name == "pyspy.samples" {
			out.Limitations = append(out.Limitations, evidence.Limitation{Code: NoThreads, Text: "the raw format has no threads and no times"})
		}
	}
	return out, nil
}
