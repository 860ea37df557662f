package comparison

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/paired"
)

// tree is a tree id that begins with the letters.
func tree(s string) string { return (s + strings.Repeat("0", 40))[:40] }

// result is one attempt; changes are members named a/b/c.
func result(side string, round, slot int, value float64, changes map[string]any) Result {
	doc := map[string]any{
		"schema_version": 5.0, "producer": map[string]any{"name": "benchx/gbench-adapter", "version": "1", "mapping_version": "1"},
		"ingest_key": fmt.Sprintf("r:w:wall-time:slot-%d", slot), "attempt_key": fmt.Sprintf("a:%d", slot), "project": "demo",
		"source": map[string]any{"uri": "https://example.org/demo", "type": "git"}, "revision": map[string]any{"key": "rev-" + side},
		"coordinates": map[string]any{
			"workload": map[string]any{"name": "w"}, "subject": map[string]any{"name": "demo", "components": []any{map[string]any{"role": "primary"}}, "configuration": map[string]any{"build_type": "Release"}},
			"quantity": map[string]any{"name": "wall-time", "unit": "s", "direction": "lower-is-better"}, "comparison_context": map[string]any{},
			"environment": map[string]any{"schema": "machine/v1", "identity": map[string]any{"runner": "host"}, "system": map[string]any{"kernel": "6.8"}}},
		"measurement": map[string]any{"status": "success", "observations": []any{value}}, "procedure": map[string]any{"round": float64(round), "slot": float64(slot)},
		"provenance": map[string]any{"run_key": "r", "started_at": "2026-01-02T03:04:05Z", "subject_dirty": "clean", "subject_tree": tree(side), "benchmark_dirty": "clean", "benchmark_tree": tree(side)},
	}
	for path, v := range changes {
		at := doc
		parts := strings.Split(path, "/")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		if last := parts[len(parts)-1]; v == nil {
			delete(at, last)
		} else {
			at[last] = v
		}
	}
	return Result{Document: doc}
}

// revisions are rounds of two trees, one value each.
func revisions(base, head []float64) []Result {
	var out []Result
	for i := range base {
		out = append(out, result("b", i, 2*i, base[i], nil), result("c", i, 2*i+1, head[i], nil))
	}
	return out
}

func request(p Profile, baseline string) Request {
	return Request{RunKey: "r", Profile: p, Baseline: baseline, Label: "env", Relative: paired.RelativeOptions{K: 3, MinRounds: 3}}
}

func compare(t *testing.T, results []Result, r Request) *Document {
	t.Helper()
	d, err := Compare(results, r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	v, err := document.Read(document.ComparisonKind, b)
	if err != nil {
		t.Fatalf("%s\n%v", b, err)
	}
	// The same results in another order are the same document.
	shuffled := slices.Clone(results)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	again, err := Compare(shuffled, r)
	if err != nil || !reflect.DeepEqual(d, again) {
		x, _ := ijson.Canonical(v)
		t.Errorf("the order of the results shows: %s\n%+v, %v", x, again, err)
	}
	return d
}

var three, more = []float64{1, 2, 3}, []float64{1.1, 2.2, 3.3}

func failed(d *Document) string {
	var out []string
	for _, f := range d.FailedInvariants {
		out = append(out, f.Invariant)
	}
	return strings.Join(out, " ")
}

func TestTwoRevisionsAreCompared(t *testing.T) {
	d := compare(t, revisions(three, more), request(Revisions, "b"))
	u := d.Units[0]
	if failed(d) != "" || u.Verdict != "regressed" || u.Rounds != 3 || *u.Effect < 0.0999 || *u.Effect > 0.1001 || d.LocalOnly || *d.Contender != tree("c") || d.Baseline != tree("b") {
		t.Errorf("%+v", d)
	}
	if u.Series.Baseline == nil || *u.Series.Baseline != *u.Series.Contender {
		t.Error("two revisions are two series")
	}
	if byRevision := compare(t, revisions(three, more), request(Revisions, "rev-b")); byRevision.Baseline != tree("b") {
		t.Errorf("the baseline by its revision is %s", byRevision.Baseline)
	}
	improved := compare(t, revisions(more, three), request(Revisions, "b"))
	if improved.Units[0].Verdict != "improved" {
		t.Errorf("%+v", improved.Units[0])
	}
	var other []Result
	for _, r := range revisions(three, more) {
		document.At(r.Document, "coordinates", "quantity").(map[string]any)["direction"] = "higher-is-better"
		other = append(other, r)
	}
	if d := compare(t, other, request(Revisions, "b")); d.Units[0].Verdict != "improved" {
		t.Errorf("%+v", d.Units[0])
	}
}

func TestAQuietChangeIsFoundAndANoisyOneIsNot(t *testing.T) {
	base := []float64{1, 1.0003, 0.9997, 1.0001, 0.9999, 1}
	quiet := make([]float64, 6)
	for i, b := range base {
		quiet[i] = b * (1.02 + []float64{0.0003, -0.0003, 0.0001, -0.0001, 0.0002, -0.0002}[i])
	}
	if d := compare(t, revisions(base, quiet), request(Revisions, "b")); d.Units[0].Verdict != "regressed" {
		t.Errorf("%+v", d.Units[0])
	}
	noisy := []float64{1.15, 0.93, 1.12, 0.95, 1.1, 0.93}
	if d := compare(t, revisions(base, noisy), request(Revisions, "b")); d.Units[0].Verdict != "no-change-detected" {
		t.Errorf("%+v", d.Units[0])
	}
}

func TestWhatBreaksTheProfileLeavesNoVerdict(t *testing.T) {
	head := func(change map[string]any) func([]Result) []Result {
		return func(r []Result) []Result {
			r[5] = result("c", 2, 5, 3.3, change)
			return r
		}
	}
	for _, c := range []struct {
		name   string
		change func([]Result) []Result
		want   string
		detail string
	}{
		{"another build type", head(map[string]any{"coordinates/subject/configuration/build_type": "Debug"}), "sides-agree", "/coordinates/subject/configuration/build_type"},
		{"a null", func(r []Result) []Result {
			for i := range r {
				document.At(r[i].Document, "coordinates", "environment", "system").(map[string]any)["process"] = nil
			}
			return r
		}, "sides-agree", "/coordinates/environment/system/process"},
		{"a fact that one side lacks", head(map[string]any{"coordinates/environment/system/kernel": nil}), "sides-agree", "/coordinates/environment/system/kernel"},
		{"a third tree", head(map[string]any{"provenance/subject_tree": tree("d"), "provenance/benchmark_tree": tree("d")}), "two-sides", "3 sides"},
		{"no tree", head(map[string]any{"provenance/subject_tree": nil, "provenance/subject_dirty": "unknown", "provenance/benchmark_tree": nil, "provenance/benchmark_dirty": "unknown"}), "sides", "1 of 6"},
		{"no slot", head(map[string]any{"procedure/slot": nil}), "alternating-slots", "has no slot"},
		{"one slot twice", head(map[string]any{"procedure/slot": 4.0}), "alternating-slots", "belongs to both"},
		{"sides in blocks", func(r []Result) []Result {
			for i, slot := range []float64{0, 3, 1, 4, 2, 5} {
				r[i].Document["procedure"].(map[string]any)["slot"] = slot
			}
			return r
		}, "alternating-slots", "slots 0 and 1 are both of"},
		{"another suite file", head(map[string]any{"benchmark/source/uri": "https://example.org/suite", "provenance/benchmark_tree": tree("e")}), "sides-agree", ""},
		{"a lost attempt", func(r []Result) []Result { return r[:5] }, "equal-attempts", "3 attempts"},
		{"a round twice", func(r []Result) []Result {
			for _, x := range r[4:] {
				x.Document["procedure"].(map[string]any)["round"] = 1.0
			}
			return r
		}, "duplicate-round", "which of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := compare(t, c.change(revisions(three, more)), request(Revisions, "b"))
			if failed(d) != c.want || !strings.Contains(d.FailedInvariants[0].Detail, c.detail) {
				t.Fatalf("%+v, want %s with %q", d.FailedInvariants, c.want, c.detail)
			}
			for _, u := range d.Units {
				if u.Verdict != "indeterminate" || u.Reason == nil || u.Effect != nil {
					t.Errorf("%+v", u)
				}
			}
		})
	}
}

func TestASuiteApartIsOneFileInEveryRound(t *testing.T) {
	build := func(last string) []Result {
		var out []Result
		for i, r := range revisions(three, more) {
			r.Document["benchmark"] = map[string]any{"source": map[string]any{"uri": "https://example.org/suite", "type": "git"}}
			at := tree("e")
			if i == 5 {
				at = tree(last)
			}
			r.Document["provenance"].(map[string]any)["benchmark_tree"] = at
			out = append(out, r)
		}
		return out
	}
	if d := compare(t, build("e"), request(Revisions, "b")); failed(d) != "" || d.Units[0].Verdict != "regressed" {
		t.Errorf("%+v", d)
	}
	if d := compare(t, build("f"), request(Revisions, "b")); failed(d) != "one-benchmark-tree" {
		t.Errorf("%+v", d.FailedInvariants)
	}
}

func TestWhatIsLeftOutIsListed(t *testing.T) {
	r := revisions([]float64{1, 2, 3, 4}, []float64{1.1, 2.2, 3.3, 4.4})
	r[7] = result("c", 3, 7, 0, map[string]any{"measurement/status": "error", "measurement/reason": "timeout", "measurement/observations": nil})
	r = append(r, result("c", 0, 1, 9, map[string]any{"coordinates/workload/name": "only-head", "ingest_key": "r:only-head:wall-time:slot-1"}),
		result("b", 0, 0, 9, map[string]any{"measurement/kind": "condition", "coordinates/quantity/name": "load-average", "ingest_key": "r:w:load-average:slot-0"}))
	d := compare(t, r, request(Revisions, "b"))
	if len(d.Exclusions) != 1 || *d.Exclusions[0].Reason != "timeout" || d.Units[0].Rounds != 3 || d.Units[0].Verdict != "regressed" {
		t.Errorf("%+v", d)
	}
	if len(d.Missing) != 1 || d.Missing[0].Side != "baseline" || d.Missing[0].Workload.Name != "only-head" || len(d.Units) != 1 || len(d.Inputs) != 10 {
		t.Errorf("missing %+v, %d units, %d inputs", d.Missing, len(d.Units), len(d.Inputs))
	}
	for i := range r {
		r[i].Order = map[string]any{"quantities": []any{"cpu-time"}}
	}
	if _, err := Compare(r, request(Revisions, "b")); err == nil {
		t.Error("results that no order asked for are compared")
	}
}

func TestADirtySideIsLocalOnly(t *testing.T) {
	r := revisions(three, more)
	for _, i := range []int{1, 3, 5} {
		r[i].Document["provenance"].(map[string]any)["subject_dirty"] = "dirty"
	}
	d := compare(t, r, request(Revisions, "b"))
	if !d.LocalOnly || len(d.Caveats) != 1 || !strings.Contains(d.Caveats[0], tree("c")+": subject dirty") || d.Units[0].Verdict != "regressed" {
		t.Errorf("%+v", d)
	}
}

// labelled are rounds of one tree under two labels.
func labelled(change map[string]any) []Result {
	var out []Result
	for i := range 3 {
		a := map[string]any{"provenance/labels": map[string]any{"env": "old"}, "provenance/info/how_built": "by hand"}
		b := maps.Clone(change)
		if b == nil {
			b = map[string]any{}
		}
		b["provenance/labels"] = map[string]any{"env": "new"}
		out = append(out, result("b", i, 2*i, three[i], a), result("b", i, 2*i+1, more[i], b))
	}
	return out
}

func TestTwoEnvironmentsAreCompared(t *testing.T) {
	d := compare(t, labelled(map[string]any{"coordinates/subject/configuration/options/ARROW_HARDENED": "ON"}), request(Environments, "old"))
	want := []string{"/coordinates/subject/configuration/options/ARROW_HARDENED"}
	if failed(d) != "" || d.Units[0].Verdict != "regressed" || !slices.Equal(d.Units[0].UnmatchedDifferences, want) || d.Sides["old"]["how_built"] != "by hand" || len(d.Sides["new"]) != 0 {
		t.Errorf("%+v", d)
	}
	if d := compare(t, labelled(nil), request(Environments, "old")); failed(d) != "sides-differ" {
		t.Errorf("equal environments under two labels: %+v", d.FailedInvariants)
	}
	if d := compare(t, labelled(map[string]any{"revision/key": "rev-x"}), request(Environments, "old")); failed(d) != "sides-agree sides-differ" || !strings.Contains(d.FailedInvariants[0].Detail, "/revision/key") {
		t.Errorf("another commit: %+v", d.FailedInvariants)
	}
	lacks := labelled(map[string]any{"coordinates/environment/system/kernel": "6.9"})
	lacks[5].Document["provenance"].(map[string]any)["labels"] = map[string]any{}
	if d := compare(t, lacks, request(Environments, "old")); !strings.HasPrefix(failed(d), "sides") {
		t.Errorf("a result without the label: %+v", d.FailedInvariants)
	}
}

// variant are rounds of the two values of a parameter, for each size.
func variant(late string) []Result {
	var out []Result
	for i := range 3 {
		for j, size := range []string{"10", "1000"} {
			for side, impl := range []string{"'baseline'", "'new'"} {
				v := three[i] * float64(1+j)
				if side == 1 {
					v = more[i] * float64(1+j)
				}
				change := map[string]any{"coordinates/workload/parameters": map[string]any{"impl": impl, "size": size}, "ingest_key": fmt.Sprintf("r:%s:%s:%d", size, impl, i)}
				if late != "" && i == 2 && side == 1 && j == 1 {
					change["measurement"] = map[string]any{"status": late, "reason": "timeout"}
				}
				out = append(out, result("b", i, 2*i+side, v, change))
			}
		}
	}
	return out
}

func TestTwoVariantsAreCompared(t *testing.T) {
	r := request(Variants, "'baseline'")
	if _, err := Compare(variant(""), r); err == nil || !strings.Contains(err.Error(), "impl, size") {
		t.Errorf("two parameters and no word which: %v", err)
	}
	r.Vary = "impl"
	d := compare(t, variant(""), r)
	if len(d.Units) != 2 || failed(d) != "" {
		t.Fatalf("%+v", d)
	}
	for _, u := range d.Units {
		if u.Verdict != "regressed" || len(u.Workload.Parameters) != 1 || u.Workload.Parameters["size"] == nil {
			t.Errorf("%+v", u)
		}
	}
	for late, want := range map[string]string{"error": "side-failed", "skipped": "insufficient-rounds"} {
		d := compare(t, variant(late), r)
		if u := d.Units[1]; u.Verdict != "indeterminate" || *u.Reason != want || u.Effect != nil {
			t.Errorf("%s: %+v", late, u)
		}
		if d.Units[0].Verdict != "regressed" {
			t.Errorf("%s: the other unit is %+v", late, d.Units[0])
		}
	}
	r.Baseline = "baseline"
	if _, err := Compare(variant(""), r); err == nil || !strings.Contains(err.Error(), "quotes included") {
		t.Errorf("%v", err)
	}
}

func TestARequestWithoutAnAnswerIsNoDocument(t *testing.T) {
	for name, r := range map[string]Request{
		"run": {RunKey: "x", Profile: Revisions, Baseline: "b"}, "baseline": request(Revisions, "zz"), "both": request(Revisions, "rev-"), "empty": request(Revisions, ""),
		"label": {RunKey: "r", Profile: Environments, Baseline: "b"}, "profile": request("single-run", "b"), "no parameter": request(Variants, "b"),
	} {
		var refused *RequestError
		if d, err := Compare(revisions(three, more), r); !errors.As(err, &refused) || d != nil {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
}

func TestTheBandDecidesUnderTheLogMethod(t *testing.T) {
	r := request(Revisions, "b")
	r.Log = &paired.LogOptions{Level: 0.95, Interval: paired.StudentInterval, Band: 0.01}
	d := compare(t, revisions([]float64{1, 1, 1, 1, 1}, []float64{1.05, 1.051, 1.049, 1.05, 1.0505}), r)
	if u := d.Units[0]; u.Verdict != "regressed" || u.Interval == nil || d.Method.Name != "paired-log" {
		t.Errorf("%+v", u)
	}
	d = compare(t, revisions([]float64{1, 1, 1, 1, 1}, []float64{1.001, 0.999, 1.002, 0.998, 1}), r)
	if d.Units[0].Verdict != "unchanged" {
		t.Errorf("%+v", d.Units[0])
	}
	exact := revisions([]float64{5}, []float64{6})
	for _, x := range exact {
		document.At(x.Document, "coordinates", "quantity").(map[string]any)["deterministic"] = true
	}
	if d := compare(t, exact, r); d.Units[0].Verdict != "regressed" {
		t.Errorf("%+v", d.Units[0])
	}
	r.Log = nil
	if d := compare(t, exact, r); *d.Units[0].Reason != "deterministic-deferred" {
		t.Errorf("%+v", d.Units[0])
	}
}
