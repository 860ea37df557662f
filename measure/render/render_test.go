package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/comparison"
)

func ptr[T any](v T) *T { return &v }

// hostile is a comparison whose names want to be markup.
func hostile() (*comparison.Document, []comparison.Evidence) {
	w := func(name string) comparison.Workload {
		return comparison.Workload{Name: name, Parameters: map[string]any{"impl": "'<b>|`x`'"}}
	}
	d := &comparison.Document{RunKey: "r<1>", Profile: "environments", Varying: "provenance.labels.build", Baseline: "plain", Contender: ptr("hard|ened"), LocalOnly: true,
		Method: comparison.Method{Name: "benchx/paired-relative", Version: "v1", Estimator: "median", K: ptr(3.0), MinRounds: 3}, IdentitySchema: "p",
		Caveats: []string{"plain: subject dirty"}, Sides: map[string]map[string]any{"plain": {"how_built": "make </style><script>alert(1)</script>"}},
		Units: []comparison.Unit{
			{Workload: w("BM_<T>"), Quantity: "wall-time", QuantityUnit: "s", Rounds: 2, Reference: ptr(1.31e-7), Effect: ptr(0.024), Noise: ptr(0.002), Threshold: ptr(0.006), Verdict: "regressed", UnmatchedDifferences: []string{"/coordinates/x"}},
			{Workload: w("BM_Same"), Quantity: "wall-time", QuantityUnit: "s", Rounds: 2, Reference: ptr(1.0), Effect: ptr(0.0), Noise: ptr(0.0), Threshold: ptr(0.0), Verdict: "no-change-detected"},
			{Workload: w("BM_Few"), Quantity: "wall-time", QuantityUnit: "s", Rounds: 1, Verdict: "indeterminate", Reason: ptr("insufficient-rounds")}},
		Missing:          []comparison.Missing{{Workload: w("BM_One"), Quantity: "wall-time", Side: "contender"}},
		FailedInvariants: []comparison.FailedInvariant{{Invariant: "equal-attempts", Detail: "1 and 2", Workload: "BM_Few", Quantity: "wall-time"}},
		Exclusions:       []comparison.Exclusion{{IngestKey: "k", Producer: "p", Status: "error", Reason: ptr("timeout")}}}
	at := func(v ...float64) []comparison.Attempt {
		return []comparison.Attempt{{Round: 0, Slot: 0, Values: v, Status: "success"}, {Round: 1, Slot: 2, Values: []float64{v[0]}, Status: "success"}, {Round: 2, Status: "error"}}
	}
	return d, []comparison.Evidence{{Sides: [2][]comparison.Attempt{at(1e-7, 1.1e-7), at(2e-7, 2.1e-7)}}, {Sides: [2][]comparison.Attempt{at(1, 1), at(1, 1)}}, {}}
}

func TestATextComparisonHasEverySectionWithItsCount(t *testing.T) {
	d, _ := hostile()
	var b bytes.Buffer
	if err := Comparison(&b, d, view.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"environments of run r<1>  [local-only]", "caveats:   plain: subject dirty", "REGRESSED (1)", "131 ns", "+2.40 %", "NO CHANGE DETECTED (1)", "INDETERMINATE (1)", "insufficient-rounds",
		"MISSING (1)", "not on the side of the contender", "FAILED INVARIANTS (1)", "EXCLUDED (1)", "k of p: error (timeout)", "/coordinates/x (1 of 3 units)",
		// The chance that Student's t with one degree of freedom is beyond 3.
		"20.5 % of cases with 2 rounds"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if strings.Index(b.String(), "REGRESSED") > strings.Index(b.String(), "NO CHANGE") {
		t.Error("what changed does not come first")
	}
}

func TestMarkdownKeepsNamesFromBeingMarkup(t *testing.T) {
	d, _ := hostile()
	var b bytes.Buffer
	if err := Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 8 {
			t.Errorf("a row of %d cells: %s", strings.Count(line, "|")-1, line)
		}
		if strings.Contains(line, "<script") {
			t.Errorf("markup: %s", line)
		}
	}
	for _, want := range []string{"### Benchmarks: 1 regressed, 1 indeterminate, 1 no change detected; 1 missing, 1 failed invariants, 1 excluded `[local-only]`", "**Regressed (1)**", "<details><summary>No change detected (1)</summary>", "`` BM_<T> [impl='<b>\\|`x`'] ``"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestThePageIsWellFormedAndRunsAndFetchesNothing(t *testing.T) {
	d, e := hostile()
	var b bytes.Buffer
	if err := Page(&b, d, e); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<b>", "src=", "url(", "NaN", "Inf", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if n := strings.Count(page, "<svg"); n != 9 {
		t.Errorf("%d pictures of 3 units", n)
	}
	// It is XML as well.
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Entity = xml.HTMLEntity
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestValuesAreInTheUnitThatSuits(t *testing.T) {
	for want, c := range map[string]struct {
		v    float64
		unit string
	}{"131 ns": {1.31e-7, "s"}, "1 µs": {0.999999e-6, "s"}, "999.9 ns": {0.9999e-6, "s"}, "45.5 ms": {0.0455, "s"}, "0 ns": {0, "s"}, "2 KiB": {2048, "By"}, "17.25 1/s": {17.25, "1/s"}, "0.5": {0.5, "1"}, "-": {math.NaN(), "s"}, "-3 s": {-3, "s"}, "1.235e+07": {12345678, "1"}} {
		if got := Value(c.v, c.unit); got != want {
			t.Errorf("%v %s is %q, and not %q", c.v, c.unit, got, want)
		}
	}
	for want, v := range map[string]float64{"+2.40 %": 0.024, "-0.013 %": -0.00013, "0 %": 0, "+900 %": 9, "+1.0e-07 %": 1e-9} {
		if got := Percent(v); got != want {
			t.Errorf("%v is %q, and not %q", v, got, want)
		}
	}
}
