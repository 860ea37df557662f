package funcs

import (
	"errors"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/bounded"
)

var errNUL = errors.New("the text holds a NUL byte, which no argument of a program can have")

// decoder refuses a text that its decoder should not see, and a decoded value that is too large or holds a NUL byte, which could
// pass for a runtime token.
func decoder(check func(text string) error, f function.Function) function.Function {
	return wrap(f, func(args []cty.Value) error {
		if check == nil || !args[0].IsKnown() {
			return nil
		}
		return check(args[0].AsString())
	}, func(_ []cty.Value, v cty.Value) (cty.Value, error) {
		if hasNUL(v) {
			return cty.NilVal, errNUL
		}
		return v, bounded.Check(v)
	})
}

func hasNUL(v cty.Value) bool {
	found := false
	cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		switch t := v.Type(); {
		case v.IsNull() || !v.IsKnown():
			return false, nil
		case t == cty.String:
			found = found || token.Has(v.AsString())
		case t.IsMapType() || t.IsObjectType():
			for k := range v.AsValueMap() {
				found = found || token.Has(k)
			}
		}
		return !found, nil
	})
	return found
}

// keepTokens puts back the NUL bytes of runtime tokens that f wrote as \u0000. No other string has any.
func keepTokens(f function.Function) function.Function {
	return wrap(f, nil, func(args []cty.Value, v cty.Value) (cty.Value, error) {
		tokens := false
		for _, a := range args {
			tokens = tokens || hasNUL(a)
		}
		if !tokens {
			return v, nil
		}
		return cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
				return v, nil
			}
			return cty.StringVal(unescapeNUL(v.AsString())), nil
		})
	})
}

// unescapeNUL replaces \u0000 by a NUL byte, except where its backslash is itself escaped.
func unescapeNUL(s string) string {
	const escape = `\u0000`
	if !strings.Contains(s, escape) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], escape):
			b.WriteByte(0)
			i += len(escape)
		case s[i] == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i += 2
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func stringOf(v cty.Value) (cty.Value, error) { return convert.Convert(v, cty.String) }
