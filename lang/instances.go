package lang

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/join"
	"github.com/flameox/flameox/lang/units"
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
	f.static = map[string]bool{}
	for name := range f.n.sch.own {
		f.static[name] = true
	}
	values := newTree()
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

// row is one instance in the making; i is -1 and inst nil for what all share.
type row struct {
	f    *filler
	i    int
	inst *Instance
	ctx  *hcl.EvalContext
}

func (r *row) options(p *plan) (any, bool) {
	switch {
	case !p.base.IsValid():
		return nil, true
	case len(p.each) == 0:
		return p.base.Interface(), true
	}
	dst := p.many.Index(r.i)
	dst.Set(p.base.Elem())
	ok := true
	for _, a := range p.each {
		ok = r.decode(a, dst) && ok
	}
	return dst.Addr().Interface(), ok
}

func (r *row) where() string {
	if r.inst == nil || len(r.inst.Axes) == 0 {
		return ""
	}
	return r.inst.Address().String()
}

// pick is the instance of another block that this one stands on.
func (r *row) pick(u *use) *Instance {
	st := r.f.e.of(u.to)
	switch {
	case u.keyed:
		return st.instance(u.key)
	case r.i >= 0:
		return st.insts[r.f.table.Picks[r.i][slices.Index(r.f.ups, u.to)]]
	case len(st.insts) == 1:
		return st.insts[0]
	}
	return nil // it has none, and so has this block
}

// decode evaluates one argument into its field, and reports why it does not fit.
func (r *row) decode(a *arg, dst reflect.Value) bool {
	field := dst.Field(a.f.index)
	switch a.f.kind {
	case kindRef:
		ref := Ref{Range: a.attr.Expr.Range()}
		if len(a.refs) == 1 {
			ref.Instance = r.pick(a.refs[0])
		}
		field.Set(reflect.ValueOf(ref))
		return true
	case kindRefs:
		field.Set(reflect.ValueOf(Refs{Instances: r.f.all(a.refs), Range: a.attr.Expr.Range()}))
		return true
	case kindDeferred:
		field.Set(reflect.ValueOf(Deferred{r.f.e.bind(a.late, r.context(&a.info, r.f.e.c.values.late))}))
		return true
	case kindStrings:
		if list, ok := unparen(a.attr.Expr).(*hclsyntax.TupleConsExpr); ok {
			return r.decodeList(a, list, field)
		}
	}
	v, ok := r.eval(a, a.attr.Expr)
	if !ok {
		return false
	}
	if err := (decoder{r.allows(&a.info)}).assign(field, a.f, v); err != nil {
		r.fail(valueError(a.attr.Expr, a.f.name, err), a.attr.Expr)
		return false
	}
	return true
}

// decodeList decodes the elements of a written-out list one by one. Commands are such lists, and most of their elements
// are literals or one axis: those need no evaluation.
func (r *row) decodeList(a *arg, list *hclsyntax.TupleConsExpr, field reflect.Value) bool {
	out := make([]string, len(list.Exprs))
	d := decoder{r.allows(&a.info)}
	ok := true
	for i, el := range list.Exprs {
		if s, known := r.shortcut(el); known {
			out[i] = s
			continue
		}
		v, good := r.eval(a, el)
		if !good {
			ok = false
			continue
		}
		s, err := d.text(v)
		if err != nil {
			err.(*badValue).index = i
			r.fail(valueError(a.attr.Expr, a.f.name, err), el)
			ok = false
			continue
		}
		out[i] = s
	}
	field.Set(reflect.ValueOf(out))
	return ok
}

// shortcut is the string of an expression that is a literal or an axis of the instance.
func (r *row) shortcut(e hclsyntax.Expression) (string, bool) {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		if len(e.Parts) == 1 {
			if lit, ok := e.Parts[0].(*hclsyntax.LiteralValueExpr); ok && lit.Val.Type() == cty.String && !token.Has(lit.Val.AsString()) {
				return lit.Val.AsString(), true
			}
		}
	case *hclsyntax.ScopeTraversalExpr:
		if r.inst != nil && len(e.Traversal) == 2 && e.Traversal.RootName() == "matrix" {
			if name, ok := attrAt(e.Traversal, 1); ok {
				return r.inst.Axes.Get(name)
			}
		}
	}
	return "", false
}

func (r *row) eval(a *arg, expr hclsyntax.Expression) (cty.Value, bool) {
	v, diags := expr.Value(r.context(&a.info, r.f.fixed))
	if diags.HasErrors() {
		r.f.e.report(fromHCL(sumExpression, diags, r.where(), false)...)
		return v, false
	}
	return v, true
}

// fail reports a value that does not fit, with the instance and the values involved.
func (r *row) fail(d *hcl.Diagnostic, expr hclsyntax.Expression) {
	if w := r.where(); w != "" {
		d.Detail += "\nThis is in " + w + "."
	}
	if r.ctx != nil {
		d.Expression, d.EvalContext = expr, r.ctx
	}
	r.f.e.report(d)
}

// context is what an expression of this instance may see. It holds only the roots that are mentioned.
func (r *row) context(info *exprInfo, parent *hcl.EvalContext) *hcl.EvalContext {
	if !info.perInstance() && (len(info.tokens) == 0 || parent == r.f.e.c.values.late) {
		r.ctx = parent
		return parent
	}
	ctx := parent.NewChild()
	ctx.Variables = map[string]cty.Value{}
	if len(info.axes) > 0 && r.inst != nil {
		m := make(map[string]cty.Value, len(r.inst.Axes))
		for _, x := range r.inst.Axes {
			m[x.Name] = r.f.st.values[x.Name][x.Value]
		}
		ctx.Variables["matrix"] = cty.ObjectVal(m)
	}
	if info.each && r.inst != nil {
		key, _ := r.inst.Axes.Get(r.f.n.Name())
		ctx.Variables["each"] = cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": r.f.st.each[key]})
	}
	if len(info.tokens) > 0 && parent != r.f.e.c.values.late {
		values := newTree()
		for _, u := range info.tokens {
			inst := r.pick(u)
			if inst == nil {
				continue
			}
			path := append([]string{u.to.Type}, u.to.Labels...)
			if u.keyed {
				path = append(path, u.key)
			}
			values.set(append(path, strings.Split(u.token, ".")...), cty.StringVal(token.Make(inst.Address().String()+"."+u.token)))
		}
		maps.Copy(ctx.Variables, values.roots())
	}
	r.ctx = ctx
	return ctx
}

// allows says which tokens the strings of an argument may hold: those it mentions.
func (r *row) allows(info *exprInfo) func(string) bool {
	return func(name string) bool {
		if r.f.static[name] {
			return true
		}
		for _, u := range info.tokens {
			if inst := r.pick(u); inst != nil && inst.Address().String()+"."+u.token == name {
				return true
			}
		}
		return false
	}
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

// meta checks the evaluated meta arguments and stores them in the instance.
func (r *row) meta(m *metaArgs) bool {
	inst, n := r.inst, r.f.n
	s := *m
	if def := &r.f.e.c.Settings.defaults; n.sch.Stage {
		if s.Sensitive == "" {
			s.Sensitive = def.Sensitive
		}
		if len(def.Labels) > 0 {
			labels := maps.Clone(def.Labels)
			maps.Copy(labels, s.Labels)
			s.Labels = labels
		}
		if n.sch.Measurement {
			if s.Attempts == nil {
				s.Attempts = def.Attempts
			}
			if s.Exclusive == nil {
				s.Exclusive = def.Exclusive
			}
			if s.Reuse == nil {
				s.Reuse = def.Reuse
			}
		}
	}
	inst.Meta = Meta{Description: s.Description, Labels: s.Labels, Exclusive: s.Exclusive, Distinct: s.Distinct, Attempts: 1, Reuse: "auto"}
	ok := true
	for _, a := range n.meta.args {
		if d := checkMeta(&inst.Meta, s, a); d != nil {
			r.fail(d, a.attr.Expr)
			ok = false
		}
	}
	checkMeta(&inst.Meta, s, nil) // what comes from the defaults, which were checked where they are written
	if n.profileOf != nil {
		inst.Meta.ProfileOf = r.pick(n.profileOf)
	}
	return ok
}

// checkMeta checks the argument a, or where it is nil takes over all of them, from s into m.
func checkMeta(m *Meta, s metaArgs, a *arg) *hcl.Diagnostic {
	at := func(name string) bool { return a == nil || a.f.name == name }
	bad := func(format string, args ...any) *hcl.Diagnostic {
		if a == nil {
			return nil
		}
		return errorAt(sumInvalidValue, a.attr.Expr.Range(), "The value of %q does not fit: %s.", a.f.name, fmt.Sprintf(format, args...))
	}
	if at("sensitive") {
		switch s.Sensitive {
		case "", "public", "internal", "sensitive":
			m.Sensitive = s.Sensitive
		case "true":
			m.Sensitive = "sensitive"
		case "false":
			m.Sensitive = ""
		default:
			return bad("it is %q, and must be \"public\", \"internal\", \"sensitive\" or true", token.Display(s.Sensitive))
		}
	}
	if at("attempts") && s.Attempts != nil {
		if *s.Attempts < 1 || *s.Attempts > 100_000 {
			return bad("it is %d, and must be between 1 and 100000", *s.Attempts)
		}
		m.Attempts = *s.Attempts
	}
	if at("reuse") && s.Reuse != nil {
		switch *s.Reuse {
		case "auto", "never":
			m.Reuse, m.ReuseAge = *s.Reuse, 0
		default:
			age, err := units.Duration(*s.Reuse)
			if err != nil || age <= 0 {
				return bad("it is %q, and must be \"auto\", \"never\" or an age such as \"24h\"", token.Display(*s.Reuse))
			}
			m.Reuse, m.ReuseAge = "age", time.Duration(age)
		}
	}
	return nil
}
