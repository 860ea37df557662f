package googlebenchmark

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/harness"
)

func one(n int, f string, args ...any) harness.Raw {
	return harness.Raw{
		Case: harness.Case{Name: "BM"}, Quantities: []string{"wall-time"}, Precision: harness.Precision{Levels: []harness.Level{{Unit: "repetition", N: n}}, Seconds: 0.5},
		Native: fmt.Appendf(nil, `{"context":{"library_build_type":"release","cpu_scaling_enabled":false,"load_avg":[]},"benchmarks":[`+f+`]}`, args...),
	}
}

const good = `{"name":"BM","run_name":"BM","run_type":"iteration","iterations":100,"real_time":%v,"cpu_time":1,"time_unit":"%s"%s}`

func TestATimeIsInSecondsToTheLastDigit(t *testing.T) {
	for unit, c := range map[string]struct{ text, want string }{
		"ns": {"2924.948", "0.000002924948"}, "us": {"2924.948", "0.002924948"}, "ms": {"3", "0.003"}, "s": {"1.5", "1.5"},
	} {
		m := adapter{}.Translate(one(1, good, c.text, unit, "")).Measured["wall-time"]
		b, err := ijson.Canonical(m.Observations)
		if err != nil || string(b) != "["+c.want+"]" || m.Status != harness.Success || m.OriginalUnit != unit {
			t.Errorf("%s %s: %s, %+v", c.text, unit, b, m)
		}
	}
	m := adapter{}.Translate(one(1, `{"name":"BM","iterations":1,"real_time":5}`)).Measured["wall-time"]
	if m.Status != harness.Success || m.Observations[0] != 5e-9 {
		t.Errorf("without unit and run_type: %+v", m)
	}
	m = adapter{}.Translate(one(1, good, 1, "fortnight", "")).Measured["wall-time"]
	if m.Reason != harness.ReasonMapping {
		t.Errorf("an unknown unit: %+v", m)
	}
}

func TestAggregatesAreWhatTheLibraryReportsAndRatiosAreNoTimes(t *testing.T) {
	aggregate := `,{"name":"BM_%[1]s","run_name":"BM","run_type":"aggregate","aggregate_name":"%[1]s","aggregate_unit":"%[2]s","iterations":2,"real_time":%[3]v,"cpu_time":1,"time_unit":"ns"}`
	text := fmt.Sprintf(good, 10, "ns", "") + "," + fmt.Sprintf(good, 20, "ns", "") + fmt.Sprintf(aggregate, "mean", "time", 15) + fmt.Sprintf(aggregate, "stddev", "time", 5) + fmt.Sprintf(aggregate, "cv", "percentage", 0.5366) +
		`,{"name":"BM_BigO","run_name":"BM","run_type":"aggregate","aggregate_name":"BigO","aggregate_unit":"time","cpu_coefficient":1,"real_coefficient":2,"big_o":"N","time_unit":"ns"}`
	got := adapter{}.Translate(one(2, "%s", text)).Measured["wall-time"]
	want := []any{
		map[string]any{"kind": "estimate", "source": "producer", "value": 15e-9, "estimator": map[string]any{"name": "mean", "method_version": "google-benchmark/mean", "input_level": "observations"}},
		map[string]any{"kind": "statistic", "source": "producer", "name": "stddev", "value": 5e-9},
	}
	if diff := cmp.Diff(want, got.Summaries); diff != "" {
		t.Error(diff)
	}
	if len(got.Observations) != 2 {
		t.Errorf("an aggregate is an observation: %v", got.Observations)
	}
}

func TestOutcomesOfRepetitions(t *testing.T) {
	ok := fmt.Sprintf(good, 10, "ns", "")
	failed := `{"name":"BM","run_name":"BM","run_type":"iteration","error_occurred":true,"error_message":"no device","iterations":1,"real_time":0}`
	skipped := `{"name":"BM","run_name":"BM","run_type":"iteration","skipped":true,"skip_message":"not here","iterations":0,"real_time":0}`
	other := strings.ReplaceAll(ok, `"BM"`, `"BM/2"`)
	for name, c := range map[string]struct {
		rows            []string
		status, reason  string
		message         string
		completed       float64
		observations    int
		nonzero         bool
		withoutDocument bool
	}{
		"all":                 {rows: []string{ok, ok, ok}, status: "success", completed: 3, observations: 3},
		"some failed":         {rows: []string{ok, failed, ok}, status: "partial", reason: "harness.partial", completed: 2, observations: 2},
		"fewer than asked":    {rows: []string{ok}, status: "partial", reason: "harness.partial", completed: 1, observations: 1},
		"all failed":          {rows: []string{failed, failed}, status: "error", reason: "harness.error", message: "no device"},
		"all skipped":         {rows: []string{skipped}, status: "skipped", reason: "harness.skipped", message: "not here"},
		"another's only":      {rows: []string{other}, status: "error", reason: "harness.no-output"},
		"none":                {rows: nil, status: "error", reason: "harness.no-output"},
		"none, and it failed": {rows: nil, nonzero: true, status: "error", reason: "harness.error", message: "it exited with 3: out of paper"},
	} {
		raw := one(3, "%s", strings.Join(c.rows, ","))
		if c.nonzero {
			raw.Exit.Status = 3
			raw.Stderr = []byte("2026-01-01T00:00:00+00:00\nRunning ./b\nRun on (2 X 1 MHz CPU s)\nLoad Average: 1\n***WARNING*** Library was built as DEBUG.\nout of paper\n")
		}
		tr := adapter{}.Translate(raw)
		m := tr.Measured["wall-time"]
		if m.Status != c.status || m.Reason != c.reason || m.Message != c.message || len(m.Observations) != c.observations || tr.Procedure["completed_repetitions"] != c.completed {
			t.Errorf("%s: %+v, %v", name, m, tr.Procedure)
		}
	}
}

func TestADocumentThatBreaksOffIsAnEndAndOneThatIsNoneIsAMapping(t *testing.T) {
	raw := one(1, "")
	raw.Native = raw.Native[:len(raw.Native)-2]
	raw.Exit = harness.Exit{Status: -1, Signal: "SIGABRT"}
	if m := (adapter{}).Translate(raw).Measured["wall-time"]; m.Reason != harness.ReasonError || m.Message != "it was ended by SIGABRT" {
		t.Errorf("crashed: %+v", m)
	}
	raw.Exit = harness.Exit{Status: -1, Signal: "SIGKILL", TimedOut: true}
	if m := (adapter{}).Translate(raw).Measured["wall-time"]; m.Reason != harness.ReasonTimeout {
		t.Errorf("timed out: %+v", m)
	}
	raw.Exit = harness.Exit{}
	if m := (adapter{}).Translate(raw).Measured["wall-time"]; m.Reason != harness.ReasonMapping || m.Message == "" {
		t.Errorf("ended well: %+v", m)
	}
	raw.Native = nil
	if m := (adapter{}).Translate(raw).Measured["wall-time"]; m.Reason != harness.ReasonNoOutput {
		t.Errorf("wrote nothing: %+v", m)
	}
}

func TestOnlyACounterThatDoesNotMoveIsAFactOfWhatRan(t *testing.T) {
	text := fmt.Sprintf(good, 10, "ns", `,"size":64,"ratio":0.5,"rate":1.5,"moving":1,"bytes_per_second":7,"iters":100`) + "," + fmt.Sprintf(good, 20, "ns", `,"size":64,"ratio":0.5,"rate":1.7,"moving":2,"bytes_per_second":7,"iters":100`)
	tr := adapter{}.Translate(one(2, "%s", text))
	if diff := cmp.Diff(map[string]any{"cpu_scaling_enabled": false, "size": 64.0, "ratio": 0.5}, tr.System); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"rate": []any{1.5, 1.7}, "moving": []any{1.0, 2.0}, "bytes_per_second": []any{7.0, 7.0}, "iters": []any{100.0, 100.0}}
	if diff := cmp.Diff(want, tr.Info["counters"]); diff != "" {
		t.Error(diff)
	}
	// One repetition does not show what moves; what has a fraction may.
	tr = adapter{}.Translate(one(1, good, 10, "ns", `,"size":64,"rate":1.5`))
	if diff := cmp.Diff(map[string]any{"cpu_scaling_enabled": false, "size": 64.0}, tr.System); diff != "" {
		t.Error(diff)
	}
}

func TestUnequalIterationsAreAListAndEqualOnesANumber(t *testing.T) {
	a, b := fmt.Sprintf(good, 10, "ns", ""), strings.Replace(fmt.Sprintf(good, 10, "ns", ""), `"iterations":100`, `"iterations":50`, 1)
	if tr := (adapter{}).Translate(one(2, "%s", a+","+a)); tr.Procedure["inner_iterations"] != 100.0 || tr.Info["iterations"] != nil {
		t.Errorf("%v %v", tr.Procedure, tr.Info)
	}
	tr := adapter{}.Translate(one(2, "%s", a+","+b))
	if diff := cmp.Diff([]any{100.0, 50.0}, tr.Info["iterations"]); diff != "" || tr.Procedure["inner_iterations"] != nil {
		t.Error(diff, tr.Procedure)
	}
}

func TestADebugLibraryIsSaidAndAVersionOnlyWhereThereIsOne(t *testing.T) {
	raw := one(1, good, 10, "ns", "")
	if tr := (adapter{}).Translate(raw); tr.HarnessVersion != "" || len(tr.Warnings) != 0 {
		t.Errorf("%+v", tr)
	}
	raw.Native = []byte(strings.Replace(string(raw.Native), `"library_build_type":"release"`, `"library_build_type":"debug","library_version":"v1.9.1"`, 1))
	if tr := (adapter{}).Translate(raw); tr.HarnessVersion != "1.9.1" || !cmp.Equal(tr.Warnings, []string{"debug-harness"}) {
		t.Errorf("%+v", tr)
	}
}

func TestTranslatingARealFileTwiceGivesTheSame(t *testing.T) {
	dir := os.Getenv("FLAMEOX_FIXTURES")
	if dir == "" {
		dir = "../../../../shared/fixtures"
	}
	native, err := os.ReadFile(filepath.Join(dir, "google-benchmark", "local-gbench1.7.1-mixed.json"))
	if err != nil {
		t.Skipf("the recorded results are not here: %v", err)
	}
	v, err := harness.JSON(native)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, r := range v.(map[string]any)["benchmarks"].([]any) {
		if n, ok := r.(map[string]any)["run_name"].(string); ok {
			names[n] = true
		}
	}
	if len(names) < 2 {
		t.Fatalf("the file has %d benchmarks", len(names))
	}
	for name := range names {
		raw := one(2, "")
		raw.Native, raw.Case.Name, raw.Quantities = native, name, []string{"wall-time", "cpu-time"}
		before := string(native)
		one, two := adapter{}.Translate(raw), adapter{}.Translate(raw)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if string(native) != before {
			t.Fatal("the native output was changed")
		}
	}
}

func TestASuiteIsOneExecutable(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	make("bin/bench", 0o755)
	make("bin/plain", 0o644)
	make("folder/x", 0o644)
	make("CMakeFiles/bench", 0o755)
	if got, err := locate(dir, "bench"); err != nil || got != filepath.Join(dir, "bin/bench") {
		t.Errorf("%s, %v", got, err)
	}
	make("release/bench", 0o755)
	for suite, want := range map[string]string{
		"bench": "2 executables", "plain": "is not executable", "folder": "is a folder", "none": "no executable none", "bin/none": "is not there",
	} {
		if _, err := locate(dir, suite); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", suite, err, want)
		}
	}
	if got, err := locate(dir, "release/bench"); err != nil || got != filepath.Join(dir, "release/bench") {
		t.Errorf("%s, %v", got, err)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(`{"context":{},"benchmarks":[{"name":"BM","run_name":"BM","real_time":1,"time_unit":"ns","iterations":NaN,"c":Infinity}]}`))
	f.Add([]byte(`{"context":1,"benchmarks":{}}`))
	f.Add([]byte(`{"benchmarks":[1,null,{"name":"BM","real_time":1e308,"time_unit":"s"},{"run_name":"BM","run_type":"aggregate","aggregate_name":"mean","real_time":1}]}`))
	f.Fuzz(func(t *testing.T, native []byte) {
		raw := one(2, "")
		raw.Native = native
		m := adapter{}.Translate(raw).Measured["wall-time"]
		if m.Status == "" || (m.Status == harness.Success) != (m.Reason == "") {
			t.Errorf("%+v", m)
		}
	})
}
