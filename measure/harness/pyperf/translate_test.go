package pyperf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/measure/harness"
)

func suite(metadata, benchmark string, runs ...string) []byte {
	return fmt.Appendf(nil, `{"version":"1.0","metadata":{"unit":"second","perf_version":"2.11.0","python_version":"3.11.7","benchx_env_sha256":"aa"%s},"benchmarks":[{%s"runs":[%s]}]}`, metadata, benchmark, strings.Join(runs, ","))
}

func raw(native []byte) harness.Raw {
	return harness.Raw{
		Case: harness.Case{Name: "bench"}, Quantities: []string{"wall-time"}, Native: native,
		Precision: harness.Precision{Levels: []harness.Level{{Unit: "process", N: 2}, {Unit: "value", N: 2}}, Iterations: 50},
		Files: map[string][]byte{
			harness.WorkerEnv: []byte(`{"sha256":"aa","variables":{"OMP_NUM_THREADS":"1","NOT_ALLOWED":"x"}}`), harness.ManagerEnv: []byte(`{"sha256":"aa"}`),
		},
		Recorded: []string{"OMP_NUM_THREADS", "PYTHONHASHSEED"},
	}
}

const measured = `{"metadata":{"duration":1},"warmups":[[50,2e-7]],"values":[2e-7,3e-7]}`

func TestValuesAreObservationsGroupedByProcess(t *testing.T) {
	tr := adapter{}.Translate(raw(suite(`,"loops":50`, "", measured, measured)))
	var want []any
	for i, v := range []float64{2e-7, 3e-7, 2e-7, 3e-7} {
		want = append(want, map[string]any{"value": v, "group": fmt.Sprint(i / 2), "ordinal": float64(i)})
	}
	if diff := cmp.Diff(harness.Measured{Status: "success", Observations: want}, tr.Measured["wall-time"]); diff != "" {
		t.Error(diff)
	}
	procedure := map[string]any{
		"attempted_repetitions": 4.0, "completed_repetitions": 4.0, "inner_iterations": 50.0, "warmups_performed": 2.0,
		"repetition_levels": []any{map[string]any{"unit": "process", "attempted": 2.0, "completed": 2.0}, map[string]any{"unit": "value", "attempted": 4.0, "completed": 4.0}},
	}
	if diff := cmp.Diff(procedure, tr.Procedure); diff != "" {
		t.Error(diff)
	}
	if len(tr.Warnings) > 0 || tr.HarnessVersion != "2.11.0" {
		t.Errorf("%+v", tr)
	}
	if diff := cmp.Diff(map[string]any{"OMP_NUM_THREADS": "1"}, tr.Environment); diff != "" {
		t.Error(diff)
	}
}

func TestACalibrationIsCountedAndItsWarmupsAreNot(t *testing.T) {
	calibration := `{"metadata":{"calibrate_loops":65536},"warmups":[[1,1],[2,1],[4,1]]}`
	tr := adapter{}.Translate(raw(suite(`,"loops":65536`, "", calibration, measured, measured)))
	if tr.Procedure["calibration_runs"] != 1.0 || tr.Procedure["warmups_performed"] != 2.0 || tr.Procedure["inner_iterations"] != 65536.0 || len(tr.Measured["wall-time"].Observations) != 4 {
		t.Errorf("%+v", tr)
	}
}

func TestFewerValuesThanAskedForArePartial(t *testing.T) {
	tr := adapter{}.Translate(raw(suite("", "", measured)))
	if m := tr.Measured["wall-time"]; m.Status != harness.Partial || m.Reason != harness.ReasonPartial || tr.Procedure["completed_repetitions"] != 2.0 {
		t.Errorf("%+v %v", m, tr.Procedure)
	}
}

func TestTheMostSpecificMetadataWins(t *testing.T) {
	tr := adapter{}.Translate(raw(suite(`,"loops":1`, `"metadata":{"loops":2,"inner_loops":3},`, measured, measured)))
	if tr.Procedure["inner_iterations"] != 6.0 {
		t.Errorf("%v", tr.Procedure)
	}
	tr = adapter{}.Translate(raw(suite(`,"loops":1`, `"metadata":{"loops":2},`, measured, strings.Replace(measured, `"duration":1`, `"loops":9`, 1))))
	if diff := cmp.Diff([]any{2.0, 9.0}, tr.Info["iterations"]); diff != "" || tr.Procedure["inner_iterations"] != nil {
		t.Error(diff)
	}
}

func TestWithoutResultsTheWorkersOwnWordsAreTheMessage(t *testing.T) {
	r := raw(nil)
	r.Exit.Status = 1
	r.Stderr = []byte("Traceback (most recent call last):\n  File \"x\", line 1\nValueError: boom\nTraceback (most recent call last):\n  File \"y\"\nRuntimeError: /usr/bin/python failed with exit code 1\n")
	if m := (adapter{}).Translate(r).Measured["wall-time"]; m.Reason != harness.ReasonError || m.Message != "ValueError: boom" {
		t.Errorf("%+v", m)
	}
	r.Stderr = []byte("RuntimeError: /usr/bin/python failed with exit code 1\n")
	if m := (adapter{}).Translate(r).Measured["wall-time"]; m.Message != "RuntimeError: /usr/bin/python failed with exit code 1" {
		t.Errorf("%+v", m)
	}
	r.Exit = harness.Exit{}
	tr := adapter{}.Translate(r)
	if m := tr.Measured["wall-time"]; m.Reason != harness.ReasonNoOutput {
		t.Errorf("%+v", m)
	}
	none := []any{map[string]any{"unit": "process", "attempted": 2.0, "completed": 0.0}, map[string]any{"unit": "value", "attempted": 4.0, "completed": 0.0}}
	if diff := cmp.Diff(none, tr.Procedure["repetition_levels"]); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoTimeIsNotMapped(t *testing.T) {
	for name, native := range map[string][]byte{
		"bytes":          suite(`,"unit":"byte"`, "", measured, measured),
		"two benchmarks": []byte(`{"version":"1.0","benchmarks":[{},{}]}`),
		"another format": []byte(`{"version":"0.6"}`),
		"no JSON":        []byte(`{"version`),
	} {
		if m := (adapter{}).Translate(raw([]byte(strings.Replace(string(native), `"unit":"second",`, "", 1)))).Measured["wall-time"]; m.Reason != harness.ReasonMapping || m.Message == "" || len(m.Observations) > 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestTheEnvironmentOfTheWorkersIsHeldAgainstWhatTheyWereGiven(t *testing.T) {
	zeros := strings.Replace(string(suite("", "", measured, measured)), `"aa"`, `"00"`, 1)
	missing := strings.Replace(string(suite("", "", measured, measured)), `"benchx_env_sha256":"aa"`, `"x":1`, 1)
	ok := suite("", "", measured, measured)
	for name, c := range map[string]struct {
		native  []byte
		change  func(*harness.Raw)
		warning []string
		unknown bool
	}{
		"equal":   {native: ok},
		"another": {native: []byte(zeros), warning: []string{"env-mismatch"}},
		"missing": {native: []byte(missing), warning: []string{"env-mismatch"}},
		"not captured": {
			native: ok, change: func(r *harness.Raw) { delete(r.Files, harness.WorkerEnv) }, warning: []string{"env-capture-missing"}, unknown: true,
		},
		"a variable of the order is lost":  {native: ok, change: func(r *harness.Raw) { r.Variables = map[string]string{"A": "1"} }, warning: []string{"env-mismatch"}},
		"a variable of the order is there": {native: ok, change: func(r *harness.Raw) { r.Variables = map[string]string{"OMP_NUM_THREADS": "1"} }},
	} {
		r := raw(c.native)
		if c.change != nil {
			c.change(&r)
		}
		tr := adapter{}.Translate(r)
		if diff := cmp.Diff(c.warning, tr.Warnings); diff != "" || tr.Unknown != c.unknown || tr.Unknown == (tr.Environment != nil) {
			t.Errorf("%s: %s %+v", name, diff, tr)
		}
	}
	r := raw(ok)
	r.Files[harness.WorkerEnv] = []byte(`{"sha256":"aa","variables":{}}`)
	if tr := (adapter{}).Translate(r); tr.Environment == nil || len(tr.Environment) != 0 {
		t.Errorf("captured, and nothing set: %v", tr.Environment)
	}
}

func TestTranslatingRecordedFilesTwiceGivesTheSame(t *testing.T) {
	dir := os.Getenv("FLAMEOX_FIXTURES")
	if dir == "" {
		dir = "../../../../shared/fixtures"
	}
	files, err := filepath.Glob(filepath.Join(dir, "pyperf", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("the recorded results are not here")
	}
	for _, f := range files {
		native, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := raw(native)
		one, two := adapter{}.Translate(r), adapter{}.Translate(r)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%s: %s", f, diff)
		}
		name := filepath.Base(f)
		m := one.Measured["wall-time"]
		if byteUnit := name == "track_memory.json" || name == "pyperformance-mem1.json"; byteUnit && m.Reason != harness.ReasonMapping {
			t.Errorf("%s is in bytes: %+v", name, m)
		}
		if name == "local-pyperf-git-timeit.json" && (len(m.Observations) == 0 || one.Procedure["calibration_runs"] != 1.0) {
			t.Errorf("%s: %+v %v", name, m, one.Procedure)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add(suite("", "", measured), []byte(`{"sha256":"aa"}`))
	f.Add([]byte(`{"version":"1.0","benchmarks":[{"runs":[{"values":[NaN,1],"warmups":3,"metadata":[]}]}]}`), []byte("{"))
	f.Fuzz(func(t *testing.T, native, env []byte) {
		r := raw(native)
		r.Files[harness.WorkerEnv] = env
		m := adapter{}.Translate(r).Measured["wall-time"]
		if m.Status == "" || (m.Status == harness.Success) != (m.Reason == "") {
			t.Errorf("%+v", m)
		}
	})
}
