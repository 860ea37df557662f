package configure

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/flameox/flameox/lang"
)

// same says whether two values have the same content: what is written of a map or a list is read as an object or a tuple.
func same(t *testing.T, a, b cty.Value) bool {
	t.Helper()
	var texts [2]string
	for i, v := range []cty.Value{a, b} {
		j, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(j)
	}
	return texts[0] == texts[1]
}

func readBack(t *testing.T, text string) cty.Value {
	t.Helper()
	e, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s is no expression: %v", text, diags)
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		t.Fatalf("%s has no value: %v", text, diags)
	}
	return v
}

func TestAValueIsWrittenSoThatItCanBeReadAgain(t *testing.T) {
	long := make([]cty.Value, 30)
	for i := range long {
		long[i] = cty.NumberIntVal(int64(i * 1000))
	}
	for _, v := range []cty.Value{
		cty.NullVal(cty.String), cty.True, cty.NumberFloatVal(0.1), cty.NumberIntVal(-5), cty.MustParseNumberVal("1e40"), cty.MustParseNumberVal("1e-20"),
		cty.StringVal(""), cty.StringVal("a\n\"${b}%{c}\\\t\u00e9\u2028\x7f"), cty.EmptyObjectVal, cty.EmptyTupleVal,
		cty.ObjectVal(map[string]cty.Value{
			"null": cty.True, "for": cty.NullVal(cty.Bool), "a-b": cty.Zero, "a b": cty.Zero, "1": cty.Zero, "": cty.Zero, "${x}": cty.Zero,
			"n": cty.ObjectVal(map[string]cty.Value{"deep": cty.TupleVal([]cty.Value{cty.EmptyObjectVal, cty.ListVal(long)})}),
		}),
		cty.MapVal(map[string]cty.Value{"x": cty.StringVal("y")}),
		cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}),
		cty.ListValEmpty(cty.String), cty.ListVal(long),
	} {
		text := written(v)
		if back := readBack(t, text); !same(t, v, back) {
			t.Errorf("%#v is written %s, which is %#v", v, text, back)
		}
	}
	if got := written(cty.ListVal(long)); !strings.HasPrefix(got, "[\n  0,\n  1000,\n") || !strings.HasSuffix(got, "  29000,\n]") {
		t.Errorf("a long list is written %s", got)
	}
}

func FuzzAnyValueCanBeReadAgain(f *testing.F) {
	for _, s := range []string{`1`, `"a"`, `{"a":[1,{"b c":null}]}`, `[[],{},"${x}"]`, `{"if":"\u0001"}`, `"\\$${"`, `"%%{"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		typ, err := ctyjson.ImpliedType([]byte(src))
		if err != nil {
			t.Skip("it is no JSON: ", err)
		}
		v, err := ctyjson.Unmarshal([]byte(src), typ)
		if err != nil {
			t.Skip("it is no JSON of its own type: ", err)
		}
		back := readBack(t, written(v))
		if !same(t, v, back) {
			if c, err := convert.Convert(back, v.Type()); err != nil || !c.RawEquals(v) { // a number's digits
				t.Errorf("%s is written %s, which is %#v", src, written(v), back)
			}
		}
	})
}

func TestAnExpressionIsUnfinishedWhileABracketOrATextIsOpen(t *testing.T) {
	for expr, want := range map[string]bool{
		"1": false, "[": true, "[1,": true, "[1]": false, "f(": true, "{a=1": true, `"${`: true, `"a`: false, "<<EOT": true, "<<EOT\na": true,
		"<<EOT\na\nEOT": false, "]": false, "# [": false, `"["`: false, "": false,
	} {
		if got := unfinished(expr); got != want {
			t.Errorf("%q is unfinished: %v", expr, got)
		}
	}
}

func TestTheSummariesMadeHereAreTheLanguages(t *testing.T) {
	for _, s := range []string{sumNotText, sumNotAllowed, sumUnknownInstance, sumNoResult} {
		if !slices.Contains(lang.Summaries(), s) {
			t.Errorf("%q is no summary of the language", s)
		}
	}
}
