package graph

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
)

// Nature says what repeating a stage means, and so how its results are reused.
type Nature string

// The natures of a stage.
const (
	Identity    Nature = "identity"    // says what others stand on; nothing is computed
	Definition  Nature = "definition"  // declares what others run; nothing is computed
	Pure        Nature = "pure"        // output follows from input: one result stands for all repetitions
	Measurement Nature = "measurement" // each attempt is a new observation, alone on the machine, of one class of machine
	Shared      Nature = "shared"      // a measurement that does not depend on the machine and runs beside others
)

// Measures says whether each attempt is a new observation.
func (n Nature) Measures() bool { return n == Measurement || n == Shared }

// Reuse says how long a valid result stands.
type Reuse struct {
	Never bool
	Age   time.Duration // 0: for ever
}

// String is the reuse as it is written in a configuration; "" where a result stands for ever.
func (r Reuse) String() string {
	switch {
	case r.Never:
		return "never"
	case r.Age > 0:
		return r.Age.String()
	}
	return ""
}

// Node is one instance of a stage.
type Node struct {
	Address   address.Address
	Kind      string // "capture.gobench"
	Nature    Nature
	Stage     Stage   // nil where nothing is computed
	Deps      []*Node // what the node's results follow from
	Uses      []*Node // what has to stand when the node runs, and whose key, not its result, enters the node's: an environment
	After     []*Node // what only has to be done before: nothing of it enters the key, and its being stale makes nothing else stale
	Attempts  int     // valid results wanted; 1 for a pure stage
	Exclusive bool    // runs alone, under the machine's measuring lock
	Lease     bool    // is started for those that use it: a server
	Reuse     Reuse
	// MaxContention is the share of the machine, from 0 to 1, that others may use meanwhile; beyond it an attempt is not valid and is made
	// again, contentionRetries times at most. 0 for any.
	MaxContention float64
	Level         cache.Sensitivity
	Labels        map[string]string
	Command       string // what a person would call the work, for progress
	File          string // where it was declared
	Line          int

	needs []*Node // the nearest nodes upstream that compute something
	after []*Node // the same of After, without needs
	users []*Node // the reverse of needs and after
	order int     // position in Graph.Nodes
}

// Upstream are the nodes that the node cannot do without: what it follows from and what it uses.
func (n *Node) Upstream() []*Node { return slices.Concat(n.Deps, n.Uses) }

// Needs are the nearest upstream nodes that compute something, found through those that do not.
func (n *Node) Needs() []*Node { return n.needs }

// Stage computes the results of one node.
type Stage interface {
	// Actions are the units of work the node consists of, given the current results of what it needs: one for
	// most stages, one per upstream attempt for a stage that treats each on its own. It reads and hashes, and
	// runs nothing but bounded probes. The error may be a *BlockedError.
	Actions(ctx context.Context, in *Results) ([]*Action, error)
}

// Action is one unit of work with a key of its own.
type Action struct {
	Manifest facet.Manifest
	// Run does the work for one attempt. It fills what it knows of the record: the states, outputs, times and
	// limitations; identity, key and host are the engine's. A returned error means that flameox itself could not do
	// its part (no space, a lost blob); what the program did wrong is in the record.
	Run func(ctx context.Context, t *Task) (*cache.Record, error)
	// For names the upstream run whose evidence this action makes, if any; it becomes a link.
	For      string
	Provider string // of the link
	// Blocked says why this machine cannot run it although its key is known, so that a result made elsewhere stands; nil where it can.
	Blocked *BlockedError
}

// MovedError says that a file changed between the making of a key and the start of what it is the key of. Nothing was started; the
// engine looks at the files again and makes a new key.
type MovedError struct{ What string }

func (e *MovedError) Error() string { return e.What + " changed after the key was made" }

// BlockedError says why a stage cannot run here, and the one thing to do about it.
type BlockedError struct {
	Why string
	Do  string
}

func (e *BlockedError) Error() string {
	if e.Do == "" {
		return e.Why
	}
	return e.Why + ": " + e.Do
}

// Results are the records that stand for the nodes decided so far.
type Results struct {
	records map[*Node][]*cache.Summary
}

// Of are the records of an upstream node, oldest attempt first. It is empty for a node that computes nothing.
func (r *Results) Of(n *Node) []*cache.Summary { return r.records[n] }

// Graph is all nodes of an experiment, dependencies before dependents.
type Graph struct {
	Nodes  []*Node
	byName map[string]*Node
}

// New checks the nodes' order and names and computes what each needs.
func New(nodes []*Node) (*Graph, error) {
	g := &Graph{Nodes: nodes, byName: make(map[string]*Node, len(nodes))}
	for i, n := range nodes {
		name := n.Address.String()
		if other := g.byName[name]; other != nil {
			return nil, fmt.Errorf("%s is declared twice: %s:%d and %s:%d", name, other.File, other.Line, n.File, n.Line)
		}
		g.byName[name] = n
		n.order, n.needs, n.after, n.users = i, nil, nil, nil
		seen := map[*Node]bool{}
		nearest := func(d *Node, direct, passed []*Node, into *[]*Node) error {
			if g.byName[d.Address.String()] != d {
				return fmt.Errorf("%s stands before %s, which it refers to", name, d.Address)
			}
			if d.Stage != nil {
				passed = direct
			}
			for _, u := range passed {
				if !seen[u] {
					seen[u] = true
					*into = append(*into, u)
				}
			}
			return nil
		}
		for _, d := range n.Deps {
			if err := nearest(d, []*Node{d}, d.needs, &n.needs); err != nil {
				return nil, err
			}
		}
		for _, d := range n.Deps { // what a definition waits for, whoever uses it waits for
			if d.Stage == nil {
				if err := nearest(d, nil, d.after, &n.after); err != nil {
					return nil, err
				}
			}
		}
		for _, d := range slices.Concat(n.Uses, n.After) {
			if err := nearest(d, []*Node{d}, append(slices.Clone(d.needs), d.after...), &n.after); err != nil {
				return nil, err
			}
		}
		n.inherit()
		if n.Stage == nil {
			continue
		}
		for _, u := range n.needs {
			u.users = append(u.users, n)
		}
		for _, u := range n.after {
			u.users = append(u.users, n)
		}
	}
	return g, nil
}

// Node is the node with the address, in any of its forms, or nil.
func (g *Graph) Node(a address.Address) *Node { return g.byName[a.String()] }
