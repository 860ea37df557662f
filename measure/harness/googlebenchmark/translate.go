package googlebenchmark

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/harness"
)

// exponents are those of a unit of time, in seconds, as the library writes it.
var exponents = map[string]string{"ns": "e-9", "us": "e-6", "ms": "e-3", "s": "e0"}

// row is one entry of benchmarks.
type row map[string]any

func (r row) text(name string) string { s, _ := r[name].(string); return s }
func (r row) yes(name string) bool    { b, _ := r[name].(bool); return b }
func (r row) number(name string) (float64, bool) {
	f, ok := r[name].(float64)
	return f, ok && !math.IsInf(f, 0)
}

// members are the row's members that the library writes itself; all others are counters of the benchmark.
var members = map[string]bool{
	"name": true, "family_index": true, "per_family_instance_index": true, "run_name": true, "run_type": true, "repetitions": true, "repetition_index": true, "threads": true,
	"iterations": true, "real_time": true, "cpu_time": true, "time_unit": true, "label": true, "error_occurred": true, "error_message": true, "skipped": true, "skip_message": true,
	"aggregate_name": true, "aggregate_unit": true, "big_o": true, "rms": true, "cpu_coefficient": true, "real_coefficient": true,
}

var fields = map[string]string{"wall-time": "real_time", "cpu-time": "cpu_time"}

func (a adapter) Translate(raw harness.Raw) harness.Translation {
	t := harness.Translation{Procedure: map[string]any{}, System: map[string]any{}, Info: map[string]any{}}
	attempted := raw.Precision.N("repetition")
	t.Procedure["attempted_repetitions"] = float64(attempted)
	// A crash, or an end by force, leaves a document that breaks off: there is nothing in it.
	v, err := harness.JSON(raw.Native)
	document, ok := v.(map[string]any)
	if err != nil || !ok {
		if raw.Native != nil && raw.Exit.How() == "" {
			t.Measured = raw.All(harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: fmt.Sprintf("what the program wrote is no results of Google Benchmark: %v", err)})
			return t
		}
		t.Measured = raw.All(raw.Failed(complaint(raw)))
		t.Procedure["completed_repetitions"] = 0.0
		return t
	}
	a.context(&t, document["context"])
	measured, aggregates := rows(document["benchmarks"], raw.Case.Name)
	var good, skipped, failed []row
	for _, r := range measured {
		switch {
		case r.yes("error_occurred"):
			failed = append(failed, r)
		case r.yes("skipped"):
			skipped = append(skipped, r)
		default:
			good = append(good, r)
		}
	}
	t.Procedure["completed_repetitions"] = float64(len(good))
	t.Procedure["repetition_levels"] = []any{map[string]any{"unit": "repetition", "attempted": float64(attempted), "completed": float64(len(good))}}
	switch {
	case len(measured) == 0 || raw.Exit.TimedOut && len(good) < attempted:
		t.Measured = raw.All(raw.Failed(complaint(raw)))
		return t
	case len(good) == 0 && len(failed) > 0:
		t.Measured = raw.All(harness.Measured{Status: harness.Failed, Reason: harness.ReasonError, Message: failed[0].text("error_message")})
		return t
	case len(good) == 0:
		t.Measured = raw.All(harness.Measured{Status: harness.Skipped, Reason: harness.ReasonSkipped, Message: skipped[0].text("skip_message")})
		return t
	}
	iterations(&t, good)
	counters(&t, good)
	t.Measured = map[string]harness.Measured{}
	for _, q := range raw.Quantities {
		t.Measured[q] = quantity(good, aggregates, fields[q], attempted)
	}
	return t
}

// complaint is the last thing that the program said, without what the library says of the machine before every run. A program that was ended by a signal often says nothing.
func complaint(raw harness.Raw) string {
	last := ""
	for line := range strings.Lines(string(raw.Stderr)) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case line == "", strings.HasPrefix(line, "***WARNING***"), strings.HasPrefix(line, "Running "), strings.HasPrefix(line, "Run on ("), strings.HasPrefix(line, "CPU Caches:"),
			strings.HasPrefix(line, "Load Average:"), strings.HasPrefix(line, "  L"), stamp.MatchString(line):
		default:
			last = line
		}
	}
	if how := raw.Exit.How(); how != "" && last != "" {
		return how + ": " + harness.LastLine([]byte(last))
	}
	return harness.LastLine([]byte(last))
}

// stamp is the line in which the library says when it began.
var stamp = pattern.Lazy{Expr: `^\d{4}-\d\d-\d\dT\S+$`}

// rows are those that measured the case, and its aggregates.
func rows(v any, name string) (measured, aggregates []row) {
	list, _ := v.([]any)
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		r := row(m)
		of := r.text("run_name")
		if of == "" {
			of = r.text("name")
		}
		switch kind := r.text("run_type"); {
		case of != name:
		case kind == "" || kind == "iteration":
			measured = append(measured, r)
		case kind == "aggregate":
			aggregates = append(aggregates, r)
		}
	}
	return measured, aggregates
}

// context takes what the library says of itself and of the machine. The machine's facts are the runner's to say; the library's reading of them is only kept.
func (adapter) context(t *harness.Translation, v any) {
	m, _ := v.(map[string]any)
	info := map[string]any{}
	for _, name := range []string{"host_name", "num_cpus", "mhz_per_cpu", "executable", "library_build_type", "library_version", "date"} {
		if m[name] != nil {
			info[name] = m[name]
		}
	}
	if len(info) > 0 {
		t.Info["google_benchmark"] = info
	}
	if version, _ := m["library_version"].(string); version != "" {
		t.HarnessVersion = strings.TrimPrefix(version, "v")
	}
	if scaling, ok := m["cpu_scaling_enabled"].(bool); ok {
		t.System["cpu_scaling_enabled"] = scaling
	}
	if m["library_build_type"] == "debug" {
		t.Warnings = append(t.Warnings, "debug-harness")
	}
}

// iterations says how often a sample ran the code.
func iterations(t *harness.Translation, good []row) {
	var all []any
	same := true
	for _, r := range good {
		n, _ := r.number("iterations")
		all = append(all, n)
		same = same && n == all[0]
	}
	if n, _ := all[0].(float64); same && n >= 1 {
		t.Procedure["inner_iterations"] = n
		return
	}
	t.Info["iterations"] = all
}

// counters that are the same in every row are facts of what ran. One that moves, or follows how often the code ran, such as a rate, would make every attempt a series of its own: it is only kept.
func counters(t *harness.Translation, good []row) {
	moving := map[string]any{}
	for name := range good[0] {
		if members[name] {
			continue
		}
		var values []any
		constant := name != "bytes_per_second" && name != "items_per_second"
		for _, r := range good {
			f, ok := r.number(name)
			if !ok {
				constant = false
				values = append(values, nil)
				continue
			}
			n, _ := r.number("iterations")
			whole := f == math.Trunc(f)
			constant = constant && (len(good) > 1 || whole) && f != n && (len(values) == 0 || values[0] == f)
			values = append(values, f)
		}
		if constant {
			t.System[name] = values[0]
		} else {
			moving[name] = values
		}
	}
	if len(moving) > 0 {
		t.Info["counters"] = moving
	}
}

func quantity(good, aggregates []row, field string, attempted int) harness.Measured {
	m := harness.Measured{Status: harness.Success}
	for _, r := range good {
		unit := r.text("time_unit")
		if unit == "" {
			unit = "ns"
		}
		value, ok := r.number(field)
		if exponents[unit] == "" {
			return harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: fmt.Sprintf("the unit %q is none of ns, us, ms, s", unit)}
		}
		if m.OriginalUnit == "" {
			m.OriginalUnit = unit
		}
		if ok {
			m.Observations = append(m.Observations, scaled(value, unit))
		}
	}
	switch {
	case len(m.Observations) == 0:
		return harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: "no row has a finite " + field}
	case len(m.Observations) < attempted:
		m.Status, m.Reason = harness.Partial, harness.ReasonPartial
	}
	seen := map[string]bool{}
	for _, r := range aggregates {
		name := r.text("aggregate_name")
		value, ok := r.number(field)
		// The coefficient of variation has a unit of time beside it that it is not in.
		if !ok || name == "" || seen[name] || r.text("aggregate_unit") == "percentage" || name == "cv" || name == "BigO" || name == "RMS" {
			continue
		}
		unit := r.text("time_unit")
		if unit == "" {
			unit = "ns"
		}
		if exponents[unit] == "" {
			continue
		}
		seen[name] = true
		switch name {
		case "mean", "median":
			m.Summaries = append(m.Summaries, map[string]any{
				"kind": "estimate", "source": "producer", "value": scaled(value, unit),
				"estimator": map[string]any{"name": name, "method_version": "google-benchmark/" + name, "input_level": "observations"},
			})
		default:
			m.Summaries = append(m.Summaries, map[string]any{"kind": "statistic", "source": "producer", "name": document.Token(name), "value": scaled(value, unit)})
		}
	}
	return m
}

// scaled is a time in seconds: the decimal that the library printed with its point moved, and neither multiplied nor divided, which would round once more.
func scaled(value float64, unit string) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', -1, 64)+exponents[unit], 64)
	if err != nil { // out of range, which a time in a smaller unit cannot be
		return value
	}
	return f
}
