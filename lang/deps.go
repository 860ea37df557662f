package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// dependencies is what the instances of a block depend on besides the upstreams they stand on.
type dependencies struct {
	shared  map[*Instance]bool // needed by every instance
	order   []*Instance        // the same, in order
	ordered []*Instance        // those of them that depends_on names
	matched []*matcher
}

// matcher finds the instances of a block in depends_on that belong to an instance: those that agree with it on the axes both
// have. depends_on only orders, so it never multiplies instances; where no axis is shared all of them are needed.
type matcher struct {
	cols  []int // columns of the block's own rows
	byKey map[string][]*Instance
}

// dependencies collects instances chosen literally, all instances of references of arity all, and those that
// deferred arguments read; and prepares depends_on.
func (f *filler) dependencies() *dependencies {
	d := &dependencies{shared: map[*Instance]bool{}}
	add := func(insts []*Instance) {
		for _, inst := range insts {
			if inst != nil && !d.shared[inst] {
				d.shared[inst] = true
				d.order = append(d.order, inst)
			}
		}
	}
	for _, b := range f.n.bodies() {
		for _, a := range b.args {
			for _, u := range append(slices.Clone(a.refs), a.info.tokens...) {
				if a.f.kind == kindRefs || a.f.kind == kindDeferred || u.keyed {
					add(f.all([]*use{u}))
				}
			}
		}
	}
	if u := f.n.profileOf; u != nil && u.keyed {
		add(f.all([]*use{u}))
	}
	for _, u := range f.n.dependsOn {
		if m := f.matcher(u); m != nil {
			d.matched = append(d.matched, m)
			continue
		}
		all := f.all([]*use{u})
		d.ordered = append(d.ordered, all...)
		add(all)
	}
	return d
}

// matcher is nil where every instance of u is needed.
func (f *filler) matcher(u *use) *matcher {
	if u.keyed {
		return nil
	}
	m, st := &matcher{byKey: map[string][]*Instance{}}, f.e.of(u.to)
	var theirs []int
	for j, name := range st.axes {
		if i := slices.Index(f.st.axes, name); i >= 0 {
			m.cols, theirs = append(m.cols, i), append(theirs, j)
		}
	}
	if len(m.cols) == 0 {
		return nil
	}
	for i, row := range st.rows {
		k := columnsKey(row, theirs)
		m.byKey[k] = append(m.byKey[k], st.insts[i])
	}
	return m
}

func columnsKey(row []string, columns []int) string {
	if len(columns) == 1 {
		return row[columns[0]]
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = row[c]
	}
	return strings.Join(parts, "\x00")
}

// deps collects the instance's dependencies, each once. Where all are shared, the slice is, too.
func (r *row) deps(d *dependencies) {
	f := r.f
	r.inst.Meta.DependsOn = d.ordered
	if len(f.ups) == 0 && len(d.matched) == 0 {
		r.inst.Deps = d.order
		return
	}
	deps := make([]*Instance, 0, len(f.ups)+len(d.order)+len(d.matched))
	for k, up := range f.ups {
		if inst := f.e.of(up).insts[f.table.Picks[r.i][k]]; !d.shared[inst] {
			deps = append(deps, inst)
		}
	}
	deps = append(deps, d.order...)
	if len(d.matched) > 0 {
		seen := make(map[*Instance]bool, len(deps))
		for _, inst := range deps {
			seen[inst] = true
		}
		named := slices.Clone(d.ordered)
		for _, m := range d.matched {
			for _, inst := range m.byKey[columnsKey(f.table.Rows[r.i], m.cols)] {
				named = append(named, inst)
				if !seen[inst] {
					seen[inst] = true
					deps = append(deps, inst)
				}
			}
		}
		r.inst.Meta.DependsOn = named
	}
	r.inst.Deps = deps
}

// checkLate checks the instances that a deferred expression chooses, which needs the axes of what it mentions.
func (e *expansion) checkLate(p *deferredProto) bool {
	ok := true
	for _, place := range p.places {
		u, st := place.u, e.of(place.u.to)
		switch {
		case st.broken:
			ok = false
		case u.keyed:
			ok = e.chosen(u) != nil && ok
		case place.attrs && len(st.axes) > 0:
			example := "axis=value"
			if len(st.insts) > 0 {
				example = st.insts[0].Axes.Key()
			}
			e.report(errorAt(sumChooseInstance, u.rng, "%s has an instance for each value of %s: choose one, such as %s[%q], or all with %s[*].",
				u.to.Address(), strings.Join(st.axes, ", "), u.to.Address(), example, u.to.Address()))
			ok = false
		}
	}
	return ok
}

// bind ties a deferred expression to the instances it reads. They are found once: each of ten thousand instances may
// have an argument that reads all of another ten thousand.
func (e *expansion) bind(p *deferredProto, ctx *hcl.EvalContext) *lateExpr {
	bound := e.bound[p]
	if bound == nil {
		bound = e.find(p)
		if e.bound == nil {
			e.bound = map[*deferredProto]*lateExpr{}
		}
		e.bound[p] = bound
	}
	l := *bound
	l.ctx = ctx
	return &l
}

// find makes what does not differ between the instances that have the expression.
func (e *expansion) find(p *deferredProto) *lateExpr {
	l := &lateExpr{proto: p, budget: &e.c.budget, hide: e.c.secretIn(&p.info)}
	byNode := map[*node]*lateBlock{}
	need := map[*node]map[*Instance]bool{}
	for _, place := range p.places {
		n := place.u.to
		st := e.of(n)
		b := byNode[n]
		if b == nil {
			b = &lateBlock{n: n, axes: len(st.axes) > 0}
			byNode[n] = b
			need[n] = map[*Instance]bool{}
			l.blocks = append(l.blocks, b)
		}
		b.splat = b.splat || place.splat
		b.objects = b.objects || !place.splat
		if b.all {
			continue
		}
		if place.u.keyed {
			need[n][st.instance(place.u.key)] = true
			continue
		}
		b.all = true
	}
	slices.SortStableFunc(l.blocks, func(a, b *lateBlock) int { return a.n.order - b.n.order })
	for _, b := range l.blocks {
		for _, inst := range e.of(b.n).insts {
			if b.all || need[b.n][inst] {
				b.insts = append(b.insts, inst)
			}
		}
		l.insts = append(l.insts, b.insts...)
	}
	return l
}

// bindLate makes the outputs and checks whose blocks are sound.
func (e *expansion) bindLate(x *Expansion) {
	ctx := e.c.values.late
	for _, o := range e.c.outs {
		if e.checkLate(o.proto) {
			out := o.Output
			out.Value = Deferred{e.bind(o.proto, ctx)}
			x.Outputs = append(x.Outputs, &out)
		}
	}
	for _, d := range e.c.checks {
		ok := true
		check := d.Check
		check.Asserts = slices.Clone(d.Asserts)
		for i, pair := range d.protos {
			if !e.checkLate(pair[0]) || !e.checkLate(pair[1]) {
				ok = false
				continue
			}
			check.Asserts[i].Condition = Deferred{e.bind(pair[0], ctx)}
			check.Asserts[i].ErrorMessage = Deferred{e.bind(pair[1], ctx)}
		}
		if ok {
			x.Checks = append(x.Checks, &check)
		}
	}
	slices.SortFunc(x.Outputs, func(a, b *Output) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(x.Checks, func(a, b *Check) int { return strings.Compare(a.Name, b.Name) })
}
