package bounded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

func tuple(n int, of func(int) cty.Value) cty.Value {
	list := make([]cty.Value, n)
	for i := range list {
		list[i] = of(i)
	}
	return cty.TupleVal(list)
}

func number(i int) cty.Value { return cty.NumberIntVal(int64(i)) }
func text(i int) cty.Value   { return cty.StringVal(fmt.Sprint("x", i)) }
func mixed(i int) cty.Value {
	if i%3 == 0 {
		return text(i)
	}
	return number(i)
}

func TestConvertingGivesWhatTheLibraryGives(t *testing.T) {
	object := map[string]cty.Value{}
	for i := range 100 {
		object[fmt.Sprint("k", i)] = number(i)
	}
	nested := func(i int) cty.Value { return tuple(100, number) }
	records := func(i int) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"a": number(i), "b": text(i)})
	}
	for _, v := range []cty.Value{
		tuple(3, number), tuple(100, number), tuple(100, text), tuple(100, mixed), tuple(100, nested), tuple(100, records), cty.ObjectVal(object), cty.EmptyTupleVal,
		cty.NullVal(cty.DynamicPseudoType), cty.StringVal("x"), cty.ListVal([]cty.Value{number(1)}),
		tuple(100, func(i int) cty.Value { return number(i).Mark("m") }), tuple(100, number).Mark("m"),
		tuple(100, func(i int) cty.Value { return []cty.Value{number(i), cty.EmptyTupleVal}[i%2] }),
	} {
		for _, want := range []cty.Type{
			cty.List(cty.String), cty.List(cty.Number), cty.List(cty.DynamicPseudoType), cty.Set(cty.String), cty.Set(cty.DynamicPseudoType), cty.Map(cty.DynamicPseudoType),
			cty.Map(cty.String), cty.List(cty.List(cty.String)), cty.String, cty.DynamicPseudoType, cty.List(cty.Map(cty.DynamicPseudoType)), cty.List(cty.Bool),
		} {
			a, errA := Convert(v, want)
			b, errB := convert.Convert(v, want)
			if (errA == nil) != (errB == nil) || errA == nil && !a.RawEquals(b) {
				t.Errorf("%s to %#v:\n  %.100s %v\nlibrary\n  %.100s %v", v.Type().FriendlyName(), want, a.GoString(), errA, b.GoString(), errB)
			}
		}
	}
}

func TestConvertingALongListIsQuick(t *testing.T) {
	start := time.Now()
	for _, of := range []func(int) cty.Value{number, text, mixed} {
		for _, want := range []cty.Type{cty.List(cty.String), cty.List(cty.DynamicPseudoType)} {
			if v, err := Convert(tuple(100_000, of), want); err != nil || v.LengthInt() != 100_000 {
				t.Error(err)
			}
		}
	}
	if _, err := Convert(tuple(100_000, func(i int) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{fmt.Sprint("k", i): cty.True})
	}), cty.List(cty.DynamicPseudoType)); err == nil || !strings.Contains(err.Error(), "types") {
		t.Errorf("100,000 types: %v", err)
	}
	if _, err := Convert(tuple(MaxSet+1, number), cty.Set(cty.Number)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a large set: %v", err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

func TestValuesThatAreTooLargeAreFound(t *testing.T) {
	mega := cty.StringVal(strings.Repeat("x", 1<<20))
	huge, err := cty.ParseNumberVal("1e400")
	if err != nil {
		t.Fatal(err)
	}
	for want, v := range map[string]cty.Value{
		"MiB": tuple(17, func(int) cty.Value { return mega }), "elements": tuple(11, func(int) cty.Value { return tuple(100_000, number) }), "too large": cty.ListVal([]cty.Value{huge}),
		"": tuple(15, func(int) cty.Value { return mega.Mark("m") }),
	} {
		if err := Check(v); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if err := Check(cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.String), "b": cty.UnknownVal(cty.String), "c": cty.NumberFloatVal(1e300)})); err != nil {
		t.Errorf("an ordinary value: %v", err)
	}
}

func evaluate(t *testing.T, src string) (cty.Value, hcl.Diagnostics) {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(src), "t", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var b Budget
	before := len(hclsyntax.Variables(expr))
	Watch(expr, &b)
	if after := len(hclsyntax.Variables(expr)); after != before {
		t.Errorf("%s: %d variables are seen after watching, and %d before", src, after, before)
	}
	return b.Value(expr, &hcl.EvalContext{Variables: map[string]cty.Value{
		"many": tuple(3000, number), "some": tuple(3, number), "mega": cty.StringVal(strings.Repeat("x", 1<<20)), "yes": cty.True,
	}})
}

func TestForExpressionsMeanTheSameAndEnd(t *testing.T) {
	for src, want := range map[string]cty.Value{
		`[for i in some : i * 2 if i > 0]`:               cty.TupleVal([]cty.Value{number(2), number(4)}),
		`{ for i in some : "k${i}" => i if i == 1 }`:     cty.ObjectVal(map[string]cty.Value{"k1": number(1)}),
		`"%{ for i in some }${i}%{ endfor }"`:            cty.StringVal("012"),
		`yes ? [for i in some : i] : some`:               tuple(3, number),
		`yes ? some[1] : 0`:                              number(1),
		`[for i in some : [for j in some : j if i > j]]`: cty.TupleVal([]cty.Value{cty.EmptyTupleVal, tuple(1, number), tuple(2, number)}),
	} {
		if v, diags := evaluate(t, src); diags.HasErrors() || !v.RawEquals(want) {
			t.Errorf("%s = %#v %v", src, v, diags)
		}
	}
	for src, want := range map[string]string{
		`[for i in many : [for j in many : [for k in many : k]]]`: "1000000 rounds",
		`[for i in many : [for j in many : j if false]]`:          "1000000 rounds",
		`"%{ for i in many }${mega}%{ endfor }"`:                  "64 MiB",
		`[for i in many : "${mega}${i}"]`:                         "64 MiB",
		`[for i in many : nope]`:                                  "nope",
	} {
		start := time.Now()
		_, diags := evaluate(t, src)
		if !diags.HasErrors() || !strings.Contains(diags.Error(), want) && !strings.Contains(diags[0].Detail, want) || len(diags) > maxFaults {
			t.Errorf("%s: %d errors, %.200s", src, len(diags), diags.Error())
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", src, d)
		}
	}
}
