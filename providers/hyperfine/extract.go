package hyperfine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of this provider's limitations and reasons.
const (
	EmptyFile      = "payload_empty"
	Truncated      = "payload_truncated"
	NotJSON        = "payload_not_json"
	NotHyperfine   = "not_hyperfine_results"
	Contradiction  = "payload_contradictory"
	NoValues       = "no_values"
	NoTimes        = "times_missing"
	FailedRuns     = "failing_runs"
	ZeroTimes      = "times_of_zero"
	SameCommand    = "results_share_a_command"
	UnknownMembers = "members_not_known"
	UnexpectedExit = "unexpected_exit"
	RowBudget      = "row_budget"
)

// Validate accepts results in which every run that has a status has one that the workload expects. Of an import nothing is expected, and runs that failed are
// a limitation.
func (Provider) Validate(ctx context.Context, in providers.Input) (r providers.Receipt, err error) {
	d, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	case d.samples() == 0:
		r.Reasons = append(r.Reasons, nothing)
	default:
		r.Limitations = d.limitations()
		if len(in.ExpectExit) > 0 {
			if why := d.unexpected(in.ExpectExit); why != "" {
				r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: why})
			}
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
	out := evidence.Outcome{State: evidence.Complete, Limitations: d.limitations(), Results: map[string]any{"commands": int64(len(d.results)), "samples": d.samples()}}
	if d.samples() == 0 {
		out.State, out.Limitations = evidence.Empty, append(out.Limitations, nothing)
		return out, nil
	}
	if n := d.rows(); budget.Rows > 0 && n > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the payload has %d values, and the extraction's budget is %d rows; samples have no weight by which some could be left out, so nothing is extracted: measure fewer commands in one export", n, budget.Rows)}}}, nil
	}
	if f, _ := d.failed(); f > 0 || slices.ContainsFunc(d.results, func(r result) bool { return len(r.times) == 0 }) {
		out.State = evidence.Partial
	}
	for i := range d.results {
		if err := d.put(i, sink.Measurements.Put); err != nil {
			return out, err
		}
	}
	return out, nil
}

var nothing = evidence.Limitation{Code: NoValues, Text: "the results hold the time of no run, only what was computed of them; export them with a hyperfine that writes times"}

// document is an export.
type document struct {
	results []result
	unknown int
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
		return nil, providers.Refuse(EmptyFile, "the payload has no bytes: hyperfine ended before it wrote its results")
	}
	d := &document{}
	d.results, d.unknown, err = parse(data)
	return d, err
}

func (d *document) samples() (n int64) {
	for i := range d.results {
		n += int64(len(d.results[i].times))
	}
	return n
}

func (d *document) rows() (n int64) {
	for i := range d.results {
		r := &d.results[i]
		n += int64(len(r.times) + len(r.memory) + len(r.summary))
	}
	return n
}

// failed counts runs that ended with another status than 0, or by a signal.
func (d *document) failed() (n int, first string) {
	for i := range d.results {
		for _, e := range d.results[i].exits {
			if e != nil && *e == 0 {
				continue
			}
			if n++; n == 1 {
				first = fmt.Sprintf("%q %s", d.results[i].command, ended(e))
			}
		}
	}
	return n, first
}

func ended(e *int64) string {
	if e == nil {
		return "was ended by a signal"
	}
	return "ended with status " + strconv.FormatInt(*e, 10)
}

// unexpected says which run ended as the workload does not expect.
func (d *document) unexpected(expect []int) string {
	for i := range d.results {
		for run, e := range d.results[i].exits {
			if e == nil || !slices.Contains(expect, int(*e)) {
				return fmt.Sprintf("run %d of %q %s; expect_exit = %v", run, d.results[i].command, ended(e), expect)
			}
		}
	}
	return ""
}

// limitations are what the evidence does not say, or with a restriction.
func (d *document) limitations() (list []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if n, first := d.failed(); n > 0 {
		say(FailedRuns, "%d runs failed (the first: %s); their times are kept with the dimension exit, and are in what hyperfine computed too", n, first)
	}
	zeros, timeless := 0, 0
	for i := range d.results {
		if len(d.results[i].times) == 0 {
			timeless++
		}
		for _, t := range d.results[i].times {
			if t == 0 {
				zeros++
			}
		}
	}
	if zeros > 0 {
		say(ZeroTimes, "%d runs took 0 s: hyperfine takes the time of a shell off, and makes 0 of what would be negative; run the command without a shell", zeros)
	}
	if timeless > 0 && d.samples() > 0 {
		say(NoTimes, "%d results hold no time of a run, only what was computed of them", timeless)
	}
	if n := len(d.shared()); n > 0 {
		say(SameCommand, "%d commands have several results; the dimension result tells their samples apart", n)
	}
	if d.unknown > 0 {
		say(UnknownMembers, "%d members are not known, and are left out", d.unknown)
	}
	return list
}

// shared are the commands that several results have.
func (d *document) shared() map[string]bool {
	count, shared := map[string]int{}, map[string]bool{}
	for i := range d.results {
		c := d.results[i].command
		if count[c]++; count[c] > 1 {
			shared[c] = true
		}
	}
	return shared
}

// put makes the rows of one result.
func (d *document) put(i int, put func(*evidence.Measurement) error) error {
	r := &d.results[i]
	worker := r.command
	dims := map[string]string{"command": r.command}
	for k, v := range r.parameters {
		dims["parameter."+k] = v
	}
	if d.shared()[r.command] {
		dims["result"] = strconv.Itoa(i)
		worker += "#" + dims["result"]
	}
	byExit := map[string]map[string]string{}
	of := func(run int) map[string]string {
		if run >= len(r.exits) {
			return dims
		}
		exit := "signal"
		if r.exits[run] != nil {
			exit = strconv.FormatInt(*r.exits[run], 10)
		}
		if byExit[exit] == nil {
			m := map[string]string{"exit": exit}
			for k, v := range dims {
				m[k] = v
			}
			byExit[exit] = m
		}
		return byExit[exit]
	}
	row := evidence.Measurement{Name: "hyperfine.wall_time." + r.command, Unit: "ns", Aggregation: evidence.Sample, Scope: "workload", Worker: &worker}
	for run, t := range r.times {
		row.ValueIndex, row.Dimensions = int64(run), of(run)
		row.ValueInt, row.ValueFloat = nanoseconds(t)
		if err := put(&row); err != nil {
			return err
		}
	}
	row.Name, row.Unit, row.ValueFloat = "hyperfine.peak_memory."+r.command, "bytes", nil
	for run, m := range r.memory {
		row.ValueIndex, row.Dimensions, row.ValueInt = int64(run), of(run), &m
		if err := put(&row); err != nil {
			return err
		}
	}
	row = evidence.Measurement{Unit: "ns", Scope: "workload", Dimensions: dims}
	for _, s := range r.summary {
		row.Name, row.Aggregation = "hyperfine."+s.quantity+"."+r.command, s.aggregation
		row.ValueInt, row.ValueFloat = nanoseconds(s.seconds)
		if err := put(&row); err != nil {
			return err
		}
	}
	return nil
}

// nanoseconds are whole, but below a microsecond, where a whole one is more than a thousandth of the value. None at all is whole.
func nanoseconds(seconds float64) (*int64, *float64) {
	ns := seconds * 1e9
	if seconds != 0 && seconds < 1e-6 || ns > 1<<53 {
		return nil, &ns
	}
	n := int64(math.Round(ns))
	return &n, nil
}
