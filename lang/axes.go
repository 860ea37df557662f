package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
)

// ownAxis is an axis that a block declares itself.
type ownAxis struct {
	name   string
	keys   []string             // canonical values, in the order written
	values map[string]cty.Value // what expressions see: a number stays a number
	each   map[string]cty.Value // each.value by key, of for_each
	rng    hcl.Range
}

// ownAxes evaluates matrix and for_each, sorted by name.
func (e *expansion) ownAxes(n *node) (axes []*ownAxis, ok bool) {
	ok = true
	if n.matrix != nil {
		v, good := e.axisExpr(n.matrix)
		if good {
			axes, ok = e.matrixAxes(n, v)
		} else {
			ok = false
		}
	}
	if n.forEach != nil {
		v, good := e.axisExpr(n.forEach)
		if good {
			var a *ownAxis
			if a, good = e.forEachAxis(n, v); good {
				axes = append(axes, a)
			}
		}
		ok = ok && good
	}
	slices.SortFunc(axes, func(a, b *ownAxis) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	for i := 1; i < len(axes); i++ {
		if axes[i].name == axes[i-1].name {
			e.report(errorAt(sumBadAxis, n.forEach.NameRange, "for_each gives the axis %q, named after the block, and matrix has one of that name too: rename the one in matrix.", axes[i].name))
			ok = false
		}
	}
	for _, a := range axes {
		if len(a.keys) == 0 && ok {
			e.report(warningAt(sumEmptyAxis, a.rng, "The axis %q has no values, so %s has no instances and nothing of it runs.", a.name, n.Address()))
		}
	}
	return axes, ok
}

func (e *expansion) axisExpr(a *hclsyntax.Attribute) (cty.Value, bool) {
	v, diags := e.c.budget.Value(a.Expr, e.c.values.args)
	if diags.HasErrors() {
		e.report(fromHCL(sumExpression, diags, "", false)...)
		return v, false
	}
	if v.ContainsMarked() {
		e.report(errorAt(sumSensitive, a.Expr.Range(), "A sensitive variable takes part in %s, and the values of axes are part of every address.", a.Name))
		return v, false
	}
	return v, true
}

func (e *expansion) matrixAxes(n *node, v cty.Value) (axes []*ownAxis, ok bool) {
	expr := n.matrix.Expr
	if t := v.Type(); v.IsNull() || !t.IsObjectType() && !t.IsMapType() {
		e.report(errorAt(sumBadAxis, expr.Range(), "matrix is axes and their values, such as { rows = [1000, 100000], impl = [\"a\", \"b\"] }, and this is %s.", describe(v)))
		return nil, false
	}
	ok = true
	values := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rng, elems := axisRange(expr, name)
		if !hclsyntax.ValidIdentifier(name) {
			e.report(errorAt(sumBadAxis, rng, "%q cannot be the name of an axis: it begins with a letter and has only letters, digits, _ and -.", token.Display(name)))
			ok = false
			continue
		}
		a := &ownAxis{name: name, rng: rng, values: map[string]cty.Value{}}
		if e.fillAxis(a, values[name], elems) {
			axes = append(axes, a)
		} else {
			ok = false
		}
	}
	return axes, ok
}

// axisRange is where the values of an axis are written, and where each is, as far as they are literal.
func axisRange(expr hclsyntax.Expression, name string) (hcl.Range, []hclsyntax.Expression) {
	obj, ok := unparen(expr).(*hclsyntax.ObjectConsExpr)
	if !ok {
		return expr.Range(), nil
	}
	for _, item := range obj.Items {
		if k, diags := item.KeyExpr.Value(nil); !diags.HasErrors() && k.Type() == cty.String && k.AsString() == name {
			if list, ok := unparen(item.ValueExpr).(*hclsyntax.TupleConsExpr); ok {
				return list.Range(), list.Exprs
			}
			return item.ValueExpr.Range(), nil
		}
	}
	return expr.Range(), nil
}

// fillAxis adds the values of a list to an axis.
func (e *expansion) fillAxis(a *ownAxis, v cty.Value, elems []hclsyntax.Expression) bool {
	t := v.Type()
	if v.IsNull() || !t.IsListType() && !t.IsTupleType() && !t.IsSetType() {
		e.report(errorAt(sumBadAxis, a.rng, "The axis %q is a list of numbers or strings, and this is %s: write %s = [ … ].", a.name, describe(v), a.name))
		return false
	}
	at := func(i int) hcl.Range {
		if i < len(elems) {
			return elems[i].Range()
		}
		return a.rng
	}
	ok, i := true, 0
	seen := make(map[string]int, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); i++ {
		_, el := it.Element()
		key, err := axisKey(el)
		if err != nil {
			e.report(errorAt(sumBadAxis, at(i), "A value of the axis %q does not fit: %s.", a.name, err))
			ok = false
			continue
		}
		if first, dup := seen[key]; dup {
			e.report(errorAt(sumBadAxis, at(i), "The axis %q has the value %s twice, as elements %d and %d: two instances would have one address.", a.name, key, first, i))
			ok = false
			continue
		}
		seen[key] = i
		a.keys = append(a.keys, key)
		a.values[key] = el
	}
	return ok
}

// axisKey is the canonical string of an axis's value.
func axisKey(v cty.Value) (string, error) {
	switch {
	case v.IsNull():
		return "", fmt.Errorf("it is null; axes have numbers and strings")
	case v.Type() == cty.Number:
		return canonicalNumber(v.AsBigFloat())
	case v.Type() == cty.String && token.Has(v.AsString()):
		return "", fmt.Errorf("it holds a NUL byte")
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		return "", fmt.Errorf("it is %v; axes have numbers and strings, so write %q", v.True(), fmt.Sprint(v.True()))
	}
	return "", fmt.Errorf("it is %s; axes have numbers and strings. For several values of one instance use for_each with a map, and each.value", describe(v))
}

func (e *expansion) forEachAxis(n *node, v cty.Value) (*ownAxis, bool) {
	a := &ownAxis{name: n.Name(), rng: n.forEach.Expr.Range(), values: map[string]cty.Value{}, each: map[string]cty.Value{}}
	t := v.Type()
	if !v.IsNull() && (t.IsMapType() || t.IsObjectType()) {
		values := v.AsValueMap()
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if token.Has(k) {
				e.report(errorAt(sumBadAxis, a.rng, "A key of for_each holds a NUL byte."))
				return nil, false
			}
			a.keys = append(a.keys, k)
			a.values[k], a.each[k] = cty.StringVal(k), values[k]
		}
		return a, true
	}
	if v.IsNull() || !t.IsListType() && !t.IsTupleType() && !t.IsSetType() {
		e.report(errorAt(sumBadAxis, a.rng, "for_each takes a map, or a list or set of strings, and this is %s.", describe(v)))
		return nil, false
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, el := it.Element(); el.IsNull() || el.Type() != cty.String {
			e.report(errorAt(sumBadAxis, a.rng, "for_each takes a map, or a list or set of strings, and an element of this is %s. Numbers go into a matrix.", describe(el)))
			return nil, false
		}
	}
	var elems []hclsyntax.Expression
	if list, ok := unparen(n.forEach.Expr).(*hclsyntax.TupleConsExpr); ok {
		elems = list.Exprs
	}
	ok := e.fillAxis(a, v, elems)
	for _, k := range a.keys {
		a.each[k] = a.values[k]
	}
	return a, ok
}
