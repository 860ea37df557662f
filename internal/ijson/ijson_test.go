package ijson

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestStrictTextIsRead(t *testing.T) {
	v, err := Object([]byte(`{"a":[1,2.5,"x",null,true], "b" : {"c": -9007199254740991, "d": 9007199254740991, "e": 1e-400, "f":"\u00e4\ud83d\ude00\n/\/"}}`))
	want := map[string]any{"a": []any{1.0, 2.5, "x", nil, true}, "b": map[string]any{"c": -9007199254740991.0, "d": 9007199254740991.0, "e": 0.0, "f": "ä😀\n//"}}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("%v, %v", v, err)
	}
}

func TestWhatMakesTwoReadersDisagreeIsRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"{\"a\": \"\xff\"}", []string{"line 1, column 8: byte 7 is not UTF-8"}},
		{"{\n  \"a\": 1,\n  oops\n}", []string{"line 3, column 3: a member name"}},
		{"\ufeff{}", []string{"byte-order mark"}},
		{`[]`, []string{"is an array and must be an object"}}, {`1`, []string{"is a number"}}, {`"x"`, []string{"is a string"}}, {`null`, []string{"is null"}},
		{`{"a":1,"b":{"c":1,"c":2}}`, []string{`second member "c"`}},
		{`{"a":1,"\u0061":2}`, []string{`second member "a"`}},
		{`{"a":NaN}`, []string{"NaN"}}, {`{"a":Infinity}`, []string{"Infinity"}}, {`{"a":-Infinity}`, []string{"-Infinity"}},
		{`{"a":1e400}`, []string{"1e400"}}, {`{"a":9007199254740992}`, []string{"9007199254740992"}}, {`{"a":-9007199254740992}`, []string{"-9007199254740992"}},
		{`{"a":1` + strings.Repeat("0", 5000) + `}`, []string{"1000"}},
		{`{"a": NaN, "a": 1, "b": [Infinity]}`, []string{"NaN", "Infinity", `second member "a"`}},
		{`{"a": NaN, oops`, []string{"NaN", "a member name"}},
		{`{"a":"\ud800"}`, []string{"surrogate"}}, {`{"a":"\ud800\u0041"}`, []string{"surrogate"}},
		{`{}{}`, []string{"more text"}}, {`{"a":1,}`, []string{"a member name"}}, {`{"a":[1,]}`, []string{`"" is no value`}}, {`{"a":01}`, []string{`"01" is no value`}},
		{`{"a":.5}`, []string{"no value"}}, {`{"a":1.}`, []string{"no value"}}, {`{"a":+1}`, []string{"no value"}}, {`{"a":"` + "\t" + `"}`, []string{"control character"}},
		{`{"a":"\x"}`, []string{"escape"}}, {`{"a":"x`, []string{"does not end"}}, {`{"a"`, []string{"colon"}}, {``, []string{"the text ends"}}, {`{"a":1 "b":2}`, []string{"a comma"}},
		{strings.Repeat("[", 10_000), []string{"nested deeper"}}, {strings.Repeat(`{"a":`, 10_000), []string{"nested deeper"}},
	} {
		_, err := Object([]byte(c.text))
		var problems Error
		if !errors.As(err, &problems) || len(problems) != len(c.want) {
			t.Errorf("%.60q: %v, want %d problems", c.text, err, len(c.want))
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(problems[i].String(), w) {
				t.Errorf("%.60q: problem %d is %q, want %q in it", c.text, i, problems[i], w)
			}
		}
	}
}

func TestCanonicalTextIsThatOfRFC8785(t *testing.T) {
	for in, want := range map[string]string{
		`[333333333.33333329,1E30,4.50,2e-3,1e-27,-0.0,1e-6,1e-7,9.5e-05,5e-324,1e21,100.0]`: `[333333333.3333333,1e+30,4.5,0.002,1e-27,0,0.000001,1e-7,0.000095,5e-324,1e+21,100]`,
		`{"€":1,"\r":2,"\ufb33":3,"1":4,"😀":5,"\u0080":6,"ö":7}`:                             "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		`{"a":"<>&\u2028\u0001\"\\"}`:                                                        "{\"a\":\"<>&\u2028\\u0001\\\"\\\\\"}",
		`{"A":"\u00e9","PATH":"/bin"}`:                                                       `{"A":"é","PATH":"/bin"}`,
	} {
		v, err := Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Canonical(v)
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestNumbersWhoseTextCouldNotBeReadBackAreRefused(t *testing.T) {
	got, err := Canonical([]any{1e20})
	if err != nil || string(got) != "[100000000000000000000]" {
		t.Errorf("%s, %v", got, err)
	}
	for _, text := range []string{string(got), "[1e20]", "[1e17]", "[-9.1e15]"} {
		if v, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, v)
		}
	}
}

func TestSumIsTheDigestOfTheCanonicalText(t *testing.T) {
	got, err := Sum("", map[string]any{"PATH": "/bin", "A": "é"})
	if want := "6d126eddc1692ea5877b0a9cc3328f994233acece53c2fed26f33c1c69568280"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func FuzzParsedTextHasOneCanonicalForm(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x",null,true]}`, `{"a": NaN, "a": 1}`, `[1e400,{}]`, `"\ud83d\ude00"`, "{\"a\": \"\xff\"}", `{"a":1e-7}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			var problems Error
			if !errors.As(err, &problems) || len(problems) == 0 || problems[0].Line < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		once, err := Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := Canonical(again); err != nil || string(twice) != string(once) {
			t.Fatalf("%s became %s, %v", once, twice, err)
		}
	})
}
