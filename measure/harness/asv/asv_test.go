package asv

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/measure/harness"
)

func raw(native string) harness.Raw {
	return harness.Raw{
		Case: harness.Case{Name: "b.time_x", Quantity: "wall-time", Version: "abc"}, Quantities: []string{"wall-time"}, Native: []byte(native),
		Precision: harness.Precision{Levels: []harness.Level{{Unit: "process", N: 2}, {Unit: "value", N: 2}}}, Recorded: []string{"OMP_NUM_THREADS"}, Stderr: []byte("ValueError: boom\n"),
	}
}

const head = `{"version":1,"versions":{"asv_runner":"0.3.2"},"runtime":{"python_version":"3"},"environment":{"OMP_NUM_THREADS":"1"},"rounds":[`

func TestRoundsAreGroupsOfValues(t *testing.T) {
	const good = `{"errcode":0,"result":{"number":3,"samples":[1,2]}}`
	for name, c := range map[string]struct {
		rounds, status, reason string
		observations           int
		levels                 []any
		inner                  any
	}{
		"all":                  {good + "," + good, "success", "", 4, levels(2, 4), 3.0},
		"one failed":           {good + `,{"errcode":1}`, "partial", "harness.partial", 2, levels(1, 2), 3.0},
		"all failed":           {`{"errcode":1},{"errcode":1}`, "error", "harness.error", 0, levels(0, 0), nil},
		"not applicable":       {`{"errcode":0,"not_applicable":true},{"errcode":0,"not_applicable":true}`, "skipped", "harness.not-applicable", 0, levels(0, 0), nil},
		"a value that is none": {`{"errcode":0,"result":{"number":3,"samples":[1,null]}},` + good, "partial", "harness.partial", 3, levels(2, 3), 3.0},
		"no rounds":            {"", "error", "harness.no-output", 0, levels(0, 0), nil},
		"unequal numbers":      {good + `,{"errcode":0,"result":{"number":5,"samples":[1,2]}}`, "success", "", 4, levels(2, 4), nil},
	} {
		tr := adapter{}.Translate(raw(head + c.rounds + "]}"))
		m := tr.Measured["wall-time"]
		if m.Status != c.status || m.Reason != c.reason || len(m.Observations) != c.observations || tr.Procedure["inner_iterations"] != c.inner {
			t.Errorf("%s: %+v, %v", name, m, tr.Procedure)
		}
		if diff := cmp.Diff(c.levels, tr.Procedure["repetition_levels"]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (tr.Info["iterations"] != nil) != (name == "unequal numbers") {
			t.Errorf("%s: %v", name, tr.Info)
		}
		if diff := cmp.Diff(map[string]any{"OMP_NUM_THREADS": "1"}, tr.Environment); diff != "" || tr.HarnessVersion != "0.3.2" {
			t.Errorf("%s: %s %s", name, diff, tr.HarnessVersion)
		}
	}
}

func levels(processes, values float64) []any {
	return []any{map[string]any{"unit": "process", "attempted": 2.0, "completed": processes}, map[string]any{"unit": "value", "attempted": 4.0, "completed": values}}
}

func TestWithoutADocumentTheEndOfTheProcessIsTheOutcome(t *testing.T) {
	r := raw("")
	r.Native, r.Exit = nil, harness.Exit{Status: -1, Signal: "SIGKILL", TimedOut: true}
	tr := adapter{}.Translate(r)
	if m := tr.Measured["wall-time"]; m.Reason != harness.ReasonTimeout || !tr.Unknown || !cmp.Equal(tr.Warnings, []string{"env-capture-missing"}) {
		t.Errorf("%+v", tr)
	}
	r = raw("{")
	if m := (adapter{}).Translate(r).Measured["wall-time"]; m.Reason != harness.ReasonMapping {
		t.Errorf("%+v", m)
	}
}

func TestAConfigurationOfAsvMayHaveCommentsAndCommasTooMany(t *testing.T) {
	got := string(withoutComments([]byte("{ // one\n \"a\": \"x//y \\\" // z\", // two\n \"b\": [1, 2, ],\n}")))
	v, err := harness.JSON([]byte(got))
	if err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if diff := cmp.Diff(map[string]any{"a": `x//y " // z`, "b": []any{1.0, 2.0}}, v); diff != "" {
		t.Error(diff)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add([]byte(head + `{"errcode":0,"result":{"number":3,"samples":[1,NaN]}}]}`))
	f.Add([]byte(`{"rounds":{},"environment":[],"versions":1}`))
	f.Fuzz(func(t *testing.T, native []byte) {
		r := raw("")
		r.Native = native
		m := adapter{}.Translate(r).Measured["wall-time"]
		if m.Status == "" || (m.Status == harness.Success) != (m.Reason == "") {
			t.Errorf("%+v", m)
		}
	})
}
