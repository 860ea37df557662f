package configure

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// lineLimit is how wide a list may be on one line.
const lineLimit = 80

// written is a value as the configuration would write it: what is printed can be put into an expression again. The value must be wholly known
// and unmarked.
func written(v cty.Value) string {
	var b strings.Builder
	write(&b, v, "")
	return string(hclwrite.Format([]byte(b.String())))
}

func write(b *strings.Builder, v cty.Value, indent string) {
	t := v.Type()
	switch {
	case v.IsNull() || t.IsPrimitiveType() || t.IsCapsuleType():
		b.WriteString(scalar(v))
	case t.IsObjectType() || t.IsMapType():
		writeObject(b, v, indent)
	default:
		writeList(b, v, indent)
	}
}

func scalar(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

func writeObject(b *strings.Builder, v cty.Value, indent string) {
	if v.LengthInt() == 0 {
		b.WriteString("{}")
		return
	}
	b.WriteString("{\n")
	inner := indent + "  "
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		b.WriteString(inner + key(k.AsString()) + " = ")
		write(b, e, inner)
		b.WriteByte('\n')
	}
	b.WriteString(indent + "}")
}

// key is a name in an object; one that would mean something else is quoted.
func key(s string) string {
	switch {
	case s == "null" || s == "true" || s == "false" || s == "for" || s == "if", !hclsyntax.ValidIdentifier(s):
		return scalar(cty.StringVal(s))
	}
	return s
}

func writeList(b *strings.Builder, v cty.Value, indent string) {
	inner := indent + "  "
	var elems []string
	width, nested := len(indent), false
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		var el strings.Builder
		write(&el, e, inner)
		elems = append(elems, el.String())
		width += utf8.RuneCountInString(el.String()) + 2
		nested = nested || strings.Contains(el.String(), "\n")
	}
	if !nested && width <= lineLimit {
		b.WriteString("[" + strings.Join(elems, ", ") + "]")
		return
	}
	b.WriteString("[\n")
	for _, e := range elems {
		b.WriteString(inner + e + ",\n")
	}
	b.WriteString(indent + "]")
}
