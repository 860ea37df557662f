package jsonschema

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flameox/flameox/lang/reference"
)

func compiled(t *testing.T, d *reference.Document) *jsonschema.Schema {
	t.Helper()
	b, err := Of(d, "https://example.com/x.json")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Of(d, "https://example.com/x.json")
	if err != nil || !bytes.Equal(b, again) {
		t.Fatalf("the same language gave two schemas (%v)", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://example.com/x.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://example.com/x.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// one is a language with one block that has one argument of a type.
func one(a reference.Argument) *reference.Document {
	a.Name = "a"
	return &reference.Document{Blocks: []reference.Block{{Type: "b", Labels: []string{}, Arguments: []reference.Argument{a}}}}
}

func TestAnArgumentTakesItsTypeOrAnExpression(t *testing.T) {
	for typ, c := range map[string]struct{ good, bad []string }{
		"string":                {[]string{`"x"`, `1`, `true`, `"${var.x}"`}, []string{`[]`, `{}`}},
		"bool":                  {[]string{`true`, `"false"`, `"${var.x}"`}, []string{`"yes"`, `1`}},
		"whole number":          {[]string{`1`, `-1`, `"12"`, `"${1}"`}, []string{`1.5`, `"a"`, `[]`}},
		"number":                {[]string{`1.5`, `"1e3"`, `"${1}"`}, []string{`"a"`, `true`}},
		"list of strings":       {[]string{`[]`, `["a", 1, "${x}"]`, `"${x}"`}, []string{`"a"`, `[[]]`}},
		"list of whole numbers": {[]string{`[1, "2"]`}, []string{`[1.5]`, `1`}},
		"strings by name":       {[]string{`{}`, `{"a": 1}`, `"${x}"`}, []string{`{"a": []}`, `[]`}},
		"duration":              {[]string{`"90d"`, `"1m30s"`, `"1.5 h"`, `"250 ms"`, `"0"`, `"${var.x}s"`}, []string{`"90"`, `90`, `"s"`, `"1 fortnight"`, `""`}},
		"size":                  {[]string{`"4GB"`, `"512 MiB"`, `"1_000 kB"`, `"0"`}, []string{`"4"`, `4`, `"4 GiBs"`}},
		"lists by name":         {[]string{`{"n": [1, "a"]}`, `{"n": "${var.n}"}`}, []string{`{"n": 1}`, `{"a b": [1]}`, `[]`}},
		"any value":             {[]string{`1`, `{"a": []}`}, nil},
	} {
		s := compiled(t, one(reference.Argument{Type: typ}))
		check(t, typ, s, append(c.good, "null"), c.bad)
		if err := validate(t, compiled(t, one(reference.Argument{Type: typ, Required: true})), `{"b": {}}`); err == nil {
			t.Errorf("%s is required and may be missing", typ)
		}
	}
	check(t, "one reference", compiled(t, one(reference.Argument{Type: "reference", Arity: reference.One, Kinds: []string{"environment.host", "target"}})),
		[]string{`"${environment.host.x}"`, `"target.working_tree.x"`, `"${ (target.working_tree.x) }"`, `null`}, []string{`"environment.python.x"`, `["target.working_tree.x"]`, `"x"`})
	check(t, "references", compiled(t, one(reference.Argument{Type: "references", Arity: reference.All})),
		[]string{`"${a.b}"`, `["${a.b}", "c.d"]`, `[]`}, []string{`[1]`, `"a"`})
}

func check(t *testing.T, what string, s *jsonschema.Schema, good, bad []string) {
	t.Helper()
	for _, v := range good {
		if err := validate(t, s, `{"b": {"a": `+v+`}}`); err != nil {
			t.Errorf("%s does not take %s: %v", what, v, err)
		}
	}
	for _, v := range bad {
		if validate(t, s, `{"b": {"a": `+v+`}}`) == nil {
			t.Errorf("%s takes %s", what, v)
		}
	}
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestATypeWithoutAJSONFormIsAnErrorAndNoHole(t *testing.T) {
	if _, err := Of(one(reference.Argument{Type: "colour"}), "x"); err == nil || !strings.Contains(err.Error(), "the argument a takes colour") {
		t.Errorf("the error is %v", err)
	}
}
