package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/lang/render"
)

// use is one reference to another block, as it is written.
type use struct {
	to    *node
	keyed bool
	key   string        // of the instance, in canonical form, where keyed
	token string        // name of the runtime token, where one is meant
	rest  hcl.Traversal // what follows block and instance
	rng   hcl.Range     // of block and instance
	src   hcl.Range     // of all of it
}

// scope says what an expression may mention.
type scope struct {
	what                               string // for messages: "An output"
	vars, locals, axes, tokens, blocks bool   // blocks: results, with arity all
}

var (
	scopeArg      = scope{what: "An argument", vars: true, locals: true, axes: true, tokens: true}
	scopeMeta     = scope{what: "This argument", vars: true, locals: true, axes: true}
	scopeAxes     = scope{what: "An axis", vars: true, locals: true}
	scopeLocals   = scope{what: "A local value", vars: true, locals: true}
	scopeVars     = scope{what: "A validation", vars: true}
	scopeSettings = scope{what: "A setting"}
	scopeDefault  = scope{what: "A default"}
	scopeLate     = scope{what: "This expression", vars: true, locals: true, axes: true, blocks: true}
	scopeOutput   = scope{what: "An output or check", vars: true, locals: true, blocks: true}
)

// exprInfo is what an expression mentions.
type exprInfo struct {
	axes   []axisUse // matrix.x
	each   bool
	own    []string // own runtime tokens
	tokens []*use
	vars   []string
	locals []string
	broken bool // an error was reported, here or where a name comes from
}

func (i *exprInfo) perInstance() bool { return len(i.axes) > 0 || i.each }

type axisUse struct {
	name string
	rng  hcl.Range
}

// analyse reports what expr may not mention in scope s, and returns what it does mention. n is the block it belongs to, or nil.
func (c *Config) analyse(expr hclsyntax.Expression, n *node, s scope) (info exprInfo) {
	for _, t := range hclsyntax.Variables(expr) {
		if d := c.analyseRoot(t, n, s, &info); d != nil {
			c.report(d)
			info.broken = true
		}
	}
	return info
}

func (c *Config) analyseRoot(t hcl.Traversal, n *node, s scope, info *exprInfo) *hcl.Diagnostic {
	root := t.RootName()
	name, named := attrAt(t, 1)
	refuse := func(why string) *hcl.Diagnostic {
		return errorAt(sumNotAllowed, t.SourceRange(), "%s cannot mention %s: %s", s.what, render.Path(t), why)
	}
	switch {
	case root == "var" && !s.vars, root == "local" && !s.locals:
		return refuse("it is needed before values are known.")
	case root == "var":
		if !named {
			return errorAt(sumIncomplete, t.SourceRange(), "Name the variable: var.<name>.")
		}
		v := c.values.vars[name]
		if v == nil {
			return errorAt(sumUnknownVariable, t.SourceRange(), "There is no variable %q.%s", name, c.suggest.didYouMean(name, slices.Collect(maps.Keys(c.values.vars))))
		}
		info.vars = append(info.vars, name)
		info.broken = info.broken || v.broken
	case root == "local":
		if !named {
			return errorAt(sumIncomplete, t.SourceRange(), "Name the local value: local.<name>.")
		}
		l := c.values.locals[name]
		if l == nil {
			return errorAt(sumUnknownLocal, t.SourceRange(), "There is no local value %q.%s", name, c.suggest.didYouMean(name, slices.Collect(maps.Keys(c.values.locals))))
		}
		info.locals = append(info.locals, name)
		info.broken = info.broken || l.broken
	case root == "matrix" || root == "each":
		return c.analyseAxis(t, n, s, info, refuse)
	case c.reg.own[root]:
		return c.analyseOwn(t, n, s, info, refuse)
	case c.reg.types[root] != nil:
		if !s.tokens && !s.blocks {
			return refuse("it has to be known before stages are.")
		}
		u, d := c.resolve(t)
		if d != nil || u == nil || u.to.broken && u.to.sch == nil {
			info.broken = true
			return d
		}
		if s.blocks {
			info.tokens = append(info.tokens, u)
			return nil
		}
		if d := c.tokenOf(u, t); d != nil {
			return d
		}
		info.tokens = append(info.tokens, u)
	default:
		return c.unknownName(t, root)
	}
	return nil
}

func (c *Config) analyseAxis(t hcl.Traversal, n *node, s scope, info *exprInfo, refuse func(string) *hcl.Diagnostic) *hcl.Diagnostic {
	name, named := attrAt(t, 1)
	switch root := t.RootName(); {
	case !s.axes || n == nil:
		return refuse("it differs from instance to instance, and is known only in the arguments of a block.")
	case root == "each" && n.forEach == nil:
		return refuse("this block has no for_each.")
	case root == "each" && name != "key" && name != "value":
		return errorAt(sumIncomplete, t.SourceRange(), "Write each.key or each.value.")
	case root == "each":
		info.each = true
	case !named:
		return errorAt(sumIncomplete, t.SourceRange(), "Name the axis: matrix.<axis>.")
	default:
		info.axes = append(info.axes, axisUse{name, t.SourceRange()})
	}
	return nil
}

func (c *Config) analyseOwn(t hcl.Traversal, n *node, s scope, info *exprInfo, refuse func(string) *hcl.Diagnostic) *hcl.Diagnostic {
	if !s.tokens || n == nil {
		return refuse("it exists only while a stage runs.")
	}
	if len(n.sch.own) == 0 {
		return refuse("a " + n.Kind() + " has no such runtime value.")
	}
	own := slices.Sorted(maps.Keys(n.sch.own))
	name := longest(t, 0, n.sch.own)
	if name == "" {
		return errorAt(sumUnknownToken, t.SourceRange(), "A %s has no runtime value %s of its own. Known are %s.", n.Kind(), render.Path(t), oneOf(own))
	}
	info.own = append(info.own, name)
	return nil
}

// tokenOf completes a use with the runtime token it means.
func (c *Config) tokenOf(u *use, t hcl.Traversal) *hcl.Diagnostic {
	tokens := slices.Sorted(maps.Keys(u.to.sch.tokens))
	known := "It has no runtime values."
	if len(tokens) > 0 {
		full := make([]string, len(tokens))
		for i, k := range tokens {
			full[i] = u.to.Address() + "." + k
		}
		known = "Its runtime values are " + oneOfPlain(full) + "."
	}
	if len(u.rest) == 0 {
		return errorAt(sumNotValue, u.rng, "%s is a block, not a value. %s", u.to.Address(), known)
	}
	if u.token = longest(u.rest, 0, u.to.sch.tokens); u.token != "" {
		return nil
	}
	if name, ok := attrAt(u.rest, 0); ok {
		if u.to.sch.results.kids[name] != nil {
			return errorAt(sumNotKnown, t.SourceRange(), "%s is a result of %s, known only after apply. Results are allowed in output, check and report; between stages flow files and runtime values. %s", render.Path(t), u.to.Address(), known)
		}
		hint := c.suggest.didYouMean(name, tokens)
		return errorAt(sumUnknownToken, t.SourceRange(), "%s has no runtime value %q.%s %s", u.to.Address(), name, hint, known)
	}
	return errorAt(sumUnknownToken, t.SourceRange(), "%s names no runtime value of %s. %s", render.Path(t), u.to.Address(), known)
}

// longest is the longest of names that the steps of t from position i on spell with dots, or "".
func longest(t hcl.Traversal, i int, names map[string]bool) string {
	found, path := "", ""
	for ; i < len(t); i++ {
		switch s := t[i].(type) {
		case hcl.TraverseRoot:
			path = s.Name
		case hcl.TraverseAttr:
			path = strings.TrimPrefix(path+"."+s.Name, ".")
		default:
			return found
		}
		if names[path] {
			found = path
		}
	}
	return found
}

func attrAt(t hcl.Traversal, i int) (string, bool) {
	if i >= len(t) {
		return "", false
	}
	switch s := t[i].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String && s.Key.IsKnown() && !s.Key.IsNull() {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

func (c *Config) unknownName(t hcl.Traversal, root string) *hcl.Diagnostic {
	known := append([]string{"var", "local", "matrix", "each"}, slices.Sorted(maps.Keys(c.reg.types))...)
	known = append(known, slices.Sorted(maps.Keys(c.reg.own))...)
	hint := c.suggest.didYouMean(root, known)
	if hint == "" && len(t) == 1 {
		hint = fmt.Sprintf(" A text is written with quotes: %q.", root)
	}
	return errorAt(sumUnknownName, t.SourceRange(), "Nothing is called %q here.%s", root, hint)
}

// resolve finds the block, and the instance key, that a traversal begins with. The use is nil where an error was
// reported about the block before.
func (c *Config) resolve(t hcl.Traversal) (*use, *hcl.Diagnostic) {
	bt := c.reg.types[t.RootName()]
	addr := bt.Type
	n := len(bt.Labels)
	for i := 1; i <= n; i++ {
		step, ok := hcl.Traverser(nil), false
		if i < len(t) {
			step = t[i]
		}
		var a hcl.TraverseAttr
		if a, ok = step.(hcl.TraverseAttr); !ok {
			form := bt.Type
			for _, l := range bt.Labels {
				form += ".<" + l + ">"
			}
			return nil, errorAt(sumIncomplete, t.SourceRange(), "A reference to a %s is written %s.", bt.Type, form)
		}
		addr += "." + a.Name
	}
	to := c.index[addr]
	if to == nil {
		var same []string
		for _, known := range c.nodes {
			if known.Type == bt.Type && !c.suggest.tired() {
				same = append(same, known.Address())
			}
		}
		return nil, errorAt(sumUnknownRef, t[:n+1].SourceRange(), "There is no %s.%s", addr, c.suggest.didYouMean(addr, same))
	}
	u := &use{to: to, rest: t[n+1:], rng: t[:n+1].SourceRange(), src: t.SourceRange()}
	if len(u.rest) > 0 {
		if idx, ok := u.rest[0].(hcl.TraverseIndex); ok {
			key, isText := attrAt(u.rest, 0)
			if !isText {
				return nil, errorAt(sumUnknownInstance, idx.SrcRange, "An instance is named by a text such as %s[\"axis=value\"].", addr)
			}
			u.keyed, u.key = true, canonicalKey(key)
			u.rest, u.rng = u.rest[1:], t[:n+2].SourceRange()
		}
	}
	return u, nil
}

// canonicalKey writes the axes of an instance key in the order of addresses. What is no key stays as it is, and names no instance.
func canonicalKey(key string) string {
	a, err := address.Parse("x[" + fmt.Sprintf("%q", key) + "]")
	if err != nil {
		return key
	}
	return a.Axes.Key()
}

// reference reads an expression that must be a literal reference; null means none. A nil use without a
// diagnostic is none, or was reported about before: broken tells them apart.
func (c *Config) reference(expr hclsyntax.Expression, name string, kinds []string) (u *use, broken bool) {
	fail := func(d *hcl.Diagnostic) (*use, bool) {
		if d != nil {
			c.report(d)
		}
		return nil, true
	}
	expr = unparen(expr)
	if lit, ok := expr.(*hclsyntax.LiteralValueExpr); ok && lit.Val.IsNull() {
		return nil, false
	}
	example := "<block>.<name>"
	if len(kinds) > 0 {
		example = kinds[0] + ".<name>"
	}
	st, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return fail(errorAt(sumComputedRef, expr.Range(), "%q takes a reference, which must be written literally, such as %s: which block is meant may not depend on a value. To choose between blocks, give one block an axis.", name, example))
	}
	root := st.Traversal.RootName()
	if c.reg.types[root] == nil {
		if root == "var" || root == "local" || root == "matrix" || root == "each" {
			return fail(errorAt(sumComputedRef, expr.Range(), "%q takes a reference, which must be written literally, such as %s, and %s is a value.", name, example, render.Path(st.Traversal)))
		}
		return fail(c.unknownName(st.Traversal, root))
	}
	u, d := c.resolve(st.Traversal)
	if d != nil {
		return fail(d)
	}
	if len(u.rest) > 0 {
		return fail(errorAt(sumComputedRef, expr.Range(), "%q takes a block, not something of it: write %s.", name, u.to.Address()))
	}
	if u.to.broken && u.to.sch == nil {
		return nil, true
	}
	if len(kinds) > 0 && !slices.Contains(kinds, u.to.Type) && !slices.Contains(kinds, u.to.Kind()) {
		return fail(errorAt(sumWrongKind, expr.Range(), "%q takes a %s, and %s is a %s.", name, oneOfPlain(kinds), u.to.Address(), u.to.Kind()))
	}
	return u, false
}

// referenceList reads one literal reference or a list of them.
func (c *Config) referenceList(expr hclsyntax.Expression, name string, kinds []string) (uses []*use, broken bool) {
	items := []hclsyntax.Expression{expr}
	if list, ok := unparen(expr).(*hclsyntax.TupleConsExpr); ok {
		items = list.Exprs
	}
	for _, item := range items {
		u, bad := c.reference(item, name, kinds)
		broken = broken || bad
		if u != nil {
			uses = append(uses, u)
		}
	}
	return uses, broken
}

func unparen(e hclsyntax.Expression) hclsyntax.Expression {
	for {
		p, ok := e.(*hclsyntax.ParenthesesExpr)
		if !ok {
			return e
		}
		e = p.Expression
	}
}

// analyseNode checks every expression of a node and collects what it refers to.
func (c *Config) analyseNode(n *node) {
	if n.sch == nil || n.impliedBy != nil {
		return
	}
	for _, b := range n.bodies() {
		for _, a := range b.args {
			c.analyseArg(n, a)
		}
	}
	for _, a := range n.meta.args {
		a.info = c.analyse(a.attr.Expr, n, scopeMeta)
		n.broken = n.broken || a.info.broken
	}
	for _, a := range []*hclsyntax.Attribute{n.matrix, n.forEach} {
		if a != nil {
			info := c.analyse(a.Expr, nil, scopeAxes)
			n.axesBroken = n.axesBroken || info.broken
			n.broken = n.broken || info.broken
		}
	}
	var bad bool
	if a := n.src.Body.Attributes["depends_on"]; a != nil && n.sch.accepts(a.Name) {
		n.dependsOn, bad = c.referenceList(a.Expr, a.Name, nil)
		n.broken = n.broken || bad
		n.need(n.dependsOn...)
	}
	if a := n.src.Body.Attributes["profile_of"]; a != nil && n.sch.accepts(a.Name) {
		n.profileOf, bad = c.reference(a.Expr, a.Name, nil)
		n.broken = n.broken || bad
		if n.profileOf != nil {
			n.need(n.profileOf)
		}
	}
}

// bodies are the node's own arguments and those of its nested blocks.
func (n *node) bodies() []*body { return append([]*body{&n.main}, n.nested...) }

func (n *node) need(uses ...*use) {
	for _, u := range uses {
		n.edges = append(n.edges, edge{u.to, u.rng})
	}
}

func (c *Config) analyseArg(n *node, a *arg) {
	switch a.f.kind {
	case kindRef:
		u, bad := c.reference(a.attr.Expr, a.f.name, a.f.kinds)
		a.info.broken = bad
		if u != nil {
			a.refs = []*use{u}
		} else if !bad && a.f.required {
			c.report(errorAt(sumMissingArg, a.attr.Expr.Range(), "%q needs a reference, and null is none.", a.f.name))
			a.info.broken = true
		}
		n.need(a.refs...)
	case kindRefs:
		a.refs, a.info.broken = c.referenceList(a.attr.Expr, a.f.name, a.f.kinds)
		n.need(a.refs...)
	case kindDeferred:
		a.late = c.analyseLate(a.attr.Expr, n, scopeLate)
		a.info = a.late.info
		n.need(a.late.info.tokens...)
	default:
		a.info = c.analyse(a.attr.Expr, n, scopeArg)
		n.need(a.info.tokens...)
	}
	n.broken = n.broken || a.info.broken
}
