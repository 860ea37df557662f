package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// Comparability says whether two runs may be compared at all.
type Comparability string

// The verdicts, in the order in which they are tried.
const (
	Incomparable             Comparability = "incomparable"
	ComparableWithCovariates Comparability = "comparable_with_covariates"
	Comparable               Comparability = "comparable"
)

// RunDiff is what `diff A B` answers.
type RunDiff struct {
	A, B       *cache.Record
	Verdict    Comparability
	Why        []string       // of a verdict that is not Comparable
	Changes    []facet.Change // what was varied: all facts of the keys that differ
	Files      []FileChange
	Covariates []facet.Change // recorded facts of the machine that differ; Facet is empty
}

// Compare says whether two runs measure the same thing under the same conditions, and in what they differ. Inputs,
// executables and identity may differ: that is what comparisons are made for. Machines that differ in what a key holds measured different things; what
// no key holds, as where a declared class leaves it open, is a covariate.
func (s *Store) Compare(a, b *cache.Record) *RunDiff {
	d := &RunDiff{A: a, B: b, Verdict: Comparable, Changes: facet.Diff(&a.Manifest, &b.Manifest)}
	if a.Kind != b.Kind {
		d.Why = append(d.Why, fmt.Sprintf("%s and %s measure different things", a.Kind, b.Kind))
	}
	for _, r := range []*cache.Record{a, b} {
		if !r.Valid() {
			d.Why = append(d.Why, "run "+r.Run+" is not valid")
		}
	}
	for _, c := range d.Changes {
		if c.Tree {
			d.Files = append(d.Files, s.fileChanges(c)...)
		}
		switch {
		case c.Facet == facet.HostClass && a.Host.Class[c.Name] == b.Host.Class[c.Name] && a.Host.Class[c.Name] != "" && (c.Old == "" || c.New == ""):
			// One of the two declares what the other leaves open, and the machines were the same in it.
		case c.Facet == facet.Definition, c.Facet == facet.HostClass:
			d.Why = append(d.Why, fmt.Sprintf("%s differs: %s %s → %s", strings.ReplaceAll(string(c.Facet), "_", " "), c.Name, shorten(c.Old), shorten(c.New)))
		}
	}
	d.covariates(a.Host.Class, b.Host.Class)
	d.covariates(a.Host.Covariates, b.Host.Covariates)
	switch {
	case len(d.Why) > 0:
		d.Verdict = Incomparable
	case len(d.Covariates) > 0:
		d.Verdict = ComparableWithCovariates
		for _, c := range d.Covariates {
			d.Why = append(d.Why, fmt.Sprintf("%s differs: %s → %s", c.Name, shorten(c.Old), shorten(c.New)))
		}
	}
	return d
}

// covariates adds the facts that differ and are in neither key. A fact of the class is one where the keys have a declared class, or none.
func (d *RunDiff) covariates(a, b map[string]string) {
	for _, name := range union(a, b) {
		keyed := slices.ContainsFunc(d.Changes, func(c facet.Change) bool { return c.Facet == facet.HostClass && c.Name == name })
		if x, y := a[name], b[name]; x != y && !keyed {
			d.Covariates = append(d.Covariates, facet.Change{Name: name, Old: x, New: y})
		}
	}
}
