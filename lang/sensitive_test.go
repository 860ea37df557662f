package lang

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

const secretWord = "hunter2"

// everything that diagnostics can show about a source: as text and as JSON.
func shownOf(t testing.TB, c *Config, diags hcl.Diagnostics) string {
	t.Helper()
	var b bytes.Buffer
	if err := RenderJSON(&b, diags, c.Files); err != nil {
		t.Fatal(err)
	}
	return show(diags, c) + b.String()
}

const secretProject = `
variable "s" {
  type      = string
  sensitive = true
}
locals { copy = "<${var.s}>" }
`

func loadSecret(t *testing.T, src string) (*Config, *Expansion, hcl.Diagnostics) {
	t.Helper()
	return runFiles(t, map[string]string{"flameox.hcl": secretProject + src, "t.tmpl": "${v.none}", "u.tmpl": "${upper(v)}${[]}"},
		Input{Values: Values{Environ: []string{"FLAMEOX_VAR_s=" + secretWord}}})
}

// Expressions that fail in every way there is, each with the value in it.
var failing = []string{
	`tonumber(var.s)`, `var.s + 1`, `-var.s`, `!var.s`, `var.s && true`, `var.s ? 1 : 2`, `tobool(local.copy)`, `regex("[0-9]{9}", var.s)`, `regex(var.s, "x")`,
	`jsondecode(var.s)`, `yamldecode("a: [${var.s}")`, `csvdecode("a,b\n${var.s}")`, `duration(var.s)`, `bytes(local.copy)`, `parseint(var.s, 10)`, `format("%d", var.s)`,
	`file(var.s)`, `fileset(var.s, "*")`, `filesha256(var.s)`, `templatefile(var.s, {})`, `templatefile("t.tmpl", { v = var.s })`, `templatefile("u.tmpl", { v = var.s })`, `env(var.s)`,
	`git_revision(var.s)`, `{ a = 1 }[var.s]`, `[1, 2][var.s]`, `var.s.field`, `var.s[0]`, `local.copy[*].x`, `{ for x in [var.s, var.s] : x => 1 }`, `[for x in var.s : x]`,
	`[for x in [var.s] : x.y]`, `[for x in [1] : x if var.s]`, `{ (var.s) = 1, (null) = 2 }`, `"${[var.s]}"`, `"${{ a = var.s }}"`, `"%{ if var.s }x%{ endif }"`, `"%{ for x in var.s }x%{ endfor }"`,
	`lookup({ a = 1 }, var.s)`, `index([var.s], "other")`, `one([var.s, var.s])`, `sum([var.s])`, `alltrue([var.s])`, `zipmap([var.s], [])`, `timeadd(var.s, "1h")`, `formatdate(var.s, "x")`,
	`slice([1], 0, var.s)`, `chunklist([1], var.s)`, `range(var.s)`, `try(tonumber(var.s))`, `merge(var.s)`, `keys(var.s)`, `concat(var.s)`, `sort([[var.s]])`, `length(1, var.s)`, `nosuch(var.s)`,
	`substr(var.s, "x", 1)`, `setunion(var.s)`, `replace("a", "/(${var.s}/", "b")`, `element([], var.s)`, `join(var.s, 1)`, `var.s > {}`, `int(var.s)`, `log(var.s, 2)`, `tomap(var.s)`, `toset(var.s)`,
}

func TestASensitiveValueIsInNoErrorWhateverFails(t *testing.T) {
	places := map[string]string{
		"output":      "output \"o\" { value = EXPR }",
		"local":       "locals { l = EXPR }",
		"condition":   "check \"c\" {\n  assert {\n    condition     = EXPR\n    error_message = \"m\"\n  }\n}",
		"message":     "check \"c\" {\n  assert {\n    condition     = false\n    error_message = EXPR\n  }\n}",
		"argument":    "workload \"w\" { text = EXPR }",
		"number":      "workload \"w\" { count = EXPR }",
		"element":     "workload \"w\" { command = [\"x\", EXPR] }",
		"map":         "workload \"w\" { env = { A = EXPR } }",
		"list":        "workload \"w\" { command = EXPR }",
		"duration":    "workload \"w\" { timeout = EXPR }",
		"axis":        "workload \"w\" { matrix = { n = [EXPR] } }",
		"axes":        "workload \"w\" { matrix = EXPR }",
		"for_each":    "workload \"w\" { for_each = EXPR }",
		"each":        "workload \"w\" {\n  for_each = { a = EXPR }\n  text     = each.value\n}",
		"label":       "workload \"w\" { labels = { a = EXPR } }",
		"description": "workload \"w\" { description = EXPR }",
		"title":       "report \"r\" { title = EXPR }",
		"validation":  "variable \"other\" {\n  default = 1\n  validation {\n    condition     = EXPR\n    error_message = \"m\"\n  }\n}",
		"its message": "variable \"other\" {\n  default = 1\n  validation {\n    condition     = false\n    error_message = EXPR\n  }\n}",
		"setting":     "flameox { project = EXPR }",
		"default":     "variable \"d\" { default = EXPR }",
	}
	for where, form := range places {
		failed := 0
		for _, expr := range failing {
			if strings.Contains(where, "validation") || where == "its message" {
				expr = strings.ReplaceAll(expr, "local.copy", "var.s")
			}
			c, x, diags := loadSecret(t, strings.Replace(form, "EXPR", expr, 1))
			var said strings.Builder
			for _, o := range x.Outputs {
				_, d := o.Value.Eval(fakeResults)
				diags = append(diags, d...)
			}
			for _, k := range x.Checks {
				for _, a := range k.Asserts {
					_, message, d := a.Eval(fakeResults)
					said.WriteString(message)
					diags = append(diags, d...)
				}
			}
			for _, inst := range x.Instances {
				if r, ok := inst.Options.(*reportOptions); ok {
					_, d := r.Title.Eval(fakeResults)
					diags = append(diags, d...)
				}
			}
			if text := shownOf(t, c, diags) + said.String(); strings.Contains(strings.ToLower(text), secretWord) || strings.Contains(text, `\u0000`) {
				t.Errorf("%s with %s shows the value, or a raw token:\n%s", where, expr, text)
			}
			if diags.HasErrors() {
				failed++
			}
			for _, r := range c.Reads {
				if strings.Contains(r.Name, secretWord) {
					t.Errorf("%s with %s puts %v on record", where, expr, r)
				}
			}
		}
		if failed < len(failing)*3/4 {
			t.Errorf("%s: only %d of %d expressions fail", where, failed, len(failing))
		}
	}
}

func TestAMarkSurvivesEveryWayThroughAnExpression(t *testing.T) {
	for _, expr := range []string{
		`upper(var.s)`, `"${var.s}"`, `"x${local.copy}"`, `[for x in [var.s] : x]`, `{ for k, v in { a = var.s } : k => upper(v) }`, `true ? var.s : "x"`, `var.s == "x" ? 1 : 2`, `length(var.s)`,
		`jsonencode({ a = var.s })`, `split("", var.s)`, `join(",", [var.s])`, `{ a = var.s }.a`, `[var.s][0]`, `coalesce(null, var.s)`, `try(var.s, "x")`, `templatefile("v.tmpl", { v = var.s })`,
		`merge({ a = var.s }, { b = 1 })`, `sort([var.s, "a"])`, `distinct([var.s, "a"])`, `toset([var.s])`, `tolist([var.s])`, `concat([var.s], [])`, `index([var.s], "hunter2")`,
		`contains([var.s], "x")`, `zipmap([var.s], [1])`, `"%{ if var.s == "x" }a%{ else }b%{ endif }"`, `"%{ for x in [var.s] }${x}%{ endfor }"`, `one([var.s])`, `lookup({ a = var.s }, "a", "b")`,
		`[for i in range(100) : var.s]`, `true ? [for i in range(100) : var.s] : []`, `flatten([[var.s]])`, `regexall(".", var.s)`, `format("%s", var.s)`,
	} {
		c, x, diags := runFiles(t, map[string]string{"flameox.hcl": secretProject + "output \"o\" { value = " + expr + " }", "v.tmpl": "<${v}>"},
			Input{Values: Values{Environ: []string{"FLAMEOX_VAR_s=" + secretWord}}})
		if diags.HasErrors() {
			t.Errorf("%s:\n%s", expr, show(diags, c))
			continue
		}
		v, diags := x.Outputs[0].Value.Eval(fakeResults)
		if diags.HasErrors() || !v.ContainsMarked() {
			t.Errorf("%s loses the mark: %#v %v", expr, v, diags)
		}
	}
}
