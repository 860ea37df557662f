package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/view"
)

// An environment whose own wheel was built anew while a package was upgraded: both are reasons, not the wheel alone.
func TestAChangedFileDoesNotHideTheFactsBesideIt(t *testing.T) {
	old, now := digest.SumString("a"), digest.SumString("b")
	r := graph.Reason{
		Code: graph.ExecutablesChanged,
		Changes: []facet.Change{
			{Facet: facet.Executables, Name: "python.package mdurl", Old: "0.1.1", New: "0.1.2"},
			{Facet: facet.Executables, Name: "python.install 1", Old: old.String(), New: now.String(), Tree: true},
		},
		Files: []graph.FileChange{{Path: "gamma.whl", Old: old, New: now}},
	}
	want := []view.Because{
		{Fact: "gamma.whl", Verb: "changed", Old: old.Short(), New: now.Short()},
		{Fact: "python.package mdurl", Verb: "changed", Old: "0.1.1", New: "0.1.2"},
	}
	if d := cmp.Diff(want, becauseOf([]graph.Reason{r})); d != "" {
		t.Error(d)
	}
	if ofProject(r) {
		t.Error("the wheel of a build is said to be a file that git knows")
	}
	r.Changes[1].Name = "sources"
	if !ofProject(r) {
		t.Error("a source is said to be no file that git knows")
	}
}

func TestDiffSaysOfWhichFacetChangedFilesAre(t *testing.T) {
	old, now := digest.SumString("a"), digest.SumString("b")
	tree := func(f facet.Name) facet.Change {
		return facet.Change{Facet: f, Name: "x", Old: old.String(), New: now.String(), Tree: true}
	}
	for want, changes := range map[string][]facet.Change{
		"inputs":      {tree(facet.Inputs), {Facet: facet.Command, Name: "argv[0]"}},
		"executables": {tree(facet.Executables)},
		"files":       {tree(facet.Executables), tree(facet.Inputs)},
	} {
		d := &graph.RunDiff{A: &cache.Record{}, B: &cache.Record{}, Changes: changes, Files: []graph.FileChange{{Path: "f", Old: old, New: now}}}
		if got := diffView(d).Changed[0].Facet; got != want {
			t.Errorf("files of %v: got %q, want %q", changes, got, want)
		}
	}
}
