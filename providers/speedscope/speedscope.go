package speedscope

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	format "github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// Role of an artifact that is a file of speedscope's.
const Role = "profile"

// The codes of limitations and reasons, beside those of formats/speedscope.
const (
	NoSamples      = "no_samples"
	UnexpectedExit = "unexpected_exit"
)

// Provider reads files of speedscope's format. The zero value is ready.
type Provider struct{}

// Name is the format's.
func (Provider) Name() string { return "speedscope" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "profiles in speedscope's file format, which many profilers write"
}

// Formats is the format under the provider's name.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "speedscope", MediaType: format.MediaType, Role: Role, Detect: func(head []byte) bool {
		return shape.Match(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))
	}}}
}

// shape is an object whose first members are the schema, or texts and numbers and then the schema. Writers that put it behind the frames are not known by their head.
var shape = pattern.Lazy{Expr: `^\s*\{\s*("[A-Za-z]+"\s*:\s*("[^"\\]*"|[0-9.]+|null)\s*,\s*)*"\$schema"\s*:\s*"https://www\.speedscope\.app/file-format-schema\.json"`}

// ExtractOptions: an extraction has none.
func (Provider) ExtractOptions() any { return nil }

// Validate accepts files that can be read whole and summed.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	l, err := load(ctx, in, evidence.DefaultBudget())
	refused, ok := providers.Refused(refusal(err), nil)
	switch {
	case ok:
		r.Reasons = append(r.Reasons, refused.Limitations...)
	case err != nil:
		return r, err
	case l.added.Samples == 0:
		r.Limitations = append(r.Limitations, empty())
	}
	r.Producer = l.producer
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

func empty() evidence.Limitation {
	return evidence.Limitation{Code: NoSamples, Text: "the file is whole, and its profiles have no weight"}
}

// Extract fills frames, frame_values, call_edges and stacks.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	out, err := extract(ctx, in, budget, sink)
	if refused, ok := providers.Refused(refusal(err), sink); ok {
		return refused, nil
	}
	return out, err
}

// loaded is a file that was added to an aggregation; b is nil where it has no profile.
type loaded struct {
	producer string
	profiles int
	metrics  []profile.Metric
	b        *profile.Builder
	added    format.Added
}

func load(ctx context.Context, in providers.Input, budget evidence.Budget) (l loaded, err error) {
	if err := ctx.Err(); err != nil {
		return l, err
	}
	a, err := in.Find(Role)
	if err != nil {
		return l, err
	}
	data, err := providers.ReadWhole(a, budget, copies)
	if err != nil {
		return l, err
	}
	f, err := format.Parse(data)
	if err != nil {
		return l, err
	}
	l.producer, l.profiles = f.Exporter, len(f.Profiles)
	if len(f.Profiles) == 0 {
		return l, nil
	}
	naming := format.Naming{Metric: "speedscope", Frame: func(fr format.Frame) *profile.Frame { return frame(in.Paths, fr) }}
	if len(f.Profiles) > 1 {
		naming.Labels = func(p *format.Profile) map[string]string { return map[string]string{"profile": p.Name} }
	}
	l.metrics = f.Metrics(naming)
	l.b = profile.New(profile.Options{Metrics: l.metrics, Budget: budget})
	l.added, err = f.AddTo(ctx, l.b, naming)
	return l, err
}

func extract(ctx context.Context, in providers.Input, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	l, err := load(ctx, in, budget)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Empty, Producer: l.producer, Results: map[string]any{"profiles": int64(l.profiles), "samples": l.added.Samples}}
	if l.b == nil {
		out.Limitations = []evidence.Limitation{empty()}
		return out, nil
	}
	sum, err := l.b.Finish(sink)
	if err != nil {
		return out, err
	}
	out.Results["default_metric"], out.Results["unit"], out.Results["total"] = l.metrics[0].Name, l.metrics[0].Unit, sum.Totals[0]
	out.Limitations = append(l.added.Limitations, sum.Limitations...)
	switch {
	case sum.Partial || l.added.Partial:
		out.State = evidence.Partial
	case sum.Stacks > 0:
		out.State = evidence.Complete
	default:
		out.Limitations = append(out.Limitations, empty())
	}
	return out, nil
}

// frame is how tables name a frame. A line of 0 is none: editors count from 1, and writers that know no line put 0.
func frame(paths providers.Paths, f format.Frame) *profile.Frame {
	out := &profile.Frame{Function: f.Name}
	if f.File != "" {
		out.File = paths.File(f.File)
	}
	if f.Line > 0 {
		out.Line = profile.Some(f.Line)
	}
	if f.Column > 0 {
		out.Column = profile.Some(f.Column)
	}
	return out
}

// copies is how often a payload may be in memory: itself, and what is made of its frames. Stacks are counted by their aggregation.
const copies = 4

// refusal is an error of the format as one of a payload.
func refusal(err error) error {
	var bad *format.Error
	if errors.As(err, &bad) {
		return &providers.Refusal{Limitation: evidence.Limitation{Code: bad.Code, Text: bad.Text}}
	}
	return err
}
