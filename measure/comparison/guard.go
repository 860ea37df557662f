package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
)

// group is a unit's attempts.
type group struct {
	name     string
	params   map[string]any
	quantity string
	attempts []*attempt
}

func (g *group) label() string {
	if len(g.params) == 0 {
		return g.name
	}
	var parts []string
	for _, k := range document.Keys(g.params) {
		parts = append(parts, fmt.Sprintf("%s=%v", k, g.params[k]))
	}
	return g.name + " [" + strings.Join(parts, ", ") + "]"
}

func groups(attempts []*attempt) []*group {
	byKey := map[string]*group{}
	var keys []string
	for _, a := range attempts {
		b, err := ijson.Canonical([]any{a.name, a.params, a.quantity})
		if err != nil {
			continue // the parameters were read from JSON
		}
		k := string(b)
		if byKey[k] == nil {
			byKey[k] = &group{name: a.name, params: a.params, quantity: a.quantity}
			keys = append(keys, k)
		}
		byKey[k].attempts = append(byKey[k].attempts, a)
	}
	slices.Sort(keys)
	out := make([]*group, len(keys))
	for i, k := range keys {
		out[i] = byKey[k]
	}
	return out
}

// sidesOf are the distinct sides in the order in which the run came to them.
func sidesOf(attempts []*attempt) []string {
	first := map[string]int{}
	for _, a := range attempts {
		if a.side == "" {
			continue
		}
		if at, ok := first[a.side]; !ok || a.slot < at {
			first[a.side] = a.slot
		}
	}
	out := document.Keys(first)
	slices.SortStableFunc(out, func(a, b string) int { return first[a] - first[b] })
	return out
}

// guard holds the run against the rules of its profile. What it returns without a workload leaves no unit a verdict.
func (r *Request) guard(attempts []*attempt, units []*group, sides []string) []FailedInvariant {
	var out []FailedInvariant
	fail := func(name, format string, args ...any) {
		out = append(out, FailedInvariant{Invariant: name, Detail: fmt.Sprintf(format, args...)})
	}
	without := 0
	for _, a := range attempts {
		if a.side == "" || r.Profile == Variants && text(a.doc, "provenance", "subject_tree") == "" {
			without++
		}
	}
	if without > 0 {
		what := map[Profile]string{Revisions: "no tree id: their checkout's state is unknown", Environments: "no label " + r.Label, Variants: "no parameter " + r.Vary + " or no tree id"}[r.Profile]
		fail("sides", "%d of %d results have %s", without, len(attempts), what)
	}
	if len(sides) != 2 {
		fail("two-sides", "the results have %d sides and a comparison has two: %s", len(sides), strings.Join(sides, ", "))
	}
	if at := disagreements(units, r.Profile); len(at) > 0 {
		fail("sides-agree", "the results differ in what must be equal: %s", strings.Join(at, ", "))
	}
	if r.Profile == Environments && len(sides) == 2 && !differ(attempts, sides) {
		fail("sides-differ", "the sides %s have other labels and equal facts: nothing that was recorded tells the environments apart", strings.Join(sides, " and "))
	}
	if r.Profile != Environments {
		if trees := apart(attempts); len(trees) > 1 {
			fail("one-benchmark-tree", "the benchmark is recorded apart from what it measures and was not one file in every round: %s", strings.Join(trees, ", "))
		}
	}
	if why := alternation(attempts); why != "" {
		fail("alternating-slots", "%s; measure both sides in one call (two targets and --rounds), or give each call of a shared run its own --round and --slot", why)
	}
	for _, g := range units {
		count, seen, double := map[string]int{}, map[string]bool{}, false
		for _, a := range g.attempts {
			count[a.side]++
			at := fmt.Sprintf("%s %d", a.side, a.round)
			double = double || a.round >= 0 && seen[at]
			seen[at] = true
		}
		if len(count) == 2 && count[sides[0]] != count[sides[len(sides)-1]] {
			out = append(out, FailedInvariant{"equal-attempts", fmt.Sprintf("%d attempts of %s and %d of %s", count[sides[0]], sides[0], count[sides[len(sides)-1]], sides[len(sides)-1]), g.label(), g.quantity})
		} else if double {
			out = append(out, FailedInvariant{"duplicate-round", "one side has two attempts in one round, and which of them belongs to the pair is not known", g.label(), g.quantity})
		}
	}
	return out
}

// disagreements are the pointers of matched facts that are not one value within a unit.
func disagreements(units []*group, p Profile) []string {
	bad := map[string]bool{}
	for _, g := range units {
		values := map[string]any{}
		count := map[string]int{}
		for _, a := range g.attempts {
			list := a.split[identity.Match]
			if tree := text(a.doc, "provenance", "subject_tree"); tree != "" && p != Revisions {
				list = append(slices.Clone(list), identity.Fact{Pointer: "/provenance/subject_tree", Value: tree})
			}
			for _, f := range list {
				if v, ok := values[f.Pointer]; f.Value == nil || ok && !identity.Same(v, f.Value) {
					bad[f.Pointer] = true
				}
				values[f.Pointer] = f.Value
				count[f.Pointer]++
			}
		}
		for at, n := range count {
			if n != len(g.attempts) {
				bad[at] = true // some have it and some have not
			}
		}
	}
	return document.Keys(bad)
}

// spelled are the values of each ignored fact on a side.
func spelled(attempts []*attempt, side string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, a := range attempts {
		if a.side != side {
			continue
		}
		for _, f := range a.split[identity.Ignore] {
			b, err := ijson.Canonical(f.Value)
			if err != nil {
				continue
			}
			if out[f.Pointer] == nil {
				out[f.Pointer] = map[string]bool{}
			}
			out[f.Pointer][string(b)] = true
		}
	}
	return out
}

// unmatched are the pointers of ignored facts whose values differ between two sides.
func unmatched(attempts []*attempt, sides []string) []string {
	a, b := spelled(attempts, sides[0]), spelled(attempts, sides[1])
	bad := map[string]bool{}
	for _, m := range []map[string]map[string]bool{a, b} {
		for at := range m {
			if !slices.Equal(document.Keys(a[at]), document.Keys(b[at])) {
				bad[at] = true
			}
		}
	}
	return document.Keys(bad)
}

// differ says whether the environments differ in a fact that may.
func differ(attempts []*attempt, sides []string) bool {
	return slices.ContainsFunc(unmatched(attempts, sides), func(at string) bool {
		return strings.HasPrefix(at, "/coordinates/subject/") || strings.HasPrefix(at, "/coordinates/environment/system")
	})
}

// apart are the trees of benchmarks that are not part of what they measure.
func apart(attempts []*attempt) []string {
	trees := map[string]bool{}
	for _, a := range attempts {
		tree := text(a.doc, "provenance", "benchmark_tree")
		if _, there := a.doc["benchmark"]; there && tree != text(a.doc, "provenance", "subject_tree") {
			if tree == "" {
				tree = "unknown"
			}
			trees[tree] = true
		}
	}
	return document.Keys(trees)
}

// alternation says why the sides did not take turns.
func alternation(attempts []*attempt) string {
	at := map[int]string{}
	for _, a := range attempts {
		if a.side == "" {
			continue
		}
		if a.slot < 0 {
			return "a result has no slot, so when it was measured among the others is not known"
		}
		if side, ok := at[a.slot]; ok && side != a.side {
			return fmt.Sprintf("slot %d belongs to both %s and %s", a.slot, side, a.side)
		}
		at[a.slot] = a.side
	}
	slots := make([]int, 0, len(at))
	for s := range at {
		slots = append(slots, s)
	}
	slices.Sort(slots)
	for i := 1; i < len(slots); i++ {
		if at[slots[i]] == at[slots[i-1]] {
			return fmt.Sprintf("slots %d and %d are both of %s", slots[i-1], slots[i], at[slots[i]])
		}
	}
	return ""
}
