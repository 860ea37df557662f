package funcs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/source"
)

func host(t *testing.T) Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"greet.txt": "hello", "t.tmpl": "%{ for n in names }<${n}>%{ endfor }${dir}", "loop.tmpl": `${templatefile("loop.tmpl", {})}`,
		"bad.tmpl": "${", "binary": "a\x00b", "data/a.csv": "n,v\n1,2\n", "data/b.csv": "n,v\n3,4\n",
	} {
		p := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Host{
		Reader: &source.Reader{Root: root, Dir: root, Environ: map[string]string{"HOME": "/h", "HIDDEN": "x"}},
		Env:    []string{"HOME", "UNSET"},
		GitRevision: func(rev string) (string, error) {
			if rev == "HEAD" {
				return "c0ffee", nil
			}
			return "", errors.New("unknown revision")
		},
	}
}

func eval(h Host, src string) (cty.Value, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(src), "t", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	bounded.Watch(expr, &bounded.Budget{})
	v, diags := expr.Value(&hcl.EvalContext{Functions: Table(h), Variables: map[string]cty.Value{
		"dir": cty.StringVal(token.Make("out.dir")),
	}})
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return v, nil
}

func TestFunctionsGiveTheirResults(t *testing.T) {
	h := host(t)
	for src, want := range map[string]string{
		`upper("a")`: `"A"`, `join("-", ["a", "b"])`: `"a-b"`, `format("%s-%03d", "a", 7)`: `"a-007"`, `length("äö")`: `2`, `length([1, 2])`: `2`,
		`length({ a = 1 })`: `1`, `sum([1, 2.5])`: `3.5`, `alltrue([true, false])`: `false`, `alltrue([])`: `true`, `anytrue([])`: `false`,
		`anytrue([false, true])`: `true`, `one([5])`: `5`, `one([]) == null`: `true`, `duration("1m30s")`: `90000000000`, `bytes("4 KiB")`: `4096`,
		`range(3)`: `[0, 1, 2]`, `range(5, 1, -2)`: `[5, 3]`, `range(2, 4)`: `[2, 3]`, `range(0)`: `[]`, `length(range(10000))`: `10000`,
		`replace("a.b", ".", "-")`: `"a-b"`, `replace("a1b2", "/[0-9]/", "_")`: `"a_b_"`, `try(tonumber("x"), 3)`: `3`, `can(tonumber("x"))`: `false`,
		`file("greet.txt")`: `"hello"`, `env("HOME")`: `"/h"`, `env("UNSET") == null`: `true`, `git_revision()`: `"c0ffee"`,
		`fileset("data", "*.csv")`: `["a.csv", "b.csv"]`, `csvdecode(file("data/a.csv"))[0].v`: `"2"`, `yamldecode("a: [1, 2]").a[1]`: `2`,
		`filesha256("greet.txt")`:                              `"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"`,
		`templatefile("t.tmpl", { names = [1, 2], dir = "" })`: `"<1><2>"`, `startswith("abc", "ab") && endswith("abc", "bc")`: `true`,
		`setproduct(["a"], ["b", "c"])[1][1]`: `"c"`, `merge({ a = 1 }, { b = 2 }).b`: `2`, `jsondecode("{\"a\": [1]}").a[0]`: `1`,
	} {
		got, err := eval(h, src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		expect, err := eval(h, want)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := convert.Convert(expect, got.Type()); err != nil || !c.RawEquals(got) {
			t.Errorf("%s = %#v, want %s", src, got, want)
		}
	}
}

func TestFunctionsSayWhyTheyFail(t *testing.T) {
	h := host(t)
	for src, want := range map[string]string{
		`file("../x")`: "leaves the project root", `file("nope")`: "no such file", `file("binary")`: "NUL", `env("HIDDEN")`: "not declared",
		`env("HOMR")`: `Did you mean "HOME"`, `git_revision("nope")`: "unknown revision", `duration("30")`: "no unit", `bytes("4")`: "no unit",
		`sum([])`: "empty", `sum(["a"])`: "must be a number", `one([1, 2])`: "2 elements", `alltrue("x")`: "a list is needed", `range(1e9)`: "more than",
		`range(1, 5, -1)`: "never leads", `templatefile("loop.tmpl", {})`: "templatefile", `templatefile("bad.tmpl", {})`: "bad.tmpl, line 1",
		`templatefile("t.tmpl", {})`: "names", `jsondecode("\"\\u0000\"")`: "NUL", `length(1)`: "length", `filesha256("data")`: "directory",
		`setproduct(range(2000), range(2000))`: "more than", `templatefile("t.tmpl", 1)`: "an object is needed",
	} {
		if v, err := eval(h, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %#v, %v; want an error about %q", src, v, err, want)
		}
	}
	h.GitRevision = nil
	if _, err := eval(h, `git_revision()`); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("git_revision without git: %v", err)
	}
}

func TestRuntimeTokensSurviveEncodingFunctions(t *testing.T) {
	h := host(t)
	for src, want := range map[string]string{
		`jsonencode({ d = dir })`:                           `{"d":"${out.dir}"}`,
		`jsonencode([dir, "\\u0000"])`:                      `["${out.dir}","\\u0000"]`,
		`format("%q", dir)`:                                 `"${out.dir}"`,
		`format("%s/x", dir)`:                               `${out.dir}/x`,
		`templatefile("t.tmpl", { names = [], dir = dir })`: `${out.dir}`,
	} {
		v, err := eval(h, src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := token.Display(v.AsString()); got != want {
			t.Errorf("%s = %s, want %s", src, got, want)
		}
	}
}
