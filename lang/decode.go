package lang

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/units"
)

var durationType = reflect.TypeFor[time.Duration]()

// badValue is why a value does not fit, and which element of it where that is known.
type badValue struct {
	summary summary
	index   int    // of a list's element, or -1
	key     string // of a map's element, or ""
	why     string
}

func (b *badValue) Error() string { return b.why }

func misfit(format string, args ...any) error {
	return &badValue{summary: sumInvalidValue, index: -1, why: fmt.Sprintf(format, args...)}
}

// assign converts v into the field of kind f. A null leaves it as it is. The error is a *badValue.
func assign(dst reflect.Value, f *field, v cty.Value) error { return decoder{}.assign(dst, f, v) }

// decoder converts values. Strings in v may hold the runtime tokens that allow knows; without allow, none.
type decoder struct {
	allow func(name string) bool
}

func (d decoder) assign(dst reflect.Value, f *field, v cty.Value) error {
	marked := false
	if v.ContainsMarked() {
		// Only a string can carry a sensitive value without holding it, so in everything else it is refused.
		if f.kind != kindString && f.kind != kindStrings && f.kind != kindMap {
			return &badValue{summary: sumSensitive, index: -1, why: "a sensitive variable takes part in the value, which would become part of keys and plans"}
		}
		marked = true
	}
	if !marked && v.IsNull() {
		return nil
	}
	if !v.IsWhollyKnown() {
		return misfit("its value is not known yet")
	}
	switch f.kind {
	case kindStrings:
		list := []string{}
		err := d.each(v, "a list of strings", func(e cty.Value) error {
			s, err := d.text(e)
			list = append(list, s)
			return err
		})
		if err == nil {
			dst.Set(reflect.ValueOf(list))
		}
		return err
	case kindInts:
		list := []int{}
		err := d.each(v, "a list of whole numbers", func(e cty.Value) error {
			n, err := whole(e, 64)
			list = append(list, int(n))
			return err
		})
		if err == nil {
			dst.Set(reflect.ValueOf(list))
		}
		return err
	case kindMap:
		return d.assignMap(dst, v)
	}
	target := dst
	if f.ptr {
		target = reflect.New(dst.Type().Elem()).Elem()
	}
	if err := d.scalar(target, f.kind, v); err != nil {
		return err
	}
	if f.ptr {
		dst.Set(target.Addr())
	}
	return nil
}

func (d decoder) scalar(dst reflect.Value, kind fieldKind, v cty.Value) error {
	switch kind {
	case kindString:
		if inner, _ := v.Unmark(); inner.IsNull() {
			return nil
		}
		s, err := d.text(v)
		dst.SetString(s)
		return err
	case kindBool:
		switch {
		case v.Type() == cty.Bool:
			dst.SetBool(v.True())
			return nil
		case v.Type() == cty.String && (v.AsString() == "true" || v.AsString() == "false"):
			dst.SetBool(v.AsString() == "true")
			return nil
		}
		return misfit("it must be true or false, and this is %s", describe(v))
	case kindInt:
		n, err := whole(v, dst.Type().Bits())
		dst.SetInt(n)
		return err
	case kindFloat:
		n, err := number(v)
		if err != nil {
			return err
		}
		x, _ := n.Float64()
		dst.SetFloat(x)
		return nil
	case kindDuration:
		return withUnit(dst, v, units.DurationExamples, func(s string) (int64, error) { n, err := units.Duration(s); return int64(n), err })
	default:
		return withUnit(dst, v, units.BytesExamples, units.Bytes)
	}
}

func withUnit(dst reflect.Value, v cty.Value, examples string, parse func(string) (int64, error)) error {
	if v.Type() != cty.String {
		if v.Type() == cty.Number {
			return misfit("a number needs a unit: write it as a string such as %s", examples)
		}
		return misfit("it must be a string such as %s, and this is %s", examples, describe(v))
	}
	if token.Has(v.AsString()) {
		return misfit("it holds a value that exists only while a stage runs")
	}
	n, err := parse(v.AsString())
	if err != nil {
		return misfit("%s", err)
	}
	dst.SetInt(n)
	return nil
}

// each visits the elements of a list.
func (d decoder) each(v cty.Value, want string, f func(cty.Value) error) error {
	v, marks := v.Unmark()
	t := v.Type()
	if v.IsNull() || !t.IsListType() && !t.IsTupleType() && !t.IsSetType() {
		hint := ""
		if t == cty.String || t == cty.Number {
			hint = ": write it in brackets, [ … ]"
		}
		return misfit("it must be %s, and this is %s%s", want, describe(v), hint)
	}
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		_, e := it.Element()
		if err := f(e.WithMarks(marks)); err != nil {
			var b *badValue
			if errors.As(err, &b) && b.index < 0 {
				b.index = i
			}
			return err
		}
	}
	return nil
}

func (d decoder) assignMap(dst reflect.Value, v cty.Value) error {
	v, marks := v.Unmark()
	t := v.Type()
	if v.IsNull() || !t.IsMapType() && !t.IsObjectType() {
		return misfit("it must be names and values, such as { NAME = \"value\" }, and this is %s", describe(v))
	}
	m := make(map[string]string)
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		name := k.AsString()
		if token.Has(name) {
			return misfit("a name holds a value that exists only while a stage runs; only values can")
		}
		s, err := d.text(e.WithMarks(marks))
		if err != nil {
			var b *badValue
			if errors.As(err, &b) {
				b.key = name
			}
			return err
		}
		m[name] = s
	}
	dst.Set(reflect.ValueOf(m))
	return nil
}

// text is the string that a string, number or bool is written as.
func (d decoder) text(v cty.Value) (string, error) {
	v, marks := v.Unmark()
	if v.IsNull() {
		return "", misfit("it must be a string, and this is null")
	}
	var s string
	switch v.Type() {
	case cty.String:
		s = v.AsString()
	case cty.Number:
		n, err := canonicalNumber(v.AsBigFloat())
		if err != nil {
			return "", misfit("%s", err)
		}
		s = n
	case cty.Bool:
		s = fmt.Sprint(v.True())
	default:
		return "", misfit("it must be a string, and this is %s", describe(v))
	}
	return s, d.checkTokens(s, len(marks) > 0)
}

// checkTokens refuses strings whose tokens were cut or changed by a function, and sensitive strings that are none.
func (d decoder) checkTokens(s string, secret bool) error {
	if token.Has(s) {
		_, err := token.Expand(s, func(name string) (string, error) {
			if strings.HasPrefix(name, "var.") {
				secret = false // the value itself is not in the string
			}
			if d.allow == nil || !d.allow(name) {
				return "", fmt.Errorf("a value that exists only while a stage runs was changed by a function: it reads %q now; use it in a template, such as \"${build.x.dir}/name\"", token.Display(s))
			}
			return "", nil
		})
		if err != nil {
			return &badValue{summary: sumTokenCut, index: -1, why: err.Error()}
		}
	}
	if secret {
		return &badValue{summary: sumSensitive, index: -1, why: "it was computed from a sensitive variable, and would become part of keys and plans; only the variable itself can be passed on, alone or in a template"}
	}
	return nil
}

func number(v cty.Value) (*big.Float, error) {
	switch {
	case v.Type() == cty.Number:
		return v.AsBigFloat(), nil
	case v.Type() == cty.String:
		if n, err := cty.ParseNumberVal(v.AsString()); err == nil && len(v.AsString()) < 100 {
			return n.AsBigFloat(), nil
		}
	}
	return nil, misfit("it must be a number, and this is %s", describe(v))
}

func whole(v cty.Value, bits int) (int64, error) {
	if v.IsNull() {
		return 0, misfit("it must be a whole number, and this is null")
	}
	n, err := number(v)
	if err != nil {
		return 0, err
	}
	if !n.IsInt() {
		return 0, misfit("it must be a whole number, and this is %s", n.Text('g', 10))
	}
	i, exact := n.Int64()
	if exact != big.Exact || bits < 64 && (i >= 1<<(bits-1) || i < -1<<(bits-1)) {
		return 0, misfit("%s is too large", n.Text('g', 10))
	}
	return i, nil
}

// canonicalNumber is a number as people write it: 1000, 0.5.
func canonicalNumber(n *big.Float) (string, error) {
	if e := n.MantExp(nil); n.IsInf() || e > 1100 || e < -1100 {
		return "", fmt.Errorf("the number is too large or too small")
	}
	if i, exact := n.Int64(); exact == big.Exact {
		return strconv.FormatInt(i, 10), nil
	}
	return n.Text('f', -1), nil
}

// describe says what a value is, for "and this is …".
func describe(v cty.Value) string {
	t := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case v.IsMarked():
		return "sensitive"
	case t == cty.String:
		s := token.Display(v.AsString())
		if len(s) > 40 {
			return "a text"
		}
		return fmt.Sprintf("the text %q", s)
	case t == cty.Number:
		return "the number " + v.AsBigFloat().Text('g', 10)
	case t == cty.Bool:
		return fmt.Sprint(v.True())
	case t.IsObjectType() || t.IsMapType():
		return "an object"
	case t.IsListType() || t.IsTupleType() || t.IsSetType():
		return "a list"
	}
	return "a " + t.FriendlyName()
}

// valueError is the diagnostic for a *badValue of the argument called name, under the element at fault where it is written out.
func valueError(expr hclsyntax.Expression, name string, err error) *hcl.Diagnostic {
	var b *badValue
	if !errors.As(err, &b) {
		return errorAt(sumInvalidValue, expr.Range(), "The value of %q does not fit: %s.", name, err)
	}
	at, which := expr.Range(), ""
	switch e := unparen(expr).(type) {
	case *hclsyntax.TupleConsExpr:
		if b.index >= 0 && b.index < len(e.Exprs) {
			at = e.Exprs[b.index].Range()
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if k, diags := item.KeyExpr.Value(nil); b.key != "" && !diags.HasErrors() && k.Type() == cty.String && k.AsString() == b.key {
				at = item.ValueExpr.Range()
			}
		}
	}
	switch {
	case b.key != "":
		which = fmt.Sprintf(", element %q", b.key)
	case b.index >= 0:
		which = fmt.Sprintf(", element %d", b.index)
	}
	return errorAt(b.summary, at, "The value of %q%s does not fit: %s.", name, which, b.why)
}
