package interchange

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/perf/benchfmt"

	"github.com/flameox/flameox/evidence"
)

// Run is the samples of one run.
type Run struct {
	About    string   // the run in one line
	Provider string   // whose name stands before the names of metrics
	Files    []string // its parts of the table measurements
}

// result is the values of one repetition.
type result struct {
	run        int
	name       string
	dimensions map[string]string
	loops      uint64
	values     []benchfmt.Value
}

// configured are the dimensions that stand as configuration lines, as `go test` prints them. benchstat makes a table for each combination, so what
// differs between two runs of the same thing must not be among them.
var configured = []string{"goos", "goarch", "pkg", "cpu"}

// WriteBenchfmt writes samples in the format of Go benchmarks, one line for each repetition. Warm-ups, and what the producer had summed up itself, are
// no samples of benchstat's and are left out.
func WriteBenchfmt(w io.Writer, runs []Run) (samples int, losses []Loss, err error) {
	var list []*result
	better := map[string]string{}
	warmups, sums, rounded := 0, 0, 0
	for i, r := range runs {
		at := map[string]*result{}
		for _, path := range r.Files {
			columns := []string{"name", "unit", "value_int", "value_float", "aggregation", "warmup", "loops", "worker", "worker_run", "value_index", "dimensions", "better"}
			err := evidence.Scan(path, evidence.ScanOptions{Columns: columns}, func(_ []evidence.Column, row []any) error {
				switch {
				case row[4] != evidence.Sample:
					sums++
					return nil
				case row[5] == true:
					warmups++
					return nil
				}
				dimensions, _ := row[10].(map[string]string)
				name := strings.TrimPrefix(row[0].(string), r.Provider+".")
				own := map[string]string{}
				for k, v := range dimensions {
					if !strings.HasPrefix(k, "unit:") { // of the unit, not of the sample
						own[k] = v
					}
				}
				key := fmt.Sprintf("%q %v %v %v %q", name, row[7], row[8], row[9], flat(own))
				res := at[key]
				unit, factor := benchUnit(row[1].(string))
				if res == nil || slices.ContainsFunc(res.values, func(v benchfmt.Value) bool { return v.Unit == unit }) {
					res = &result{run: i, name: name, dimensions: own, loops: 1}
					at[key] = res
					list = append(list, res)
				}
				if n, ok := row[6].(uint64); ok && n > 0 {
					res.loops = n
				}
				value, ok := row[3].(float64)
				if n, whole := row[2].(int64); whole {
					if value, ok = float64(n), true; n > exact || n < -exact {
						rounded++
					}
				}
				if !ok {
					return nil
				}
				samples++
				res.values = append(res.values, benchfmt.Value{Value: value * factor, Unit: unit})
				if b, _ := row[11].(string); b != "" {
					better[unit] = b
				}
				return nil
			})
			if err != nil {
				return 0, nil, err
			}
		}
	}
	names := benchNames(list)
	out := benchfmt.NewWriter(w)
	for _, unit := range slices.Sorted(maps.Keys(better)) {
		if err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: better[unit]}); err != nil {
			return 0, nil, fmt.Errorf("write samples: %w", err)
		}
	}
	last := -1
	for i, res := range list {
		if len(res.values) == 0 {
			continue
		}
		if res.run != last {
			last = res.run
			// No line of the format begins like this, so readers pass over it.
			if _, err := fmt.Fprintf(w, "# %s\n", one(runs[last].About)); err != nil {
				return 0, nil, fmt.Errorf("write samples: %w", err)
			}
		}
		line := &benchfmt.Result{Name: benchfmt.Name(names[i]), Iters: int(min(res.loops, 1<<62)), Values: res.values}
		for _, key := range configured {
			if v := res.dimensions[key]; v != "" {
				line.Config = append(line.Config, benchfmt.Config{Key: key, Value: []byte(one(v)), File: true})
			}
		}
		if err := out.Write(line); err != nil {
			return 0, nil, fmt.Errorf("write samples: %w", err)
		}
	}
	say := func(n int, text string) {
		if n > 0 {
			losses = append(losses, Loss{fmt.Sprintf(text, n)})
		}
	}
	say(warmups, "%d warm-up values are left out")
	say(sums, "%d values that the producer had made of samples are left out: the format holds samples")
	say(rounded, "%d values are above 2^53 and were rounded: the format's readers use floating point")
	return samples, losses, nil
}

func flat(m map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return out
}

// benchUnit is the unit as benchstat knows it, and what a value is multiplied by. A sample of a time is the time of one operation.
func benchUnit(unit string) (name string, factor float64) {
	switch unit {
	case "ns", "nanosecond", "nanoseconds":
		return "ns/op", 1
	case "us", "µs", "microsecond", "microseconds":
		return "ns/op", 1e3
	case "ms", "millisecond", "milliseconds":
		return "ns/op", 1e6
	case "s", "sec", "second", "seconds":
		return "sec/op", 1
	case "byte", "bytes":
		return "B", 1
	case "":
		return "count", 1
	}
	return word(unit), 1
}

// word is text without spaces, which end a field of the format.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, s)
}

// benchNames are the names of the results, without "Benchmark". Dimensions in which samples of one name differ stand behind it, as the format has it:
// otherwise benchstat would take samples of different things for one.
func benchNames(list []*result) []string {
	seen := map[string]map[string]map[string]bool{} // name → dimension → values
	for _, r := range list {
		if seen[r.name] == nil {
			seen[r.name] = map[string]map[string]bool{}
		}
		for k, v := range r.dimensions {
			if seen[r.name][k] == nil {
				seen[r.name][k] = map[string]bool{}
			}
			seen[r.name][k][v] = true
		}
	}
	out := make([]string, len(list))
	for i, r := range list {
		name := strings.TrimPrefix(r.name, "Benchmark")
		for _, k := range slices.Sorted(maps.Keys(r.dimensions)) {
			part := word(k) + "=" + strings.ReplaceAll(word(r.dimensions[k]), "/", "_")
			if len(seen[r.name][k]) > 1 && k != "gomaxprocs" && !slices.Contains(configured, k) && !slices.Contains(strings.Split(name, "/"), part) {
				name += "/" + part
			}
		}
		// What follows "Benchmark" must not begin with a small letter, or it is another word.
		if first, n := utf8.DecodeRuneInString(name); unicode.IsLower(first) {
			name = string(unicode.ToUpper(first)) + name[n:]
		}
		name = word(name)
		if p := r.dimensions["gomaxprocs"]; p != "" && p != "1" {
			name += "-" + p
		}
		out[i] = name
	}
	return out
}
