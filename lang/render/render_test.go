package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
)

// at makes a diagnostic whose range is the first place of mark in src.
func at(t *testing.T, src, mark string) (*hcl.Diagnostic, map[string]*hcl.File) {
	t.Helper()
	f, _ := hclsyntax.ParseConfig([]byte(src), "f.hcl", hcl.InitialPos)
	i := strings.Index(src, mark)
	if i < 0 {
		t.Fatalf("%q is not in the source", mark)
	}
	line := 1 + strings.Count(src[:i], "\n")
	pos := func(b int) hcl.Pos { return hcl.Pos{Line: line, Column: 1, Byte: b} }
	r := hcl.Range{Filename: "f.hcl", Start: pos(i), End: pos(i + len(mark))}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Bad thing", Detail: "It is bad.", Subject: &r}, map[string]*hcl.File{"f.hcl": f}
}

func shown(t *testing.T, o Options, files map[string]*hcl.File, diags ...*hcl.Diagnostic) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, diags, files, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnErrorShowsWhereWhatAndHowMany(t *testing.T) {
	d, files := at(t, "capture \"pyperf\" \"sort\" {\n  process = 20\n}\n", "process")
	want := `Error: Bad thing

  on f.hcl line 2, in capture "pyperf" "sort":
  2:   process = 20
       ^^^^^^^

It is bad.

1 error.
`
	if got := shown(t, Options{}, files, d); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheUnderlineStandsUnderTheRange(t *testing.T) {
	for _, tc := range []struct{ line, mark, under string }{
		{"a = bad", "bad", "    ^^^"},
		{"\ta\t= bad", "bad", "\t \t  ^^^"},             // tabs stay tabs
		{"a = \"äöü\" + bad", "bad", "            ^^^"}, // two bytes, one column
		{"a = \"漢字\" + bad", "bad", "             ^^^"}, // two columns
		{"a = \"👍\" + 漢字", "漢字", "           ^^^^"},
		{"a = \"e\u0301\" + bad", "bad", "          ^^^"}, // a combining accent has no column
	} {
		d, files := at(t, tc.line, tc.mark)
		lines := strings.Split(shown(t, Options{}, files, d), "\n")
		if got := strings.TrimPrefix(lines[4], "     "); got != tc.under {
			t.Errorf("%s\n got %q\nwant %q", lines[3], got, tc.under)
		}
	}
}

func TestAnEmptyRangeIsPointedAt(t *testing.T) {
	d, files := at(t, "a = ", " ")
	d.Subject.Start.Byte, d.Subject.End.Byte = 4, 4
	if got := shown(t, Options{}, files, d); !strings.Contains(got, "\n         ^\n") {
		t.Errorf("%s", got)
	}
}

func TestLongLinesAndDetailsFitTheWidth(t *testing.T) {
	src := "a = [" + strings.Repeat("\"some element\", ", 500) + "bad, " + strings.Repeat("1, ", 500) + "]"
	d, files := at(t, src, "bad")
	d.Detail = strings.Repeat("many words ", 30)
	for _, ascii := range []bool{false, true} {
		got := shown(t, Options{Width: 60, ASCII: ascii}, files, d)
		for _, line := range strings.Split(got, "\n") {
			if n := len([]rune(line)); n > 60 {
				t.Errorf("%d columns: %s", n, line)
			}
			if ascii && strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
				t.Errorf("not ASCII: %s", line)
			}
		}
		lines := strings.Split(got, "\n")
		if i := strings.Index(lines[4], "^^^"); i < 0 || string([]rune(lines[3])[i:i+3]) != "bad" {
			t.Errorf("the underline is not under bad:\n%s\n%s", lines[3], lines[4])
		}
	}
}

func TestControlCharactersNeverReachTheTerminal(t *testing.T) {
	d, files := at(t, "a = \"\x1b[31m\u202eevil\u0007\" + bad", "bad")
	d.Detail = "what \x1b]0;title\x07 it says"
	got := shown(t, Options{}, files, d)
	if strings.ContainsAny(got, "\x1b\x07\u202e") {
		t.Errorf("%q", got)
	}
}

func TestColourIsNeverTheOnlyCarrier(t *testing.T) {
	d, files := at(t, "a = bad", "bad")
	coloured, bare := shown(t, Options{Color: true}, files, d), shown(t, Options{}, files, d)
	for _, code := range []string{"1;31", "1", "2", "0"} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+code+"m", "")
	}
	if coloured != bare {
		t.Errorf("without its colours\n%q\nis not\n%q", coloured, bare)
	}
}

func TestOnlyTheFirstDiagnosticsAreShownButAllAreCounted(t *testing.T) {
	d, files := at(t, "a = bad", "bad")
	warning := *d
	warning.Severity = hcl.DiagWarning
	diags := hcl.Diagnostics{&warning}
	for range 5000 {
		diags = append(diags, d)
	}
	got := shown(t, Options{Limit: 3}, files, diags...)
	if strings.Count(got, "Bad thing") != 3 || !strings.HasSuffix(got, "… and 4,998 more.\n\n5,000 errors, 1 warning.\n") {
		t.Errorf("%s", got)
	}
	if got := shown(t, Options{}, nil); got != "" {
		t.Errorf("nothing to say: %q", got)
	}
}

func TestValuesInvolvedAreShownAndSecretsAreNot(t *testing.T) {
	d, files := at(t, "a = bad", "bad")
	expr, _ := hclsyntax.ParseExpression([]byte(`[var.n, var.s, var.long, var.o.missing, var.tok, var.list]`), "f.hcl", hcl.InitialPos)
	d.Expression = expr
	d.EvalContext = &hcl.EvalContext{Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{
		"n": cty.NumberIntVal(3), "s": cty.StringVal("hunter2").Mark("x"), "long": cty.StringVal(strings.Repeat("é", 100)),
		"o": cty.ObjectVal(map[string]cty.Value{"a": cty.True}), "tok": cty.StringVal(token.Make("out.dir")),
		"list": cty.ListVal([]cty.Value{cty.StringVal("x")}),
	})}}
	got := shown(t, Options{}, files, d)
	for _, want := range []string{"var.n is 3\n", "var.s is sensitive\n", "var.long is \"" + strings.Repeat("é", 60) + "...\"\n", "var.o is an object with a\n", "var.list is a list of 1 element\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	var b bytes.Buffer
	if err := JSON(&b, hcl.Diagnostics{d}, files); err != nil {
		t.Fatal(err)
	}
	if s := got + b.String(); strings.Contains(s, "hunter2") || strings.Contains(s, "out.dir") {
		t.Errorf("%s", s)
	}
}

func TestJSONHoldsRangesAndSteps(t *testing.T) {
	d, files := at(t, "block \"x\" {\n  a = bad\n}", "bad")
	d.Extra = Steps{{From: "a", To: "b", Range: *d.Subject}}
	var b bytes.Buffer
	if err := JSON(&b, hcl.Diagnostics{d}, files); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Valid       bool
		Errors      int
		Diagnostics []struct {
			Severity, Summary, Block, Line string
			Range                          Range
			Steps                          []StepJSON
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	g := doc.Diagnostics[0]
	if doc.Valid || doc.Errors != 1 || g.Severity != "error" || g.Block != `block "x"` || g.Line != "  a = bad" || g.Range.Start.Line != 2 || g.Range.Start.Byte != 18 || g.Steps[0].To != "b" {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := JSON(&b, nil, nil); err != nil || !strings.Contains(b.String(), `"valid": true`) || !strings.Contains(b.String(), `"diagnostics": []`) {
		t.Errorf("nothing wrong: %s", b.String())
	}
}

func TestARangeOutsideOfItsFileIsNoPanic(t *testing.T) {
	d, files := at(t, "a = bad", "bad")
	for _, p := range []hcl.Pos{{Line: 99, Byte: 5}, {Line: 1, Byte: 9999}, {Line: 0, Byte: 0}, {Line: 1, Byte: -5}} {
		d.Subject = &hcl.Range{Filename: "f.hcl", Start: p, End: hcl.Pos{Line: 1, Byte: 3}}
		if got := shown(t, Options{Width: 20}, files, d); !strings.Contains(got, "Bad thing") {
			t.Errorf("%v: %s", p, got)
		}
	}
	d.Subject = &hcl.Range{Filename: "elsewhere", Start: hcl.InitialPos, End: hcl.InitialPos}
	if got := shown(t, Options{}, files, d); !strings.Contains(got, "on elsewhere line 1") {
		t.Error(fmt.Sprint(got))
	}
}
