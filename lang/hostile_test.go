package lang

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"
)

func TestHostileFilesAreClearErrors(t *testing.T) {
	many := strings.Repeat("x ? y : ", 10_000)
	for name, tc := range map[string]struct {
		src  string
		want summary
	}{
		"invalid UTF-8":          {"workload \"w\" {\n  text = \"\xff\"\n}", sumNotText},
		"a byte order mark":      {"\xef\xbb\xbfworkload \"w\" {}", sumNotText},
		"UTF-16":                 {"\xff\xfew\x00", sumNotText},
		"a NUL byte":             {"workload \"w\x00\" {}", sumNotText},
		"10,000 brackets":        {"locals { a = " + strings.Repeat("[", 10_000) + "}", sumTooDeep},
		"10,000 closed brackets": {"locals { a = " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}", sumTooDeep},
		"a million operators":    {"locals { a = 1" + strings.Repeat("+1", 1_000_000) + "}", sumTooDeep},
		"conditionals":           {"locals { a = " + many + "z }", sumTooDeep},
		"nested blocks":          {strings.Repeat("workload \"w\" {\n", 10_000), sumTooDeep},
		"a number to hang on":    {"output \"o\" { value = \"${1e999999999}\" }", sumBadNumber},
		"a random file":          {"\x7fELF\x02\x01", sumSyntax},
		"an unclosed string":     {"workload \"w", sumSyntax},
		"an unclosed heredoc":    {"locals { a = <<EOT\nabc", sumSyntax},
	} {
		start := time.Now()
		c, x, diags := run(t, tc.src)
		if len(diags) == 0 || diags[0].Summary != string(tc.want) || x == nil {
			t.Errorf("%s: %.500s", name, show(diags, c))
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func TestALargeFileIsRefused(t *testing.T) {
	dir := project(t, map[string]string{"flameox.hcl": ""})
	if err := os.Truncate(filepath.Join(dir, "flameox.hcl"), 50<<20); err != nil {
		t.Fatal(err)
	}
	_, diags := Load(dir, testRegistry(), Input{})
	if len(diags) != 1 || diags[0].Summary != string(sumFileTooLarge) || !strings.Contains(diags[0].Detail, "50 MiB") {
		t.Errorf("%v", diags)
	}
}

func TestADirectoryWithoutAConfigurationIsAnError(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		c, diags := Load(dir, testRegistry(), Input{})
		if len(diags) != 1 || diags[0].Summary != string(sumNoConfig) {
			t.Errorf("%v", diags)
		}
		if x, more := c.Expand(); len(x.Instances) != 0 || len(more) != 0 {
			t.Errorf("expansion of nothing: %v %v", x, more)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "flameox.hcl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, diags := Load(dir, testRegistry(), Input{}); len(diags) != 1 || diags[0].Summary != string(sumUnreadable) {
		t.Errorf("a directory called flameox.hcl: %v", diags)
	}
}

func TestThousandsOfErrorsAreFoundQuicklyAndShownInPart(t *testing.T) {
	var names, syntax strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&names, "workload \"w%d\" { txt = local.nope%d }\n", i, i)
		fmt.Fprintf(&syntax, "workload \"w%d\" {\n  text =\n  text 7\n}\n", i)
	}
	for name, src := range map[string]string{"names": names.String(), "syntax": syntax.String()} {
		start := time.Now()
		c, _, diags := run(t, src)
		if len(diags) < 1000 {
			t.Errorf("%s: %d diagnostics", name, len(diags))
		}
		var b bytes.Buffer
		if err := Render(&b, diags, c.Files, RenderOptions{Limit: 10}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "Error: "); n != 10 || !strings.Contains(b.String(), " more.\n") || !strings.Contains(b.String(), " errors.\n") {
			t.Errorf("%s: %d shown:\n%s", name, n, b.String())
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
	}
}

func TestConfigurationsNeverLeaveTheRoot(t *testing.T) {
	dir := project(t, map[string]string{"bench/flameox.hcl": `output "o" { value = file("../shared.txt") }`, "shared.txt": "s", "lib/x.txt": "x"})
	if _, diags := Load(filepath.Join(dir, "bench"), testRegistry(), Input{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	c, _ := Load(filepath.Join(dir, "bench"), testRegistry(), Input{Root: dir})
	x, _ := c.Expand()
	if v, d := x.Outputs[0].Value.Eval(nil); d.HasErrors() || v.AsString() != "s" {
		t.Errorf("inside the root: %#v %v", v, d)
	}
	c, _ = Load(filepath.Join(dir, "bench"), testRegistry(), Input{})
	x, _ = c.Expand()
	if _, d := x.Outputs[0].Value.Eval(nil); !d.HasErrors() || !strings.Contains(d.Error(), "leaves the project root") {
		t.Errorf("outside the root: %v", d)
	}
	c, _ = Load(filepath.Join(dir, "bench"), testRegistry(), Input{Root: dir})
	if got, err := c.ResolvePath("../lib/x.txt"); err != nil || got != "lib/x.txt" {
		t.Errorf("ResolvePath: %q, %v", got, err)
	}
	if _, err := c.ResolvePath("../../x"); err == nil {
		t.Error("ResolvePath leaves the root")
	}
}

var loadSeeds = []string{
	matrix10kSmall, lateProject,
	"build \"b\" { command = [\"x\", out.dir, build.b.dir] }",
	"workload \"w\" { matrix = { n = [1, \"a\", 0.5] } }\ncapture \"gobench\" \"c\" {\n workload = workload.w[\"n=1\"]\n depends_on = [workload.w]\n}\noutput \"o\" { value = [for k, v in capture.gobench.c[*] : v] }",
	"locals {\n a = local.b\n b = local.a\n}", "variable \"v\" {\n type = list(string)\n default = [\"a\"]\n}\nworkload \"w\" { for_each = toset(var.v) }",
	"check \"c\" {\n assert {\n  condition = compare.x.regressed == 0\n  error_message = \"x\"\n }\n}\ncompare \"x\" { of = [] }",
	"workload \"w\" { text = \"%{ if true }${1}%{ endif }\\u0000\" }", "flameox {\n defaults { attempts = 0 }\n}", "\xff", "a = [[[[[", "x \"y\" \"z\" {",
	"report \"r\" {\n title = \"${compare.c.regressed}\"\n}\ncompare \"c\" { of = capture.gobench.nope }",
}

const matrix10kSmall = `
workload "sort" {
  command = ["python", "--rows", matrix.rows, "${matrix.seed}", build.b.dir]
  matrix  = { rows = range(3), seed = ["a", "b"] }
  env     = { K = each.key }
}
build "b" {
  matrix  = { rows = [1] }
  command = ["make", upper(out.dir)]
}
`

func FuzzLoad(f *testing.F) {
	for _, s := range loadSeeds {
		f.Add(s)
	}
	reg := testRegistry()
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src string) {
		if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte(src), 0o644); err != nil {
			t.Skip("it cannot be written: ", err)
		}
		start := time.Now()
		c, diags := Load(dir, reg, Input{Values: Values{Environ: []string{"FLAMEOX_VAR_v=[\"x\"]"}}})
		x, more := c.Expand()
		diags = append(diags, more...)
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("took %v", d)
		}
		for _, o := range x.Outputs {
			_, d := o.Value.Eval(fakeResults)
			diags = append(diags, d...)
		}
		for _, k := range x.Checks {
			for _, a := range k.Asserts {
				_, _, d := a.Eval(fakeResults)
				diags = append(diags, d...)
			}
		}
		for _, d := range diags {
			if !knownSummary(d.Summary) {
				t.Errorf("summary %q is not in the catalogue", d.Summary)
			}
		}
		for _, width := range []int{0, 30} {
			var b bytes.Buffer
			if err := Render(&b, diags, c.Files, RenderOptions{Width: width, Color: true}); err != nil {
				t.Error(err)
			}
			if bytes.ContainsRune(bytes.ReplaceAll(b.Bytes(), []byte("\x1b["), nil), '\x1b') {
				t.Errorf("an escape of the source reaches the terminal: %q", b.String())
			}
		}
		if err := RenderJSON(&bytes.Buffer{}, diags, c.Files); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, inst := range x.Instances {
			a := inst.Address().String()
			if seen[a] {
				t.Errorf("two instances at %s", a)
			}
			for _, d := range inst.Deps {
				if !seen[d.Address().String()] {
					t.Errorf("%s stands before %s, which it needs", a, d.Address())
				}
			}
			seen[a] = true
		}
	})
}

func knownSummary(s string) bool {
	for _, k := range catalogue {
		if string(k) == s {
			return true
		}
	}
	return false
}

func FuzzFmt(f *testing.F) {
	for _, s := range loadSeeds {
		f.Add(s)
	}
	f.Add("a   {\nb=1 # c\n  cc   = 2 // d\n\n\n}\n")
	f.Add("a = <<EOT\n  x ${ y }\n EOT\nb=[1,\n2]")
	f.Fuzz(func(t *testing.T, src string) {
		once, diags := Fmt([]byte(src))
		if diags.HasErrors() {
			if string(once) != src {
				t.Error("a file with errors was changed")
			}
			return
		}
		if !sameTokens([]byte(src), once) {
			t.Errorf("the meaning changed:\n%s", once)
		}
		twice, diags := Fmt(once)
		if diags.HasErrors() || !bytes.Equal(once, twice) {
			t.Errorf("formatting again changes it: %v\n%q\n%q", diags, once, twice)
		}
	})
}

func TestFmtAlignsAndIndents(t *testing.T) {
	got, diags := Fmt([]byte("workload   \"w\"{\ntext=\"a\"\n      timeout =   \"1s\"\nenv={A=1}\n}\n"))
	want := "workload \"w\" {\n  text    = \"a\"\n  timeout = \"1s\"\n  env     = { A = 1 }\n}\n"
	if diags.HasErrors() || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s%v", got, want, diags)
	}
	src := "workload {"
	if got, diags := Fmt([]byte(src)); string(got) != src || !diags.HasErrors() || diags[0].Severity != hcl.DiagError {
		t.Errorf("broken file: %q, %v", got, diags)
	}
}

func TestFilesMayComeFromAnotherFileSystem(t *testing.T) {
	files := fstest.MapFS{
		"p/flameox.hcl": {Data: []byte(`output "o" { value = [file("a.txt"), fileset(".", "*.txt")] }`)},
		"p/a.txt":       {Data: []byte("hello")},
	}
	root, err := filepath.Abs(string(filepath.Separator) + "virtual")
	if err != nil {
		t.Fatal(err)
	}
	below := func(p string) string { rel, _ := filepath.Rel(root, p); return filepath.ToSlash(rel) }
	c, diags := Load(filepath.Join(root, "p"), testRegistry(), Input{
		Open:    func(p string) (fs.File, error) { return files.Open(below(p)) },
		ReadDir: func(p string) ([]fs.DirEntry, error) { return files.ReadDir(below(p)) },
	})
	x, more := c.Expand()
	if len(diags)+len(more) > 0 {
		t.Fatal(show(append(diags, more...), c))
	}
	if v, d := x.Outputs[0].Value.Eval(nil); d.HasErrors() || fmt.Sprint(plain(v)) != "[hello [a.txt]]" {
		t.Errorf("%v %v", plain(v), d)
	}
}
