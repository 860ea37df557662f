package graph

import (
	"errors"
	"strings"
	"testing"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
)

func TestASavedPlanOfOddTextIsNotTakenForAnEditedOne(t *testing.T) {
	doc := &PlanDocument{Format: PlanFormat, Variables: []string{"x=\xff\xfe", "y=\u2028<&>"}, HostClass: map[string]string{"cpu": "\xc3"}, Stages: []PlannedStage{{
		Address: "a", State: Run, Manifest: []facet.Manifest{facet.New(facet.Facet{Name: facet.Command, Entries: []facet.Entry{{Name: "argv[0]", Value: "\x00\xff"}}})},
	}}}
	b, err := doc.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(b); err != nil {
		t.Errorf("%v", err)
	}
}

func TestAPlanThatMayNotBeAppliedIsReadToBeShown(t *testing.T) {
	doc := &PlanDocument{Format: PlanFormat, Stages: []PlannedStage{{Address: "a", State: Run}}}
	b, err := doc.Seal()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) []byte {
		if !strings.Contains(string(b), old) {
			t.Fatalf("%q is not in the plan", old)
		}
		return []byte(strings.Replace(string(b), old, new, 1))
	}
	var version *PlanVersionError
	for name, c := range map[string]struct {
		file []byte
		is   func(error) bool
	}{
		"a value":       {edit(`"address": "a"`, `"address": "b"`), func(err error) bool { return errors.Is(err, ErrPlanEdited) }},
		"a field":       {edit(`"address": "a"`, `"address": "a", "extra": 1`), func(err error) bool { return errors.Is(err, ErrPlanEdited) }},
		"no digest":     {edit(doc.Digest.String(), strings.Repeat("0", 64)), func(err error) bool { return err != nil }},
		"newer":         {edit(`"format_version": 1`, `"format_version": 9, "extra": []`), func(err error) bool { return errors.As(err, &version) && version.Version == 9 }},
		"before all":    {edit(`"format_version": 1`, `"format_version": -1`), func(err error) bool { return errors.As(err, &version) }},
		"another shape": {edit(`"format_version": 1`, `"format_version": 2, "target": {"a": 1}`), func(err error) bool { return errors.As(err, &version) }},
	} {
		got, err := ReadPlan(c.file)
		if !c.is(err) || got == nil || len(got.Stages) != 1 {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", "1", `{"format_version": 1}`, `{"format_version": "1"}`, `{"format_version": 1, "stages": 1}`, string(b) + "x", string(b[:len(b)/2])} {
		if doc, err := ReadPlan([]byte(text)); err == nil || doc != nil {
			t.Errorf("%.40q is read as a plan", text)
		}
	}
}

func TestARefusalIsBoundedHoweverMuchMoved(t *testing.T) {
	old, now := &PlanDocument{}, &PlanDocument{}
	for i := range 1000 {
		now.Stages = append(now.Stages, PlannedStage{Address: strings.Repeat("a", i+1)})
	}
	err := old.Holds(now)
	var stale *StalePlanError
	if !errors.As(err, &stale) || len(stale.Moved) != 1000 || strings.Count(err.Error(), "\n") > mostMovesShown+3 || !strings.Contains(err.Error(), "(960 more)") {
		t.Errorf("%v", err)
	}
}

func FuzzSavedPlansAreReadOrRefused(f *testing.F) {
	b := &PlanDocument{Format: PlanFormat, HostClass: map[string]string{"cpu": "x"}, Stages: []PlannedStage{{
		Address: `a["n=1"]`, State: Run, Manifest: []facet.Manifest{facet.New(facet.Facet{Name: facet.Command, Entries: []facet.Entry{{Name: "argv[0]", Value: "x"}}})},
	}}}
	sealed, err := b.Seal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte(`{"format_version":2,"stages":[null]}`))
	f.Add([]byte(`{"format_version":1,"stages":[{"address":"a","manifests":[{"facets":[{"name":"inputs","entries":[{"name":"x","value":"y","tree":true}]}]}]}],"trees":[{}]}`))
	now := &PlanDocument{Format: PlanFormat, Stages: []PlannedStage{{Address: "a", State: Cached}}}
	f.Fuzz(func(t *testing.T, file []byte) {
		doc, err := ReadPlan(file)
		if doc == nil {
			if err == nil {
				t.Fatal("neither a plan nor an error")
			}
			return
		}
		doc.Holds(now)
		now.Holds(doc)
		if err := doc.Holds(doc); err != nil && len(doc.Stages) < 2 { // two of one address are two plans
			t.Fatalf("a plan does not hold against itself: %v", err)
		}
		again, sealErr := doc.Seal()
		if sealErr != nil {
			t.Fatal(sealErr)
		}
		if doc.Format != PlanFormat || doc.Stages == nil {
			return
		}
		if _, err := ReadPlan(again); err != nil {
			t.Fatalf("a plan that was just sealed: %v\n%s", err, again)
		}
	})
}

func TestAPatternOfDeclarationsAloneNamesWhatUsesThem(t *testing.T) {
	b := newBench(t)
	w := &Node{Address: address.Address{Block: "workload.w"}, Kind: "workload", Nature: Definition}
	e := &Node{Address: address.Address{Block: "environment.e"}, Kind: "environment", Nature: Identity}
	v := &Node{Address: address.Address{Block: "workload.v"}, Kind: "workload", Nature: Definition, Deps: []*Node{e}}
	text := "x"
	c := b.node("capture.c", Measurement, &fakeStage{input: &text})
	c.Deps = []*Node{v}
	g := b.graph(w, e, v, c)
	for pattern, want := range map[string]string{
		"workload.w": "and no stage uses it", "workload.*": "Select what uses it: capture.c", "environment.e": "Select what uses it: capture.c",
		"worklod.w": "Did you mean workload.w",
	} {
		for _, sel := range []Selection{{Target: patterns(t, pattern)}, {Exclude: patterns(t, pattern)}, {Replace: patterns(t, pattern)}} {
			if _, err := NewPlanner(b.store, g, sel); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", pattern, err, want)
			}
		}
	}
	if _, err := NewPlanner(b.store, g, Selection{Target: patterns(t, "*")}); err != nil {
		t.Errorf("a pattern that also matches a stage: %v", err)
	}
}
