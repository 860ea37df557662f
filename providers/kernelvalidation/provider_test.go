package kernelvalidation_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/kernelvalidation"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/schemas"
)

// compare runs the program that really compares kernels, and returns the document that it left.
func compare(t testing.TB, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "validation.json")
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", ".", "-o", out}, args...)...)
	cmd.Dir = filepath.Join("..", "..", "examples", "kernel")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("comparing kernels: %v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestConformance(t *testing.T) {
	providertest.Run(t, kernelvalidation.Provider{}, &providertest.Cases{
		Valid: []byte(minimal), Role: kernelvalidation.Role, Half: evidence.Incompatible,
	}, nil)
}

func TestRealComparisons(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program; not with -short")
	}
	for name, c := range map[string]struct {
		args    []string
		verdict string
		failed  int64
	}{
		"good":  {nil, "inconclusive", 0}, // float16 cannot be compared
		"wrong": {[]string{"-quick"}, "fail", 1},
	} {
		data := compare(t, c.args...)
		if err := schema(t).Validate(value(t, data)); err != nil {
			t.Errorf("%s: the schema refuses it: %v", name, err)
		}
		out, cases, metrics := extract(t, data)
		if out.State != evidence.Complete || out.Results["verdict"] != c.verdict || out.Results["failed"] != c.failed || out.Producer != "example.com/kernel 1" {
			t.Errorf("%s: %+v", name, out)
		}
		if len(cases) != 4 || len(metrics) != 10 {
			t.Fatalf("%s: %d cases and %d metrics", name, len(cases), len(metrics))
		}
		exact := find(metrics, "psnr", "add-4096")
		if exact["value"] != nil || exact["value_kind"] != "positive_infinity" || exact["infinity_reason"] != "zero_mse_exact_agreement" {
			t.Errorf("%s: exact agreement is %v", name, exact)
		}
	}
}

func find(rows []map[string]any, metric, caseID string) map[string]any {
	for _, r := range rows {
		if r["metric"] == metric && r["case"] == caseID {
			return r
		}
	}
	return nil
}

// extract reads a document as the engine does.
func extract(t testing.TB, data []byte) (evidence.Outcome, []map[string]any, []map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	in := providers.Input{Artifacts: []providers.Artifact{{Name: "validation.json", Role: kernelvalidation.Role, Size: int64(len(data)), Path: path}}}
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "kernelvalidation", ProviderVersion: 1}, evidence.DefaultBudget())
	out, err := kernelvalidation.Provider{}.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]map[string]any{}
	for _, p := range parts {
		err := evidence.Scan(p.Path, evidence.ScanOptions{}, func(cols []evidence.Column, row []any) error {
			m := map[string]any{}
			for i, c := range cols {
				m[c.Name] = row[i]
			}
			rows[p.Table] = append(rows[p.Table], m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, rows["kernel_cases"], rows["kernel_metrics"]
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	b, err := schemas.Files.ReadFile("kernel-validation.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("kernel", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("kernel")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t testing.TB, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return v
}

// minimal is the smallest document that passes.
const minimal = `{"schema_version": "flameox.kernel-validation.v2", "producer": "p", "reference": {"name": "r", "identity": "i"}, "status": "pass", "coverage_complete": true,
 "cases": [{"case_id": "c", "dimensions": {"n": 1, "s": "1", "b": true, "f": 1.50}, "seed": 9223372036854775807, "device": "cpu", "status": "pass", "inputs": [{"dtype": "f4", "shape": [2, 0], "role": null}],
  "outputs": [{"name": "y", "dtype": "f4", "shape": [], "status": "pass", "metrics": [{"name": "max_abs_error", "value": {"kind": "finite", "value": 1e-3}, "comparator": "<=", "threshold": 0.001, "unit": "1", "status": "pass"}]}]}]}`

func TestRowsSayWhatTheDocumentSays(t *testing.T) {
	_, cases, metrics := extract(t, []byte(minimal))
	if len(cases) != 1 || len(metrics) != 1 {
		t.Fatalf("%d cases, %d metrics", len(cases), len(metrics))
	}
	c, m := cases[0], metrics[0]
	for name, want := range map[string]any{
		"case": "c", "output": "y", "status": "pass", "document_status": "pass", "coverage_complete": true, "seed": int64(9223372036854775807),
		"inputs": `[{"dtype":"f4","shape":[2,0]}]`, "failures": "[]", "producer_version": nil, "reference_identity": "i",
	} {
		if c[name] != want {
			t.Errorf("%s is %#v, want %#v", name, c[name], want)
		}
	}
	if b, _ := json.Marshal(c["dimensions"]); string(b) != `{"b":"true","f":"1.5","n":"1","s":"1"}` {
		t.Errorf("dimensions %s", b)
	}
	if m["value"] != 1e-3 || m["threshold"] != 1e-3 || m["comparator"] != "<=" || m["output_id"] != c["output_id"] || m["value_kind"] != "finite" {
		t.Errorf("metric %v", m)
	}
}

func TestVersionOneIsReadAsVersionTwoWouldHaveSaidIt(t *testing.T) {
	old := strings.NewReplacer("validation.v2", "validation.v1", `{"kind": "finite", "value": 1e-3}`, "1e-3").Replace(minimal)
	old = strings.Replace(old, `"metrics": [`, `"metrics": [{"name": "psnr", "value": 41.5, "comparator": ">=", "threshold": 40, "unit": "dB", "status": "pass"}, `, 1)
	out, _, metrics := extract(t, []byte(old))
	if out.State != evidence.Complete || len(out.Limitations) != 1 || out.Limitations[0].Code != kernelvalidation.Migrated {
		t.Fatalf("%+v", out)
	}
	p := find(metrics, "psnr", "c")
	if p["value"] != 41.5 || p["profile"] != `{"identity_quality":"legacy_unqualified","reason":"v1_missing_profile"}` {
		t.Errorf("psnr %v", p)
	}
	if err := schema(t).Validate(value(t, []byte(old))); err == nil {
		t.Error("the schema of version 2 accepts version 1")
	}
}

func TestLimitationsOfTheSummaryAreCutAndCounted(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal([]byte(minimal), &doc); err != nil {
		t.Fatal(err)
	}
	first := doc["cases"].([]any)[0].(map[string]any)
	var cases []any
	for i := range 30 {
		c := map[string]any{}
		for k, v := range first {
			c[k] = v
		}
		c["case_id"] = strings.Repeat("x", i+1)
		var l []any
		for j := range 5 {
			l = append(l, strings.Repeat("l", i*5+j+1))
		}
		c["limitations"] = l
		cases = append(cases, c)
	}
	doc["cases"] = cases
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte("9223372036854775807"), []byte("1"))
	b = bytes.ReplaceAll(b, []byte("9223372036854775808"), []byte("1"))
	b = bytes.ReplaceAll(b, []byte("9223372036854776000"), []byte("1"))
	out, rows, _ := extract(t, b)
	if len(out.Limitations) != 100 || out.Limitations[99].Code != kernelvalidation.CutShort || !strings.Contains(out.Limitations[99].Text, "51 more") {
		t.Errorf("%d limitations, the last %v", len(out.Limitations), out.Limitations[len(out.Limitations)-1])
	}
	if len(rows) != 30 || len(rows[29]["limitations"].([]string)) != 5 {
		t.Errorf("rows lost limitations: %v", rows[len(rows)-1])
	}
}

func TestDetectionGoesByContent(t *testing.T) {
	f := kernelvalidation.Provider{}.Formats()[0]
	for text, want := range map[string]bool{minimal: true, " \n" + minimal: true, `{"a": 1}`: false, `flameox.kernel-validation.v2`: false, "": false} {
		if f.Detect([]byte(text)) != want {
			t.Errorf("%.40q: %v", text, !want)
		}
	}
}
