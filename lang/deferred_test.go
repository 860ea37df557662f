package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

const lateProject = `
variable "limit" { default = 15 }
variable "secret" {
  type      = string
  sensitive = true
  default   = "hunter2"
}
locals {
  key    = "n=2"
  copied = "<${var.secret}>"
}
workload "w" { matrix = { n = [10, 2, 1] } }
workload "plain" {}
capture "gobench" "c" { workload = workload.w }
capture "gobench" "p" { workload = workload.plain }
build "none" {
  matrix  = { k = [] }
  command = ["x"]
}
`

func lateOutput(t *testing.T, expr string) (*Output, *Expansion) {
	t.Helper()
	c, x, diags := run(t, lateProject+"output \"o\" { value = "+expr+" }")
	if diags.HasErrors() {
		t.Fatalf("%s:\n%s", expr, show(diags, c))
	}
	return x.Outputs[0], x
}

func TestDeferredExpressionsReadResults(t *testing.T) {
	for expr, want := range map[string]string{
		`capture.gobench.p.wall.median`:                                        `1000`,
		`capture.gobench.c["n=10"].wall.median`:                                `100`,
		`capture.gobench.c[*].wall.median`:                                     `[100, 20, 10]`, // in the order of instances
		`capture.gobench.p[*].wall.median`:                                     `[1000]`,
		`sum(capture.gobench.c[*].wall.median)`:                                `130`,
		`capture.gobench.c[local.key].wall.median`:                             `20`,
		`capture.gobench.c["n=${1 + 1}"].status`:                               `"ok"`,
		`{ for k, v in capture.gobench.c : k => v.wall.median < var.limit }`:   `{ "n=1" = true, "n=10" = false, "n=2" = false }`,
		`[for v in values(capture.gobench.c) : v.wall.mad]`:                    `[1, 1, 1]`,
		`length(capture.gobench.c)`:                                            `3`,
		`length(build.none)`:                                                   `0`,
		`build.none[*].status`:                                                 `[]`,
		`capture.gobench.p.units[*].name`:                                      `["u100"]`,
		`capture.gobench.p.units[0].name`:                                      `"u100"`,
		`alltrue([for c in capture.gobench.c[*] : c.status == "ok"])`:          `true`,
		`[for capture in [{ gobench = { nope = 7 } }] : capture.gobench.nope]`: `[7]`, // a variable of the expression, no block
		`max(capture.gobench.c[*].wall.median...)`:                             `100`,
		`try(capture.gobench.c["n=10"].wall.median, 0)`:                        `100`,
	} {
		o, _ := lateOutput(t, expr)
		got, diags := o.Value.Eval(fakeResults)
		if diags.HasErrors() {
			t.Errorf("%s: %v", expr, diags)
			continue
		}
		w, _ := lateOutput(t, want)
		wanted, diags := w.Value.Eval(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if a, b := fmt.Sprintf("%#v", plain(got)), fmt.Sprintf("%#v", plain(wanted)); a != b {
			t.Errorf("%s\n got %s\nwant %s", expr, a, b)
		}
	}
}

// plain is v as Go values, whatever collection types it has.
func plain(v cty.Value) any {
	switch t := v.Type(); {
	case v.IsNull():
		return nil
	case t == cty.String:
		return v.AsString()
	case t == cty.Number:
		return v.AsBigFloat().String()
	case t == cty.Bool:
		return v.True()
	case t.IsMapType() || t.IsObjectType():
		m := map[string]any{}
		for k, e := range v.AsValueMap() {
			m[k] = plain(e)
		}
		return m
	default:
		list := []any{}
		for _, e := range v.AsValueSlice() {
			list = append(list, plain(e))
		}
		return list
	}
}

func TestDeferredExpressionsAskOnlyForWhatTheyRead(t *testing.T) {
	for expr, want := range map[string]string{
		`1`:                               "",
		`capture.gobench.c["n=2"].status`: `capture.gobench.c["n=2"]`,
		`[capture.gobench.c["n=1"].status, capture.gobench.c["n=10"].status]`:   `capture.gobench.c["n=10"] capture.gobench.c["n=1"]`,
		`capture.gobench.c[*].status`:                                           `capture.gobench.c["n=10"] capture.gobench.c["n=2"] capture.gobench.c["n=1"]`,
		`[capture.gobench.p.status, capture.gobench.p.wall.median, build.none]`: `capture.gobench.p`,
	} {
		o, _ := lateOutput(t, expr)
		if got := addresses(o.Value.Instances()); got != want {
			t.Errorf("%s reads %s, want %s", expr, got, want)
		}
		asked := map[*Instance]int{}
		if _, diags := o.Value.Eval(func(i *Instance) (cty.Value, error) { asked[i]++; return fakeResults(i) }); diags.HasErrors() {
			t.Errorf("%s: %v", expr, diags)
		}
		for i, n := range asked {
			if n != 1 || !strings.Contains(want, i.Address().String()) {
				t.Errorf("%s asked %d times for %s", expr, n, i.Address())
			}
		}
	}
}

func TestAResultThatIsMissingIsAnErrorAndNotAValue(t *testing.T) {
	o, _ := lateOutput(t, `try(capture.gobench.p.wall.median, 0)`)
	_, diags := o.Value.Eval(func(*Instance) (cty.Value, error) { return cty.NilVal, errors.New("it failed") })
	if len(diags) != 1 || diags[0].Summary != string(sumNoResult) || !strings.Contains(diags[0].Detail, "capture.gobench.p") {
		t.Errorf("%v", diags)
	}
	o, _ = lateOutput(t, `capture.gobench.p.wall.median + 1`)
	for _, missing := range []cty.Value{cty.NilVal, cty.EmptyObjectVal, cty.NullVal(cty.DynamicPseudoType)} {
		if v, diags := o.Value.Eval(func(*Instance) (cty.Value, error) { return missing, nil }); !diags.HasErrors() {
			t.Errorf("without a result: %#v", v)
		}
	}
}

func TestDeferredArgumentsSeeTheAxesOfTheirInstance(t *testing.T) {
	_, x := good(t, `
workload "plain" {}
capture "gobench" "p" { workload = workload.plain }
report "r" {
  matrix = { n = [1, 2] }
  of     = capture.gobench.p
  title  = "n ${matrix.n}: ${capture.gobench.p.wall.median}"
}
report "untitled" { of = capture.gobench.p }
`)
	for i, want := range []string{"n 1: 1000", "n 2: 1000"} {
		v, diags := options[reportOptions](t, x, "report.r", i).Title.Eval(fakeResults)
		if diags.HasErrors() || v.AsString() != want {
			t.Errorf("%#v %v, want %q", v, diags, want)
		}
	}
	if options[reportOptions](t, x, "report.untitled", 0).Title.Given() {
		t.Error("an argument that is not there is given")
	}
	if got := addresses(x.ByBlock("report.r")[0].Deps); got != "capture.gobench.p" {
		t.Errorf("deps %s", got)
	}
}

func TestChecksHoldOrSayTheirMessage(t *testing.T) {
	_, x := good(t, lateProject[:strings.Index(lateProject, "build")]+`
check "k" {
  assert {
    condition     = capture.gobench.p.wall.median < 2000
    error_message = "slow"
  }
  assert {
    condition     = alltrue([for v in capture.gobench.c : v.wall.median < var.limit])
    error_message = "slower than ${var.limit}: ${join(", ", [for k, v in capture.gobench.c : k if v.wall.median >= var.limit])}"
  }
  assert {
    condition     = var.secret != "hunter2"
    error_message = "the secret is ${var.secret}"
  }
  assert {
    condition     = null
    error_message = "x"
  }
  assert {
    condition     = capture.gobench.p.status
    error_message = "x"
  }
}`)
	for i, want := range []string{"holds", "slower than 15: n=10, n=2", "(the message is not shown", "no value", "true or false"} {
		holds, message, diags := x.Checks[0].Asserts[i].Eval(fakeResults)
		got := message
		if holds {
			got = "holds"
		}
		if diags.HasErrors() {
			got = diags[0].Detail
		}
		if !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("assert %d: %q, want %q", i, got, want)
		}
	}
}

func TestSensitiveVariablesAreTokensInArgumentsAndRealAfterApply(t *testing.T) {
	c, x := good(t, `
variable "secret" {
  sensitive = true
}
locals { header = "Bearer ${var.secret}" }
workload "w" { env = { AUTH = local.header, RAW = var.secret } }
output "o" { value = local.header }
output "n" { value = length(var.secret) }
`, Input{Values: Values{Environ: []string{"FLAMEOX_VAR_secret=hunter2"}}})
	w := options[workloadOptions](t, x, "workload.w", 0)
	if w.Env["AUTH"] != "Bearer \x00var.secret\x00" || w.Env["RAW"] != "\x00var.secret\x00" {
		t.Errorf("%q", w.Env)
	}
	if v, ok := c.Secret("secret"); !ok || v != "hunter2" {
		t.Errorf("the secret is %q", v)
	}
	for i, want := range []string{"7", "Bearer hunter2"} {
		v, diags := x.Outputs[i].Value.Eval(nil)
		if diags.HasErrors() || !v.IsMarked() {
			t.Fatalf("%#v %v: want a marked value", v, diags)
		}
		if u, _ := v.Unmark(); fmt.Sprint(plain(u)) != want {
			t.Errorf("%#v", u)
		}
	}
}
