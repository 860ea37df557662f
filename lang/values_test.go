package lang

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVariablesTakeTheStrongestValue(t *testing.T) {
	src := `
variable "v" {
  type    = number
  default = 1
}
output "v" { value = var.v }
`
	dir := project(t, map[string]string{"flameox.hcl": src, "two.hcl": "v = 2", "three.json": `{"v": 3}`, "four.hcl": "v = 2 + 2"})
	file := func(n string) string { return filepath.Join(dir, n) }
	for _, tc := range []struct {
		in         Values
		want, from string
	}{
		{Values{}, "1", "default"},
		{Values{Environ: []string{"FLAMEOX_VAR_v=5"}}, "5", "environment"},
		{Values{Environ: []string{"FLAMEOX_VAR_v=5"}, VarFiles: []string{file("two.hcl")}}, "2", "-var-file " + file("two.hcl")},
		{Values{VarFiles: []string{file("two.hcl"), file("three.json")}}, "3", "-var-file " + file("three.json")},
		{Values{VarFiles: []string{file("four.hcl")}}, "4", "-var-file " + file("four.hcl")},
		{Values{Environ: []string{"FLAMEOX_VAR_v=5"}, VarFiles: []string{file("two.hcl")}, Vars: []string{"v=6", "v=7"}}, "7", "-var"},
	} {
		c, diags := Load(dir, testRegistry(), Input{Values: tc.in})
		if diags.HasErrors() {
			t.Fatalf("%+v: %v", tc.in, diags)
		}
		if v := c.Variables[0]; v.Value.AsBigFloat().String() != tc.want || v.From != tc.from {
			t.Errorf("%+v: %s from %q, want %s from %q", tc.in, v.Value.AsBigFloat(), v.From, tc.want, tc.from)
		}
	}
}

func TestVariablesFromTheCommandLineFollowTheirType(t *testing.T) {
	for _, tc := range []struct{ typ, text, want string }{
		{"string", `[1]`, `"[1]"`}, {"number", `1e3`, `1000`}, {"bool", `true`, `true`}, {"list(number)", `[1, 2]`, `[1,2]`},
		{"map(string)", `{ a = 1 }`, `{"a":"1"}`}, {"object({ a = number, b = optional(string, \"x\") })", `{ a = 1 }`, `{"a":1,"b":"x"}`},
		{"any", `text`, `"text"`},
	} {
		c, x := good(t, strings.ReplaceAll(`
variable "v" { type = `+tc.typ+` }
output "v" { value = jsonencode(var.v) }
`, `\"`, `"`), Input{Values: Values{Vars: []string{"v=" + tc.text}}})
		v, diags := x.Outputs[0].Value.Eval(nil)
		if diags.HasErrors() || v.AsString() != tc.want {
			t.Errorf("%s %s: %#v %s", tc.typ, tc.text, v, show(diags, c))
		}
	}
}

func TestWrongValuesFromOutsideAreNamedWithoutASecret(t *testing.T) {
	dir := project(t, map[string]string{"flameox.hcl": `
variable "n" {
  type    = number
  default = 1
}
variable "s" {
  type      = string
  sensitive = true
  default   = "x"
}`, "bad.hcl": "n = var.x\ns = [\"hunter2\"]\nblock {}", "unknown.hcl": "m = 1", "bad.json": "[1]", "broken.hcl": "n = [", "bom.hcl": "\xef\xbb\xbfn = 1"})
	for _, tc := range []struct {
		in   Values
		want []string
	}{
		{Values{Vars: []string{"n=abc"}}, []string{"does not fit its type, number", "such as 1000"}},
		{Values{Vars: []string{"n=" + strings.Repeat("[", 10000)}}, []string{"More than"}},
		{Values{Vars: []string{"nn=1"}}, []string{`-var sets "nn"`}},
		{Values{Vars: []string{"hunter2"}}, []string{"written name=value"}},
		{Values{Vars: []string{"s=hunter2\x00"}}, []string{"NUL"}},
		{Values{Environ: []string{"FLAMEOX_VAR_n=abc"}}, []string{"from environment"}},
		{Values{VarFiles: []string{filepath.Join(dir, "bad.hcl")}}, []string{"Variables not allowed", "only names and values", "has another type"}},
		{Values{VarFiles: []string{filepath.Join(dir, "unknown.hcl")}}, []string{`sets "m"`}},
		{Values{VarFiles: []string{filepath.Join(dir, "bad.json")}}, []string{"not a JSON object"}},
		{Values{VarFiles: []string{filepath.Join(dir, "missing.hcl")}}, []string{"no such file"}},
		{Values{VarFiles: []string{filepath.Join(dir, "broken.hcl")}}, []string{"Syntax error"}},
		{Values{VarFiles: []string{filepath.Join(dir, "bom.hcl")}}, []string{"byte order mark"}},
	} {
		c, diags := Load(dir, testRegistry(), Input{Values: tc.in})
		got := show(diags, c)
		if !diags.HasErrors() || strings.Contains(got, "hunter2") {
			t.Errorf("%+v:\n%s", tc.in, got)
		}
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("%.60q: no %q in\n%s", tc.in, w, got)
			}
		}
	}
}

func TestLocalsMayMentionOneAnotherInAnyOrder(t *testing.T) {
	_, x := good(t, `
variable "v" { default = "x" }
locals { a = "${local.b}!" }
locals {
  b = upper(local.c)
  c = var.v
}
output "a" { value = local.a }
`)
	if v, diags := x.Outputs[0].Value.Eval(nil); diags.HasErrors() || v.AsString() != "X!" {
		t.Errorf("%#v %v", v, diags)
	}
}
