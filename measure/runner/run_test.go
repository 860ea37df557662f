package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
)

var (
	folder string // of what is built and installed once; removed by TestMain
	shared *broker.Broker
)

func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	var err error
	if folder, err = os.MkdirTemp("", "flameox-runner-test-"); err != nil {
		panic(err)
	}
	shared = broker.New(broker.Options{Store: "test"})
	code := m.Run()
	if err := shared.Close(); err != nil {
		code = 1
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

// build compiles the suite with the Google Benchmark of the machine, once for all tests.
var build = sync.OnceValues(func() (string, string) {
	if exec.Command("sh", "-c", "echo '#include <benchmark/benchmark.h>' | c++ -x c++ -fsyntax-only -").Run() != nil {
		return "", "there is no C++ compiler with the headers of Google Benchmark (Debian: g++, libbenchmark-dev)"
	}
	program := filepath.Join(folder, "bench")
	if out, err := exec.Command("c++", "-O1", "-o", program, "testdata/bench.cc", "-lbenchmark", "-lpthread").CombinedOutput(); err != nil {
		return "", "the suite cannot be built: " + string(out)
	}
	return program, ""
})

// python installs pyperf and asv of PyPI, once for all tests, and returns the folder of an interpreter that has them.
var python = sync.OnceValues(func() (string, string) {
	dir := filepath.Join(folder, "venv")
	for _, argv := range [][]string{
		{"python3", "-m", "venv", dir},
		{filepath.Join(dir, "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "30", "pyperf>=2.8,<3", "asv>=0.6,<1"},
	} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", "pyperf and asv cannot be installed: " + err.Error() + ": " + string(out)
		}
	}
	return filepath.Join(dir, "bin"), ""
})

// work is a folder for one test: a checkout, a build directory, a place for results.
type work struct {
	t    *testing.T
	dir  string
	opts runner.Options
}

func newWork(t *testing.T) *work {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &work{t: t, dir: dir, opts: runner.Options{Broker: shared, Version: "1.2.3"}}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "OMP_") && !strings.HasPrefix(e, "BENCHX_") {
			w.opts.Environ = append(w.opts.Environ, e)
		}
	}
	w.write("src/README", "x")
	w.git("init", "-q", "-b", "trunk")
	w.commit()
	w.write("build/.keep", "")
	return w
}

func (w *work) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = w.path("src")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *work) commit() { w.t.Helper(); w.git("add", "-A"); w.git("commit", "-q", "-m", "x") }

func (w *work) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *work) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o777); err != nil {
		w.t.Fatal(err)
	}
}

// withGoogleBenchmark has the compiled suite in its build directory.
func (w *work) withGoogleBenchmark() *work {
	w.t.Helper()
	program, why := build()
	if why != "" {
		w.t.Skip(why)
	}
	if err := os.Link(program, w.path("build/bench")); err != nil {
		w.t.Fatal(err)
	}
	return w
}

// withPython puts the interpreter with the harnesses first on PATH.
func (w *work) withPython() *work {
	w.t.Helper()
	bin, why := python()
	if why != "" {
		w.t.Skip(why)
	}
	w.env("PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"))
	return w
}

func (w *work) env(entries ...string) { w.opts.Environ = append(w.opts.Environ, entries...) }

// order is one for the adapter; change has members that replace those of the smallest one, null removes.
func (w *work) order(adapter, suite, change string) map[string]any {
	w.t.Helper()
	target, precision := `{"kind":"working_tree","path":"`+w.path("src")+`","source":{"uri":"https://example.org/demo.git","type":"git"}}`, `{"repetitions":{"mode":"fixed","levels":[{"unit":"process","n":2},{"unit":"value","n":2}]},"calibration":{"mode":"fixed","n_iterations":5}}`
	if adapter == "google-benchmark" {
		target = `{"kind":"build","path":"` + w.path("build") + `","source_dir":"` + w.path("src") + `","source":{"uri":"https://example.org/demo.git","type":"git"}}`
		precision = `{"repetitions":2,"calibration":{"mode":"adaptive","minimum_sample_seconds":0.001}}`
	}
	o := w.object(`{"schema_version":"benchx/work-order/0.1.0","work_order_id":"urn:uuid:6f1c2b7e-3d4a-4e8b-9a51-0c2d7e9f4b13","state":"resolved",
		"suites":[{"adapter":"` + adapter + `","suite":"` + suite + `"}],"target":` + target + `,"quantities":["wall-time"],"precision":` + precision + `,"timeouts":{"case_s":60,"order_s":60},
		"run_key":"r1","requester":{"kind":"workbench","name":"bx"},"plan":[{"id":"p0","case":"*","quantity":"wall-time"}]}`)
	for name, v := range w.object(change) {
		if o[name] = v; v == nil {
			delete(o, name)
		}
	}
	return o
}

// filtered is an order of which only some cases run.
func (w *work) filtered(adapter, suite, filter, change string) map[string]any {
	o := w.order(adapter, suite, change)
	o["suites"].([]any)[0].(map[string]any)["filter"] = filter
	return o
}

func (w *work) object(text string) map[string]any {
	w.t.Helper()
	m, err := ijson.Object([]byte(text))
	if err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return m
}

// run runs an order and returns its results by text of the case and quantity. Every file must be what ingest accepts, and every artifact what the result says.
func (w *work) run(order map[string]any) map[string]map[string]any {
	w.t.Helper()
	ran, err := runner.Run(context.Background(), order, w.path("out"), w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.read(ran)
}

func (w *work) read(ran *runner.Ran) map[string]map[string]any {
	w.t.Helper()
	out := map[string]map[string]any{}
	for i, f := range ran.Files {
		text, err := os.ReadFile(f)
		if err != nil {
			w.t.Fatal(err)
		}
		d, rejections := document.ReadResult(text)
		if len(rejections) > 0 {
			w.t.Fatalf("%s: %v", f, rejections)
		}
		canonical, err := ijson.Canonical(d)
		if err != nil || string(canonical) != string(text) {
			w.t.Errorf("%s is not in canonical form (%v)", f, err)
		}
		if same, err := ijson.Canonical(ran.Results[i]); err != nil || string(same) != string(text) {
			w.t.Errorf("the document returned for %s is another one", f)
		}
		w.artifacts(filepath.Dir(f), d)
		id, _ := document.At(d, "provenance", "native_id").(string)
		q, _ := document.At(d, "coordinates", "quantity", "name").(string)
		if out[id+" "+q] != nil {
			w.t.Errorf("two results of %s %s", id, q)
		}
		out[id+" "+q] = d
	}
	return out
}

func (w *work) artifacts(dir string, d map[string]any) {
	w.t.Helper()
	kinds := map[string]bool{}
	list, _ := document.At(d, "provenance", "artifacts").([]any)
	for _, a := range list {
		m := a.(map[string]any)
		kinds[m["kind"].(string)] = true
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(m["uri"].(string))))
		if err != nil {
			w.t.Fatal(err)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != m["sha256"] {
			w.t.Errorf("%v has another digest", m)
		}
	}
	for _, k := range []string{"work-order", "stdout", "stderr"} {
		if !kinds[k] {
			w.t.Errorf("no artifact %s in %v", k, kinds)
		}
	}
}

// refused is the text of a refusal. Nothing may be left, not even the folder.
func (w *work) refused(order map[string]any) string {
	w.t.Helper()
	ran, err := runner.Run(context.Background(), order, w.path("out"), w.opts)
	var refusal *runner.Refusal
	if !errors.As(err, &refusal) || ran != nil {
		w.t.Errorf("not refused: %v", err)
		return ""
	}
	if _, err := os.Stat(w.path("out")); !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("a refusal left %s (%v)", w.path("out"), err)
	}
	return err.Error()
}

// outcome is "status reason".
func outcome(d map[string]any) string {
	status, _ := document.At(d, "measurement", "status").(string)
	reason, _ := document.At(d, "measurement", "reason").(string)
	return strings.TrimSpace(status + " " + reason)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func observations(d map[string]any) []any {
	list, _ := document.At(d, "measurement", "observations").([]any)
	return list
}

func warnings(d map[string]any) string { return text(document.At(d, "quality", "warnings")) }
