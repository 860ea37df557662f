package graph

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// measured is a valid record of a measurement on a machine, with class as the host class of its key.
func measured(machine cache.Host, key map[string]string) *cache.Record {
	definition := facet.Facet{Name: facet.Definition}
	definition.Add("kind", "capture.command")
	class := facet.Facet{Name: facet.HostClass}
	for _, name := range slices.Sorted(maps.Keys(key)) {
		class.Add(name, key[name])
	}
	return &cache.Record{Run: "r", Kind: "capture.command", Nature: "measurement", Validation: cache.ValidationPassed, Host: machine, Manifest: facet.New(definition, class)}
}

func TestWhetherRunsOfDifferentMachinesMayBeCompared(t *testing.T) {
	full := map[string]string{"cpu.model": "A", "kernel": "6.8"}
	newer := map[string]string{"cpu.model": "A", "kernel": "6.9"}
	declared := map[string]string{"cpu.model": "A"}
	governed := map[string]string{"cpu.governor": "performance"}
	for _, c := range []struct {
		name    string
		a, b    *cache.Record
		verdict Comparability
		why     []string
	}{
		{"one machine", measured(cache.Host{Name: "a", Class: full}, full), measured(cache.Host{Name: "a", Class: full}, full), Comparable, nil},
		{"two of a class", measured(cache.Host{Name: "a", Class: full}, full), measured(cache.Host{Name: "b", Class: full}, full), Comparable, nil},
		{"what is volatile does not count", measured(cache.Host{Class: full, Volatile: map[string]string{"load.1": "9"}}, full), measured(cache.Host{Class: full}, full), Comparable, nil},
		{
			"two of a class with another governor", measured(cache.Host{Class: full, Covariates: governed}, full),
			measured(cache.Host{Class: full, Covariates: map[string]string{"cpu.governor": "powersave"}}, full),
			ComparableWithCovariates, []string{"cpu.governor differs: performance → powersave"},
		},
		{
			"one does not tell its governor", measured(cache.Host{Class: full, Covariates: governed}, full), measured(cache.Host{Class: full}, full),
			ComparableWithCovariates, []string{"cpu.governor differs: performance → nothing"},
		},
		{
			"two classes", measured(cache.Host{Class: full, Covariates: governed}, full), measured(cache.Host{Class: newer}, newer),
			Incomparable, []string{"host class differs: kernel 6.8 → 6.9"},
		},
		{
			"two machines of a declared class", measured(cache.Host{Class: full}, declared), measured(cache.Host{Class: newer}, declared),
			ComparableWithCovariates, []string{"kernel differs: 6.8 → 6.9"},
		},
		{"a declared class and a whole one, on one machine", measured(cache.Host{Class: full}, declared), measured(cache.Host{Class: full}, full), Comparable, nil},
		{
			"a declared class and a whole one, on two machines", measured(cache.Host{Class: newer}, declared), measured(cache.Host{Class: full}, full),
			Incomparable, []string{"host class differs: kernel nothing → 6.8"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, back := range []bool{false, true} {
				a, b := c.a, c.b
				if back {
					a, b = b, a
				}
				d := (&Store{}).Compare(a, b)
				if d.Verdict != c.verdict || len(d.Why) != len(c.why) {
					t.Errorf("%s %q, want %s %q", d.Verdict, d.Why, c.verdict, c.why)
				}
				if !back && !slices.Equal(d.Why, c.why) {
					t.Errorf("why %q, want %q", d.Why, c.why)
				}
			}
		})
	}
	bad := measured(cache.Host{Class: full}, full)
	bad.Validation = cache.ValidationFailed
	if d := (&Store{}).Compare(bad, measured(cache.Host{Class: full}, full)); d.Verdict != Incomparable || !strings.Contains(d.Why[0], "not valid") {
		t.Errorf("%s %q", d.Verdict, d.Why)
	}
}

// elsewhere is a stage whose key is known and that this machine cannot run.
type elsewhere struct{ *fakeStage }

func (s elsewhere) Actions(ctx context.Context, in *Results) ([]*Action, error) {
	actions, err := s.fakeStage.Actions(ctx, in)
	for _, a := range actions {
		a.Blocked = &BlockedError{Why: "this machine is another", Do: "go there"}
	}
	return actions, err
}

func TestWhatThisMachineCannotRunStandsWhereItWasRunElsewhere(t *testing.T) {
	b := newBench(t)
	each, text := time.Second, "x"
	s := &fakeStage{input: &text, do: b.took(&each)}
	n := b.node("m", Measurement, s)
	below := b.node("p", Pure, &fakeStage{up: n}, n)
	g := b.graph(n, below)
	n.Stage = elsewhere{s}
	plan := b.plan(g, Selection{})
	if d := plan.Of(n); d.State != Blocked || d.Block.Do != "go there" || len(d.Reasons) != 0 || len(d.Keys()) != 1 {
		t.Errorf("never run: %s %v %v, keys %v", d.State, d.Block, d.Reasons, d.Keys())
	}
	if plan.Of(below).State != Blocked {
		t.Errorf("what stands on it: %s", plan.Of(below).State)
	}
	if ran, report := b.apply(g, Selection{}); len(ran) != 0 || report.Blocked != 2 {
		t.Errorf("ran %v, %+v", ran, report)
	}
	n.Stage = s
	b.apply(g, Selection{})
	n.Stage = elsewhere{s}
	if d := b.plan(g, Selection{}).Of(n); d.State != Cached {
		t.Errorf("run elsewhere: %s", d.State)
	}
	n.Attempts = 2
	if d := b.plan(g, Selection{}).Of(n); d.State != Blocked || d.Have != 1 {
		t.Errorf("one more attempt wanted: %s, %d", d.State, d.Have)
	}
	if d := b.plan(g, Selection{Replace: patterns(t, "m")}).Of(n); d.State != Blocked {
		t.Errorf("replaced: %s", d.State)
	}
}
