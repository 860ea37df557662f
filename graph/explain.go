package graph

import (
	"context"
	"fmt"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
)

// explain finds what differs from the newest result at the same address, where nothing more direct is known.
func (p *Planner) explain(d *Decision) {
	for _, r := range d.Reasons {
		if r.Code != Upstream {
			return // the store knows the key: what is missing has been said
		}
	}
	if len(d.actions) == 0 {
		return
	}
	history := p.store.At(d.Node.Address)
	if len(history) == 0 {
		d.Reasons = append(d.Reasons, Reason{Code: NeverRan})
		return
	}
	previous, action := nearest(history, d.actions)
	if previous == nil {
		d.Reasons = append(d.Reasons, Reason{Code: NeverRan})
		return
	}
	d.Reasons = append(d.Reasons, p.store.compare(previous, &action.Manifest)...)
	if len(d.Reasons) == 0 {
		// All facets agree, so the stage has more actions than it had: one per upstream attempt.
		d.Reasons = append(d.Reasons, Reason{Code: Upstream, Text: "new results upstream"})
	}
}

// nearest pairs the newest readable record with the first of the actions that it does not stand for.
func nearest(history []*cache.Summary, actions []*Action) (*cache.Record, *Action) {
	done := map[digest.Digest]bool{}
	for _, h := range history {
		done[h.Key] = true
	}
	action := actions[0]
	for _, a := range actions {
		if !done[a.Manifest.Key()] {
			action = a
			break
		}
	}
	for i := len(history) - 1; i >= 0; i-- {
		if r, err := history[i].Record(); err == nil {
			return r, action
		}
	}
	return nil, action
}

// compare says facet by facet how now differs from an earlier record.
func (s *Store) compare(previous *cache.Record, now *facet.Manifest) []Reason {
	var out []Reason
	for _, c := range facet.Diff(&previous.Manifest, now) {
		code := Code(c.Facet)
		if c.Facet == facet.Definition && c.Name == implementationEntry {
			code = ImplementationChanged
		}
		i := len(out) - 1
		if i < 0 || out[i].Code != code {
			out = append(out, Reason{Code: code, Since: previous.Run})
			i++
		}
		out[i].Changes = append(out[i].Changes, c)
		if c.Tree {
			out[i].Files = append(out[i].Files, s.fileChanges(c)...)
		}
	}
	return out
}

// fileChanges lists the files behind a changed tree; nothing where one of the two is no longer stored.
func (s *Store) fileChanges(c facet.Change) (out []FileChange) {
	a, errA := digest.Parse(c.Old)
	b, errB := digest.Parse(c.New)
	if errA != nil || errB != nil {
		return nil
	}
	changes, err := s.diffTrees(a, b)
	if err != nil {
		return nil
	}
	return changes
}

// Explanation answers `flameox why`.
type Explanation struct {
	Decision *Decision
	Since    *cache.Record   // the run that was compared with; nil where there is none
	Changed  []Reason        // by facet
	Same     []facet.Facet   // the facets that agree
	Manifest *facet.Manifest // as it is now; nil while something upstream has to run first
}

// Why explains the decision about n against a run, or against the newest one at its address where since is "".
func (p *Planner) Why(ctx context.Context, g *Graph, n *Node, since string) (*Explanation, error) {
	if n.Stage == nil {
		return nil, fmt.Errorf("%s computes nothing itself: ask about a stage that uses it", n.Address)
	}
	for _, m := range g.Nodes[:n.order+1] {
		if m.Stage == nil {
			continue
		}
		if _, err := p.decide(ctx, m); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Address, err)
		}
	}
	x := &Explanation{Decision: p.by[n]}
	var err error
	if since != "" {
		var r *cache.Summary
		if r, err = p.store.Cache.Run(since); err == nil {
			x.Since, err = r.Record()
		}
		if err != nil {
			return nil, err
		}
	}
	actions := x.Decision.actions
	if len(actions) == 0 {
		return x, nil
	}
	action := actions[0]
	if x.Since == nil {
		x.Since, action = nearest(p.store.At(n.Address), actions)
	}
	x.Manifest = &action.Manifest
	if x.Since == nil {
		return x, nil
	}
	x.Changed = p.store.compare(x.Since, x.Manifest)
	for _, f := range x.Manifest.Facets {
		if old := x.Since.Manifest.Facet(f.Name); old != nil && old.Digest() == f.Digest() {
			x.Same = append(x.Same, f)
		}
	}
	return x, nil
}
