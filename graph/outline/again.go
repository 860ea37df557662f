package outline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
)

// mostAgain is how many stages are decided again. Beyond it the whole plan is as quick.
const mostAgain = 2048

// Again decides again about the stages that are made from trees which have other roots now, by the roots that they had, and about those that stand on them.
// An error says why that cannot be known without the stages themselves; the plan is not to be used then.
func (p *Plan) Again(ctx context.Context, store *graph.Store, roots map[digest.Digest]digest.Digest) error {
	if !p.expand() {
		return errForm
	}
	moved, err := p.remake(roots)
	if err != nil || len(moved) == 0 {
		return err // nothing moved: files were touched, and hold what they held
	}
	part, ok := p.below(moved)
	if !ok {
		return errMany
	}
	g, number, err := p.graph(part, moved)
	if err != nil {
		return err
	}
	known := map[*graph.Node]graph.Known{}
	for n, i := range number {
		s := &p.Stages[i]
		known[n] = graph.Known{State: s.Planned.State, Have: s.Planned.Have, Want: s.Planned.Want, Results: len(s.Planned.Runs), Moved: moved[i]}
	}
	planner, err := graph.NewPlanner(store, g, graph.Selection{})
	if err != nil {
		return err
	}
	unread := false
	err = planner.Again(ctx, g, known, func(d *graph.Decision) bool {
		s := &p.Stages[number[d.Node]]
		before := s.Planned
		s.decide(d)
		unread = unread || d.Unread()
		return before.State != s.Planned.State || !slices.Equal(before.Keys, s.Planned.Keys) || !slices.Equal(before.Runs, s.Planned.Runs) ||
			before.Have != s.Planned.Have || before.Want != s.Planned.Want
	})
	if err == nil && unread {
		err = errors.New("an artifact cannot be read")
	}
	return err
}

// errMany says that so much stands on what moved that the whole plan is as quick.
var errMany = errors.New("much stands on it")

// remake puts the new roots into the manifests of the stages that have the old ones, and says which those are.
func (p *Plan) remake(roots map[digest.Digest]digest.Digest) (map[int]bool, error) {
	text := map[string]string{}
	for old, now := range roots {
		if old != now {
			text[old.String()] = now.String()
		}
	}
	moved := map[int]bool{}
	if len(text) == 0 {
		return moved, nil
	}
	used := map[string]bool{}
	for i := range p.Stages {
		s := &p.Stages[i]
		if !slices.ContainsFunc(s.more.roots(), func(r string) bool { return text[r] != "" }) {
			continue
		}
		if s.more.fixed {
			return nil, errors.New("how " + s.Address() + " was decided is not known")
		}
		if moved[i] = true; len(moved) > mostAgain {
			return nil, errMany
		}
		if !s.more.expand() {
			return nil, errForm
		}
		for m := range s.more.manifests {
			for f := range s.more.manifests[m].Facets {
				replaceRoot(&s.more.manifests[m].Facets[f], text, used)
			}
		}
	}
	if len(used) < len(text) {
		return nil, errors.New("files were put to a use of which it is not known what comes of it")
	}
	return moved, nil
}

// sources is the fact of the inputs that is the root of a stage's own files.
const sources = "sources"

func isSources(f *facet.Facet, e *facet.Entry) bool {
	return f.Name == facet.Inputs && e.Tree && e.Name == sources
}

// roots are the roots of sources in the manifests.
func (m *more) roots() []string {
	if m.texts != nil {
		return m.keyed
	}
	var out []string
	for i := range m.manifests {
		for k := range m.manifests[i].Facets {
			f := &m.manifests[i].Facets[k]
			for e := range f.Entries {
				if isSources(f, &f.Entries[e]) {
					out = append(out, f.Entries[e].Value)
				}
			}
		}
	}
	return out
}

// replaceRoot changes the root of the sources in a facet, of which it makes a copy of its own.
func replaceRoot(f *facet.Facet, text map[string]string, used map[string]bool) {
	changed := false
	for i := range f.Entries {
		e := &f.Entries[i]
		if now, ok := text[e.Value]; ok && isSources(f, e) {
			if !changed {
				changed, f.Entries = true, slices.Clone(f.Entries)
			}
			used[e.Value] = true
			f.Entries[i].Value = now
		}
	}
}

// below are the stages that moved, those that stand on them or wait for them, and those that they in turn stand on, in order.
func (p *Plan) below(moved map[int]bool) (part []int, ok bool) {
	affected := map[int]bool{}
	in := map[int]bool{}
	for i := range p.Stages {
		m := &p.Stages[i].more
		hit := moved[i]
		for _, u := range slices.Concat(m.needs, m.waits) {
			hit = hit || affected[u]
		}
		if !hit {
			continue
		}
		if affected[i], in[i] = true, true; len(affected) > mostAgain {
			return nil, false
		}
		for _, u := range slices.Concat(m.needs, m.waits) {
			in[u] = true
		}
	}
	for i := range in {
		part = append(part, i)
	}
	slices.Sort(part)
	return part, true
}

// graph is the part as a graph of its own. Only what moved can say what its key is made of now.
func (p *Plan) graph(part []int, moved map[int]bool) (*graph.Graph, map[*graph.Node]int, error) {
	of := map[int]*graph.Node{}
	number := map[*graph.Node]int{}
	var nodes []*graph.Node
	for _, i := range part {
		s := &p.Stages[i]
		a, err := address.Parse(s.Address())
		if err != nil || a.Block != s.Block || a.Axes.Key() != s.Key {
			return nil, nil, errForm
		}
		n := &graph.Node{Address: a, Kind: s.Planned.Kind, Nature: s.more.nature, Attempts: s.more.attempts, Reuse: s.more.reuse, Stage: graph.Unasked()}
		if moved[i] {
			n.Stage = graph.Remade(s.more.manifests)
		}
		for _, u := range s.more.needs {
			if of[u] != nil { // what is not in the part is above what is known
				n.Deps = append(n.Deps, of[u])
			}
		}
		for _, u := range s.more.waits {
			if of[u] != nil {
				n.After = append(n.After, of[u])
			}
		}
		of[i], number[n] = n, i
		nodes = append(nodes, n)
	}
	g, err := graph.New(nodes)
	return g, number, err
}

// Age is how old the newest of the current results is.
func (s *Stage) Age(now time.Time) time.Duration { return now.Sub(s.Started) }
