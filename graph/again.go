package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// What a plan needs to be remembered, and to be made again where little of what it was made from has moved.

// Waits are the nearest nodes that compute something and only have to be done before the node: nothing of them enters its key.
func (n *Node) Waits() []*Node { return n.after }

// Leases are the nodes that are started for the node, in the order in which they are found from it.
func (n *Node) Leases() (out []*Node) {
	seen := map[*Node]bool{}
	var visit func(n *Node)
	visit = func(n *Node) {
		for _, u := range n.Deps {
			if u.Stage != nil || seen[u] { // what computes something has servers of its own
				continue
			}
			if seen[u] = true; u.Lease {
				out = append(out, u)
			}
			visit(u)
		}
	}
	visit(n)
	return out
}

// Unread says that an artifact could not be read, so that it is not known what stands for the node.
func (d *Decision) Unread() bool { return d.unread != nil }

// span is the time in which a plan stands as far as ages decide it.
type span struct{ after, before time.Time }

// young notes a result that stands until it is older than age.
func (s *span) young(r *cache.Summary, age time.Duration) {
	if end := r.Started.Add(age); s.before.IsZero() || end.Before(s.before) {
		s.before = end
	}
}

// old notes one that is older already: a clock that is set back would make it stand again.
func (s *span) old(r *cache.Summary, age time.Duration) {
	if end := r.Started.Add(age); end.After(s.after) {
		s.after = end
	}
}

// Span is the time in which the decisions stand, as far as the ages of results decide them: after the one and before the other, zero where nothing
// bounds it.
func (p *Planner) Span() (after, before time.Time) { return p.span.after, p.span.before }

// Replaces says whether the selection has n run again.
func (p *Planner) Replaces(n *Node) bool { return p.replaced[n] }

// Known is a decision that was made before, for a node of a graph that has the nodes which are decided again and those that they stand on.
type Known struct {
	State   State
	Have    int
	Want    int
	Results int  // how many current results it has
	Moved   bool // something that it was made from moved: it is decided again
}

// ErrAsk is what Again returns where a node has to be asked for its actions by its own stage: what stands upstream of it is something else now.
var ErrAsk = errors.New("what the stage makes of its upstream has to be asked of the stage itself")

// remade is the stage of a node whose manifests are known.
type remade struct{ manifests []facet.Manifest }

// Remade is a stage that has these manifests, and cannot be run.
func Remade(manifests []facet.Manifest) Stage { return remade{manifests} }

// Unasked is a stage of which nothing is known but its decision.
func Unasked() Stage { return remade{} }

func (s remade) Actions(context.Context, *Results) ([]*Action, error) {
	if s.manifests == nil {
		return nil, ErrAsk
	}
	out := make([]*Action, len(s.manifests))
	for i, m := range s.manifests {
		out[i] = &Action{Manifest: m}
	}
	return out, nil
}

// Again decides about the nodes of g of which something moved, in order, and about those below them. Every node is known. decided is told of each decision,
// and says whether it is another one than before: where it is not, nothing below has to be decided.
func (p *Planner) Again(ctx context.Context, g *Graph, known map[*Node]Known, decided func(*Decision) (changed bool)) error {
	touched := map[*Node]bool{}
	for _, n := range g.Nodes {
		k := known[n]
		again := k.Moved
		for _, u := range n.needs {
			if touched[u] { // what is remade of its key is made of what stood upstream
				again, n.Stage = true, Unasked()
			}
		}
		for _, u := range n.after {
			again = again || touched[u]
		}
		if !again {
			p.by[n] = &Decision{Node: n, State: k.State, Have: k.Have, Want: k.Want, Records: make([]*cache.Summary, k.Results)}
			continue
		}
		if k.State == Excluded {
			p.excluded[n] = true
		}
		d, err := p.decide(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Address, err)
		}
		touched[n] = decided(d)
	}
	return nil
}
