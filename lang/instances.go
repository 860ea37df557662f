package lang

import (
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/join"
)

// filler makes the instances of one block. What does not differ between them is evaluated once and shared.
type filler struct {
	e     *expansion
	n     *node
	st    *blockState
	ups   []*node
	table *join.Table

	static map[string]bool // names of tokens that every instance may use
	fixed  *hcl.EvalContext
	parts  map[hclsyntax.Expression]*inspected
	names  map[*use]string // of tokens that are the same in every instance
}

// plan is how one body is decoded: a struct with everything that instances share, and the rest.
type plan struct {
	body *body
	base reflect.Value
	each []*arg
	many reflect.Value // a slice with one struct for each instance, where they differ
}

// maxDeps bounds the edges of one block: every instance of one block to every instance of another is a mistake.
const maxDeps = 5_000_000

func (e *expansion) fill(n *node, st *blockState, ups []*node, table *join.Table) bool {
	f := &filler{e: e, n: n, st: st, ups: ups, table: table}
	st.axes, st.rows = table.Axes, table.Rows
	f.prepare()
	count := len(table.Rows)
	ok := true
	plans := []*plan{}
	for _, b := range n.bodies() {
		p, good := f.plan(b, count)
		plans, ok = append(plans, p), ok && good
	}
	metaPlan, good := f.plan(&n.meta, count)
	if !ok || !good {
		return false
	}
	deps := f.dependencies()
	if count*len(deps.order) > maxDeps && (len(ups) > 0 || len(deps.matched) > 0) {
		e.report(errorAt(sumTooMany, n.Range, "%d instances of %s would each need %d other instances: give fewer values to an axis.", count, n.Address(), len(deps.order)))
		return false
	}
	insts := make([]Instance, count)
	coordinates := make([]address.Axis, count*len(table.Axes))
	st.insts = make([]*Instance, count)
	for i := range insts {
		inst := &insts[i]
		st.insts[i] = inst
		inst.Block = n.Block
		inst.Axes = axesOf(table.Axes, table.Rows[i], coordinates[i*len(table.Axes):])
		row := &row{f: f, i: i, inst: inst}
		for k, p := range plans {
			opts, good := row.options(p)
			switch {
			case !good:
				return false
			case k == 0:
				inst.Options = opts
			default:
				if inst.Nested == nil {
					inst.Nested = make(map[string]any, len(n.nested))
				}
				inst.Nested[p.body.name] = opts
			}
		}
		m, good := row.options(metaPlan)
		if !good || !row.meta(m.(*metaArgs)) {
			return false
		}
		row.deps(deps)
	}
	return true
}

// prepare collects the tokens that are the same in every instance.
func (f *filler) prepare() {
	f.static, f.parts, f.names = map[string]bool{}, map[hclsyntax.Expression]*inspected{}, map[*use]string{}
	for name := range f.n.sch.own {
		f.static[name] = true
	}
	var uses []*use
	for _, b := range f.n.bodies() {
		for _, a := range b.args {
			for _, u := range a.info.tokens {
				if a.f.kind != kindDeferred && !f.fans(u) {
					uses = append(uses, u)
				}
			}
		}
	}
	values := (&row{f: f, i: -1}).tokens(uses)
	for name := range f.n.sch.own {
		values.set(strings.Split(name, "."), cty.StringVal(token.Make(name)))
	}
	for name, v := range f.e.c.values.vars {
		if v.Sensitive {
			f.static["var."+name] = true
		}
	}
	f.fixed = f.e.c.values.args.NewChild()
	f.fixed.Variables = values.roots()
}

// varies says whether an argument differs from instance to instance.
func (f *filler) varies(a *arg) bool {
	if a.info.perInstance() {
		return true
	}
	for _, u := range a.info.tokens {
		if a.f.kind != kindDeferred && f.fans(u) {
			return true
		}
	}
	return a.f.kind == kindRef && len(a.refs) == 1 && f.fans(a.refs[0])
}

func (f *filler) fans(u *use) bool { return !u.keyed && len(f.e.of(u.to).axes) > 0 }

func (f *filler) plan(b *body, count int) (*plan, bool) {
	p := &plan{body: b}
	if b.sch.typ == nil {
		return p, true
	}
	p.base = reflect.New(b.sch.typ)
	p.base.Elem().Set(b.sch.proto)
	r := &row{f: f, i: -1}
	ok := true
	for _, a := range b.args {
		if f.varies(a) {
			p.each = append(p.each, a)
		} else {
			ok = r.decode(a, p.base.Elem()) && ok
		}
	}
	if len(p.each) > 0 {
		p.many = reflect.MakeSlice(reflect.SliceOf(b.sch.typ), count, count)
	}
	return p, ok
}

// all is every instance that the uses name, each once, in order.
func (f *filler) all(uses []*use) []*Instance {
	var list []*Instance
	seen := map[*Instance]bool{}
	for _, u := range uses {
		insts := f.e.of(u.to).insts
		if u.keyed {
			insts = []*Instance{f.e.of(u.to).instance(u.key)}
		}
		for _, inst := range insts {
			if inst != nil && !seen[inst] {
				seen[inst] = true
				list = append(list, inst)
			}
		}
	}
	return list
}
