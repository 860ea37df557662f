package runner

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/harness"
)

func TestWhatAnOrderLeavesOutIsRecordedAsTheHarnessDefaults(t *testing.T) {
	want := map[string]string{
		"google-benchmark": `{"calibration":{"minimum_sample_seconds":0.5,"mode":"adaptive"},"repetitions":{"levels":[{"n":1,"unit":"repetition"}],"mode":"fixed"},"warmup":{"mode":"none"}}`,
		"pyperf":           `{"calibration":{"minimum_sample_seconds":0.1,"mode":"adaptive"},"repetitions":{"levels":[{"n":20,"unit":"process"},{"n":3,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"count","n_warmup":1}}`,
		"asv":              `{"calibration":{"minimum_sample_seconds":0.01,"mode":"adaptive"},"repetitions":{"levels":[{"n":2,"unit":"process"},{"n":5,"unit":"value"}],"mode":"fixed"},"warmup":{"mode":"time","seconds":0.1}}`,
	}
	if len(Harnesses()) != len(want) || !slices.Equal(Names(), []string{"asv", "google-benchmark", "pyperf"}) {
		t.Errorf("the harnesses are %v", Names())
	}
	for _, h := range Harnesses() {
		about := h.About()
		p, err := about.Precision(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ijson.Canonical(p.Document())
		if err != nil || string(b) != want[about.Name] {
			t.Errorf("%s: %s (%v)", about.Name, b, err)
		}
		// What is recorded asks for the same again.
		again, err := about.Precision(p.Document())
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Errorf("%s: %v %s", about.Name, err, diff)
		}
	}
}

func TestPrecisionBecomesTheOptionsOfTheHarness(t *testing.T) {
	levels := func(pairs ...any) map[string]any {
		var list []any
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, map[string]any{"unit": pairs[i], "n": pairs[i+1]})
		}
		return map[string]any{"mode": "fixed", "levels": list}
	}
	adaptive := func(s float64) map[string]any {
		return map[string]any{"mode": "adaptive", "minimum_sample_seconds": s}
	}
	fixed := map[string]any{"mode": "fixed", "n_iterations": 512.0}
	for _, c := range []struct {
		harness   string
		precision map[string]any
		want      []string
		not       string
	}{
		{"google-benchmark", map[string]any{"repetitions": 4.0, "calibration": adaptive(0.25)}, []string{"--benchmark_repetitions=4", "--benchmark_min_time=0.25", `--benchmark_filter=^with space \(x\+y\)/16$`}, "warmup"},
		{"google-benchmark", map[string]any{"repetitions": levels("repetition", 2.0), "calibration": fixed, "warmup": map[string]any{"mode": "time", "seconds": 1.0}}, []string{"--benchmark_min_time=512x", "--benchmark_min_warmup_time=1"}, ""},
		{"google-benchmark", map[string]any{"repetitions": 1.0, "calibration": adaptive(1e-7)}, []string{"--benchmark_min_time=0.0000001"}, ""},
		{"pyperf", map[string]any{"repetitions": levels("value", 5.0), "calibration": fixed}, []string{"--processes 20 --values 5 --loops 512 --warmups 1 --copy-env"}, "--min-time"},
		{"pyperf", map[string]any{"repetitions": levels("process", 7.0), "calibration": adaptive(0.2), "warmup": map[string]any{"mode": "count", "n_warmup": 0.0}}, []string{"--processes 7 --values 3 --min-time 0.2 --warmups 0"}, "--loops"},
		{"asv", map[string]any{"repetitions": levels("process", 3.0), "warmup": map[string]any{"mode": "none"}}, []string{`"rounds":3`, `"repeat":5`, `"sample_time":0.01`, `"warmup_time":0`, `"number":0`}, ""},
		{"asv", map[string]any{"repetitions": levels("value", 9.0), "calibration": fixed}, []string{`"number":512`, `"repeat":9`}, "sample_time"},
	} {
		h, _ := HarnessNamed(c.harness)
		p, err := h.About().Precision(c.precision)
		if err != nil {
			t.Errorf("%v: %v", c.precision, err)
			continue
		}
		argv, err := h.Command(harness.Runnable{Dir: "/d", Program: "/d/p", Python: "/python"}, Case{Name: "with space (x+y)/16", Index: -1, Quantity: "wall-time"}, p, harness.Paths{Native: "/n", Driver: filepath.Join(t.TempDir(), "driver.py"), Workers: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Join(argv, " ")
		for _, w := range c.want {
			if !strings.Contains(line, w) {
				t.Errorf("%s is without %s", line, w)
			}
		}
		if c.not != "" && strings.Contains(line, c.not) {
			t.Errorf("%s has %s", line, c.not)
		}
	}
}
