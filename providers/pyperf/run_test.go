package pyperf_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pyperf"
)

// Real runs of the pyperf that PyPI has, installed once for all tests of the package.

var packages string // removed by TestMain

var install = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "pyperf-test-")
	if err != nil {
		return err.Error()
	}
	packages = dir
	out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10", "--target", dir, "pyperf>=2.8,<3").CombinedOutput()
	if err != nil {
		return "pyperf cannot be installed (" + err.Error() + "): " + string(out)
	}
	return ""
})

func TestMain(m *testing.M) {
	code := m.Run()
	if packages != "" {
		os.RemoveAll(packages)
	}
	os.Exit(code)
}

func needPyperf(t *testing.T) {
	t.Helper()
	if why := install(); why != "" {
		t.Skip(why)
	}
	t.Setenv("PYTHONPATH", packages)
}

const suiteSource = `
import os
import helper

def bench_sort():
    sorted(range(100), reverse=True)

def bench_needs_environment():
    if os.environ["NEEDED"] != "yes":
        raise ValueError("boom")

def other(n, kind):
    assert helper.seen
    return [kind] * n
other.params = [[10, 1000], ["a", "b"]]
other.param_names = ["n", "kind"]

def flat(n):
    return n
flat.params = [1, 2]

def unstable(o):
    pass
unstable.params = [[object()]]

from helper import bench_imported
`

const scriptSource = `
import sys
import pyperf
runner = pyperf.Runner(metadata={"tags": ["x"]})
runner.bench_func("one", sorted, list(range(50)))
runner.timeit("two", stmt="x + 1", setup="x = 1", duplicate=16)
`

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"bench/suite.py": suiteSource, "bench/helper.py": "seen = True\n\ndef bench_imported():\n    pass\n", "script.py": scriptSource, "empty.py": "", "broken.py": "raise ValueError('boom at import')\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func quick(m string, change ...func(*pyperf.Options)) *pyperf.Options {
	loops := 4
	o := options(mode(m))
	o.Processes, o.Values, o.Loops = 2, 2, &loops
	for _, f := range change {
		f(o)
	}
	return o
}

// capture plans with o over argv and runs it; data is nil where it left no results.
func capture(t *testing.T, o *pyperf.Options, dir string, argv ...string) (data []byte, ran providertest.Ran) {
	t.Helper()
	needPyperf(t)
	inv, err := p.Plan(providers.Workload{Argv: argv}, o)
	if err != nil {
		t.Fatal(err)
	}
	inv.Env = map[string]string{"NEEDED": "yes"}
	ran = providertest.Start(t, inv, dir)
	data, err = os.ReadFile(filepath.Join(ran.Out, "benchmark.json"))
	if err != nil && ran.Exit == 0 {
		t.Fatalf("%v\n%s%s", err, ran.Stdout, ran.Stderr)
	}
	return data, ran
}

func names(rows []providertest.Row) (list []string) {
	for _, r := range rows {
		if n := strings.TrimPrefix(r["name"].(string), "pyperf."); !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

func TestRealRuns(t *testing.T) {
	dir := project(t)
	check := func(t *testing.T, data []byte, ran providertest.Ran, want ...string) []providertest.Row {
		t.Helper()
		out, rows := extract(t, data)
		if out.State != evidence.Complete || ran.Exit != 0 {
			t.Fatalf("exit %d, %+v\n%s%s", ran.Exit, out, ran.Stdout, ran.Stderr)
		}
		if got := names(rows); !slices.Equal(got, want) {
			t.Errorf("benchmarks %q, want %q", got, want)
		}
		agree(t, data)
		return rows
	}
	t.Run("a script with two benchmarks", func(t *testing.T) {
		data, ran := capture(t, quick("script"), dir, "python3", "script.py")
		rows := check(t, data, ran, "one", "two")
		if last := rows[len(rows)-1]["dimensions"].(map[string]string); last["inner_loops"] != "16" || rows[0]["loops"] != uint64(4) {
			t.Errorf("dimensions %v, loops %v", last, rows[0]["loops"])
		}
	})
	t.Run("timeit, calibrated", func(t *testing.T) {
		data, ran := capture(t, quick("", func(o *pyperf.Options) { o.Loops, o.MinTime = nil, 1e6 }), dir, "python3", "-m", "pyperf", "timeit", "--name", "t", "sum(range(9))")
		rows := check(t, data, ran, "t")
		calibration := 0
		for _, r := range rows {
			if r["dimensions"].(map[string]string)["run_kind"] == "calibration" {
				calibration++
			}
		}
		if calibration == 0 {
			t.Error("no warm-up is the calibration's")
		}
	})
	t.Run("functions of a file", func(t *testing.T) {
		data, ran := capture(t, quick("function"), dir, "python3", "bench/suite.py")
		check(t, data, ran, "bench_needs_environment", "bench_sort")
		if left, err := filepath.Glob(filepath.Join(dir, "bench", "__pycache__")); err != nil || len(left) != 0 {
			t.Errorf("the run left %v in the project", left)
		}
		if !bytes.Contains(data, []byte("benchx_env_sha256")) {
			t.Error("the digest of the environment is not on the record")
		}
	})
	t.Run("cases of functions with parameters", func(t *testing.T) {
		data, ran := capture(t, quick("function", func(o *pyperf.Options) { o.Functions = []string{"other", "flat(2)"} }), dir, "python3", "bench/suite.py")
		check(t, data, ran, "other(10, 'a')", "other(10, 'b')", "other(1000, 'a')", "other(1000, 'b')", "flat(2)")
	})
	t.Run("memory", func(t *testing.T) {
		data, ran := capture(t, quick("function", func(o *pyperf.Options) { o.Memory, o.Functions = true, []string{"bench_sort"} }), dir, "python3", "bench/suite.py")
		if rows := check(t, data, ran, "bench_sort"); rows[0]["unit"] != "bytes" || rows[0]["value_int"] == nil {
			t.Errorf("row %v", rows[0])
		}
	})
	t.Run("a command", func(t *testing.T) {
		data, ran := capture(t, quick("command", func(o *pyperf.Options) { o.Python, o.Name = "python3", "sh --x" }), dir, "sh", "-c", "exit 0")
		check(t, data, ran, "sh --x")
	})
	for name, c := range map[string]struct {
		o    *pyperf.Options
		argv []string
		says string
	}{
		"a function that is not there":    {quick("function", func(o *pyperf.Options) { o.Functions = []string{"nope"} }), []string{"python3", "bench/suite.py"}, "no function nope"},
		"a case that is not there":        {quick("function", func(o *pyperf.Options) { o.Functions = []string{"flat(3)"} }), []string{"python3", "bench/suite.py"}, "no case"},
		"a parameter without a text":      {quick("function", func(o *pyperf.Options) { o.Functions = []string{"unstable"} }), []string{"python3", "bench/suite.py"}, "address"},
		"a file without functions":        {quick("function"), []string{"python3", "empty.py"}, "no function called bench_*"},
		"a file that cannot be imported":  {quick("function"), []string{"python3", "broken.py"}, "boom at import"},
		"a command that fails":            {quick("command", func(o *pyperf.Options) { o.Python = "python3" }), []string{"sh", "-c", "exit 3"}, "exit code 3"},
		"a script that is no pyperf user": {quick("script"), []string{"python3", "-m", "this_module_is_not_there"}, "No module named"},
	} {
		t.Run(name+" leaves no results", func(t *testing.T) {
			data, ran := capture(t, c.o, dir, c.argv...)
			if ran.Exit == 0 || data != nil || !strings.Contains(string(ran.Stdout)+string(ran.Stderr), c.says) {
				t.Errorf("exit %d, %d bytes\n%s%s", ran.Exit, len(data), ran.Stdout, ran.Stderr)
			}
		})
	}
}

func TestProbeNamesThePyperfOfAnInterpreter(t *testing.T) {
	needPyperf(t)
	run := func() (string, error) {
		argv, version := p.Probe([]string{"python3", "b.py"})
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // that it fails where there is none is what is read from its streams
		return version(stdout.Bytes(), stderr.Bytes())
	}
	if v, err := run(); err != nil || !strings.HasPrefix(v, "2.") {
		t.Errorf("%q %v", v, err)
	}
	t.Setenv("PYTHONPATH", "")
	t.Setenv("PYTHONNOUSERSITE", "1")
	if v, err := run(); err == nil || !strings.Contains(err.Error(), "No module named 'pyperf'") {
		t.Errorf("%q %v", v, err)
	}
}

// reader is pyperf's own: what it makes of each document, or that it refuses it.
const reader = `
import json, math, sys, pyperf
out = []
for text in json.load(sys.stdin):
    try:
        suite = pyperf.BenchmarkSuite.loads(text)
    except Exception as e:
        out.append(None)
        continue
    rows = []
    for bench in suite:
        for i, run in enumerate(bench.get_runs()):
            pairs = [(True, j, loops, v) for j, (loops, v) in enumerate(run.warmups)]
            pairs += [(False, j, run.get_metadata().get("loops"), v) for j, v in enumerate(run.values)]
            for warm, j, loops, v in pairs:
                if bench.get_unit() == "second":
                    v = v * 1e9 if v < 1e-6 else math.floor(v * 1e9 + 0.5)
                rows.append([bench.get_name(), i, warm, j, loops, float(v)])
    out.append(rows)
json.dump(out, sys.stdout)
`

// agree holds documents against pyperf's own reader: the same values of the same runs, and refused where it refuses.
func agree(t *testing.T, documents ...[]byte) {
	t.Helper()
	needPyperf(t)
	texts := make([]string, len(documents))
	for i, d := range documents {
		texts[i] = string(d)
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", reader)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want [][][]any
	if err := json.Unmarshal(printed, &want); err != nil {
		t.Fatal(err)
	}
	for i, d := range documents {
		out, rows := extract(t, d)
		if want[i] == nil {
			if out.State != evidence.Incompatible {
				t.Errorf("pyperf refuses %.300s, and it is %+v", d, out)
			}
			continue
		}
		got := [][]any{}
		for _, r := range rows {
			v, loops := r["value_float"], r["loops"]
			if v == nil {
				v = float64(r["value_int"].(int64))
			}
			if n, ok := loops.(uint64); ok {
				loops = float64(n)
			}
			got = append(got, []any{strings.TrimPrefix(r["name"].(string), "pyperf."), float64(r["worker_run"].(int64)), r["warmup"], float64(r["value_index"].(int64)), loops, v})
		}
		if out.State != evidence.Empty && !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%.200s: %+v\n got %v\nwant %v", d, out, got, want[i])
		}
	}
}

func TestFixturesAgreeWithPyperf(t *testing.T) {
	var list [][]byte
	for _, name := range []string{"local-pyperf-git-command-startup", "local-pyperf-git-timeit", "mult_list_py36_tags", "pyperformance-mem1", "pyperformance-py36", "telco-legacy-perf0.x", "telco", "track_memory"} {
		list = append(list, providertest.Fixture(t, "pyperf/"+name+".json"))
	}
	agree(t, list...)
	out, rows := extract(t, providertest.Fixture(t, "pyperf/outliers.json.gz"))
	if out.State != evidence.Complete || len(rows) == 0 {
		t.Errorf("a compressed suite: %+v", out)
	}
}

func TestWhatPyperfRefusesIsRefused(t *testing.T) {
	var list [][]byte
	for _, change := range [][2]string{
		{"", ""}, {"0.0144", "0"}, {"0.0144", "-1"}, {"0.0144", `"x"`}, {"0.0144", "null"}, {"0.0144", "1e-300"}, {`"name":"telco",`, ""}, {`"unit":"second"`, `"unit":"byte"`}, {`"loops":32`, `"loops":0`},
		{`"loops":32`, `"loops":32,"name":"other"`}, {"[16,0.015]", "[16]"}, {"[16,0.015]", "[0,1]"}, {"[16,0.015]", "[16,-1]"}, {"[16,0.015]", "[16,0]"}, {`"version":"1.0"`, `"version":"1.1"`}, {`"version":"1.0"`, `"version":7`},
		{`"warmups":[[16,0.015]],"values":[0.014,0.0144]`, ""}, {`"warmups":[[16,0.015]],"values":[0.014,0.0144]`, `"warmups":null,"values":[3]`}, {`"inner_loops":2`, `"inner_loops":1.5`},
	} {
		if change[0] != "" && !strings.Contains(document, change[0]) {
			t.Fatalf("the document has no %q", change[0])
		}
		d := strings.Replace(document, change[0], change[1], 1)
		// pyperf holds runs to one inner_loops when they are added, and this one differs on purpose.
		list = append(list, []byte(strings.Replace(d, `,"inner_loops":2`, "", 1)))
	}
	agree(t, list...)
}
