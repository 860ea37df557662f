package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/graph/outline"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/view"
	declared "github.com/flameox/flameox/stages/host"
	"github.com/flameox/flameox/stages/program"
)

var viewStates = map[graph.State]view.State{
	graph.Cached: view.Cached, graph.Run: view.Run, graph.TopUp: view.TopUp, graph.MayRun: view.MayRun,
	graph.Blocked: view.Blocked, graph.Excluded: view.Excluded,
}

// printPlan prints a plan; as is the machine that it was made for, nil for this one.
func printPlan(c *cli.Context, o *outline.Plan, as *declared.Machine, saved string) error {
	now := time.Now()
	v := planView(o.Summary(), o.Started(), func(yield func(planned) bool) {
		for i := range o.Stages {
			s := &o.Stages[i]
			p := planned{block: s.Block, key: s.Key, PlannedStage: &s.Planned}
			if s.Planned.State == graph.Cached && !s.Started.IsZero() {
				p.where = view.Where{Age: now.Sub(s.Started), Host: s.Host}
			}
			if !yield(p) {
				return
			}
		}
	})
	v.Saved = saved
	if as != nil {
		v.On, v.Class = as.Name, host.Describe(as.Class, ", ")
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

func printPlanDocument(c *cli.Context, doc *graph.PlanDocument) error {
	v := planView(doc.Summary, doc.Servers, func(yield func(planned) bool) {
		for i := range doc.Stages {
			block, key := splitAddress(doc.Stages[i].Address)
			if !yield(planned{block: block, key: key, PlannedStage: &doc.Stages[i]}) {
				return
			}
		}
	})
	if doc.Host != "" {
		v.On, v.Class = doc.Host, host.Describe(doc.HostClass, ", ")
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

// planned is one stage of a plan; where says when and on what host its result was made, if it is cached and that is known.
type planned struct {
	block, key string
	*graph.PlannedStage
	where view.Where
}

// planView groups the stages by block, in the order in which blocks first appear.
func planView(sum graph.PlanSummary, servers []graph.PlannedServer, stages iter.Seq[planned]) *view.Plan {
	v := &view.Plan{Estimate: view.Estimate{
		Total: time.Duration(sum.EstimateNS), Runs: sum.EstimateRuns,
		MayRun: time.Duration(sum.MayRunNS), Unknown: sum.Unknown, Elsewhere: sum.Elsewhere,
	}}
	index := map[string]int{}
	for s := range stages {
		block := s.block
		inst := view.Instance{
			Key: s.key, State: viewStates[s.State], Have: s.Have, Want: s.Want, Because: becauseOf(s.Reasons), Where: s.where,
		}
		if s.Blocked != nil {
			inst.Why, inst.Do = s.Blocked.Why, s.Blocked.Do
		}
		i, seen := index[block]
		if !seen {
			i = len(v.Blocks)
			index[block] = i
			v.Blocks = append(v.Blocks, view.Block{Name: block})
		}
		v.Blocks[i].Instances = append(v.Blocks[i].Instances, inst)
	}
	for _, s := range servers {
		block, key := splitAddress(s.Address)
		inst := view.Instance{Key: key, State: view.Start, Because: []view.Because{{Fact: "for " + view.Plural(s.Stages, "stage", "stages")}}}
		if n := len(v.Blocks); n > 0 && v.Blocks[n-1].Name == block {
			v.Blocks[n-1].Instances = append(v.Blocks[n-1].Instances, inst)
		} else {
			v.Blocks = append(v.Blocks, view.Block{Name: block, Instances: []view.Instance{inst}})
		}
	}
	return v
}

// splitAddress separates block["key"].
func splitAddress(s string) (block, key string) {
	a, err := address.Parse(s)
	if err != nil {
		return s, ""
	}
	return a.Block, a.Axes.Key()
}

// becauseOf says each reason in words.
func becauseOf(reasons []graph.Reason) (out []view.Because) {
	for _, r := range reasons {
		switch {
		case len(r.Files) > 0:
			for _, f := range r.Files {
				out = append(out, view.Because{Fact: f.Path, Verb: verb(f.Old.IsZero(), f.New.IsZero()), Old: f.Old.Short(), New: f.New.Short()})
			}
			fallthrough // the facts beside the trees: packages of an environment whose wheel was built anew
		case len(r.Changes) > 0:
			for _, ch := range r.Changes {
				if ch.Tree && len(r.Files) > 0 {
					continue // its files say it
				}
				out = append(out, view.Because{Fact: factName(ch), Verb: verb(ch.Old == "", ch.New == ""), Old: shortValue(ch.Old), New: shortValue(ch.New)})
			}
		case r.Code == graph.Upstream:
			out = append(out, view.Because{Fact: r.Text})
		case r.Code == graph.MoreAttempts: // the state's "1 of 3" says it
		case r.Text != "":
			out = append(out, view.Because{Fact: reasonWords[r.Code] + ": " + r.Text})
		default:
			out = append(out, view.Because{Fact: reasonWords[r.Code]})
		}
	}
	return out
}

var reasonWords = map[graph.Code]string{
	graph.NeverRan: "never ran", graph.MoreAttempts: "more attempts wanted", graph.InvalidAttempts: "not valid before",
	graph.EvidenceLost: "evidence lost", graph.PreviousFailed: "failed before", graph.Replaced: "replaced",
	graph.Upstream: "upstream", graph.Expired: "expired", graph.ImplementationChanged: "new version of the stage",
}

func verb(added, removed bool) string {
	switch {
	case added:
		return "added"
	case removed:
		return "removed"
	}
	return "changed"
}

// factName is what a person calls a fact of a key.
func factName(ch facet.Change) string {
	switch ch.Facet {
	case facet.HostClass:
		return "host class " + ch.Name
	case facet.Definition:
		switch {
		case ch.Name == "version":
			return "implementation"
		case ch.Note != "":
			return ch.Note
		}
	case facet.Executables, facet.Inputs, facet.Identity:
		if ch.Note != "" {
			return ch.Note
		}
	}
	return ch.Name
}

// shortValue shortens digests and leaves values.
func shortValue(s string) string {
	if d, err := digest.Parse(s); err == nil {
		return d.Short()
	}
	return s
}

func printWhy(c *cli.Context, s *graph.Store, x *graph.Explanation) error {
	d := x.Decision
	if c.Bool("json") {
		doc := whyDocument{Format: 1, Address: d.Node.Address.String(), State: d.State, Reasons: notNil(d.Reasons), Changed: notNil(x.Changed), Same: []facet.Name{}, Now: x.Manifest}
		if x.Since != nil {
			doc.Since = x.Since.Run
		}
		for _, f := range x.Same {
			doc.Same = append(doc.Same, f.Name)
		}
		return cmdline.JSON(c, doc)
	}
	v := &view.Why{Address: d.Node.Address.String(), State: viewStates[d.State]}
	if x.Since != nil {
		v.Newest = view.RunRef{Run: x.Since.Run, Age: s.Now().Sub(x.Since.Started), Host: x.Since.Host.Name}
	}
	for _, r := range x.Changed {
		for i, b := range becauseOf([]graph.Reason{r}) {
			f := view.Fact{Facet: facetWords(facet.Name(r.Code)), Text: b.Fact, Old: b.Old, New: b.New}
			if i < len(r.Files) && ofProject(r) {
				f.Hint = "git diff HEAD -- " + view.ShellQuote(b.Fact)
			}
			v.Changed = append(v.Changed, f)
		}
	}
	for _, f := range x.Same {
		v.Same = append(v.Same, view.Fact{Facet: facetWords(f.Name), Text: facetLine(f, cmdline.View(c))})
	}
	if len(v.Changed) == 0 {
		v.Sentence = whySentence(d)
	}
	if d.Block != nil {
		v.Notes = append(v.Notes, d.Block.Error())
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

// ofProject says whether the files of a reason are the project's own, which git knows; others are what a build left.
func ofProject(r graph.Reason) bool {
	return !slices.ContainsFunc(r.Changes, func(ch facet.Change) bool { return ch.Tree && ch.Name != "sources" })
}

// whySentence is the reason in a sentence where no fact of the key moved.
func whySentence(d *graph.Decision) string {
	var parts []string
	for _, b := range becauseOf(d.Reasons) {
		parts = append(parts, b.Fact)
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	case d.State == graph.Cached:
		return "nothing of its key has changed"
	case d.State == graph.TopUp:
		return fmt.Sprintf("%d of %d attempts are there", d.Have, d.Want)
	}
	return ""
}

func facetWords(n facet.Name) string { return strings.ReplaceAll(string(n), "_", " ") }

// facetLine is a whole facet on one line.
func facetLine(f facet.Facet, o view.Options) string {
	switch f.Name {
	case facet.HostClass:
		class := map[string]string{}
		for _, e := range f.Entries {
			class[e.Name] = e.Value
		}
		between := " · "
		if o.ASCII {
			between = ", "
		}
		if text := host.Describe(class, between); text != "" {
			return text
		}
	case facet.Command:
		var argv []string
		for _, e := range f.Entries {
			if strings.HasPrefix(e.Name, "argv[") {
				argv = append(argv, program.Brief(e.Value))
			}
		}
		return strings.Join(argv, " ")
	}
	var parts []string
	for _, e := range f.Entries {
		text := strings.TrimSpace(e.Name + " " + shortValue(e.Value))
		switch {
		case e.Value == "" || e.Value == "null" || e.Value == "{}" || e.Value == "[]": // an option that was not given
			continue
		case f.Name == facet.Executables && e.Note != "":
			text = e.Note
		case f.Name == facet.Inputs && e.Note != "":
			text = e.Note + " " + shortValue(e.Value)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// invalidText is why a run is not valid, in one line.
func invalidText(rec *cache.Record) string {
	for _, n := range rec.Invalid {
		return n.Text
	}
	return string(rec.Validation)
}
