package coverage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/coverage"
	"github.com/flameox/flameox/providers/providertest"
)

// program has branches, functions that are tests, and a file of a package with a name that is not ASCII.
var program = map[string]string{
	"main.py": `import sys
from pkg import größe

def unused():
    return 1

def test_small():
    assert größe.f(1) == 1

def test_large():
    for n in (10, 20):
        if größe.f(n) < 0:
            return
    while n > 100:
        n -= 1

test_small()
test_large()
`,
	"pkg/__init__.py": "",
	"pkg/größe.py":    "def f(n):\n    if n < 5:\n        return n\n    else:\n        return n * 2\n",
}

// report is what coverage json says of the same data file.
type report struct {
	Files map[string]struct {
		Lines    []int64             `json:"executed_lines"`
		Missing  []int64             `json:"missing_lines"`
		Branches [][2]int64          `json:"executed_branches"`
		Contexts map[string][]string `json:"contexts"`
	}
}

func jsonReport(t *testing.T, version, dir, data string, more ...string) report {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.json")
	copied := filepath.Join(t.TempDir(), "data")
	b, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t, version), append([]string{"-m", "coverage", "json", "-q", "--data-file=" + copied, "-o", out}, more...)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, text)
	}
	var r report
	if b, err = os.ReadFile(out); err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRealRuns(t *testing.T) {
	for _, version := range []string{oldest, middle, newest} {
		for name, change := range map[string]func(*coverage.Options){
			"branch":   func(*coverage.Options) {},
			"lines":    func(o *coverage.Options) { o.Branch = false },
			"contexts": func(o *coverage.Options) { o.DynamicContext = "test_function" },
			"contexts of lines": func(o *coverage.Options) {
				o.DynamicContext, o.Branch = "test_function", false
			},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				o := options()
				change(o)
				dir := project(t, program)
				in, ran := capture(t, version, o, dir, "main.py")
				if ran.Exit != 0 || len(in.Artifacts) != 1 {
					t.Fatalf("status %d with %d files: %s%s", ran.Exit, len(in.Artifacts), ran.Stdout, ran.Stderr)
				}
				before := digest.Sum(bytesOf(t, in.Artifacts[0].Path))
				if r, err := p.Validate(t.Context(), read(t, version, "validate", in)); err != nil || !r.Valid || r.Producer != version {
					t.Errorf("%+v %v", r, err)
				}
				out, tables := extract(t, version, in)
				if out.State != evidence.Complete || out.Producer != version || out.Results["branch"] != o.Branch {
					t.Errorf("%+v", out)
				}
				if after := digest.Sum(bytesOf(t, in.Artifacts[0].Path)); after != before {
					t.Error("reading changed the payload")
				}
				agrees(t, tables, jsonReport(t, version, dir, in.Artifacts[0].Path, "--show-contexts"), o)
			})
		}
	}
}

func bytesOf(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// agrees compares rows with coverage's own report, whose lines are those that are statements.
func agrees(t *testing.T, tables map[string][]providertest.Row, r report, o *coverage.Options) {
	t.Helper()
	want := map[string]bool{}
	statement := map[string]bool{}
	for name, f := range r.Files {
		for _, n := range slices.Concat(f.Lines, f.Missing) {
			statement[fmt.Sprintf("%s:%d", name, n)] = true
		}
		for _, n := range f.Lines {
			for _, c := range f.Contexts[fmt.Sprint(n)] {
				want[fmt.Sprintf("%s:%d %s", name, n, contextOf(c))] = true
			}
		}
	}
	got := map[string]bool{}
	for key := range set(tables, "coverage_lines") {
		if line, _, _ := strings.Cut(key, " "); statement[line] {
			got[key] = true
		}
	}
	if !maps.Equal(got, want) || len(want) < 10 {
		t.Errorf("lines %v\nwant  %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	arcs := set(tables, "coverage_arcs")
	if o.Branch != (len(arcs) > 0) {
		t.Errorf("%d arcs with branch = %v", len(arcs), o.Branch)
	}
	plain := map[string]bool{}
	for key := range arcs {
		arc, context, _ := strings.Cut(key, " ")
		plain[arc] = true
		if o.DynamicContext != "" && context == "<nil>" && strings.HasPrefix(arc, "pkg/größe.py:2") {
			t.Errorf("%s has no context", arc)
		}
	}
	branches := 0
	for name, f := range r.Files {
		for _, b := range f.Branches {
			branches++
			if !plain[fmt.Sprintf("%s:%d>%d", name, b[0], b[1])] {
				t.Errorf("the branch %v of %s is missing", b, name)
			}
		}
	}
	if o.Branch && branches < 4 {
		t.Errorf("coverage reports %d branches", branches)
	}
}

func contextOf(c string) string {
	if c == "" {
		return "<nil>"
	}
	return c
}

func TestSeveralProcessesAreReadTogether(t *testing.T) {
	files := map[string]string{
		"main.py": `import multiprocessing, os, subprocess, sys
import work
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    p = multiprocessing.Process(target=work.child)
    p.start()
    p.join()
    subprocess.run([sys.executable, "other.py"], check=True)
    if os.fork() == 0:
        work.forked()
        os._exit(0)
    os.wait()
    work.parent()
`,
		"work.py":  "def child():\n    return 1\n\ndef parent():\n    return 2\n\ndef forked():\n    return 3\n",
		"other.py": "x = 1\n",
	}
	for _, version := range []string{oldest, newest} {
		for _, method := range []string{"fork", "spawn"} {
			dir := project(t, files)
			o := options()
			o.Branch, o.Parallel = method == "spawn", true
			in, ran := capture(t, version, o, dir, "main.py", method)
			if ran.Exit != 0 || len(in.Artifacts) < 4 {
				t.Fatalf("status %d with %d files: %s", ran.Exit, len(in.Artifacts), ran.Stderr)
			}
			if r, err := p.Validate(t.Context(), read(t, version, "validate", in)); err != nil || !r.Valid {
				t.Errorf("%+v %v", r, err)
			}
			out, tables := extract(t, version, in)
			lines := set(tables, "coverage_lines")
			for _, line := range []string{"work.py:2", "work.py:5", "work.py:8", "other.py:1"} {
				if !lines[line+" <nil>"] {
					t.Errorf("%s, %s: %s is missing: %+v", version, method, line, out)
				}
			}
			if (len(tables["coverage_arcs"]) > 0) != o.Branch {
				t.Errorf("%d arcs", len(tables["coverage_arcs"]))
			}
		}
	}
}

func TestWhatAKilledProcessNeverFinishedIsLeftOut(t *testing.T) {
	in := of(t, database(t, "arcs"))
	in.Artifacts = append(in.Artifacts, of(t, database(t, "half made")).Artifacts...)
	in.Artifacts = append(in.Artifacts, of(t, nil).Artifacts...)
	out, tables := extract(t, newest, in)
	if out.State != evidence.Partial || len(tables["coverage_lines"]) != 5 || !slices.Equal(providertest.Codes(out.Limitations)[:2], []string{coverage.Unread, coverage.Unread}) {
		t.Errorf("%+v %v", out, tables)
	}
	in.Artifacts = in.Artifacts[1:] // none is left
	if out, _ = extract(t, newest, in); out.State != evidence.Incompatible {
		t.Errorf("%+v", out)
	}
}

func TestLinesAndArcsAreNotCombined(t *testing.T) {
	o := options()
	with, _ := capture(t, newest, o, project(t, program), "main.py")
	o.Branch = false
	without, _ := capture(t, newest, o, project(t, program), "main.py")
	with.Artifacts = append(with.Artifacts, without.Artifacts...)
	if out, _ := extract(t, newest, with); out.State != evidence.Incompatible || !strings.Contains(fmt.Sprint(out.Limitations), "Can't combine") {
		t.Errorf("%+v", out)
	}
}

func TestOtherFilesThanTheProjectsAreCountedAndLeftOut(t *testing.T) {
	dir := project(t, map[string]string{"app/main.py": "import sys\nsys.path.insert(0, '../../lib')\nimport outside\n", "app/.coveragerc": "[run]\nrelative_files = True\n"})
	other := filepath.Join(filepath.Dir(dir), "lib")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "outside.py"), []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, ran := capture(t, newest, options(), filepath.Join(dir, "app"), "main.py")
	in.Paths = providers.Paths{Root: dir, Dir: filepath.Join(dir, "app")}
	out, tables := extract(t, newest, in)
	lines := set(tables, "coverage_lines")
	if !lines["app/main.py:3 <nil>"] || len(lines) != 3 || !providertest.HasCode(out.Limitations, coverage.Outside) {
		t.Errorf("%v %+v %s", lines, out, ran.Stderr)
	}
	in.Paths = providers.Paths{Root: dir, Dir: filepath.Join(dir, "app"), Environments: filepath.Join(dir, "app")}
	if out, tables = extract(t, newest, in); out.State != evidence.Empty || len(tables) > 0 {
		t.Errorf("files of an environment are the project's: %+v %v", out, tables)
	}
	in.Paths = providers.Paths{}
	if out, tables = extract(t, newest, in); !set(tables, "coverage_lines")["main.py:3 <nil>"] || !providertest.HasCode(out.Limitations, coverage.NoRoot) {
		t.Errorf("%+v %v", out, tables)
	}
}

func TestAProgramThatFailsLeavesWhatRan(t *testing.T) {
	in, ran := capture(t, newest, options(), project(t, map[string]string{"bad.py": "x = 1\nraise SystemExit(3)\ny = 2\n"}), "bad.py")
	out, tables := extract(t, newest, in)
	if lines := set(tables, "coverage_lines"); ran.Exit != 3 || out.State != evidence.Complete || !lines["bad.py:2 <nil>"] || lines["bad.py:3 <nil>"] {
		t.Errorf("status %d, %+v %v", ran.Exit, out, lines)
	}
	if r, err := p.Validate(t.Context(), read(t, newest, "validate", in)); err != nil || r.Valid || !providertest.HasCode(r.Reasons, coverage.UnexpectedExit) {
		t.Errorf("%+v %v", r, err)
	}
}

func TestTheSuiteOfProviders(t *testing.T) {
	in, ran := capture(t, newest, options(), project(t, program), "main.py")
	empty, _ := capture(t, newest, &coverage.Options{Branch: true, Source: []string{"nothing_of_this_name"}}, project(t, program), "main.py")
	if len(in.Artifacts) != 1 {
		t.Fatalf("%s", ran.Stderr)
	}
	cases := &providertest.Cases{
		Valid: bytesOf(t, in.Artifacts[0].Path), Role: coverage.Role, Half: evidence.Incompatible, Interpreter: python(t, newest), Flips: 12, Several: true, EmptyValid: true,
	}
	if len(empty.Artifacts) == 1 {
		cases.Empty = bytesOf(t, empty.Artifacts[0].Path)
	} else {
		cases.Empty = database(t, "nothing")
	}
	providertest.Run(t, p, cases, &providertest.Plan{Workload: providers.Workload{Argv: []string{"python3", "main.py"}}})
}

func TestPlansOfRuns(t *testing.T) {
	w := providers.Workload{Argv: []string{"python3", "-X", "dev", "-m", "app", "--source=x"}}
	inv, err := p.Plan(w, options())
	if err != nil || !slices.Equal(inv.Argv[:5], []string{"python3", "-X", "dev", "-m", "coverage"}) || !slices.Equal(inv.Argv[len(inv.Argv)-3:], w.Argv[3:]) || !slices.Contains(inv.Argv, "--branch") {
		t.Errorf("%q %v", inv.Argv, err)
	}
	for _, argv := range [][]string{{"node", "x.js"}, {"python3", "-m", "coverage", "run", "x.py"}, {"python3", "-c", "pass"}, {"python3"}} {
		if _, err := p.Plan(providers.Workload{Argv: argv}, options()); err == nil {
			t.Errorf("%q was planned", argv)
		}
	}
	for name, o := range map[string]*coverage.Options{
		"context": {DynamicContext: "module"}, "unknown": {Concurrency: []string{"asyncio"}}, "twice": {Concurrency: []string{"thread", "thread"}},
		"processes": {Concurrency: []string{"multiprocessing"}}, "source": {Source: []string{"a,b"}},
	} {
		if _, err := p.Plan(w, o); err == nil {
			t.Errorf("%s was planned", name)
		}
	}
	if name, err := p.Interpreter(nil, lang.Defaults(p.ExtractOptions())); err == nil {
		t.Errorf("an import is read by %s", name)
	}
}
