package flamegraph

import (
	"cmp"
	"slices"
	"strings"
)

// Node is a place in a tree of calls. A node weighs at least what its children weigh together.
type Node struct {
	Name, Place   string // what tells it from its siblings
	Before, After int64  // weights; Before is 0 everywhere where nothing is compared
	Children      []*Node
	at            map[[2]string]*Node
}

// Child is the child with a name and place, which is made where there is none.
func (n *Node) Child(name, place string) *Node {
	key := [2]string{name, place}
	if c := n.at[key]; c != nil {
		return c
	}
	if n.at == nil {
		n.at = map[[2]string]*Node{}
	}
	c := &Node{Name: name, Place: place}
	n.at[key] = c
	n.Children = append(n.Children, c)
	return c
}

// Size is the number of nodes in the tree below n, and n.
func (n *Node) Size() int {
	size := 0
	for open := []*Node{n}; len(open) > 0; size++ {
		last := open[len(open)-1]
		open = append(open[:len(open)-1], last.Children...)
	}
	return size
}

// weight is what a node is kept for: its greater side, as a share of the side's whole, so that two profiles of different length count alike.
func (n *Node) weight(root *Node) float64 {
	return max(ratio(n.Before, root.Before), ratio(n.After, root.After))
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// row is a node as the page has it.
type row struct {
	parent        int // index of the row, -1 for the root
	name, place   string
	before, after int64
	folded        int // nodes that one row stands for, with what is below them; 0 for a node itself
}

// rows are the heaviest nodes, a parent before its children, children in the order of their names. Those beyond limit are one row below their
// parent, so that every width stays true.
func rows(root *Node, limit int) (out []row, folded int) {
	floor := -1.0
	if root.Size() > limit {
		var all []float64
		for open := []*Node{root}; len(open) > 0; {
			last := open[len(open)-1]
			open = append(open[:len(open)-1], last.Children...)
			all = append(all, last.weight(root))
		}
		slices.SortFunc(all, func(x, y float64) int { return cmp.Compare(y, x) })
		floor = all[limit-1]
	}
	type item struct {
		node   *Node
		parent int
	}
	for open := []item{{root, -1}}; len(open) > 0; {
		it := open[len(open)-1]
		open = open[:len(open)-1]
		here := len(out)
		out = append(out, row{parent: it.parent, name: it.node.Name, place: it.node.Place, before: it.node.Before, after: it.node.After})
		children := slices.Clone(it.node.Children)
		slices.SortFunc(children, func(x, y *Node) int {
			return -cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Place, y.Place))
		})
		rest := row{parent: here}
		for _, c := range children {
			// Of nodes that weigh as much as the last that fits, either all stay or none: which would otherwise hang on their order.
			if floor >= 0 && c.weight(root) <= floor {
				rest.folded += c.Size()
				rest.before += c.Before
				rest.after += c.After
				continue
			}
			open = append(open, item{c, here})
		}
		if rest.folded > 0 {
			folded += rest.folded
			out = append(out, rest)
		}
	}
	return out, folded
}
