package runner_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
)

const suite = `
import os
import time
import helper
from os.path import join as bench_imported

print("a module may print")
THREADS = os.environ.get("OPENBLAS_NUM_THREADS")


def bench_sum():
    return sum(range(100))


def bench_fails():
    raise ValueError("boom")


def bench_hangs():
    if os.environ.get("HANG"):
        os.system("sleep " + os.environ["HANG"])


def bench_needs_threads():
    assert THREADS == "3", THREADS


def bench_choose(n, k):
    return str(n) * len(k)


bench_choose.params = [[10, 1000], ["a", "b c,(%'ü"]]
bench_choose.param_names = ["n", "k"]


def bench_flat(x):
    return x


bench_flat.params = ["baseline", "variant"]


def other(x=1):
    return helper.VALUE


def _private():
    return 1


def make_sum():
    raise RuntimeError("a helper")
`

func newPython(t *testing.T) *work {
	t.Helper()
	w := newWork(t).withPython()
	w.write("src/bench/suite.py", suite)
	w.write("src/bench/helper.py", "VALUE = 1\n")
	w.write("src/.gitignore", "__pycache__/\n")
	w.commit()
	return w
}

func TestPyperfMeasuresFunctionsAndCombinationsOfTheirParameters(t *testing.T) {
	w := newPython(t)
	w.env("OPENBLAS_NUM_THREADS=3", "MY_CI_TOKEN=hunter2", "PYTHONHASHSEED=0")
	seconds := strconv.Itoa(600000 + os.Getpid())
	got := w.run(w.order("pyperf", "bench/suite.py", `{"timeouts":{"case_s":6,"order_s":60},"environment_variables":{"HANG":"`+seconds+`"},"slot":0}`))
	outcomes := map[string]string{}
	for name, d := range got {
		if n, ok := strings.CutSuffix(name, " wall-time"); ok {
			outcomes[n] = outcome(d)
		}
	}
	want := map[string]string{
		"bench_sum": "success", "bench_fails": "error harness.error", "bench_hangs": "error timeout", "bench_needs_threads": "success", "bench_flat('baseline')": "success", "bench_flat('variant')": "success",
		`bench_choose(10, 'a')`: "success", `bench_choose(1000, 'a')`: "success", `bench_choose(10, "b c,(%'ü")`: "success", `bench_choose(1000, "b c,(%'ü")`: "success",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Fatal(diff)
	}
	if p := processes(t, seconds); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
	if p := processes(t, filepath.Join(w.dir, "src")); len(p) > 0 {
		t.Errorf("workers still run: %v", p)
	}
	d := got["bench_sum wall-time"]
	if n := len(observations(d)); n != 4 || warnings(d) != "null" {
		t.Errorf("%d observations, warnings %s", n, warnings(d))
	}
	if v := text(document.At(d, "coordinates", "environment", "system", "process.environment")); v != `{"OPENBLAS_NUM_THREADS":"3","PYTHONHASHSEED":"0"}` {
		t.Errorf("process.environment is %s", v)
	}
	protocol := `{"calibration":{"mode":"fixed","n_iterations":5},"environment":"inherit-all","gc":"enabled","repetitions":{"levels":[{"n":2,"unit":"process"},{"n":2,"unit":"value"}],"mode":"fixed"},"timer":"perf_counter","warmup":{"mode":"count","n_warmup":1}}`
	if v := text(document.At(d, "coordinates", "comparison_context", "protocol")); v != protocol {
		t.Errorf("the protocol is %s", v)
	}
	if document.At(d, "coordinates", "environment", "system", "runtime", "python_version") == nil || document.At(d, "coordinates", "comparison_context", "harness", "version") == nil {
		t.Errorf("%s", text(d))
	}
	if m := document.At(got["bench_fails wall-time"], "provenance", "info", "message"); m != "ValueError: boom" {
		t.Errorf("the message is %v", m)
	}
	if v := text(document.At(got[`bench_choose(10, 'a') wall-time`], "coordinates", "workload")); v != `{"name":"bench_choose","parameters":{"HANG":"`+seconds+`","k":"'a'","n":"10"}}` {
		t.Errorf("the workload is %s", v)
	}
	if v := text(document.At(got["bench_flat('variant') wall-time"], "coordinates", "workload", "parameters", "param1")); v != `"'variant'"` {
		t.Errorf("a parameter without a name is %s", v)
	}
	w.noSecret("hunter2")
	if s := w.git("status", "--porcelain", "--ignored"); s != "" {
		t.Errorf("measuring left in the tree: %s", s)
	}
}

func TestAFilterIsSearchedInTheTextOfACase(t *testing.T) {
	w := newPython(t)
	for filter, want := range map[string]string{
		"'baseline'":                  "bench_flat('baseline')",
		`^bench_choose\(10, 'a'\)$`:   "bench_choose(10, 'a')",
		`^bench_flat\(`:               "bench_flat('baseline'), bench_flat('variant')",
		`^(?:bench_sum|bench_fails)$`: "bench_fails, bench_sum",
		"sum":                         "bench_sum", // and no helper that is called make_sum
		"^other$":                     "other",
	} {
		cases, err := runner.Cases(t.Context(), w.filtered("pyperf", "bench/suite.py", filter, `{}`), w.opts)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		var names []string
		for _, c := range cases {
			names = append(names, c.Text())
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%s selects %s and not %s", filter, got, want)
		}
	}
	for filter, want := range map[string]string{"^_private$": "no benchmark", "^bench_imported$": "no benchmark", "^zzz$": "bench_sum", "[": "no regular expression"} {
		if got := w.refused(w.filtered("pyperf", "bench/suite.py", filter, `{}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", filter, got)
		}
	}
}

func TestPyperfRefusesWhatItCannotMeasure(t *testing.T) {
	w := newPython(t)
	w.write("src/broken.py", "import not_a_module_anywhere\n")
	w.write("src/slow.py", "import time\ntime.sleep(612345)\n")
	w.write("src/address.py", "def bench_x(o): pass\nbench_x.params = [object()]\n")
	w.write("src/twice.py", "def bench_x(o): pass\nbench_x.params = [1, 1]\n")
	w.write("src/empty.py", "def bench_x(o): pass\nbench_x.params = []\n")
	for name, c := range map[string]struct{ suite, change, want string }{
		"one number of repetitions":            {"bench/suite.py", `{"precision":{"repetitions":3}}`, "2 levels"},
		"a level of others":                    {"bench/suite.py", `{"precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"repetition","n":1}]}}}`, "process and value"},
		"a level twice":                        {"bench/suite.py", `{"precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"value","n":1},{"unit":"value","n":1}]}}}`, "twice"},
		"levels the wrong way round":           {"bench/suite.py", `{"precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"value","n":1},{"unit":"process","n":1}]}}}`, "outermost first"},
		"a warm-up by time":                    {"bench/suite.py", `{"precision":{"repetitions":{"mode":"fixed","levels":[{"unit":"value","n":1}]},"warmup":{"mode":"time","seconds":1}}}`, "count-based"},
		"a quantity of others":                 {"bench/suite.py", `{"quantities":["cpu-time"]}`, "cpu-time"},
		"a module that there is not":           {"none.py", `{}`, "there is no module"},
		"a folder":                             {"bench", `{}`, "is no file"},
		"a module that cannot be loaded":       {"broken.py", `{}`, "not_a_module_anywhere"},
		"one that never is loaded":             {"slow.py", `{"timeouts":{"case_s":1,"order_s":2}}`, "timeouts.order_s"},
		"a value that names nothing":           {"address.py", `{}`, "object at 0x"},
		"a value twice":                        {"twice.py", `{}`, "twice"},
		"no values":                            {"empty.py", `{}`, "no benchmark"},
		"a parameter and a variable":           {"bench/suite.py", `{"environment_variables":{"n":"1"}}`, "n is a parameter of bench_choose too"},
		"a suite that is inside and elsewhere": {"bench/suite.py", `{"benchmark":{"source":{"uri":"https://example.org/b","type":"git"},"revision":"1"}}`, "is part of the measured checkout"},
	} {
		t.Run(name, func(t *testing.T) {
			v := *w
			v.t = t
			if got := v.refused(v.order("pyperf", c.suite, c.change)); !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
		})
	}
	if p := processes(t, "612345"); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
}

func TestTheInterpreterIsTheOneOnTheChildsPath(t *testing.T) {
	w := newPython(t)
	bin, _ := python()
	w.write("bin/python", "#!/bin/sh\necho \"$@\" >> "+w.path("log")+"\nexec "+filepath.Join(bin, "python")+" \"$@\"\n")
	order := w.filtered("pyperf", "bench/suite.py", "^bench_sum$", `{"environment_variables":{"PATH":"`+w.path("bin")+`:/usr/bin:/bin"}}`)
	d := w.run(order)["bench_sum wall-time"]
	if b, err := os.ReadFile(w.path("log")); err != nil || !strings.Contains(string(b), "--copy-env") || !strings.Contains(string(b), "import pyperf") {
		t.Errorf("%s, %v", b, err)
	}
	if warnings(d) != "null" {
		t.Errorf("the warnings are %s", warnings(d))
	}
	if err := os.RemoveAll(w.path("out")); err != nil {
		t.Fatal(err)
	}
	w.write("bin/python", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'pyperf'\" >&2\nexit 1\n")
	if got := w.refused(order); !strings.Contains(got, "cannot import pyperf: ModuleNotFoundError: No module named 'pyperf'") {
		t.Error(got)
	}
	order["environment_variables"] = map[string]any{"PATH": w.path("src")}
	if got := w.refused(order); !strings.Contains(got, "there is no python on the PATH") {
		t.Error(got)
	}
}

func TestASuiteOutsideOfTheCheckoutHasItsOwnIdentity(t *testing.T) {
	w := newPython(t)
	w.write("elsewhere/mod.py", "def bench_one(): pass\n")
	order := w.order("pyperf", w.path("elsewhere/mod.py"), `{}`)
	d := w.run(order)["bench_one wall-time"]
	benchmark, _ := d["benchmark"].(map[string]any)
	if document.At(benchmark, "source", "uri") != "file://"+w.path("elsewhere/mod.py") || benchmark["revision"] != nil {
		t.Errorf("%s", text(benchmark))
	}
	blob := w.git("hash-object", w.path("elsewhere/mod.py"))
	if document.At(d, "provenance", "benchmark_tree") != blob || document.At(d, "provenance", "benchmark_dirty") != "dirty" || document.At(d, "provenance", "subject_dirty") != "clean" || warnings(d) != `["dirty-benchmark-tree"]` {
		t.Errorf("%s, warnings %s", text(d["provenance"]), warnings(d))
	}
	if err := os.RemoveAll(w.path("out")); err != nil {
		t.Fatal(err)
	}
	order["benchmark"] = map[string]any{"source": map[string]any{"uri": "https://example.org/b", "type": "git"}, "revision": "abc"}
	if got := w.refused(order); !strings.Contains(got, "at abc") {
		t.Error(got)
	}
}

func TestAFolderWithoutGitIsMeasuredAsFound(t *testing.T) {
	w := newPython(t)
	w.write("plain/m.py", "def bench_one(): pass\n")
	order := w.order("pyperf", "m.py", `{}`)
	target := order["target"].(map[string]any)
	target["path"], target["source"] = w.path("plain"), map[string]any{"uri": "file://" + w.path("plain"), "type": "directory"}
	one := w.run(order)["bench_one wall-time"]
	key, _ := document.At(one, "revision", "key").(string)
	if !strings.HasPrefix(key, "directory-") || document.At(one, "provenance", "subject_tree") != strings.TrimPrefix(key, "directory-") || document.At(one, "provenance", "subject_dirty") != "dirty" {
		t.Errorf("%s", text(one["provenance"]))
	}
	order["run_key"] = "r2"
	if two := w.run(order)["bench_one wall-time"]; document.At(two, "revision", "key") != key {
		t.Error("measured again it is another revision")
	}
}

func TestAsvMeasuresABenchmarkDirectory(t *testing.T) {
	w := newPython(t)
	w.write("src/benchmarks/__init__.py", "")
	w.write("src/asv.conf.json", "{\n  // of asv\n  \"version\": 1,\n  \"repo\": \"https://example.org/a//b\",\n  \"benchmark_dir\": \"benchmarks\",\n}\n")
	w.write("src/benchmarks/b.py", `
class Suite:
    params = [[10, 1000], ["a", "b"]]
    param_names = ["n", "k"]

    def setup(self, n, k):
        if n == 1000 and k == "b":
            raise NotImplementedError("not for this one")
        self.data = list(range(n))

    def time_sum(self, n, k):
        sum(self.data)


class Cached:
    def setup_cache(self):
        return {"n": 3}

    def time_cached(self, cache):
        assert cache["n"] == 3


def time_fails():
    raise ValueError("boom")


def peakmem_list():
    return [0] * 100000


def mem_list():
    return [0] * 1000


def track_unknown():
    return 42
`)
	w.commit()
	got := w.run(w.order("asv", "asv.conf.json", `{"quantities":["wall-time","peak-rss","object-size"],"environment_variables":{"OMP_NUM_THREADS":"1"}}`))
	outcomes := map[string]string{}
	for name, d := range got {
		if !strings.HasSuffix(name, " load-average") {
			outcomes[name] = outcome(d)
		}
	}
	want := map[string]string{
		"b.Suite.time_sum(10, 'a') wall-time": "success", "b.Suite.time_sum(10, 'b') wall-time": "success", "b.Suite.time_sum(1000, 'a') wall-time": "success",
		"b.Suite.time_sum(1000, 'b') wall-time": "skipped harness.not-applicable", "b.Cached.time_cached wall-time": "success", "b.time_fails wall-time": "error harness.error",
		"b.peakmem_list peak-rss": "success", "b.mem_list object-size": "success",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Fatal(diff)
	}
	d := got["b.Suite.time_sum(10, 'a') wall-time"]
	if n := len(observations(d)); n != 4 || warnings(d) != "null" {
		t.Errorf("%d observations, warnings %s", n, warnings(d))
	}
	if v := text(document.At(d, "coordinates", "workload", "parameters")); v != `{"OMP_NUM_THREADS":"1","k":"'a'","n":"10"}` {
		t.Errorf("the parameters are %s", v)
	}
	if v := document.At(d, "procedure", "inner_iterations"); v != 5.0 && v != 1.0 {
		t.Errorf("inner_iterations is %v", v)
	}
	if v := text(document.At(d, "coordinates", "environment", "system", "process.environment")); v != `{"OMP_NUM_THREADS":"1"}` {
		t.Errorf("process.environment is %s", v)
	}
	if m := document.At(got["b.time_fails wall-time"], "provenance", "info", "message"); m != "ValueError: boom" {
		t.Errorf("the message is %v", m)
	}
	if v, _ := observations(got["b.peakmem_list peak-rss"])[0].(map[string]any)["value"].(float64); v < 1e6 {
		t.Errorf("the peak is %v bytes", v)
	}
	if s := w.git("status", "--porcelain", "--ignored"); s != "" {
		t.Errorf("measuring left in the tree: %s", s)
	}
	if err := os.RemoveAll(w.path("out")); err != nil {
		t.Fatal(err)
	}
	if got := w.refused(w.filtered("asv", "benchmarks", "^zzz$", `{}`)); !strings.Contains(got, "b.Suite.time_sum(10, 'a')") {
		t.Errorf("%s", got)
	}
	for suite, want := range map[string]string{"none": "there is no", ".gitignore": "no configuration of asv"} {
		if got := w.refused(w.order("asv", suite, `{}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", suite, got)
		}
	}
}
