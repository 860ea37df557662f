package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/render"
)

// Deferred is an expression that is evaluated after apply. It may read results; a block with axes is an object by
// instance key in it, a block without axes its results. The zero value is an argument that was not given.
type Deferred struct{ e *lateExpr }

// Given says whether there is an expression.
func (d Deferred) Given() bool { return d.e != nil }

// Range is where the expression stands.
func (d Deferred) Range() hcl.Range {
	if d.e == nil {
		return hcl.Range{}
	}
	return d.e.proto.expr.Range()
}

// Instances are all instances that evaluating needs the results of, each once, in dependency order.
func (d Deferred) Instances() []*Instance {
	if d.e == nil {
		return nil
	}
	return slices.Clone(d.e.insts)
}

// Eval evaluates with the results of instances, each asked for once. Results of one instance are an object with
// the attributes of its schema; an error for one makes the whole expression an error. A value that a
// sensitive variable took part in is marked; the diagnostics never hold it.
func (d Deferred) Eval(results func(inst *Instance) (cty.Value, error)) (cty.Value, hcl.Diagnostics) {
	if d.e == nil {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	return d.e.eval(results)
}

// deferredProto is the part of a Deferred that does not differ from instance to instance.
type deferredProto struct {
	expr   hclsyntax.Expression
	info   exprInfo // tokens: the blocks that are mentioned
	places []latePlace
}

// latePlace is one mention of a block, for checks that need its axes.
type latePlace struct {
	u     *use
	splat bool // [*]: all instances in order
	whole bool // every instance by key, as the for expressions and computed keys need it
	attrs bool // something of it is read, such as .wall
}

// lateExpr is a Deferred in one instance, or outside of instances.
type lateExpr struct {
	proto  *deferredProto
	ctx    *hcl.EvalContext
	budget *bounded.Budget
	blocks []*lateBlock
	insts  []*Instance
	hide   bool // a sensitive variable takes part: show no values
}

// lateBlock is what an expression needs of one block.
type lateBlock struct {
	n       *node
	insts   []*Instance // all, or the ones chosen literally
	all     bool
	axes    bool // an object by key
	splat   bool
	objects bool
}

// analyseLate checks a deferred expression, and rewrites it where HCL's meaning is not ours: a splat of a block with axes
// ranges over its instances, although the block is an object.
func (c *Config) analyseLate(expr hclsyntax.Expression, n *node, s scope) *deferredProto {
	p := &deferredProto{expr: expr}
	p.info = c.analyse(expr, n, s)
	free := map[hcl.Range]bool{} // names that are not variables of a for expression
	for _, t := range hclsyntax.Variables(expr) {
		free[t.SourceRange()] = true
	}
	hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics {
		switch e := node.(type) {
		case *hclsyntax.SplatExpr:
			if st := c.blockAt(e.Source, free); st != nil {
				delete(free, st.Traversal.SourceRange())
				c.lateSplat(p, e, st)
			}
		case *hclsyntax.RelativeTraversalExpr:
			// capture.x.y[local.key].wall: the index is computed, what follows is not.
			if idx, ok := e.Source.(*hclsyntax.IndexExpr); ok {
				if st := c.blockAt(idx.Collection, free); st != nil {
					delete(free, st.Traversal.SourceRange())
					c.latePlace(p, st.Traversal, latePlace{whole: true}, e.Traversal)
				}
			}
		case *hclsyntax.IndexExpr:
			if st := c.blockAt(e.Collection, free); st != nil {
				delete(free, st.Traversal.SourceRange())
				c.latePlace(p, st.Traversal, latePlace{whole: true}, nil)
			}
		case *hclsyntax.ScopeTraversalExpr:
			if free[e.Traversal.SourceRange()] && c.reg.types[e.Traversal.RootName()] != nil {
				c.lateTraversal(p, e)
			}
		}
		return nil
	})
	return p
}

// blockAt is e where it is a block, and nothing of it.
func (c *Config) blockAt(e hclsyntax.Expression, free map[hcl.Range]bool) *hclsyntax.ScopeTraversalExpr {
	st, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || !free[st.Traversal.SourceRange()] {
		return nil
	}
	bt := c.reg.types[st.Traversal.RootName()]
	if bt == nil || len(st.Traversal) != len(bt.Labels)+1 {
		return nil
	}
	return st
}

func (c *Config) lateSplat(p *deferredProto, e *hclsyntax.SplatExpr, st *hclsyntax.ScopeTraversalExpr) {
	var rest hcl.Traversal
	if each, ok := e.Each.(*hclsyntax.RelativeTraversalExpr); ok {
		if _, ok := each.Source.(*hclsyntax.AnonSymbolExpr); ok {
			rest = each.Traversal
		}
	}
	if !c.latePlace(p, st.Traversal, latePlace{splat: true}, rest) {
		return
	}
	t := hcl.Traversal{hcl.TraverseRoot{Name: render.AllRoot, SrcRange: st.Traversal[0].SourceRange()}}
	t = append(t, hcl.TraverseAttr{Name: st.Traversal.RootName(), SrcRange: st.Traversal[0].SourceRange()})
	e.Source = &hclsyntax.ScopeTraversalExpr{Traversal: append(t, st.Traversal[1:]...), SrcRange: st.SrcRange}
}

func (c *Config) lateTraversal(p *deferredProto, e *hclsyntax.ScopeTraversalExpr) {
	u, d := c.resolve(e.Traversal)
	if d != nil || u == nil {
		return // reported by analyse
	}
	if u.keyed {
		// Axes may be written in any order; the object has them in one.
		for i, step := range e.Traversal {
			if idx, ok := step.(hcl.TraverseIndex); ok && idx.SrcRange.End.Byte <= u.rng.End.Byte {
				idx.Key = cty.StringVal(u.key)
				e.Traversal[i] = idx
			}
		}
	}
	c.latePlace(p, e.Traversal, latePlace{whole: !u.keyed && len(u.rest) == 0, attrs: len(u.rest) > 0}, u.rest)
}

// latePlace notes a mention of a block and checks what is read of it.
func (c *Config) latePlace(p *deferredProto, t hcl.Traversal, place latePlace, rest hcl.Traversal) bool {
	u, d := c.resolve(t)
	if d != nil || u == nil || u.to.sch == nil {
		return false
	}
	place.u = u
	p.places = append(p.places, place)
	if d := c.checkResult(u.to, rest); d != nil {
		c.report(d)
		p.info.broken = true
		return false
	}
	return true
}

// checkResult follows what is read of a block's results in its schema, as far as that knows.
func (c *Config) checkResult(n *node, rest hcl.Traversal) *hcl.Diagnostic {
	tree, path := n.sch.results, ""
	for i := range rest {
		name, ok := attrAt(rest, i)
		if !ok {
			return nil
		}
		if tree.attr != nil {
			return checkType(tree.attr.Type, rest[i:], tree.attr.Name)
		}
		next := tree.kids[name]
		if next == nil {
			where := rest[i].SourceRange()
			if longest(rest, i, n.sch.tokens) != "" {
				after := "after apply there are results: " + oneOf(tree.names())
				if len(tree.names()) == 0 {
					after = "it has no results after apply"
				}
				return errorAt(sumNotAllowed, where, "%s.%s exists only while stages run; %s.", n.Address(), name, after)
			}
			hint := c.suggest.didYouMean(name, tree.names())
			switch names := tree.names(); {
			case hint != "":
			case len(names) == 0:
				hint = " It has no results."
			default:
				hint = " Known are " + oneOf(names) + "."
			}
			return errorAt(sumUnknownResult, where, "A %s has no result %q.%s", n.Kind(), path+name, hint)
		}
		tree = next
		path += name + "."
	}
	return nil
}

// checkType follows what is read of the result called path.
func checkType(t cty.Type, rest hcl.Traversal, path string) *hcl.Diagnostic {
	for i := range rest {
		where := rest[i].SourceRange()
		if _, isAttr := rest[i].(hcl.TraverseAttr); isAttr && (t.IsListType() || t.IsSetType()) {
			return errorAt(sumUnknownResult, where, "The result %q is a list: write %s[*] for all elements, or %s[0] for the first.", path, path, path)
		}
		name, ok := attrAt(rest, i)
		switch {
		case !ok || !t.IsObjectType() && !t.IsPrimitiveType():
			return nil
		case t.IsPrimitiveType():
			return errorAt(sumUnknownResult, where, "The result %q is a %s and has no %q.", path, t.FriendlyName(), name)
		case !t.HasAttribute(name):
			return errorAt(sumUnknownResult, where, "The result %q has no %q. Known are %s.", path, name, oneOf(slices.Sorted(maps.Keys(t.AttributeTypes()))))
		}
		t, path = t.AttributeType(name), path+"."+name
	}
	return nil
}

func (l *lateExpr) eval(results func(inst *Instance) (cty.Value, error)) (cty.Value, hcl.Diagnostics) {
	got := make(map[*Instance]cty.Value, len(l.insts))
	for _, inst := range l.insts {
		v, err := results(inst)
		if err != nil {
			return cty.DynamicVal, hcl.Diagnostics{errorAt(sumNoResult, l.proto.expr.Range(), "The result of %s is needed here: %s.", inst.Address(), err)}
		}
		if v == cty.NilVal {
			v = cty.NullVal(cty.DynamicPseudoType)
		}
		got[inst] = v
	}
	values, splats := newTree(), newTree()
	for _, b := range l.blocks {
		path := append([]string{b.n.Type}, b.n.Labels...)
		if b.splat {
			list := make([]cty.Value, len(b.insts))
			for i, inst := range b.insts {
				list[i] = got[inst]
			}
			splats.set(path, cty.TupleVal(list))
		}
		switch {
		case !b.objects:
		case b.axes:
			byKey := make(map[string]cty.Value, len(b.insts))
			for _, inst := range b.insts {
				byKey[inst.Axes.Key()] = got[inst]
			}
			values.set(path, cty.ObjectVal(byKey))
		case len(b.insts) == 1:
			values.set(path, got[b.insts[0]])
		}
	}
	ctx := l.ctx.NewChild()
	ctx.Variables = values.roots()
	if len(splats.kids) > 0 {
		ctx.Variables[render.AllRoot] = splats.value()
	}
	v, diags := l.budget.Value(l.proto.expr, ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, fromHCL(sumExpression, diags, "", l.hide)
	}
	return v, nil
}

// tree builds nested objects from paths.
type tree struct {
	kids map[string]*tree
	leaf cty.Value
}

func newTree() *tree { return &tree{kids: map[string]*tree{}} }

func (t *tree) set(path []string, v cty.Value) {
	for _, p := range path {
		if t.kids[p] == nil {
			t.kids[p] = newTree()
		}
		t = t.kids[p]
	}
	t.leaf = v
}

func (t *tree) value() cty.Value {
	if t.leaf != cty.NilVal {
		return t.leaf
	}
	return cty.ObjectVal(t.roots())
}

func (t *tree) roots() map[string]cty.Value {
	m := make(map[string]cty.Value, len(t.kids))
	for k, kid := range t.kids {
		m[k] = kid.value()
	}
	return m
}

// Eval says whether the assertion holds, and if not, with which message.
func (a Assert) Eval(results func(inst *Instance) (cty.Value, error)) (holds bool, message string, diags hcl.Diagnostics) {
	v, diags := a.Condition.Eval(results)
	if diags.HasErrors() {
		return false, "", diags
	}
	v, _ = v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return false, "", hcl.Diagnostics{errorAt(sumInvalidValue, a.Condition.Range(), "A condition is true or false, and this is a %s.", v.Type().FriendlyName())}
	case b.IsNull() || !b.IsKnown():
		return false, "", hcl.Diagnostics{errorAt(sumNoResult, a.Condition.Range(), "The condition has no value: something it reads is missing, and missing evidence is no success.")}
	case b.True():
		return true, "", nil
	}
	m, diags := a.ErrorMessage.Eval(results)
	if diags.HasErrors() {
		return false, "", diags
	}
	if m.ContainsMarked() {
		return false, "(the message is not shown: something sensitive takes part in it)", nil
	}
	text, err := convert.Convert(m, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		return false, fmt.Sprintf("(the message at %s is not a text)", place(a.ErrorMessage.Range())), nil
	}
	return false, text.AsString(), nil
}
