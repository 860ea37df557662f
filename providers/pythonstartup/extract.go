package pythonstartup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of refusals and limitations.
const (
	EmptyFile       = "payload_empty"
	Truncated       = "payload_truncated"
	NotJSON         = "payload_not_json"
	NotSamples      = "not_pyperf_results"
	NotProfile      = "not_the_startup_profile"
	NotATrace       = "not_an_import_trace"
	ProducerVersion = "producer_version_unknown"
	NoProducer      = "producer_version_missing"
	NoMemory        = "peak_memory_missing"
	BrokenLines     = "trace_lines_unreadable"
	OtherLines      = "lines_of_the_program"
	TraceCut        = "trace_breaks_off"
	NoImports       = "no_imports"
	UnexpectedExit  = "unexpected_exit"
	InputBudget     = providers.InputBudget
	RowBudget       = "row_budget"
)

// Validate accepts runs of the whole profile with a trace.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	s, t, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	default:
		r.Producer = s.version
		r.Limitations = limitations(s, t)
		if t.open > 0 {
			r.Reasons = append(r.Reasons, cut(t))
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

// Extract fills measurements and python_imports. Neither has a weight, so a trace with more rows than the budget is refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	s, t, err := read(ctx, in, budget)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	list := append(s.measurements(), t.measurements()...)
	if n := int64(len(list) + len(t.imports)); budget.Rows > 0 && n > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the start and its imports have %d rows, and the extraction's budget is %d; none has a weight by which it could be left out", n, budget.Rows)}}}, nil
	}
	for i := range list {
		if err := sink.Measurements.Put(&list[i]); err != nil {
			return evidence.Outcome{}, err
		}
	}
	if err := t.write(sink); err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Producer: s.version, Limitations: append(slices.Clone(always), limitations(s, t)...)}
	out.Results = map[string]any{"samples": int64(processes), "imports": int64(len(t.imports))}
	if t.open > 0 {
		out.Limitations = append(out.Limitations, cut(t))
	}
	if t.open > 0 || t.broken > 0 {
		out.State = evidence.Partial
	}
	return out, nil
}

func cut(t *trace) evidence.Limitation {
	return evidence.Limitation{Code: TraceCut, Text: fmt.Sprintf("%d imports have no import that they happened in, although they are not the program's own: the trace breaks off before its end", t.open)}
}

// read reads both artifacts.
func read(ctx context.Context, in providers.Input, budget evidence.Budget) (*samples, *trace, error) {
	a, err := in.Find(RoleSamples)
	if err != nil {
		return nil, nil, err
	}
	b, err := in.Find(RoleTrace)
	if err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if budget.InputBytes > 0 && a.Size+b.Size > budget.InputBytes {
		return nil, nil, providers.Refuse(InputBudget, "the payloads have %d bytes and the extraction's budget is %d; raise it, or let the program print less to standard error", a.Size+b.Size, budget.InputBytes)
	}
	if a.Size == 0 || b.Size == 0 {
		return nil, nil, providers.Refuse(EmptyFile, "%s has no bytes: the process ended before it wrote anything", map[bool]string{true: a.Name, false: b.Name}[a.Size == 0])
	}
	if a.Size > maxSamples {
		return nil, nil, providers.Refuse(NotProfile, "the samples have %d bytes, and five of pyperf's have some thousand", a.Size)
	}
	data, err := load(a)
	if err != nil {
		return nil, nil, err
	}
	s, err := parseSamples(data)
	if err != nil {
		return nil, nil, err
	}
	f, err := b.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	t, err := parseTrace(f, budget.Rows)
	return s, t, err
}

// maxSamples is far above what pyperf writes of five samples.
const maxSamples = 16 << 20

func load(a providers.Artifact) ([]byte, error) {
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSamples))
}

// limitations are what the evidence does not say.
func limitations(s *samples, t *trace) (list []evidence.Limitation) {
	say := func(when bool, code, format string, args ...any) {
		if when {
			list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
		}
	}
	missing := 0
	for _, r := range s.runs {
		if r.rss == nil {
			missing++
		}
	}
	say(s.version == "", NoProducer, "the samples do not say which pyperf wrote them; they are read as those of pyperf %d", readerMajor)
	say(missing > 0, NoMemory, "%d of %d samples have no command_max_rss, so their peak memory is not known", missing, processes)
	say(t.broken > 0, BrokenLines, "%d lines of the trace cannot be read; what they say is missing from the sums", t.broken)
	say(t.other > 0, OtherLines, "%d lines between the imports are the program's own", t.other)
	say(len(t.imports) == 0, NoImports, "the trace has no import")
	return list
}

// measurements are the five samples.
func (s *samples) measurements() (list []evidence.Measurement) {
	phase, lower, loops := "startup", "lower", uint64(1)
	for i := range s.runs {
		semantics := "warm_process_restart"
		if i == 0 {
			semantics = "uncontrolled_initial"
		}
		worker, ordinal := benchmark+":"+strconv.Itoa(i), int64(i)
		row := evidence.Measurement{
			Name: "python_startup.wall_time", ValueInt: &s.runs[i].ns, Unit: "ns", Aggregation: evidence.Sample, Scope: "workload",
			Worker: &worker, WorkerRun: &ordinal, Loops: &loops, Phase: &phase, BetterIs: &lower,
			Dimensions: map[string]string{"cache_semantics": semantics, "profile_id": profile, "pyperf_unit": "second"},
		}
		list = append(list, row)
		if s.runs[i].rss != nil {
			row.Name, row.ValueInt, row.Unit = "python_startup.peak_rss", s.runs[i].rss, "bytes"
			row.Dimensions = map[string]string{"cache_semantics": semantics, "profile_id": profile, "rss_backend": "pyperf.command_max_rss"}
			list = append(list, row)
		}
	}
	return list
}

// measurements are the sums by package.
func (t *trace) measurements() (list []evidence.Measurement) {
	phase, lower := "import", "lower"
	for _, p := range t.packages() {
		dimensions := map[string]string{"package": p.name}
		put := func(name, unit, aggregation string, value int64) {
			list = append(list, evidence.Measurement{
				Name: "python_startup.import." + name, ValueInt: &value, Unit: unit, Aggregation: aggregation, Scope: "workload",
				Phase: &phase, BetterIs: &lower, Dimensions: dimensions,
			})
		}
		put("module_count", "count", "sum", p.modules)
		put("self_time", "us", "sum", p.self)
		put("max_cumulative_time", "us", "max", p.longest)
	}
	return list
}

func (t *trace) write(sink *evidence.Sink) error {
	for i := range t.imports {
		x := &t.imports[i]
		row := evidence.PythonImport{
			Ordinal: int64(i), Module: x.module, Package: outermost(x.module), Depth: x.depth, SelfUS: x.self, CumulativeUS: x.cumulative,
		}
		if x.parent >= 0 {
			parent := int64(x.parent)
			row.Parent, row.ParentModule = &parent, &t.imports[x.parent].module
		}
		if err := sink.PythonImports.Put(&row); err != nil {
			return err
		}
	}
	return nil
}
