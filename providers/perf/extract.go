package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfscript"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/textline"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations and refusals.
const (
	EmptyFile      = "payload_empty"
	OldFormat      = "legacy_format"
	NotARecording  = "not_a_perf_recording"
	NotAScript     = "not_perf_script"
	Truncated      = "payload_truncated"
	NotClosed      = "recording_not_closed"
	NoReader       = "reader_missing"
	ReaderBroke    = "reader_broke_off"
	Unreadable     = "recording_unreadable"
	NoSamples      = "no_samples"
	Lost           = "samples_lost"
	LinesUnknown   = "lines_invalid"
	EndUnknown     = "last_line_unfinished"
	NoPeriods      = "periods_missing"
	OnePlace       = "call_graph_missing"
	StacksCut      = "stacks_cut_by_perf"
	KernelNames    = "kernel_symbols_missing"
	KernelLeftOut  = "kernel_not_sampled"
	SymbolsOfHere  = "symbols_from_this_machine"
	UnexpectedExit = "unexpected_exit"
)

// ExtractOptions say how a recording is printed.
type ExtractOptions struct {
	Inlined bool   `arg:"inlined" default:"false" doc:"frames of calls that the compiler inlined too, which perf finds out from debug information, slowly" facet:"definition"`
	Program string `arg:"program,optional" doc:"the perf that prints the recording: a name or a path; that of the capture where missing" facet:"exempt: its version is part of the key"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

func limitation(code, format string, args ...any) evidence.Limitation {
	return evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Validate accepts recordings that are whole and that perf prints, and texts that can be summed. Where perf did not run, as of an import, a
// recording is looked at from outside.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	l, err := load(ctx, in, evidence.DefaultBudget(), true)
	refused, ok := providers.Refused(err, nil)
	switch {
	case ok:
		r.Reasons = append(r.Reasons, refused.Limitations...)
	case err != nil:
		return r, err
	}
	for _, limit := range l.limits {
		switch limit.Code {
		case Truncated, NotClosed, ReaderBroke:
			r.Reasons = append(r.Reasons, limit)
		case NoSamples, Lost, LinesUnknown, EndUnknown:
			r.Limitations = append(r.Limitations, limit)
		}
	}
	if l.unread {
		r.Limitations = append(r.Limitations, limitation("reader_not_run", "the recording was looked at from outside only; perf prints it when it is extracted"))
	}
	r.Producer = l.version
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, limitation(UnexpectedExit, "the command ended with status %d", in.Exit))
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// Extract fills frames, frame_values, call_edges and stacks.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if _, ok := options.(*ExtractOptions); options != nil && !ok {
		return evidence.Outcome{}, fmt.Errorf("perf: extraction options are a %T, not *perf.ExtractOptions", options)
	}
	out, err := extract(ctx, in, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

// loaded is a recording or a text that was summed.
type loaded struct {
	b       *profile.Builder // nil where there is nothing to sum
	metrics []profile.Metric
	version string // of perf, where it printed
	samples int64
	lost    uint64
	limits  []evidence.Limitation
	partial bool // something that was recorded is missing
	unread  bool
}

// load reads the payload of a run. light says that only what shows whether it is sound is wanted, so a recording without its text is no refusal.
func load(ctx context.Context, in providers.Input, budget evidence.Budget, light bool) (l loaded, err error) {
	if err := ctx.Err(); err != nil {
		return l, err
	}
	a, err := in.Find(Role)
	if err != nil {
		return l, err
	}
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return l, providers.Refuse(providers.InputBudget, "%s has %d bytes, and the extraction may read %d; raise its budget", a.Name, a.Size, budget.InputBytes)
	}
	if a.Size == 0 {
		return l, providers.Refuse(EmptyFile, "%s has no bytes: nothing was recorded, or perf was killed before it wrote anything", a.Name)
	}
	printed := Provider{}.Prints(a)
	open, failure := a.Open, ""
	if printed {
		reason, err := outside(a)
		if err != nil {
			return l, err
		}
		if reason != nil {
			l.limits, l.partial = append(l.limits, *reason), true
		}
		switch {
		case in.Reading != nil:
			failure, l.version = in.Reading.Failure, in.Reading.Version
			open = func() (io.ReadCloser, error) { return os.Open(in.Reading.Path) }
		case light:
			l.unread = true
			return l, nil
		default:
			return l, &providers.Refusal{Missing: true, Limitation: limitation(NoReader, "no perf was run over %s", a.Name)}
		}
	}
	s, err := summed(ctx, open, in.Paths, budget)
	if err != nil {
		return l, unusable(err)
	}
	l.b, l.metrics, l.samples, l.lost = s.b, s.metrics, s.sum.Samples, s.sum.Lost
	switch {
	case failure != "" && l.samples == 0:
		return l, providers.Refuse(Unreadable, "perf%s does not read %s: %s", before(l.version), a.Name, failure)
	case failure != "":
		l.limits, l.partial = append(l.limits, limitation(ReaderBroke, "perf broke off after %d samples: %s", l.samples, failure)), true
	case !printed && s.sum.Foreign():
		return l, providers.Refuse(NotAScript, "the text is not what perf script prints: it has %d samples and %d lines that are nothing known, the first is %s", l.samples, s.sum.Invalid, s.sum.First)
	}
	l.limits = append(l.limits, s.limitations(printed)...)
	l.partial = l.partial || l.lost > 0 || s.sum.Invalid > 0 || !printed && s.sum.Unfinished
	return l, nil
}

func before(version string) string {
	if version == "" {
		return ""
	}
	return " " + version
}

// unusable is an error of the text as one of a payload.
func unusable(err error) error {
	var long *textline.LongError
	var deep *perfscript.TooDeepError
	var many *perfscript.TooManyEventsError
	if errors.As(err, &long) || errors.As(err, &deep) || errors.As(err, &many) {
		return providers.Refuse(NotAScript, "the text is nothing that perf script prints: %v", err)
	}
	return err
}

func extract(ctx context.Context, in providers.Input, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	l, err := load(ctx, in, budget, false)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Empty, Producer: l.version, Limitations: l.limits, Results: map[string]any{"samples": l.samples, "lost": int64(min(l.lost, 1<<62))}}
	if l.b == nil {
		if l.partial {
			out.State = evidence.Partial
		}
		return out, nil
	}
	sum, err := l.b.Finish(sink)
	if err != nil {
		return out, err
	}
	out.Results["default_metric"], out.Results["unit"], out.Results["total"] = l.metrics[0].Name, l.metrics[0].Unit, sum.Totals[0]
	out.Limitations = append(out.Limitations, sum.Limitations...)
	switch {
	case sum.Partial || l.partial:
		out.State = evidence.Partial
	case sum.Stacks > 0:
		out.State = evidence.Complete
	}
	return out, nil
}
