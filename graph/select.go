package graph

import (
	"fmt"
	"strings"

	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/suggest"
)

// Select are the nodes that any of the patterns matches. The whole address of a node selects that node, whatever * its axes hold. A pattern
// that matches nothing is an error with the nearest name.
func (g *Graph) Select(patterns []address.Pattern) (map[*Node]bool, error) {
	out := map[*Node]bool{}
	for _, p := range patterns {
		if err := g.match(p, func(n *Node) { out[n] = true }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// match calls found with each node that p matches.
func (g *Graph) match(p address.Pattern, found func(*Node)) error {
	if a, err := address.Parse(p.String()); err == nil {
		if n := g.Node(a); n != nil {
			found(n)
			return nil
		}
	}
	any := false
	for _, n := range g.Nodes {
		if p.Match(n.Address) {
			found(n)
			any = true
		}
	}
	if !any {
		return g.unknown(p.String())
	}
	return nil
}

// stages is Select for what is to be run or left out: a pattern that matches nothing but declarations is an error, because nothing would
// come of it.
func (g *Graph) stages(patterns []address.Pattern) (map[*Node]bool, error) {
	out := map[*Node]bool{}
	for _, p := range patterns {
		var declared []*Node
		computes := false
		err := g.match(p, func(n *Node) {
			out[n] = true
			if n.Stage == nil {
				declared = append(declared, n)
			} else {
				computes = true
			}
		})
		if err != nil {
			return nil, err
		}
		if !computes {
			return nil, g.runsNothing(p.String(), declared)
		}
	}
	return out, nil
}

// runsNothing names what uses the declarations that a pattern selects.
func (g *Graph) runsNothing(pattern string, declared []*Node) error {
	const most = 3
	below := map[*Node]bool{}
	for _, n := range declared {
		below[n] = true
	}
	var users []string
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		for _, d := range n.Upstream() {
			below[n] = below[n] || below[d] && d.Stage == nil
		}
		if below[n] && n.Stage != nil && !seen[n.Address.Block] {
			seen[n.Address.Block] = true
			users = append(users, n.Address.Block)
		}
	}
	text := pattern + " only declares what stages use: it runs nothing itself"
	switch {
	case len(users) == 0:
		return fmt.Errorf("%s, and no stage uses it", text)
	case len(users) > most:
		return fmt.Errorf("%s. Select what uses it: %s, or one of %d more", text, strings.Join(users[:most], ", "), len(users)-most)
	}
	return fmt.Errorf("%s. Select what uses it: %s", text, strings.Join(users, ", "))
}

// Find is the only node that s names; an address of a block with several instances is an error that lists some.
func (g *Graph) Find(s string) (*Node, error) {
	a, err := address.Parse(s)
	if err != nil {
		return nil, err
	}
	if n := g.Node(a); n != nil {
		return n, nil
	}
	p, err := address.ParsePattern(s)
	if err != nil {
		return nil, err
	}
	var found []*Node
	for _, n := range g.Nodes {
		if p.Match(n.Address) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return nil, g.unknown(s)
	case 1:
		return found[0], nil
	}
	list := ""
	for i, n := range found {
		if i == 5 {
			list += fmt.Sprintf("\n  (%d more)", len(found)-i)
			break
		}
		list += "\n  " + n.Address.String()
	}
	return nil, fmt.Errorf("%s has %d instances; name one:%s", s, len(found), list)
}

func (g *Graph) unknown(s string) error {
	block, hasAxes := s, false
	if p, err := address.Parse(s); err == nil {
		block, hasAxes = p.Block, len(p.Axes) > 0
	}
	var known []string
	seen := map[string]bool{}
	for _, n := range g.Nodes {
		if hasAxes && n.Address.Block == block {
			known = append(known, n.Address.String())
		} else if !seen[n.Address.Block] {
			seen[n.Address.Block] = true
			known = append(known, n.Address.Block)
		}
	}
	if best := suggest.Nearest(s, known); best != "" {
		return fmt.Errorf("no stage is called %s. Did you mean %s?", s, best)
	}
	return fmt.Errorf("no stage is called %s; `flameox graph` lists them all", s)
}
