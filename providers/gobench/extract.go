package gobench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/perf/benchfmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of this provider's limitations and reasons.
const (
	Failed         = "benchmark_failed"
	Skipped        = "benchmark_skipped"
	Panicked       = "benchmark_panicked"
	BuildFailed    = "build_failed"
	PackageFailed  = "package_failed"
	NoBenchmarks   = "no_benchmarks"
	Unreadable     = "result_unreadable"
	LostResult     = "result_lost"
	Misnamed       = "result_misnamed"
	ValueRefused   = "value_refused"
	Truncated      = "payload_truncated"
	LongLines      = "lines_too_long"
	ProcsAmbiguous = "gomaxprocs_ambiguous"
	KeysCut        = "configuration_keys_cut"
	NotBenchmarks  = "not_go_benchmark_output"
	EmptyFile      = "payload_empty"
	UnexpectedExit = "unexpected_exit"
	InputBudget    = "input_budget"
	RowBudget      = "row_budget"
	MemoryBudget   = "memory_budget"
)

// Validate accepts a run that measured something and in which nothing failed.
func (p Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	s, refusal, err := p.survey(ctx, in, 0)
	if err != nil {
		return providers.Receipt{}, err
	}
	var r providers.Receipt
	if refusal != nil {
		r.Reasons = append(r.Reasons, *refusal)
	} else {
		r.Reasons, r.Limitations = s.failures(), s.limitations()
		if s.rows == 0 {
			r.Reasons = append(r.Reasons, s.nothing())
		}
		if s.truncated {
			r.Reasons = append(r.Reasons, truncation)
		}
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills measurements. The table has no weight, so a payload with more values than the budget has rows is
// refused whole.
func (p Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	s, refusal, err := p.survey(ctx, in, budget.InputBytes)
	if err != nil {
		return evidence.Outcome{}, err
	}
	if refusal != nil {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{*refusal}}, nil
	}
	if budget.Rows > 0 && s.rows > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the payload has %d values and the extraction's budget is %d rows; samples have no weight by which some could be left out, so nothing is extracted: measure fewer benchmarks in one capture", s.rows, budget.Rows)}}}, nil
	}
	out := evidence.Outcome{State: evidence.Complete, Results: map[string]any{
		"benchmarks": int64(len(s.order)),
		"samples":    s.results,
		"failed":     s.failed.n,
		"skipped":    s.skipped.n,
	}}
	out.Limitations = append(s.failures(), s.limitations()...)
	if s.truncated {
		out.Limitations = append(out.Limitations, truncation)
	}
	switch {
	case s.partial():
		out.State = evidence.Partial
	case s.rows == 0:
		out.State = evidence.Empty
	}
	if s.rows == 0 {
		out.Limitations = append(out.Limitations, s.nothing())
		return out, nil
	}
	a, err := in.Find(Role)
	if err != nil {
		return evidence.Outcome{}, err
	}
	_, _, err = readArtifact(ctx, a, s.units, sink.Measurements.Put)
	return out, err
}

// survey reads the payload once without writing anything: what units are called stands in Unit lines that may come
// behind the results. A refusal says why there can be no evidence.
func (Provider) survey(ctx context.Context, in providers.Input, limit int64) (*summary, *evidence.Limitation, error) {
	a, err := in.Find(Role)
	if err != nil {
		return nil, nil, err
	}
	if limit > 0 && a.Size > limit {
		return nil, &evidence.Limitation{Code: InputBudget, Text: fmt.Sprintf(
			"the payload has %d bytes and the extraction's budget is %d; raise it", a.Size, limit)}, nil
	}
	s, refusal, err := readArtifact(ctx, a, nil, nil)
	if err != nil || refusal != nil {
		return nil, refusal, err
	}
	switch {
	case s.bytes == 0:
		refusal = &evidence.Limitation{Code: EmptyFile, Text: "the payload has no bytes; a test binary prints at least PASS, so its output was lost before it was kept"}
	case s.rows == 0 && s.testing == 0 && s.unreadable.n == 0 && s.refused.n == 0 && s.panics.n == 0 && !s.truncated:
		refusal = &evidence.Limitation{Code: NotBenchmarks, Text: "the payload has no benchmark result and no other line that `go test` prints: it is not the output of Go benchmarks"}
	}
	return s, refusal, nil
}

func readArtifact(ctx context.Context, a providers.Artifact, units benchfmt.UnitMetadataMap, row func(*evidence.Measurement) error) (*summary, *evidence.Limitation, error) {
	f, err := a.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return classify(read(ctx, io.Reader(f), units, row))
}

// classify makes a limitation of a refusal.
func classify(s *summary, err error) (*summary, *evidence.Limitation, error) {
	var bad *refusal
	if errors.As(err, &bad) {
		return nil, &evidence.Limitation{Code: bad.code, Text: bad.text}, nil
	}
	return s, nil, err
}

var truncation = evidence.Limitation{Code: Truncated, Text: "the last line has no newline: it may be a result that was cut in the middle of a number, and is not used. Where the file is known to be whole, end it with a newline"}

// failures are what makes a run invalid.
func (s *summary) failures() (list []evidence.Limitation) {
	say := func(t *tally, code, format string) {
		if t.n > 0 {
			list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, t)})
		}
	}
	say(&s.builds, BuildFailed, "these packages did not build: %s; the messages are on standard error")
	say(&s.failed, Failed, "these benchmarks failed: %s")
	say(&s.panics, Panicked, "the test binary crashed: %s")
	if s.failed.n == 0 && s.panics.n == 0 {
		say(&s.packages, PackageFailed, "these packages failed without saying which benchmark did: %s")
	}
	return list
}

// limitations are what the evidence does not say.
func (s *summary) limitations() (list []evidence.Limitation) {
	say := func(n int64, code, text string, args ...any) {
		if n > 0 {
			list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(text, args...)})
		}
	}
	say(s.skipped.n, Skipped, "%d benchmarks skipped themselves: %s", s.skipped.n, &s.skipped)
	say(s.unreadable.n, Unreadable, "%d lines begin like a result and are none, so a sample may be missing: %s", s.unreadable.n, &s.unreadable)
	say(s.lost, LostResult, "%d lines hold the figures of a result without its name: the benchmark printed into its own result line, and those samples are missing; let it print nothing, or add -v to the command, which prints a result on a line of its own", s.lost)
	say(s.misnamed.n, Misnamed, "%d lines look like results but their names do not begin with Benchmark, so the format ignores them: %s", s.misnamed.n, &s.misnamed)
	say(s.refused.n, ValueRefused, "%d values are not finite, or a negative zero, and were left out, never made zero: %s", s.refused.n, &s.refused)
	say(s.long, LongLines, "%d lines are longer than %d bytes and were not read", s.long, maxLine)
	if s.cutKeys {
		say(1, KeysCut, "more than %d configuration keys are set, probably by log lines of the form \"word: text\"; the first %d became dimensions", maxKeys, maxKeys)
	}
	if doubtful := s.ambiguousProcs(); doubtful.n > 0 {
		say(doubtful.n, ProcsAmbiguous, "%d names end in -N while others of their package do not, so N may belong to the name; it was read as GOMAXPROCS, as the format says: %s", doubtful.n, &doubtful)
	}
	return list
}

// partial says whether something that was measured, or should have been, is missing.
func (s *summary) partial() bool {
	return s.truncated || s.unreadable.n > 0 || s.lost > 0 || s.refused.n > 0 || s.long > 0 || s.cutKeys ||
		s.failed.n > 0 || s.panics.n > 0 || s.builds.n > 0 || s.packages.n > 0
}

// nothing explains why there is no result.
func (s *summary) nothing() evidence.Limitation {
	text := "the run measured nothing: -bench matched no benchmark of the packages that were tested"
	switch {
	case s.builds.n > 0:
		text = "the run measured nothing: its packages did not build"
	case s.skipped.n > 0:
		text = "the run measured nothing: every benchmark that matched -bench skipped itself"
	case s.failed.n > 0 || s.panics.n > 0:
		text = "the run measured nothing: it failed before the first result"
	case s.unreadable.n > 0 || s.lost > 0 || s.refused.n > 0 || s.truncated:
		text = "the run has no result line that can be read"
	}
	return evidence.Limitation{Code: NoBenchmarks, Text: text}
}
