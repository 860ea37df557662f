package identity

import (
	"encoding/json"
	"strings"
	"testing"
)

// golden is the result of the contract's vectors.
func golden(t *testing.T, changes map[string]string) map[string]any {
	t.Helper()
	text := `{"project":"demo","source":{"uri":"https://example.org/demo","type":"git"},"revision":{"key":"r1"},
"benchmark":{"source":{"uri":"https://example.org/demo","type":"git"},"revision":{"key":"` + strings.Repeat("a", 40) + `"}},
"coordinates":{"workload":{"name":"BM_Sum","parameters":{"size":"1000"}},"subject":{"name":"demo","components":[{"role":"primary"}],"configuration":{"build_type":"Release"}},
"quantity":{"name":"wall-time","unit":"s","direction":"lower-is-better"},
"comparison_context":{"harness":{"name":"google-benchmark"},"protocol":{"calibration":{"mode":"adaptive","minimum_sample_seconds":0.5},"repetitions":{"mode":"fixed","levels":[{"unit":"repetition","n":5}]},"warmup":{"mode":"none"}}},
"environment":{"schema":"machine/v1","identity":{"runner":"host","cpu":"X","cores":2},"system":{"os":"Linux","kernel":"6.8"}}},"provenance":{"labels":{"a":"b"}}}`
	for old, new := range changes {
		if !strings.Contains(text, old) {
			t.Fatalf("there is no %s", old)
		}
		text = strings.Replace(text, old, new, 1)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func series(t *testing.T, v map[string]any) string {
	t.Helper()
	c, null, err := Default().Comparison(v)
	if err != nil || null != "" {
		t.Fatalf("%s, %v", null, err)
	}
	e, err := Median().Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return Series(c, e)
}

func TestFingerprintsAreThoseOfTheContract(t *testing.T) {
	v := golden(t, nil)
	for what, got := range map[string]func() (string, error){
		"b86ebeaeccd4eb7211ceaa13a8bbedea9fe1fbb12b915edf015e0c9b69d87b16": func() (string, error) { return Reported(v) },
		"6d607c7edd3c0d2caecd0727cfe4d6e342282b33f6e1cb32fecc48acce1cc7b7": func() (string, error) { s, _, err := Default().Comparison(v); return s, err },
		"d09c1df156976b3eef152d0830b5d10f9f63cd3eec820266ac73c12a74cac2f4": Median().Fingerprint,
	} {
		if sum, err := got(); err != nil || sum != what {
			t.Errorf("%s, %v; want %s", sum, err, what)
		}
	}
	if got := series(t, v); got != "3021551f69b66a1c0bd007a808d2ae168844376f9f24b1b3dfc73f3130f300f3" {
		t.Error(got)
	}
}

func TestOnlyWhatThePolicyMatchesBeginsASeries(t *testing.T) {
	one := series(t, golden(t, nil))
	for old, new := range map[string]string{`"r1"`: `"r2"`, strings.Repeat("a", 40): strings.Repeat("b", 40), `{"a":"b"}`: `{"a":"c"}`, `"source":{"uri":"https://example.org/demo"`: `"source":{"uri":"https://EXAMPLE.org/demo.git"`} {
		if series(t, golden(t, map[string]string{old: new})) != one {
			t.Errorf("%s instead of %s begins a series", new, old)
		}
	}
	for old, new := range map[string]string{`"n":5`: `"n":6`, `"1000"`: `"1"`, `"host"`: `"other"`, `"6.8"`: `"6.9"`, `"Release"`: `"Debug"`, `"project":"demo"`: `"project":"x"`} {
		if series(t, golden(t, map[string]string{old: new})) == one {
			t.Errorf("%s instead of %s is one series", new, old)
		}
	}
	_, null, err := Default().Comparison(golden(t, map[string]string{`"6.8"`: `null`}))
	if err != nil || null != "/coordinates/environment/system/kernel" {
		t.Errorf("a null is %q, %v", null, err)
	}
}

// Whoever edits the default policy gives it a new name, and changes both here.
func TestTheDefaultPolicyIsWhatItsNameSays(t *testing.T) {
	b, err := json.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Name":"benchx/benchx-identity/v1","Rules":[{"Path":"/project","Role":"match","Normalize":""},{"Path":"/source/uri","Role":"match","Normalize":"uri"},{"Path":"/revision/key","Role":"axis","Normalize":""},{"Path":"/benchmark/source/uri","Role":"match","Normalize":"uri"},{"Path":"/benchmark/revision","Role":"ignore","Normalize":""},{"Path":"/coordinates","Role":"match","Normalize":""}]}`
	if string(b) != want {
		t.Errorf("%s", b)
	}
}

func TestThinResultsAreFiledUnderTheirMachine(t *testing.T) {
	for id, want := range map[string]string{`{"runner":"h"}`: "local/h", `{"hostname":"g"}`: "local/g", `{"cpu":"X"}`: "local/unknown"} {
		v := golden(t, map[string]string{`"project":"demo",`: ``, `{"runner":"host","cpu":"X","cores":2}`: id})
		if got := Project(v); got != want {
			t.Errorf("%s is filed under %s", id, got)
		}
	}
}

func TestFactsAgreeAsDocumentsDo(t *testing.T) {
	for _, c := range []struct {
		a, b any
		want bool
	}{{1.0, 1.0, true}, {1.0, "1", false}, {nil, nil, false}, {map[string]any{"a": 1.0}, map[string]any{"a": 1.0}, true}, {"x", "x", true}} {
		if Same(c.a, c.b) != c.want {
			t.Errorf("%v and %v", c.a, c.b)
		}
	}
}
