package pyperf

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
)

// The codes of this provider's limitations and reasons.
const (
	EmptyFile       = "payload_empty"
	Truncated       = "payload_truncated"
	Corrupt         = "payload_corrupt"
	NotJSON         = "payload_not_json"
	NotPyperf       = "not_pyperf_results"
	FormatVersion   = "format_version_unknown"
	ProducerVersion = "producer_version_unknown"
	NoProducer      = "producer_version_missing"
	Producers       = "producer_versions_differ"
	Contradiction   = "payload_contradictory"
	NoValues        = "no_values"
	NoLoops         = "loops_missing"
	UnexpectedExit  = "unexpected_exit"
	InputBudget     = providers.InputBudget
	RowBudget       = "row_budget"
	MemoryBudget    = providers.MemoryBudget
)

// Validate accepts results in which something was measured.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	s, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	case s.values == 0:
		r.Reasons = append(r.Reasons, nothing)
	default:
		r.Limitations = s.limitations()
	}
	if s != nil {
		r.Producer = strings.Join(s.producers, ", ")
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills measurements. The table has no weight, so a payload with more values and warm-ups than the budget has rows is
// refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	s, err := read(ctx, in, budget)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Producer: strings.Join(s.producers, ", "), Results: map[string]any{
		"benchmarks": int64(len(s.benchmarks)), "samples": s.values, "warmups": s.warmups,
	}}
	if s.values == 0 {
		out.State, out.Limitations = evidence.Empty, append(s.limitations(), nothing)
		return out, nil
	}
	out.Limitations = s.limitations()
	if n := s.values + s.warmups; budget.Rows > 0 && n > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the payload has %d values and warm-ups, and the extraction's budget is %d rows; samples have no weight by which some could be left out, so nothing is extracted: measure fewer benchmarks in one capture", n, budget.Rows)}}}, nil
	}
	for i := range s.benchmarks {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if err := s.benchmarks[i].rows(sink.Measurements.Put); err != nil {
			return out, err
		}
	}
	return out, nil
}

var nothing = evidence.Limitation{Code: NoValues, Text: "the results hold no value, only calibration: the run ended before it measured anything"}

// perByte is about the memory that reading takes, by byte of text: the text, a value for every two, and a place of 32 bytes, held twice while lists grow, for
// every three that may be a benchmark or a run.
const perByte = 24

// read decodes the payload. An error is a *providers.Refusal where the payload is at fault.
func read(ctx context.Context, in providers.Input, budget evidence.Budget) (*suite, error) {
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
		return nil, providers.Refuse(InputBudget, "the payload has %d bytes and the extraction's budget is %d; raise it", a.Size, budget.InputBytes)
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := evidence.ReadPayload(f, a.Size, limit+1)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Name, err)
	}
	if isGzip(data) && int64(len(data)) <= limit {
		if data, err = inflate(data, limit); err != nil {
			return nil, err
		}
	}
	switch {
	case int64(len(data)) > limit:
		return nil, providers.Refuse(MemoryBudget, "the results are larger than the %d bytes that can be read in the memory that the extraction may take; raise its memory budget", limit)
	case len(data) == 0:
		return nil, providers.Refuse(EmptyFile, "the payload has no bytes: the process ended before it wrote its results")
	}
	return parse(data)
}

// inflate decompresses within the limit, whatever size the data pretends to have.
func inflate(data []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(z, limit+1))
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, providers.Refuse(Truncated, "the payload's gzip data breaks off: the process ended while it was being written, or the file was cut")
	case err != nil:
		return nil, providers.Refuse(Corrupt, "the payload's gzip data is damaged: %v", err)
	}
	return data, nil
}

// limitations are what the evidence does not say.
func (s *suite) limitations() (list []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	switch len(s.producers) {
	case 0:
		say(NoProducer, "the results do not say which pyperf wrote them; they are read as those of pyperf %d", readerMajor)
	case 1:
	default:
		say(Producers, "the results are of several versions of pyperf: %s", strings.Join(s.producers, ", "))
	}
	noLoops := 0
	for i := range s.benchmarks {
		b := &s.benchmarks[i]
		values := 0
		for j := range b.runs {
			values += len(b.runs[j].values)
			if b.runs[j].loops == nil && !b.runs[j].calibration() {
				noLoops++
			}
		}
		if values == 0 && s.values > 0 {
			say(NoValues, "benchmark %q was calibrated and has no value", b.name)
		}
	}
	if noLoops > 0 {
		say(NoLoops, "%d runs do not say how many iterations their values are the mean of", noLoops)
	}
	return list
}

// rows puts every warm-up and value of a benchmark, in the order of the file.
func (b *benchmark) rows(put func(*evidence.Measurement) error) error {
	unit, convert := unitOf(b.unit)
	warm, steady := "warmup", "steady_state"
	dims := map[string]map[string]string{}
	for i := range b.runs {
		r := &b.runs[i]
		worker, run := b.name+":"+strconv.Itoa(i), int64(i)
		row := evidence.Measurement{
			Name: "pyperf." + b.name, Unit: unit, Aggregation: evidence.Sample, Scope: "workload",
			Worker: &worker, WorkerRun: &run, Warmup: true, Phase: &warm, Dimensions: b.dimensions(r, dims),
		}
		for j, w := range r.warmups {
			loops := uint64(w.loops)
			row.ValueIndex, row.Loops = int64(j), &loops
			row.ValueInt, row.ValueFloat = convert(w.value)
			if err := put(&row); err != nil {
				return err
			}
		}
		row.Warmup, row.Phase, row.Loops = false, &steady, nil
		if r.loops != nil {
			loops := uint64(*r.loops)
			row.Loops = &loops
		}
		for j, v := range r.values {
			row.ValueIndex = int64(j)
			row.ValueInt, row.ValueFloat = convert(v)
			if err := put(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

// dimensions are the coordinates of a run's samples; runs that share them share the map.
func (b *benchmark) dimensions(r *run, known map[string]map[string]string) map[string]string {
	inner := ""
	if r.inner != nil && *r.inner != 1 {
		inner = strconv.FormatInt(*r.inner, 10)
	}
	key := inner + "," + strconv.FormatBool(r.calibration())
	if d, ok := known[key]; ok {
		return d
	}
	d := map[string]string{"benchmark": b.name, "pyperf_unit": b.unit}
	if inner != "" {
		d["inner_loops"] = inner
	}
	if r.calibration() {
		d["run_kind"] = "calibration"
	}
	known[key] = d
	return d
}

// unitOf is the unit in tables and how a value becomes one of it.
func unitOf(unit string) (string, func(float64) (*int64, *float64)) {
	switch unit {
	case "second":
		return "ns", nanoseconds
	case "byte":
		return "bytes", whole
	case "integer":
		return "count", whole
	}
	return unit, func(v float64) (*int64, *float64) { return nil, &v }
}

// nanoseconds are whole, but below a microsecond, where a whole one is more than a thousandth of the value.
func nanoseconds(seconds float64) (*int64, *float64) {
	ns := seconds * 1e9
	if seconds < 1e-6 || ns > 1<<53 {
		return nil, &ns
	}
	n := int64(math.Round(ns))
	return &n, nil
}

// whole is a number that has no fraction, up to what a float counts exactly.
func whole(v float64) (*int64, *float64) {
	if v == math.Trunc(v) && v <= 1<<53 {
		n := int64(v)
		return &n, nil
	}
	return nil, &v
}
