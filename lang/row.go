package lang

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
)

// row is one instance in the making; i is -1 and inst nil for what all share.
type row struct {
	f    *filler
	i    int
	inst *Instance

	ctx   *hcl.EvalContext // made last
	ctxOf *exprInfo        // what it was made for
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
	case kindString:
		if pieces := r.f.inspect(a, a.attr.Expr).pieces; pieces != nil {
			s := r.write(pieces)
			if a.f.ptr {
				field.Set(reflect.ValueOf(&s))
			} else {
				field.SetString(s)
			}
			return true
		}
	case kindStrings:
		if list, ok := unparen(a.attr.Expr).(*hclsyntax.TupleConsExpr); ok {
			return r.decodeList(a, list, field)
		}
	case kindMap:
		if obj, ok := unparen(a.attr.Expr).(*hclsyntax.ObjectConsExpr); ok && r.inst != nil {
			if keys := r.f.literalKeys(obj); keys != nil {
				return r.decodeObject(a, obj, keys, field)
			}
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
// need no evaluation.
func (r *row) decodeList(a *arg, list *hclsyntax.TupleConsExpr, field reflect.Value) bool {
	out := make([]string, len(list.Exprs))
	d := decoder{r.allows(&a.info)}
	ok := true
	for i, el := range list.Exprs {
		var good bool
		if out[i], good = r.text(a, d, el, i, ""); !good {
			ok = false
		}
	}
	field.Set(reflect.ValueOf(out))
	return ok
}

// decodeObject is decodeList for names that are literal and their values.
func (r *row) decodeObject(a *arg, obj *hclsyntax.ObjectConsExpr, keys []string, field reflect.Value) bool {
	out := make(map[string]string, len(keys))
	d := decoder{r.allows(&a.info)}
	ok := true
	for i, item := range obj.Items {
		s, good := r.text(a, d, item.ValueExpr, -1, keys[i])
		ok = ok && good
		out[keys[i]] = s
	}
	field.Set(reflect.ValueOf(out))
	return ok
}

// text is one element of a list or object as a string.
func (r *row) text(a *arg, d decoder, el hclsyntax.Expression, index int, key string) (string, bool) {
	if pieces := r.f.inspect(a, el).pieces; pieces != nil {
		return r.write(pieces), true
	}
	v, ok := r.eval(a, el)
	if !ok {
		return "", false
	}
	s, err := d.text(v)
	if err != nil {
		bad := err.(*badValue)
		bad.index, bad.key = index, key
		r.fail(valueError(a.attr.Expr, a.f.name, bad), el)
		return "", false
	}
	return s, true
}

// piece is a part of a string: a text, the value of an axis, or a runtime token.
type piece struct {
	text  string
	axis  string
	token *use
}

// inspected is what is known of an argument, or of an element of one, before it is evaluated in an instance.
type inspected struct {
	pieces []piece  // nil: it must be evaluated
	info   exprInfo // what this part of the argument mentions
	keys   []string // of an object whose names are literal and distinct
}

func (f *filler) inspect(a *arg, e hclsyntax.Expression) *inspected {
	if p, known := f.parts[e]; known {
		return p
	}
	p := &inspected{pieces: f.takeApart(a, e), info: a.info}
	if p.pieces == nil && e != a.attr.Expr {
		p.info = within(&a.info, e.Range())
	}
	f.parts[e] = p
	return p
}

// within is the part of info that stands in a range. each is kept: it costs little.
func within(info *exprInfo, r hcl.Range) exprInfo {
	inside := func(s hcl.Range) bool { return s.Start.Byte >= r.Start.Byte && s.End.Byte <= r.End.Byte }
	part := exprInfo{each: info.each}
	for _, x := range info.axes {
		if inside(x.rng) {
			part.axes = append(part.axes, x)
		}
	}
	for _, u := range info.tokens {
		if inside(u.src) {
			part.tokens = append(part.tokens, u)
		}
	}
	return part
}

// literalKeys are the names of an object that is written out, or nil where one is computed or there twice.
func (f *filler) literalKeys(obj *hclsyntax.ObjectConsExpr) []string {
	if p, known := f.parts[obj]; known {
		return p.keys
	}
	p := &inspected{}
	f.parts[obj] = p
	keys := make([]string, 0, len(obj.Items))
	for _, item := range obj.Items {
		k, diags := item.KeyExpr.Value(nil)
		if diags.HasErrors() || k.Type() != cty.String || k.IsNull() || slices.Contains(keys, k.AsString()) {
			return nil
		}
		keys = append(keys, k.AsString())
	}
	p.keys = keys
	return keys
}

// takeApart takes apart an expression that is a literal, an axis, a token of another block, or a template of these. The
// pieces give what evaluating would give, much faster.
func (f *filler) takeApart(a *arg, e hclsyntax.Expression) []piece {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		if e.Val.Type() == cty.String && !e.Val.IsNull() {
			return []piece{{text: e.Val.AsString()}}
		}
	case *hclsyntax.TemplateWrapExpr:
		return f.takeApart(a, e.Wrapped)
	case *hclsyntax.TemplateExpr:
		out := []piece{}
		for _, part := range e.Parts {
			p := f.takeApart(a, part)
			if p == nil {
				return nil
			}
			out = append(out, p...)
		}
		return out
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		if name, ok := attrAt(e.Traversal, 1); ok && root == "matrix" && len(e.Traversal) == 2 {
			return []piece{{axis: name}}
		}
		if name := longest(e.Traversal, 0, f.n.sch.own); name != "" && len(e.Traversal) == 1+strings.Count(name, ".") {
			return []piece{{text: token.Make(name)}}
		}
		for _, u := range a.info.tokens {
			// The use covers block and instance, and the token the rest: otherwise something is read of a string.
			if u.src == e.Traversal.SourceRange() && len(u.rest) == 1+strings.Count(u.token, ".") {
				return []piece{{token: u}}
			}
		}
	}
	return nil
}

func (r *row) write(pieces []piece) string {
	if len(pieces) == 1 {
		return r.writeOne(&pieces[0])
	}
	var b strings.Builder
	for i := range pieces {
		b.WriteString(r.writeOne(&pieces[i]))
	}
	return b.String()
}

func (r *row) writeOne(p *piece) string {
	switch {
	case p.axis != "" && r.inst != nil:
		v, _ := r.inst.Axes.Get(p.axis)
		return v
	case p.token != nil:
		return token.Make(r.tokenName(p.token))
	}
	return p.text
}

// tokenName is the name of the token that a use means in this instance.
func (r *row) tokenName(u *use) string {
	name, known := r.f.names[u]
	if known {
		return name
	}
	inst := r.pick(u)
	if inst == nil {
		return "" // the block has no instances, and neither has this one
	}
	name = inst.Address().String() + "." + u.token
	if !r.f.fans(u) {
		r.f.names[u] = name
	}
	return name
}

func (r *row) eval(a *arg, expr hclsyntax.Expression) (cty.Value, bool) {
	v, diags := r.f.e.c.budget.Value(expr, r.context(&r.f.inspect(a, expr).info, r.f.fixed))
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

// context is what an expression of this instance may see. It holds only the roots that are mentioned and differ between
// instances; the parent has the rest.
func (r *row) context(info *exprInfo, parent *hcl.EvalContext) *hcl.EvalContext {
	if r.ctxOf == info && r.inst != nil {
		return r.ctx
	}
	r.ctx, r.ctxOf = parent, info
	fans := parent == r.f.fixed && slices.ContainsFunc(info.tokens, r.f.fans)
	if r.inst == nil || !info.perInstance() && !fans {
		return parent
	}
	ctx := parent.NewChild()
	ctx.Variables = map[string]cty.Value{}
	if len(info.axes) > 0 {
		m := make(map[string]cty.Value, len(info.axes))
		for _, x := range info.axes {
			key, _ := r.inst.Axes.Get(x.name)
			m[x.name] = r.f.st.values[x.name][key]
		}
		ctx.Variables["matrix"] = cty.ObjectVal(m)
	}
	if info.each {
		key, _ := r.inst.Axes.Get(r.f.n.Name())
		ctx.Variables["each"] = cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": r.f.st.each[key]})
	}
	if fans {
		maps.Copy(ctx.Variables, r.tokens(info.tokens).roots())
	}
	r.ctx = ctx
	return ctx
}

// tokens are the values of runtime tokens under the names of their blocks.
func (r *row) tokens(uses []*use) *tree {
	values := newTree()
	for _, u := range uses {
		name := r.tokenName(u)
		if name == "" {
			continue
		}
		path := append([]string{u.to.Type}, u.to.Labels...)
		if u.keyed {
			path = append(path, u.key)
		}
		values.set(append(path, strings.Split(u.token, ".")...), cty.StringVal(token.Make(name)))
	}
	return values
}

// allows says which tokens the strings of an argument may hold: those it mentions, and the stage's own.
func (r *row) allows(info *exprInfo) func(string) bool {
	return func(name string) bool {
		return r.f.static[name] || slices.ContainsFunc(info.tokens, func(u *use) bool { return r.tokenName(u) == name })
	}
}
