package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// grown is local values that each are made of the one before.
func grown(first, next string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n  a0 = %s\n", first)
	for i := range n {
		fmt.Fprintf(&b, "  a%d = %s\n", i+1, strings.ReplaceAll(next, "PREV", fmt.Sprint("local.a", i)))
	}
	return b.String() + "}\n"
}

func blocks(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, (i+1)%n)
	}
	return b.String()
}

// Each of these once took minutes, all memory, or the whole stack of the process.
func TestConfigurationsThatAskForTooMuchAreRefusedInTime(t *testing.T) {
	for name, tc := range map[string]struct {
		src  string
		want summary // "" where it is no error
	}{
		"a text that doubles":             {grown(`"0123456789"`, `"${PREV}${PREV}"`, 40), sumTooLarge},
		"a list that doubles":             {grown(`[1]`, `concat(PREV, PREV)`, 40), sumTooLarge},
		"an object that doubles":          {grown(`{ a = 1 }`, `{ a = PREV, b = PREV }`, 40), sumTooLarge},
		"a number that is squared":        {grown(`1e300`, `PREV * PREV`, 40) + "output \"o\" { value = \"${local.a40}\" }", sumTooLarge},
		"a million times a million":       {"locals { a = [for i in range(1000000) : [for j in range(1000000) : i]] }", sumExpression},
		"loops that keep nothing":         {"locals { a = [for i in range(1000000) : [for j in range(1000000) : i if false]] }", sumExpression},
		"a loop in a template":            {"locals {\n  m = join(\"\", [for i in range(100000) : \"0123456789\"])\n  a = \"%{ for i in range(1000) }${local.m}%{ endfor }\"\n}", sumExpression},
		"axes that multiply":              {"workload \"w\" { matrix = { a = range(1000), b = range(1000), c = range(1000) } }", sumTooMany},
		"dependencies that multiply":      {"workload \"a\" { matrix = { n = range(20000) } }\ncapture \"gobench\" \"c\" { workload = workload.a }\nworkload \"b\" { matrix = { m = range(1000) } }\ncapture \"gobench\" \"d\" {\n  workload   = workload.b\n  depends_on = [capture.gobench.c]\n}", sumTooMany},
		"a long for in a matrix":          {"workload \"w\" { matrix = { n = [for i in range(100000) : \"v${i}\"] } }", ""},
		"a long for in a join":            {"locals { a = join(\",\", [for i in range(200000) : \"v${i}\"]) }", ""},
		"a long for in a variable's type": {"variable \"v\" {\n  type    = list(any)\n  default = [for i in [" + strings.Repeat("1,", 50000) + "] : i]\n}", ""},
		"a cycle of 1,000 blocks":         {blocks(1000, "workload \"w%d\" { text = \"a\" }\ncapture \"gobench\" \"c%[1]d\" {\n  workload   = workload.w%[1]d\n  depends_on = [capture.gobench.c%[2]d]\n}\n"), sumCycle},
		"a cycle of 1,000 local values":   {"locals {\n" + blocks(1000, "  l%d = local.l%d\n") + "}\n", sumCycle},
		"a chain of 10,000 local values":  {grown("1", "PREV", 10000), ""},
		"a line of 10 MB":                 {"locals { a = \"" + strings.Repeat("x", 10<<20) + "\" }", ""},
		"a name of 10 MB":                 {"workload \"w\" { " + strings.Repeat("x", 10<<20) + " = 1 }", sumUnknownArg},
		"100,000 labels":                  {"workload " + strings.Repeat("\"x\" ", 100000) + "{}", sumTooDeep},
		"100,000 arguments":               {"workload \"w\" {\n" + blocks(100000, "  a%d = %d\n") + "}", sumUnknownArg},
		"10,000 templates in templates":   {"locals { a = " + strings.Repeat(`"${`, 10000) + "1" + strings.Repeat(`}"`, 10000) + " }", sumTooDeep},
		"10,000 parentheses":              {"locals { a = " + strings.Repeat("(", 10000) + "1" + strings.Repeat(")", 10000) + " }", sumTooDeep},
		"line ends of Windows":            {"workload \"w\" {\r\n  text = \"a\"\r\n}\r\n", ""},
		"combining characters":            {"locals { a = \"e" + strings.Repeat("\u0301", 1<<20) + "\" }", ""},
	} {
		start := time.Now()
		c, _, diags := run(t, tc.src)
		switch {
		case tc.want == "" && len(diags) > 0, tc.want != "" && (len(diags) == 0 || diags[0].Summary != string(tc.want)):
			t.Errorf("%s: want %q\n%.1000s", name, tc.want, show(diags, c))
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
		for _, d := range diags {
			if len(d.Detail) > 3000 && d.Summary != string(sumUnknownArg) {
				t.Errorf("%s: a detail of %d bytes", name, len(d.Detail))
			}
		}
	}
}

func TestRandomBytesAreAClearError(t *testing.T) {
	state := uint64(1)
	for size := range 200 {
		src := make([]byte, size*7)
		for i := range src {
			state = state*6364136223846793005 + 1442695040888963407
			src[i] = byte(state >> 56)
		}
		if c, _, diags := run(t, string(src)); len(src) > 0 && !diags.HasErrors() {
			t.Errorf("%q is a configuration: %v", src, c.Blocks)
		}
	}
}

func TestNullIsNoValueOfAVariableThatIsNotNullable(t *testing.T) {
	src := `
variable "v" {
  type     = number
  nullable = NULLABLE
  default  = 7
}
output "o" { value = var.v == null ? "null" : var.v }
`
	for _, tc := range []struct{ nullable, given, want, from string }{
		{"true", "null", "null", "-var"}, {"false", "null", "7", "default"}, {"false", "3", "3", "-var"}, {"true", "3", "3", "-var"},
	} {
		c, x := good(t, strings.ReplaceAll(src, "NULLABLE", tc.nullable), Input{Values: Values{Vars: []string{"v=" + tc.given}}})
		if v, diags := x.Outputs[0].Value.Eval(nil); diags.HasErrors() || fmt.Sprint(plain(v)) != tc.want || c.Variables[0].From != tc.from {
			t.Errorf("%+v: %v %v from %s", tc, plain(v), diags, c.Variables[0].From)
		}
	}
	for given, want := range map[string]string{"": "is null", "null": "is null"} {
		in := Input{}
		if given != "" {
			in.Vars = []string{"v=" + given}
		}
		c, _, diags := run(t, "variable \"v\" {\n  type     = number\n  nullable = false\n  default  = null\n}", in)
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%q: %s", given, show(diags, c))
		}
	}
}

func TestErrorsInAVariableFileComeInOneOrder(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "name%02d = 1\n", i)
	}
	dir := project(t, map[string]string{"flameox.hcl": "", "v.hcl": b.String()})
	var first string
	for range 5 {
		c, diags := Load(dir, testRegistry(), Input{Values: Values{VarFiles: []string{filepath.Join(dir, "v.hcl")}}})
		if got := show(diags, c); first == "" {
			first = got
		} else if got != first {
			t.Fatalf("another order:\n%s\n%s", first, got)
		}
	}
	if strings.Count(first, "Unknown variable") != 50 {
		t.Errorf("%s", first)
	}
}

func TestAVariableOfTheEnvironmentThatNobodyDeclaredIsIgnored(t *testing.T) {
	c, _ := good(t, `variable "v" { default = 1 }`, Input{Values: Values{Environ: []string{"FLAMEOX_VAR_w=2", "FLAMEOX_VAR_=3", "FLAMEOX_VAR_v"}}})
	if c.Variables[0].From != "default" {
		t.Errorf("from %s", c.Variables[0].From)
	}
}

func TestOneMisspeltArgumentIsOneError(t *testing.T) {
	c, _, diags := run(t, "build \"b\" { comand = [\"x\"] }")
	if len(diags) != 1 || diags[0].Summary != string(sumUnknownArg) {
		t.Errorf("%s", show(diags, c))
	}
}

func FuzzVariables(f *testing.F) {
	for _, seed := range [][2]string{
		{"n = 1", "n=2"}, {"{\"n\": [1, null]}", "l=[1, \"a\"]"}, {"l = [for x in [1] : x]", "o={ a = 1 }"}, {"s = \"${1}\"", "s=\xff"}, {"n = 1e999999999", "n=1e999999999"},
		{"{\"s\": \"\\u0000\"}", "l=[[[["}, {"[[[[", "=x"}, {"b {}\nn = null", "nope"}, {"o = { a = [1], b = null }", "o=null"}, {"\xef\xbb\xbfn = 1", "any=x"},
	} {
		f.Add(seed[0], seed[1])
	}
	dir := project(f, map[string]string{"flameox.hcl": `
variable "n" {
  type     = number
  nullable = false
  default  = 1
}
variable "l" {
  type    = list(any)
  default = []
}
variable "o" {
  type    = object({ a = any, b = optional(list(string), ["x"]) })
  default = { a = 1 }
}
variable "any" { default = null }
variable "s" {
  sensitive = true
  default   = "hunter2"
}
workload "w" { env = { S = var.s, N = var.n } }
output "o" { value = [var.n, var.l, var.o, var.any] }
`})
	reg := testRegistry()
	f.Fuzz(func(t *testing.T, file, set string) {
		var files []string
		for _, name := range []string{"v.hcl", "v.json"} {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, []byte(file), 0o644); err != nil {
				t.Skip("it cannot be written: ", err)
			}
			files = append(files, p)
		}
		for _, in := range []Values{{Vars: []string{set}}, {VarFiles: files[:1]}, {VarFiles: files[1:]}, {Environ: []string{"FLAMEOX_VAR_l=" + set, "FLAMEOX_VAR_o=" + file}}} {
			start := time.Now()
			c, diags := Load(dir, reg, Input{Values: in})
			x, more := c.Expand()
			for _, o := range x.Outputs {
				_, d := o.Value.Eval(nil)
				more = append(more, d...)
			}
			diags = append(diags, more...)
			for _, d := range diags {
				if !knownSummary(d.Summary) {
					t.Errorf("summary %q is not in the catalogue", d.Summary)
				}
			}
			if strings.Contains(shownOf(t, c, diags), "hunter2") && !strings.Contains(set+file, "hunter2") {
				t.Errorf("the default of a sensitive variable is shown")
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v", d)
			}
		}
	})
}
