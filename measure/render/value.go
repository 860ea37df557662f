package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flameox/flameox/measure/document"
)

// Value is a number in its unit as a person compares it: "131 ns", "4.02 MiB", "17.3 1/s".
func Value(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	switch unit {
	case "s":
		return scale(v, []step{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}})
	case "By":
		return scale(v, []step{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}})
	case "By/s":
		return scale(v, []step{{1, "B/s"}, {1 << 10, "KiB/s"}, {1 << 20, "MiB/s"}, {1 << 30, "GiB/s"}})
	case "1", "":
		return digits(v)
	}
	return digits(v) + " " + unit
}

type step struct {
	size float64
	name string
}

// scale takes the largest unit that leaves a number of at least one.
func scale(v float64, steps []step) string {
	at := steps[0]
	for _, s := range steps {
		// What would be printed as 1000 of a unit is 1 of the next.
		if math.Abs(v) >= s.size*0.99995 {
			at = s
		}
	}
	return digits(v/at.size) + " " + at.name
}

// digits are four significant ones, and never an exponent that a table would be hard to read with.
func digits(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 1e6 || a < 1e-3:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case a >= 999.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'f', 3-int(math.Floor(math.Log10(a))), 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Percent is a relative change: "+2.40 %", "-0.013 %".
func Percent(v float64) string {
	p := 100 * v
	a := math.Abs(p)
	switch {
	case a == 0:
		return "0 %"
	case a >= 99.95:
		return fmt.Sprintf("%+.0f %%", p)
	case a >= 9.995:
		return fmt.Sprintf("%+.1f %%", p)
	case a >= 0.1:
		return fmt.Sprintf("%+.2f %%", p)
	case a < 1e-4:
		return fmt.Sprintf("%+.1e %%", p)
	}
	return fmt.Sprintf("%+.2g %%", p)
}

// size is Percent without a sign, for what has none.
func size(v float64) string { return strings.TrimPrefix(Percent(math.Abs(v)), "+") }

func text(v any, path ...string) string {
	s, _ := document.At(v, path...).(string)
	return s
}

// Named is a workload with its parameters: "BM_Take [size=1000]".
func Named(name string, parameters map[string]any) string {
	if len(parameters) == 0 {
		return name
	}
	parts := make([]string, 0, len(parameters))
	for _, k := range document.Keys(parameters) {
		parts = append(parts, fmt.Sprintf("%s=%v", k, parameters[k]))
	}
	return name + " [" + strings.Join(parts, ", ") + "]"
}

// Workload is the named workload of a result.
func Workload(doc map[string]any) string {
	p, _ := document.At(doc, "coordinates", "workload", "parameters").(map[string]any)
	return Named(text(doc, "coordinates", "workload", "name"), p)
}

// Warnings are a result's quality warnings: " [dirty-subject-tree]", "" where there are none.
func Warnings(doc map[string]any) string {
	list, _ := document.At(doc, "quality", "warnings").([]any)
	if len(list) == 0 {
		return ""
	}
	parts := make([]string, len(list))
	for i, w := range list {
		parts[i] = fmt.Sprint(w)
	}
	return " [" + strings.Join(parts, ", ") + "]"
}

// Short is the beginning of an id, as much as people compare.
func Short(id string) string {
	if s, ok := strings.CutPrefix(id, "directory-"); ok {
		return "directory-" + cut(s, 7)
	}
	if len(id) >= 32 && strings.Trim(id, "0123456789abcdef") == "" {
		return cut(id, 10)
	}
	return id
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
