package googlebenchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of this provider's limitations and reasons.
const (
	EmptyFile      = "payload_empty"
	Truncated      = "payload_truncated"
	NotJSON        = "payload_not_json"
	NotBenchmark   = "not_google_benchmark_results"
	FormatVersion  = "format_version_unknown"
	Contradiction  = "payload_contradictory"
	NoProducer     = "producer_version_missing"
	NoValues       = "no_values"
	AllFailed      = "all_benchmarks_failed"
	Failed         = "benchmarks_failed"
	NonFinite      = "values_not_finite"
	AggregatesOnly = "aggregates_only"
	UnclearKind    = "aggregates_not_marked"
	SameName       = "benchmarks_share_a_name"
	DebugBuild     = "library_debug_build"
	Scaling        = "cpu_frequency_scaling"
	OddMembers     = "members_not_known"
	UnexpectedExit = "unexpected_exit"
	RowBudget      = "row_budget"
)

// Validate accepts results in which something was measured.
func (Provider) Validate(ctx context.Context, in providers.Input) (r providers.Receipt, err error) {
	d, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	default:
		r.Producer = d.version
		var rows []evidence.Measurement
		rows, r.Limitations = d.rows()
		if len(rows) == 0 {
			r.Reasons = append(r.Reasons, d.nothing())
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

// Extract fills measurements. The table has no weight, so a payload with more rows than the budget is refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	d, err := read(ctx, in, budget)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	rows, limits := d.rows()
	out := evidence.Outcome{State: evidence.Complete, Producer: d.version, Limitations: limits, Results: map[string]any{"benchmarks": d.benchmarks(), "samples": int64(d.samples)}}
	switch {
	case len(rows) == 0:
		out.State, out.Limitations = evidence.Empty, append(limits, d.nothing())
		return out, nil
	case budget.Rows > 0 && int64(len(rows)) > budget.Rows:
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the payload has %d values, and the extraction's budget is %d rows; samples have no weight by which some could be left out, so nothing is extracted: measure fewer benchmarks in one capture", len(rows), budget.Rows)}}}, nil
	}
	for _, l := range limits {
		if l.Code == Failed || l.Code == UnclearKind {
			out.State = evidence.Partial
		}
	}
	for i := range rows {
		if err := sink.Measurements.Put(&rows[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// perByte is about the memory that reading takes, by byte of text.
const perByte = 24

func read(ctx context.Context, in providers.Input, budget evidence.Budget) (*document, error) {
	a, err := in.Find(Role)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	memory := budget.Memory
	if memory <= 0 {
		memory = evidence.DefaultBudget().Memory
	}
	limit := memory / perByte
	if budget.InputBytes > 0 && a.Size > budget.InputBytes {
		return nil, providers.Refuse(providers.InputBudget, "the payload has %d bytes and the extraction's budget is %d; raise it", a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := evidence.ReadPayload(f, a.Size, limit+1)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", a.Name, err)
	case int64(len(data)) > limit:
		return nil, providers.Refuse(providers.MemoryBudget, "the results are larger than the %d bytes that can be read in the memory that the extraction may take; raise its memory budget", limit)
	case len(data) == 0:
		return nil, providers.Refuse(EmptyFile, "the payload has no bytes: the program ended before it wrote its results, or no benchmark matched its filter")
	}
	return parse(data)
}

// benchmarks counts names.
func (d *document) benchmarks() int64 {
	seen := map[string]bool{}
	for i := range d.runs {
		seen[d.runs[i].benchmark()] = true
	}
	return int64(len(seen))
}

// nothing says why there is no value.
func (d *document) nothing() evidence.Limitation {
	for i := range d.runs {
		if d.runs[i].failed {
			return evidence.Limitation{Code: AllFailed, Text: fmt.Sprintf("every benchmark failed or was skipped; the first, %q, says %.200q", d.runs[i].benchmark(), d.runs[i].why)}
		}
	}
	return evidence.Limitation{Code: NoValues, Text: "the results hold no benchmark with a value"}
}

// unmarked finds runs of libraries before 1.5, which do not say what they are, of which the name leaves open whether they are aggregates: another run is called the same
// without the ending that aggregates have.
func (d *document) unmarked() (list []int) {
	known := map[string]bool{}
	for i := range d.runs {
		known[d.runs[i].name] = true
	}
	for i := range d.runs {
		r := &d.runs[i]
		at := strings.LastIndexByte(r.name, '_')
		if r.runType != "" || at < 0 {
			continue
		}
		if slices.Contains([]string{"mean", "median", "stddev", "cv", "BigO", "RMS"}, r.name[at+1:]) && known[r.name[:at]] {
			list = append(list, i)
		}
	}
	return list
}

// rows are those of the table, in the order of the document, and what they do not say.
func (d *document) rows() (rows []evidence.Measurement, limits []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		limits = append(limits, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	var failed []string
	unclear := d.unmarked()
	b := builder{families: d.families(), index: map[string]int64{}}
	for i := range d.runs {
		r := &d.runs[i]
		switch {
		case r.failed:
			failed = append(failed, fmt.Sprintf("%s: %s", r.benchmark(), r.why))
		case slices.Contains(unclear, i):
		default:
			b.run(r)
		}
	}
	if d.version == "" {
		say(NoProducer, "the results do not say which version of the library wrote them, as before 1.8")
	}
	if d.build == "debug" {
		say(DebugBuild, "the library was built without optimization, which is in every time")
	}
	if d.scaling {
		say(Scaling, "the CPUs change their frequency, so times of one benchmark differ by more than its work")
	}
	if len(failed) > 0 && len(b.rows) > 0 {
		say(Failed, "%d runs failed or were skipped and have no value; the first says %.200q", len(failed), failed[0])
	}
	if d.nonFinite > 0 {
		say(NonFinite, "%d numbers are NaN or infinite, and so no values", d.nonFinite)
	}
	if len(unclear) > 0 {
		say(UnclearKind, "%d rows end as aggregates do and are not marked, as before version 1.5 of the library; they are left out", len(unclear))
	}
	if d.samples == 0 && len(b.rows) > 0 {
		say(AggregatesOnly, "the results hold what the library made of its repetitions, and no repetition, so there is no sample")
	}
	if n := len(b.families); n > 0 {
		say(SameName, "%d names belong to several benchmarks; the dimension family tells their samples apart", n)
	}
	if d.odd > 0 {
		say(OddMembers, "%d members are neither known nor numbers, and are left out", d.odd)
	}
	return b.rows, limits
}

// families are the names that several registered benchmarks share.
func (d *document) families() map[string]bool {
	first, shared := map[string]int64{}, map[string]bool{}
	for i := range d.runs {
		r := &d.runs[i]
		if r.family == nil {
			continue
		}
		if f, ok := first[r.benchmark()]; ok && f != *r.family {
			shared[r.benchmark()] = true
		} else if !ok {
			first[r.benchmark()] = *r.family
		}
	}
	return shared
}

// builder makes rows of runs.
type builder struct {
	rows     []evidence.Measurement
	families map[string]bool
	index    map[string]int64 // of the next sample, by worker
}

func (b *builder) run(r *run) {
	name := r.benchmark()
	worker := name
	dims := map[string]string{"benchmark": name}
	if b.families[name] && r.family != nil {
		dims["family"] = strconv.FormatInt(*r.family, 10)
		worker += "#" + dims["family"]
	}
	if r.threads > 1 {
		dims["threads"] = strconv.FormatInt(r.threads, 10)
	}
	if r.label != "" {
		dims["label"] = r.label
	}
	aggregation := evidence.Sample
	row := evidence.Measurement{Scope: "workload"}
	if r.runType == "aggregate" {
		aggregation = r.aggregate
		if r.bigO != "" {
			dims["big_o"] = r.bigO
		}
	} else {
		row.Worker, row.ValueIndex = &worker, b.index[worker]
		if r.repetition != nil {
			row.ValueIndex = *r.repetition
		}
		b.index[worker]++
		if r.iterations != nil {
			n := uint64(*r.iterations)
			row.Loops = &n
		}
	}
	row.Aggregation = aggregation
	put := func(quantity string, v *float64, unit string) {
		if v == nil {
			return
		}
		one := row
		one.Name, one.Unit, one.ValueFloat, one.Dimensions = "googlebenchmark."+quantity+"."+name, unit, v, dims
		b.rows = append(b.rows, one)
	}
	ratio := r.aggregateUnit == "percentage" // a fraction of one, whatever the unit of what it is of
	time := func(quantity string, v *float64) {
		if v != nil && ratio {
			put(quantity, v, "ratio")
		} else if v != nil {
			ns := *v * factors[r.timeUnit]
			put(quantity, &ns, "ns")
		}
	}
	time("real_time", r.real)
	time("cpu_time", r.cpu)
	time("real_time_coefficient", r.realCoefficient)
	time("cpu_time_coefficient", r.cpuFactor)
	put("complexity", r.rms, "ratio")
	for i := range r.counters {
		c := &r.counters[i]
		unit := units[c.name]
		switch {
		case ratio:
			unit = "ratio"
		case unit == "":
			unit = "counter"
		}
		put(c.name, &c.value, unit)
	}
}

// units are those of the quantities that the library computes itself.
var units = map[string]string{
	"bytes_per_second": "bytes/s", "items_per_second": "items/s", "allocs_per_iter": "allocs/op",
	"max_bytes_used": "bytes", "total_allocated_bytes": "bytes", "net_heap_growth": "bytes",
}
