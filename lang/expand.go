package lang

import (
	"container/heap"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/lang/join"
	"github.com/flameox/flameox/lang/render"
)

// Expansion is all instances of a configuration, and what is evaluated after apply.
type Expansion struct {
	Instances []*Instance // dependencies first, otherwise by file name and position
	Outputs   []*Output   // by name
	Checks    []*Check    // by name

	byBlock map[string][]*Instance
}

// ByBlock is the instances of the block with that address, such as "capture.gobench.sort", in order; nil where there is no such block.
func (x *Expansion) ByBlock(addr string) []*Instance { return x.byBlock[addr] }

// expansion is one run of Expand.
type expansion struct {
	c      *Config
	states []*blockState // by node.order
	bound  map[*deferredProto]*lateExpr
	diags  hcl.Diagnostics
}

func (e *expansion) report(d ...*hcl.Diagnostic) { e.diags = append(e.diags, d...) }

// blockState is what a block came to in one expansion.
type blockState struct {
	broken bool
	axes   []string // sorted
	rows   [][]string
	insts  []*Instance
	values map[string]map[string]cty.Value // of axes: by name and canonical value
	each   map[string]cty.Value
	byKey  map[string]*Instance // made when first needed
}

func (e *expansion) of(n *node) *blockState { return e.states[n.order] }

// instance finds an instance by key.
func (s *blockState) instance(key string) *Instance {
	if s.byKey == nil {
		s.byKey = make(map[string]*Instance, len(s.insts))
		for _, inst := range s.insts {
			s.byKey[inst.Axes.Key()] = inst
		}
	}
	return s.byKey[key]
}

// Expand makes the instances of every block. It may be called although Load reported errors, and more than once:
// blocks that are broken, and what depends on them, are left out.
func (c *Config) Expand() (*Expansion, hcl.Diagnostics) {
	x := &Expansion{byBlock: map[string][]*Instance{}}
	if c.syntaxErrors || c.values.args == nil {
		return x, nil
	}
	e := &expansion{c: c, states: make([]*blockState, len(c.nodes))}
	for _, n := range c.nodes {
		e.states[n.order] = &blockState{broken: n.broken}
	}
	for _, n := range e.order() {
		st := e.of(n)
		for _, d := range n.edges {
			st.broken = st.broken || e.of(d.to).broken
		}
		switch {
		case n.impliedBy != nil:
			if !st.broken {
				e.expandImplied(n, st)
			}
		case st.broken:
			e.checkRest(n)
		default:
			st.broken = !e.expandNode(n, st)
		}
		if !st.broken {
			x.Instances = append(x.Instances, st.insts...)
			x.byBlock[n.Address()] = st.insts
		}
	}
	e.bindLate(x)
	c.Reads = c.reader.Reads()
	return x, sortDiags(e.diags)
}

// nodeHeap orders nodes that are ready by position.
type nodeHeap []*node

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i].order < h[j].order }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(*node)) }
func (h *nodeHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// order is all nodes, dependencies first and otherwise by position. Nodes on a cycle, which is reported, and those behind one are
// marked broken and left out.
func (e *expansion) order() []*node {
	waits := make([]int, len(e.c.nodes))
	behind := make([][]*node, len(e.c.nodes))
	for _, n := range e.c.nodes {
		for _, d := range n.edges {
			waits[n.order]++
			behind[d.to.order] = append(behind[d.to.order], n)
		}
	}
	ready := &nodeHeap{}
	for _, n := range e.c.nodes {
		if waits[n.order] == 0 {
			heap.Push(ready, n)
		}
	}
	order := make([]*node, 0, len(e.c.nodes))
	for ready.Len() > 0 {
		n := heap.Pop(ready).(*node)
		order = append(order, n)
		for _, m := range behind[n.order] {
			if waits[m.order]--; waits[m.order] == 0 {
				heap.Push(ready, m)
			}
		}
	}
	if len(order) < len(e.c.nodes) {
		e.cycles(waits)
	}
	return order
}

// cycles reports one cycle for each group of nodes that wait for one another. A walk along edges to nodes that wait
// must come back to where it was; what it visited is then done with.
func (e *expansion) cycles(waits []int) {
	stuck := func(n *node) bool { return waits[n.order] > 0 }
	seen := make([]int, len(e.c.nodes)) // number of the walk, from 1
	for walk, start := range e.c.nodes {
		if !stuck(start) {
			continue
		}
		e.of(start).broken = true
		var path []edge // each edge's To is the next node
		n := start
		for seen[n.order] == 0 {
			seen[n.order] = walk + 1
			i := slices.IndexFunc(n.edges, func(d edge) bool { return stuck(d.to) })
			path = append(path, edge{n, n.edges[i].rng})
			n = n.edges[i].to
		}
		if seen[n.order] != walk+1 {
			continue // it leads into a cycle that was reported
		}
		i := slices.IndexFunc(path, func(d edge) bool { return d.to == n })
		e.reportCycle(path[i:])
	}
}

func (e *expansion) reportCycle(cycle []edge) {
	// Begin where a reader would: at the first block in the files.
	first := 0
	for i, d := range cycle {
		if d.to.order < cycle[first].to.order {
			first = i
		}
	}
	var steps render.Steps
	for i := range cycle {
		d, next := cycle[(first+i)%len(cycle)], cycle[(first+i+1)%len(cycle)]
		steps = append(steps, render.Step{From: d.to.Address(), To: next.to.Address(), Range: d.rng})
	}
	d := errorAt(sumCycle, steps[0].Range, "Break it by removing one of these references. A check or an output may refer to both.")
	d.Extra = steps
	e.report(d)
}

// expandNode makes the instances of one node whose dependencies have theirs.
func (e *expansion) expandNode(n *node, st *blockState) bool {
	own, ok := e.ownAxes(n)
	ups, good := e.upstreams(n)
	if !ok || !good {
		return false
	}
	table, ok := e.joinAll(n, st, own, ups)
	if !ok {
		return false
	}
	if !e.checkAxisUses(n, st) {
		return false
	}
	return e.fill(n, st, ups, table)
}

// checkRest evaluates what can be evaluated of a block that is left out, for the errors in it.
func (e *expansion) checkRest(n *node) {
	if n.sch == nil {
		return
	}
	if !n.axesBroken {
		e.ownAxes(n)
	}
	f := &filler{e: e, n: n, st: e.of(n)}
	f.prepare()
	r := &row{f: f, i: -1}
	for _, b := range append(n.bodies(), &n.meta) {
		for _, a := range b.args {
			if !a.info.broken && !a.info.perInstance() && len(a.info.tokens) == 0 && a.f.kind < kindRef {
				r.decode(a, reflect.New(b.sch.typ).Elem())
			}
		}
	}
}

// upstreams are the blocks that the node fans out over, each once, and whether every instance chosen literally exists.
func (e *expansion) upstreams(n *node) (ups []*node, ok bool) {
	ok = true
	add := func(fan bool, uses ...*use) {
		for _, u := range uses {
			switch {
			case u.keyed:
				ok = e.chosen(u) != nil && ok
			case fan && !slices.Contains(ups, u.to):
				ups = append(ups, u.to)
			}
		}
	}
	for _, b := range n.bodies() {
		for _, a := range b.args {
			switch a.f.kind {
			case kindDeferred:
				ok = e.checkLate(a.late) && ok
			default:
				add(a.f.kind == kindRef, a.refs...)
				add(true, a.info.tokens...)
			}
		}
	}
	if n.profileOf != nil {
		add(true, n.profileOf)
	}
	add(false, n.dependsOn...)
	return ups, ok
}

// chosen is the instance that a use names literally, or nil after reporting that there is none.
func (e *expansion) chosen(u *use) *Instance {
	st := e.of(u.to)
	if inst := st.instance(u.key); inst != nil && len(st.axes) > 0 {
		return inst
	}
	if len(st.axes) == 0 {
		e.report(errorAt(sumUnknownInstance, u.rng, "%s has no axes and so only one instance: write %s.", u.to.Address(), u.to.Address()))
		return nil
	}
	var keys []string
	for _, inst := range st.insts[:min(len(st.insts), maxNamed)] {
		keys = append(keys, inst.Axes.Key())
	}
	hint := " It has none, because an axis is empty."
	if len(keys) > 0 {
		hint = " It has " + someOf(keys, len(st.insts)) + "."
	}
	e.report(errorAt(sumUnknownInstance, u.rng, "%s has no instance %q.%s", u.to.Address(), u.key, hint))
	return nil
}

// joinAll computes the rows of a block.
func (e *expansion) joinAll(n *node, st *blockState, own []*ownAxis, ups []*node) (*join.Table, bool) {
	table := join.One()
	var err error
	st.values = map[string]map[string]cty.Value{}
	empty := false
	for _, up := range ups {
		us := e.of(up)
		empty = empty || len(us.insts) == 0
		if table, err = table.Join(join.Upstream{Axes: us.axes, Rows: us.rows}); err != nil {
			return nil, e.tooMany(n)
		}
		for name, values := range us.values {
			if st.values[name] == nil {
				st.values[name] = values
			}
		}
	}
	ok := true
	for _, a := range own {
		empty = empty || len(a.keys) == 0
		var unknown []string
		if table, unknown, err = table.Axis(a.name, a.keys); err != nil {
			return nil, e.tooMany(n)
		}
		if len(unknown) > 0 && !empty {
			e.unknownValues(n, a, unknown, st.values[a.name])
			ok = false
		}
		if st.values[a.name] == nil || a.each != nil {
			st.values[a.name] = a.values
		}
		if a.each != nil {
			st.each = a.each
		}
	}
	if ok && !empty && len(table.Rows) == 0 {
		e.report(warningAt(sumNoInstances, n.Range, "%s has no instances: what it refers to has no values in common on the axes it shares (%s).", n.Address(), strings.Join(table.Axes, ", ")))
	}
	return sortAxes(table), ok
}

func (e *expansion) tooMany(n *node) bool {
	e.report(errorAt(sumTooMany, n.Range, "%s would have more than %d instances. Instances are the product of the axes that are not shared: remove values, or give axes the same name where they mean the same.", n.Address(), join.Limit))
	return false
}

func (e *expansion) unknownValues(n *node, a *ownAxis, unknown []string, known map[string]cty.Value) {
	var keys []string
	for k := range known {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	hint := e.c.suggest.didYouMean(unknown[0], keys)
	if hint == "" {
		hint = " It has " + someOf(keys, len(keys)) + "."
	}
	more := ""
	if len(unknown) > 1 {
		more = fmt.Sprintf(" and %d more", len(unknown)-1)
	}
	e.report(errorAt(sumAxisValue, a.rng, "What %s refers to has the axis %q too, so this selects from it, and it has no value %q%s.%s", n.Address(), a.name, unknown[0], more, hint))
}

// sortAxes puts the columns of a table in the order of their names, as addresses have them.
func sortAxes(t *join.Table) *join.Table {
	if slices.IsSorted(t.Axes) {
		return t
	}
	perm := make([]int, len(t.Axes))
	for i := range perm {
		perm[i] = i
	}
	slices.SortFunc(perm, func(a, b int) int { return strings.Compare(t.Axes[a], t.Axes[b]) })
	axes := make([]string, len(perm))
	for i, p := range perm {
		axes[i] = t.Axes[p]
	}
	flat := make([]string, 0, len(t.Rows)*len(perm))
	rows := make([][]string, len(t.Rows))
	for r, row := range t.Rows {
		from := len(flat)
		for _, p := range perm {
			flat = append(flat, row[p])
		}
		rows[r] = flat[from:len(flat):len(flat)]
	}
	t.Axes, t.Rows = axes, rows
	return t
}

// checkAxisUses finds mentions of axes that the node does not have.
func (e *expansion) checkAxisUses(n *node, st *blockState) bool {
	ok := true
	args := slices.Clone(n.meta.args)
	for _, b := range n.bodies() {
		args = append(args, b.args...)
	}
	for _, a := range args {
		for _, x := range a.info.axes {
			if st.values[x.name] != nil {
				continue
			}
			var axes []string
			for name := range st.values {
				axes = append(axes, name)
			}
			slices.Sort(axes)
			hint := e.c.suggest.didYouMean(x.name, axes)
			switch {
			case hint != "":
			case len(axes) == 0:
				hint = " It has none, of its own or from what it refers to."
			default:
				hint = " It has " + oneOf(axes) + "."
			}
			e.report(errorAt(sumUnknownAxis, x.rng, "%s has no axis %q.%s", n.Address(), x.name, hint))
			ok = false
		}
	}
	return ok
}

// axesOf makes an instance's coordinates of a row.
func axesOf(names, row []string, into []address.Axis) address.Axes {
	for i, name := range names {
		into[i] = address.Axis{Name: name, Value: row[i]}
	}
	return address.Axes(into[:len(names):len(names)])
}
