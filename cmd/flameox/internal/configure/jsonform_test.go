package configure

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/flameox/flameox/cmd/flameox/internal/configure/starter"
	langschema "github.com/flameox/flameox/lang/jsonschema"
	"github.com/flameox/flameox/lang/reference"
)

// jsonBody is the JSON form of a body, as HCL's specification has it: literals are what they are, every other expression is a template.
func jsonBody(t *testing.T, src []byte, b *hclsyntax.Body) map[string]any {
	out := map[string]any{}
	for name, a := range b.Attributes {
		out[name] = jsonExpr(t, src, a.Expr)
	}
	for _, nb := range b.Blocks {
		at, key := out, nb.Type
		for _, l := range nb.Labels {
			next, _ := at[key].(map[string]any)
			if next == nil {
				next = map[string]any{}
				at[key] = next
			}
			at, key = next, l
		}
		body := jsonBody(t, src, nb.Body)
		switch have := at[key].(type) {
		case nil:
			at[key] = body
		case []any:
			at[key] = append(have, body)
		default:
			at[key] = []any{have, body}
		}
	}
	return out
}

func jsonExpr(t *testing.T, src []byte, e hclsyntax.Expression) any {
	text := string(e.Range().SliceBytes(src))
	switch x := e.(type) {
	case *hclsyntax.TupleConsExpr:
		list := []any{}
		for _, el := range x.Exprs {
			list = append(list, jsonExpr(t, src, el))
		}
		return list
	case *hclsyntax.ObjectConsExpr:
		m := map[string]any{}
		for _, item := range x.Items {
			k, diags := item.KeyExpr.Value(nil)
			if diags.HasErrors() {
				return "${" + text + "}"
			}
			m[k.AsString()] = jsonExpr(t, src, item.ValueExpr)
		}
		return m
	case *hclsyntax.TemplateExpr:
		return strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`)
	}
	if v, diags := e.Value(nil); !diags.HasErrors() && (v.IsNull() || v.Type().IsPrimitiveType() && v.Type() != cty.String) {
		b, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(b)
	}
	return "${" + text + "}"
}

func toJSON(t *testing.T, src []byte) string {
	t.Helper()
	f, diags := hclsyntax.ParseConfig(src, "x.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	b, err := json.Marshal(jsonBody(t, src, f.Body.(*hclsyntax.Body)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func jsonForm(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := langschema.Of(Language(), JSONSchemaID)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(JSONSchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(JSONSchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fitsForm(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

const everything = `
flameox {
  required_version = ">= 0.1"
  env              = ["HOME"]
  store { keep = "90d" }
  defaults {
    attempts = 3
    labels   = { team = "x" }
  }
}
variable "n" {
  type    = list(number)
  default = [1, 2]
  validation {
    condition     = length(var.n) > 0
    error_message = "Give one."
  }
  validation {
    condition     = true
    error_message = "Never."
  }
}
variable "s" { sensitive = true }
locals { a = { b = 1 } }
locals { c = "x${local.a.b}" }
environment "host" "h" { variables = { A = 1 } }
workload "w" {
  environment  = environment.host.h
  command      = ["a", matrix.n, "${matrix.n}x", true]
  timeout      = "1m 30s"
  memory_limit = "1.5 GiB"
  expect_exit  = [0, 1]
  for_each     = toset(["a"])
  matrix       = { n = var.n }
}
workload "x" {
  command    = [for a in ["x"] : a]
  depends_on = [workload.w, environment.host.h]
  sensitive  = true
}
capture "pprof" "p" {
  workload       = (workload.w)
  profile_of     = null
  memprofilerate = 1
  attempts       = var.n[0]
  extract { granularity = "line" }
}
check "c" {
  assert {
    condition     = capture.pprof.p.exit == 0
    error_message = "No."
  }
}
`

func TestConfigurationsFitTheSchemaOfTheirJSONForm(t *testing.T) {
	s := jsonForm(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "examples", "quickstart", "flameox.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := starter.Look(filepath.Join("..", "..", "..", "..", "examples", "quickstart"))
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{"examples/quickstart": example, "flameox init": first.Config, "everything": []byte(everything)} {
		if err := fitsForm(t, s, toJSON(t, src)); err != nil {
			t.Errorf("%s does not fit: %v\n%s", name, err, toJSON(t, src))
		}
	}
	// The forms that HCL has for the same: comments, arrays of blocks at any level.
	if err := fitsForm(t, s, `{"//": "x", "workload": [{"a": {"//": 1, "command": ["x"]}}, {"b": [{"command": "${f()}"}]}], "locals": [{"a": 1}, {"b": {}}]}`); err != nil {
		t.Error(err)
	}
}

func TestWhatTheLanguageRefusesDoesNotFit(t *testing.T) {
	s := jsonForm(t)
	good := toJSON(t, []byte(everything))
	for what, edit := range map[string][2]string{
		"a misspelled argument":             {`"timeout":`, `"timout":`},
		"a misspelled argument of a nested": {`"granularity":`, `"granularty":`},
		"a misspelled block":                {`"workload":{`, `"wrkload":{`},
		"a provider that is not there":      {`"pprof":{`, `"pprf":{`},
		"a missing argument":                {`"command":["a"`, `"commands":["a"`},
		"a number that is none":             {`"memprofilerate":1`, `"memprofilerate":"many"`},
		"a list that is none":               {`"expect_exit":[0,1]`, `"expect_exit":0`},
		"a duration without a unit":         {`"1m 30s"`, `"90"`},
		"a size without a unit":             {`"1.5 GiB"`, `"15"`},
		"a reference to something else":     {`"workload":"${(workload.w)}"`, `"workload":"${capture.pprof.p}"`},
		"settings twice":                    {`"flameox":{`, `"flameox":[{},{}],"locals":{`},
		"a name that is none":               {`"p":{"attempts"`, `"p q":{"attempts"`},
	} {
		text := strings.Replace(good, edit[0], edit[1], 1)
		if text == good {
			t.Errorf("%s: %s is not in %s", what, edit[0], good)
			continue
		}
		if fitsForm(t, s, text) == nil {
			t.Errorf("%s fits: %s", what, text)
		}
	}
}

func TestEveryArgumentHasAnExplanationInTheJSONForm(t *testing.T) {
	b, err := langschema.Of(Language(), JSONSchemaID)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct{ Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, block := range Language().Blocks {
		name := strings.TrimSuffix(block.Type+"."+block.Kind, ".")
		def, ok := doc.Defs[name]
		if !ok {
			t.Errorf("%s has no definition", name)
		}
		for _, a := range block.Arguments {
			if p, ok := def.Properties[a.Name]; !ok || p.Description == "" {
				t.Errorf("%s of %s is not explained: %+v", a.Name, name, p)
			}
		}
		for p := range def.Properties {
			if p != "//" && !slices.ContainsFunc(block.Arguments, func(a reference.Argument) bool { return a.Name == p }) &&
				!slices.ContainsFunc(block.Nested, func(n reference.Nested) bool { return n.Type == p }) {
				t.Errorf("%s has the property %s, and the language has not", name, p)
			}
		}
	}
}
