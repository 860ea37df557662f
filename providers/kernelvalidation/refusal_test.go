package kernelvalidation_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	kv "github.com/flameox/flameox/providers/kernelvalidation"
)

// with is the minimal document after replacements, each of which must be found.
func with(t testing.TB, pairs ...string) string {
	t.Helper()
	s := minimal
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("the document has no %q", pairs[i])
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	return s
}

const (
	aMetric  = `{"name": "max_abs_error", "value": {"kind": "finite", "value": 1e-3}, "comparator": "<=", "threshold": 0.001, "unit": "1", "status": "pass"}`
	exactMSE = `{"name": "mse", "value": {"kind": "finite", "value": 0}, "comparator": "<=", "threshold": 0, "unit": "1", "status": "pass"}`
	aPSNR    = `{"name": "psnr", "value": {"kind": "finite", "value": 60}, "comparator": ">=", "threshold": 50, "unit": "dB", "status": "pass", "profile": {"identity_quality": "exact", "data_range": 1, "log_base": 10, "reduction": "mean_squared_error", "zero_mse_convention": "positive_infinity"}}`
	infinite = `{"kind": "positive_infinity", "reason": "zero_mse_exact_agreement"}`
	finite60 = `{"kind": "finite", "value": 60}`
	notTried = `{"name": "mse", "value": null, "comparator": null, "threshold": null, "unit": "1", "status": "unsupported", "limitation": "no float16"}`
	aWitness = `, "representative_failures": [{"coordinates": [0], "detail": null}]`
)

// all replaces every status that stands for the whole.
func all(t testing.TB, s, status string) string {
	return strings.ReplaceAll(s, `"status": "pass"`, fmt.Sprintf(`"status": %q`, status))
}

func TestDocumentsThatAreRead(t *testing.T) {
	failed := all(t, with(t, `"value": 1e-3`, `"value": 1.0001e-3`, `"metrics"`, `"representative_failures": [{"absolute_error": 1.0001e-3}], "metrics"`), "fail")
	for name, doc := range map[string]string{
		"a value that equals the threshold passes":          minimal,
		"a value beyond it fails":                           failed,
		"psnr above an mse of 0 is infinite":                with(t, aMetric, exactMSE+", "+strings.Replace(aPSNR, finite60, infinite, 1)),
		"a finite psnr":                                     with(t, aMetric, aPSNR),
		"a psnr of the legacy profile":                      with(t, aMetric, aPSNR[:strings.Index(aPSNR, `{"identity_quality"`)]+`{"identity_quality": "legacy_unqualified", "reason": "v1_missing_profile"}}`),
		"an unsupported psnr without a profile":             all(t, with(t, aMetric, strings.Replace(notTried, "mse", "psnr", 1)), "unsupported"),
		"nothing that could be tried":                       all(t, with(t, aMetric, notTried), "unsupported"),
		"an output without metrics":                         all(t, with(t, aMetric, "", `"shape": [],`, `"shape": [], "limitations": ["no device"],`), "inconclusive"),
		"coverage that is not complete makes it undecided":  with(t, `"coverage_complete": true`, `"coverage_complete": false, "limitations": ["one dtype"]`, `"status": "pass", "coverage`, `"status": "inconclusive", "coverage`),
		"members in another order":                          with(t, `{"schema_version": "flameox.kernel-validation.v2", `, `{`, "}]}]}]}", `}]}]}], "schema_version": "flameox.kernel-validation.v2"}`),
		"a negative seed":                                   with(t, "9223372036854775807", "-9223372036854775808"),
		"nulls where nothing is":                            with(t, `"producer": "p"`, `"producer": "p", "producer_version": null`, "9223372036854775807", "null"),
		"cosine similarity of -1":                           with(t, aMetric, `{"name": "cosine_similarity", "value": {"kind": "finite", "value": -1}, "comparator": ">=", "threshold": -1, "unit": "1", "status": "pass"}`),
		"a failing and an unsupported case make it a fail":  strings.Replace(failed, `"cases": [`, `"cases": [`+strings.NewReplacer(`"case_id": "c"`, `"case_id": "d"`, aMetric, notTried, `"pass"`, `"unsupported"`).Replace(minimal[strings.Index(minimal, `{"case_id"`):len(minimal)-2])+", ", 1),
		"a limitation of an evaluated metric is no mistake": with(t, `"unit": "1", "status": "pass"}`, `"unit": "1", "status": "pass", "limitation": "in one dtype"}`),
	} {
		if out, _, _ := extract(t, []byte(doc)); out.State != evidence.Complete {
			t.Errorf("%s: %s %v\n%s", name, out.State, out.Limitations, doc)
		}
		if err := schema(t).Validate(value(t, []byte(doc))); err != nil {
			t.Errorf("%s: the schema refuses it: %v\n%s", name, err, doc)
		}
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	long := strings.Repeat("x", 501)
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	cases := make([]string, 1001)
	for i := range cases {
		cases[i] = strings.Replace(minimal[strings.Index(minimal, `{"case_id"`):len(minimal)-2], `"case_id": "c"`, fmt.Sprintf(`"case_id": "c%d"`, i), 1)
	}
	for _, c := range []struct {
		name, doc  string
		code, text string
		fits       bool // the JSON Schema cannot say it: statuses, names that are unique, numbers as they are written
	}{
		{"another schema", with(t, "validation.v2", "validation.v3"), kv.UnknownSchema, "v3", false},
		{"no schema", with(t, `"schema_version": "flameox.kernel-validation.v2", `, ""), kv.UnknownSchema, "no schema_version", false},
		{"a member that nobody knows", with(t, `"producer"`, `"extra": 1, "producer"`), kv.Invalid, `"extra"`, false},
		{"a member that nobody knows, deep", with(t, `"unit": "1"`, `"unit": "1", "p": 1`), kv.Invalid, "cases[0].outputs[0].metrics[0]", false},
		{"a member in other letters", with(t, `"status": "pass", "coverage`, `"Status": "pass", "coverage`), kv.Invalid, "status", false},
		{"a member twice", with(t, `"producer": "p"`, `"producer": "p", "producer": "q"`), kv.NotJSON, "twice", true},
		{"a case's member twice", with(t, `"device": "cpu"`, `"device": "cpu", "device": "gpu"`), kv.Invalid, "twice", true},
		{"no cases", minimal[:strings.Index(minimal, `[{"case_id"`)] + "[]}", kv.Invalid, "1 or more", false},
		{"1,001 cases", minimal[:strings.Index(minimal, `{"case_id"`)] + strings.Join(cases, ",") + "]}", kv.Invalid, "more than 1000", false},
		{"33 outputs", with(t, `"outputs": [`, `"outputs": [`+many(33, minimal[strings.Index(minimal, `{"name": "y"`):len(minimal)-4])+","), kv.Invalid, "more than 32", false},
		{"17 metrics", with(t, aMetric, many(17, aMetric)), kv.Invalid, "more than 16", false},
		{"9 failures", with(t, `"metrics"`, `"representative_failures": [`+many(9, `{"detail": "x"}`)+`], "metrics"`), kv.Invalid, "more than 8", false},
		{"33 dimensions", with(t, `"n": 1`, func() string {
			var l []string
			for i := range 33 {
				l = append(l, fmt.Sprintf(`"d%d": 1`, i))
			}
			return strings.Join(l, ", ")
		}()), kv.Invalid, "more than 32", false},
		{"21 limitations", with(t, `"producer"`, `"limitations": [`+many(21, `"x"`)+`], "producer"`), kv.Invalid, "more than 20", false},
		{"rank 17", with(t, `"shape": [2, 0]`, `"shape": [`+many(17, "1")+`]`), kv.Invalid, "more than 16", false},
		{"a long limitation", with(t, `"producer"`, `"limitations": ["`+long+`"], "producer"`), kv.Invalid, "501 characters", false},
		{"a seed of 2^63", with(t, "9223372036854775807", "9223372036854775808"), kv.Invalid, "seed", false},
		{"a seed with a point", with(t, "9223372036854775807", "42.0"), kv.Invalid, "42.0", true},
		{"a seed as text", with(t, "9223372036854775807", `"42"`), kv.Invalid, "seed", false},
		{"an extent of -1", with(t, `"shape": [2, 0]`, `"shape": [-1]`), kv.Invalid, "below zero", false},
		{"a status of its own", with(t, `"status": "pass", "coverage`, `"status": "ok", "coverage`), kv.Invalid, `"ok"`, false},
		{"a status in other letters", with(t, `"status": "pass", "coverage`, `"status": "PASS", "coverage`), kv.Invalid, "PASS", false},
		{"coverage as a number", with(t, `"coverage_complete": true`, `"coverage_complete": 1`), kv.Invalid, "true or false", false},
		{"a producer with a space", with(t, `"producer": "p"`, `"producer": "p q"`), kv.Invalid, "producer's name", false},
		{"a dimension of null", with(t, `"n": 1`, `"n": null`), kv.Invalid, "dimensions.n", false},
		{"a dimension beyond floats", with(t, `"n": 1`, `"n": 1e999`), kv.Invalid, "1e999", true},
		{"NaN", with(t, `"value": 1e-3`, `"value": NaN`), kv.NotJSON, "NaN", true},
		{"a value as text", with(t, `"value": 1e-3`, `"value": "1e-3"`), kv.Invalid, "want a number", false},
		{"a bare value", with(t, `{"kind": "finite", "value": 1e-3}`, "1e-3"), kv.Invalid, "want an object", false},
		{"a value of another kind", with(t, `"kind": "finite"`, `"kind": "negative_infinity"`), kv.Invalid, "neither", false},
		{"a metric that nobody knows", with(t, "max_abs_error", "max_ulp_error"), kv.Invalid, "max_ulp_error", false},
		{"bytes behind it", minimal + "{}", kv.NotJSON, "behind the end", true},
		{"half of it", minimal[:200], kv.Truncated, "breaks off", true},
		{"no UTF-8", with(t, `"device": "cpu"`, "\"device\": \"\xff\""), kv.Invalid, "UTF-8", true},

		{"a value beyond the threshold that passes", with(t, `"value": 1e-3`, `"value": 1.0001e-3`), kv.Contradiction, "makes it fail", true},
		{"a metric that lies", with(t, `"unit": "1", "status": "pass"`, `"unit": "1", "status": "fail"`), kv.Contradiction, "makes it pass", true},
		{"an output that lies", with(t, `"shape": [], "status": "pass"`, `"shape": [], "status": "fail"`+aWitness), kv.Contradiction, "metrics make it pass", true},
		{"a case that lies", with(t, `"cpu", "status": "pass"`, `"cpu", "status": "fail"`), kv.Contradiction, "outputs make it pass", true},
		{"a document that lies", with(t, `"status": "pass", "coverage`, `"status": "fail", "coverage`), kv.Contradiction, "cases make it pass", true},
		{"a pass without complete coverage", with(t, `"coverage_complete": true`, `"coverage_complete": false, "limitations": ["one dtype"]`), kv.Contradiction, "not complete", false},
		{"incomplete coverage without a reason", with(t, `"coverage_complete": true`, `"coverage_complete": false`, `"status": "pass", "coverage`, `"status": "inconclusive", "coverage`), kv.Contradiction, "needs a limitation", false},
		{"the comparator of another metric", with(t, `"<="`, `">="`), kv.Contradiction, "comparator", false},
		{"psnr with <=", with(t, aMetric, strings.Replace(aPSNR, ">=", "<=", 1)), kv.Contradiction, "comparator", false},
		{"psnr without a profile", with(t, aMetric, aPSNR[:strings.Index(aPSNR, `, "profile"`)]+"}"), kv.Contradiction, "no profile", false},
		{"a profile of another metric", with(t, `"unit": "1"`, `"unit": "1", "profile": {"identity_quality": "legacy_unqualified", "reason": "v1_missing_profile"}`), kv.Contradiction, "only psnr", false},
		{"a profile of base 2", with(t, aMetric, strings.Replace(aPSNR, `"log_base": 10`, `"log_base": 2`, 1)), kv.Invalid, "log_base: 10", false},
		{"a data range of 0", with(t, aMetric, strings.Replace(aPSNR, `"data_range": 1`, `"data_range": 0`, 1)), kv.Invalid, "more than 0", false},
		{"infinity without an mse", with(t, aMetric, strings.Replace(aPSNR, finite60, infinite, 1)), kv.Contradiction, "no such mse", true},
		{"infinity above an mse that is not 0", with(t, aMetric, strings.Replace(strings.Replace(exactMSE, `"value": 0`, `"value": 1e-9`, 1), `"threshold": 0`, `"threshold": 1`, 1)+", "+strings.Replace(aPSNR, finite60, infinite, 1)), kv.Contradiction, "no such mse", true},
		{"infinity of another metric", with(t, `{"kind": "finite", "value": 1e-3}`, infinite), kv.Contradiction, "only psnr", false},
		{"an error below zero", with(t, `"value": 1e-3`, `"value": -1e-3`), kv.Contradiction, "value is -0.001", false},
		{"a threshold below zero", with(t, `"threshold": 0.001`, `"threshold": -1`), kv.Contradiction, "threshold is -1", false},
		{"cosine beyond 1", with(t, aMetric, `{"name": "cosine_similarity", "value": {"kind": "finite", "value": 1.5}, "comparator": ">=", "threshold": 1, "unit": "1", "status": "pass"}`), kv.Contradiction, "1.5", false},
		{"a metric twice", with(t, aMetric, aMetric+","+aMetric), kv.Contradiction, "twice", true},
		{"an output twice", with(t, `"outputs": [`, `"outputs": [`+minimal[strings.Index(minimal, `{"name": "y"`):len(minimal)-4]+","), kv.Contradiction, "two outputs", true},
		{"a case twice", with(t, `"cases": [`, `"cases": [`+minimal[strings.Index(minimal, `{"case_id"`):len(minimal)-2]+","), kv.Contradiction, "two cases", true},
		{"an evaluated metric without a value", with(t, `{"kind": "finite", "value": 1e-3}`, "null"), kv.Contradiction, "no value", false},
		{"an evaluated metric without a threshold", with(t, `, "threshold": 0.001`, ""), kv.Contradiction, "no threshold", false},
		{"an unsupported metric with a value", all(t, with(t, aMetric, strings.Replace(notTried, `"threshold": null`, `"threshold": 1`, 1)), "unsupported"), kv.Contradiction, "has a value", false},
		{"an unsupported metric without a reason", all(t, with(t, aMetric, strings.Replace(notTried, `, "limitation": "no float16"`, "", 1)), "unsupported"), kv.Contradiction, "no limitation", false},
		{"an output that passes without metrics", with(t, aMetric, "", `"shape": [],`, `"shape": [], "limitations": ["x"],`), kv.Contradiction, "without a metric", false},
		{"an output without metrics or a reason", all(t, with(t, aMetric, ""), "inconclusive"), kv.Contradiction, "neither a metric nor", false},
		{"a failed output without a witness", all(t, with(t, `"value": 1e-3`, `"value": 1`), "fail"), kv.Contradiction, "no representative failure", false},
		{"a witness of nothing", all(t, with(t, `"value": 1e-3`, `"value": 1`, `"metrics"`, `"representative_failures": [{"detail": null}], "metrics"`), "fail"), kv.Invalid, "says nothing", false},
		{"a witness of what passes", with(t, `"metrics"`, `"representative_failures": [{"detail": "x"}], "metrics"`), kv.Contradiction, "has representative failures", false},
		{"a witness with an error below zero", all(t, with(t, `"value": 1e-3`, `"value": 1`, `"metrics"`, `"representative_failures": [{"absolute_error": -1}], "metrics"`), "fail"), kv.Invalid, "below zero", false},
	} {
		out, rows, _ := extract(t, []byte(c.doc))
		if out.State != evidence.Incompatible || len(rows) > 0 || len(out.Limitations) != 1 {
			t.Errorf("%s: %s with %d rows: %v", c.name, out.State, len(rows), out.Limitations)
			continue
		}
		if l := out.Limitations[0]; l.Code != c.code || !strings.Contains(l.Text, c.text) {
			t.Errorf("%s: %s, want %s with %q", c.name, l, c.code, c.text)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(c.doc)))
		if err == nil {
			err = schema(t).Validate(v)
		}
		if c.fits != (err == nil) && (!c.fits || c.code == kv.Contradiction) {
			t.Errorf("%s: the schema says %v", c.name, err)
		}
	}
}

func TestADocumentOverTheLimitOfBytesIsRefused(t *testing.T) {
	big := minimal + strings.Repeat(" ", 64<<20-len(minimal))
	if out, _, _ := extract(t, []byte(big)); out.State != evidence.Complete {
		t.Errorf("64 MiB: %s %v", out.State, out.Limitations)
	}
	if out, _, _ := extract(t, []byte(big+" ")); out.State != evidence.Incompatible || out.Limitations[0].Code != kv.InputBudget {
		t.Errorf("64 MiB and one byte: %s %v", out.State, out.Limitations)
	}
}

var longExponent = regexp.MustCompile(`[0-9][eE][+-]?[0-9]{4,}`)

// FuzzDocuments holds what is read to the schema: whatever passes the reader fits it.
func FuzzDocuments(f *testing.F) {
	for _, s := range []string{minimal, with(f, aMetric, exactMSE+", "+strings.Replace(aPSNR, finite60, infinite, 1)), with(f, aMetric, aPSNR), all(f, with(f, aMetric, notTried), "unsupported"), strings.Replace(minimal, "v2", "v1", 1), "{}", "[", `{"schema_version":1}`} {
		f.Add([]byte(s))
	}
	s := schema(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, fmt.Sprint(os.Getpid()))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := kv.Provider{}.Validate(t.Context(), providers.Input{Artifacts: []providers.Artifact{{Role: kv.Role, Size: int64(len(data)), Path: path}}})
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Valid == (len(r.Reasons) > 0):
			t.Fatalf("valid is %v, with the reasons %v", r.Valid, r.Reasons)
		case !r.Valid, len(r.Limitations) > 0 && r.Limitations[0].Code == kv.Migrated:
			return
		}
		if longExponent.Match(data) {
			return // the schema's library writes such a number out
		}
		if err := s.Validate(value(t, data)); err != nil {
			t.Fatalf("it was read and does not fit the schema: %v", err)
		}
	})
}
