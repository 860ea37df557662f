package pyspy_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pyspy"
)

// Real runs of the py-spy that PyPI has, installed once for all tests of the package.

var environment string // removed by TestMain

var install = sync.OnceValues(func() (program, why string) {
	dir, err := os.MkdirTemp("", "pyspy-test-")
	if err != nil {
		return "", err.Error()
	}
	environment = dir
	for _, argv := range [][]string{
		{"python3", "-m", "venv", dir},
		{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10", "--only-binary", ":all:", "py-spy==0.4.3"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
		}
	}
	return filepath.Join(dir, "bin", "py-spy"), ""
})

func TestMain(m *testing.M) {
	code := m.Run()
	if environment != "" {
		os.RemoveAll(environment)
	}
	os.Exit(code)
}

const source = `
import sys, threading, time, subprocess
def spin(until):
    while time.time() < until: pass
def wörker(until):
    spin(until)
def recurse(n, until):
    return spin(until) if n == 0 else recurse(n - 1, until)
if __name__ == "__main__":
    until = time.time() + 1.5
    thread = threading.Thread(target=wörker, args=(until,), name="a; b 3")
    thread.start()
    if "family" in sys.argv:
        child = subprocess.Popen([sys.executable, __file__])
    recurse(5, until)
    thread.join()
    if "family" in sys.argv:
        child.wait()
    sys.exit(3 if "fail" in sys.argv else 0)
`

// capture samples the source and returns what it left.
func capture(t *testing.T, o *pyspy.Options, args ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	program, why := install()
	if why != "" {
		t.Skip("there is no py-spy, and none could be installed: " + why)
	}
	o.Program = program
	if d := providers.Forbidden(p, os.ReadFile); d != nil {
		t.Skip(d.Why)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.py"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	inv, err := p.Plan(providers.Workload{Argv: append([]string{filepath.Join(environment, "bin", "python"), "main.py"}, args...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	data, err := os.ReadFile(filepath.Join(ran.Out, inv.Outputs[0].Path))
	if err != nil {
		t.Fatalf("%v\n%s", err, ran.Stderr)
	}
	in := providertest.Input(t, inv.Outputs[0].Role, data)
	in.Artifacts[0].MediaType, in.Exit, in.Paths = inv.Outputs[0].MediaType, ran.Exit, providers.Paths{Root: dir, Dir: dir}
	if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
		t.Fatalf("%+v %v", r, err)
	}
	return in, ran
}

// inclusive is the weight of a function, as its producer counts it.
func inclusive(tables map[string][]providertest.Row, function string) (n int64) {
	for _, f := range tables["frames"] {
		for _, v := range tables["frame_values"] {
			if f["function"] == function && v["frame"] == f["frame"] {
				n += v["inclusive"].(int64)
			}
		}
	}
	return n
}

func TestRealRuns(t *testing.T) {
	t.Run("speedscope keeps threads, names and the project's files", func(t *testing.T) {
		in, _ := capture(t, options())
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		data, err := os.ReadFile(in.Artifacts[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for _, n := range generalReader(t, data) {
			want += n
		}
		if out.State != evidence.Complete || out.Producer != "0.4.3" || math.Abs(float64(out.Results["total"].(int64)-want)) > 1000 {
			t.Errorf("%+v, want a total of %d", out, want)
		}
		named := false
		for stack := range stacks(tables, false) {
			named = named || strings.HasPrefix(stack, "a; b 3: ") && strings.HasSuffix(stack, "wörker>spin")
		}
		if recursed, spun := inclusive(tables, "recurse"), inclusive(tables, "spin"); !named || recursed == 0 || spun < recursed || spun > want {
			t.Errorf("thread named %v, recurse %d, spin %d of %d", named, recursed, spun, want)
		}
		for _, f := range tables["frames"] {
			if f["function"] == "spin" && f["file"] != "main.py" {
				t.Errorf("the file is %v and not relative to the project", f["file"])
			}
		}
	})
	t.Run("raw has the same functions, and counts", func(t *testing.T) {
		in, _ := capture(t, options(func(o *pyspy.Options) { o.Format = "raw" }))
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if out.State != evidence.Complete || out.Results["unit"] != "count" || inclusive(tables, "wörker") == 0 || inclusive(tables, "recurse") > out.Results["total"].(int64) {
			t.Errorf("%+v", out)
		}
	})
	t.Run("chrometrace has the same functions, and times between samples", func(t *testing.T) {
		in, _ := capture(t, options(func(o *pyspy.Options) { o.Format = "chrometrace" }))
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		total := out.Results["total"].(int64)
		if out.State != evidence.Complete || out.Results["default_metric"] != "pyspy.time" || inclusive(tables, "wörker") < 5e8 || inclusive(tables, "recurse") > total || !providertest.HasCode(out.Limitations, pyspy.SamplesMerged) {
			t.Errorf("%+v, wörker %d, recurse %d", out, inclusive(tables, "wörker"), inclusive(tables, "recurse"))
		}
		for _, f := range tables["frames"] {
			if name, _ := f["function"].(string); f["function"] == "spin" && (f["file"] != "main.py" || f["language"] != "Python" || f["line"] != nil) || strings.HasPrefix(name, "thread (") {
				t.Errorf("%v", f)
			}
		}
	})
	t.Run("processes are labels, and their command lines no frames", func(t *testing.T) {
		in, _ := capture(t, options(func(o *pyspy.Options) { o.Subprocesses = true }), "family")
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		processes := map[string]bool{}
		for _, r := range tables["stacks"] {
			if l, _ := r["labels"].(map[string]string); l != nil {
				processes[l["process"]] = true
			}
		}
		if len(processes) != 2 || out.Results["processes"] != int64(2) {
			t.Errorf("%v %+v", processes, out)
		}
		for _, f := range tables["frames"] {
			if name, _ := f["function"].(string); strings.HasPrefix(name, "process ") || strings.HasPrefix(name, "thread (") {
				t.Errorf("a frame is %q", name)
			}
		}
	})
	t.Run("the status of the workload is hidden", func(t *testing.T) {
		if in, _ := capture(t, options(), "fail"); in.Exit != 0 {
			t.Errorf("py-spy ended with %d: the limitation %s is no longer true", in.Exit, pyspy.ExitHidden)
		}
	})
}
