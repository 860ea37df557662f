package runner_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
)

func TestEveryCaseEndsAsOneResultForEachQuantityWhateverBecomesOfIt(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	seconds := strconv.Itoa(700000 + os.Getpid()) // of a sleep that can be told from all others
	order := w.order("google-benchmark", "bench", `{"quantities":["wall-time","cpu-time"],"timeouts":{"case_s":2,"order_s":60},"slot":3,"round":1,"environment_variables":{"HANG":"`+seconds+`"},"labels":{"build":"plain"},"project":"demo","reason":"a test"}`)
	began := time.Now()
	got := w.run(order)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	outcomes := map[string]string{}
	for name, d := range got {
		outcomes[name] = outcome(d)
	}
	want := map[string]string{}
	for name, o := range map[string]string{
		"Sum/100": "success", "Sum/1000": "success", "with space (x+y)/16": "success", "Fails": "error harness.error", "Aborts": "error harness.error", "Hangs": "error timeout", "Environment": "success",
	} {
		want[name+" wall-time"], want[name+" cpu-time"] = o, o
		if _, ok := got[name+" load-average"]; ok {
			want[name+" load-average"] = "success"
		}
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Fatal(diff)
	}
	if p := processes(t, seconds); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
	for name, message := range map[string]string{"Fails": "no device", "Aborts": "it was ended by SIGABRT: out of paper", "Hangs": "it was stopped when its time was up"} {
		if m := document.At(got[name+" wall-time"], "provenance", "info", "message"); m != message {
			t.Errorf("%s: %v", name, m)
		}
	}
	if s := document.At(got["Hangs wall-time"], "procedure", "timeout_seconds"); s != 2.0 {
		t.Errorf("timeout_seconds is %v", s)
	}
	sum := got["Sum/100 wall-time"]
	for path, value := range map[string]any{
		"procedure/attempted_repetitions": 2.0, "procedure/completed_repetitions": 2.0, "procedure/slot": 3.0, "procedure/round": 1.0, "provenance/labels/build": "plain", "project": "demo",
		"provenance/info/reason": "a test", "provenance/subject_dirty": "clean", "provenance/subject_tree": w.git("rev-parse", "HEAD^{tree}"), "revision/key": w.git("rev-parse", "HEAD"),
		"source/uri": "https://example.org/demo.git", "coordinates/subject/name": "demo", "coordinates/environment/schema": "machine/v1", "provenance/original_unit": "ns", "producer/version": "1.2.3",
		"coordinates/comparison_context/protocol/warmup/mode": "none", "coordinates/environment/system/google_benchmark/size": 100.0, "provenance/info/fact_sources/~1coordinates~1environment~1system~1kernel": "detected",
	} {
		parts := strings.Split(path, "/")
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], "~1", "/")
		}
		if got := document.At(sum, parts...); got != value {
			t.Errorf("%s is %v and not %v", path, got, value)
		}
	}
	if document.At(sum, "coordinates", "environment", "system", "google_benchmark", "rate") != nil {
		t.Error("a rate is a matched fact")
	}
	if name := document.At(got["with space (x+y)/16 wall-time"], "coordinates", "workload", "name"); name != "with%20space%20(x+y)/16" {
		t.Errorf("the workload is %v", name)
	}
}

// processes are those that have an argument, by number.
func processes(t *testing.T, argument string) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), argument) {
			out = append(out, f)
		}
	}
	return out
}

func TestTheChildAloneHasTheOrdersVariablesAndTheResultRecordsThem(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	w.env("MY_CI_TOKEN=hunter2")
	d := w.run(w.filtered("google-benchmark", "bench", "^Environment$", `{"environment_variables":{"OMP_NUM_THREADS":"7"}}`))["Environment wall-time"]
	if n := document.At(d, "coordinates", "environment", "system", "google_benchmark", "threads_seen"); n != 7.0 {
		t.Errorf("the program saw %v", n)
	}
	if os.Getenv("OMP_NUM_THREADS") == "7" {
		t.Error("the runner's own environment changed")
	}
	if v := text(document.At(d, "coordinates", "environment", "system", "process.environment")); v != `{"OMP_NUM_THREADS":"7"}` {
		t.Errorf("process.environment is %s", v)
	}
	if v := text(document.At(d, "coordinates", "workload", "parameters")); v != `{"OMP_NUM_THREADS":"7"}` {
		t.Errorf("the parameters are %s", v)
	}
	w.noSecret("hunter2")
	// Nothing set: the key is left out.
	w.opts.Environ = append(w.opts.Environ, "LD_LIBRARY_PATH_X=1")
	d = w.run(w.filtered("google-benchmark", "bench", "^Environment$", `{"run_key":"r2"}`))["Environment wall-time"]
	if system, _ := document.At(d, "coordinates", "environment", "system").(map[string]any); len(system) == 0 || system["process.environment"] != nil && os.Getenv("LD_LIBRARY_PATH") == "" {
		t.Errorf("system is %v", system)
	}
}

func (w *work) noSecret(secret string) {
	w.t.Helper()
	err := filepath.Walk(w.path("out"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), secret) {
			w.t.Errorf("%s holds a secret of the environment", path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestTheLoadIsASiblingThatNobodyCompares(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	w.opts.Load = func() (float64, string, bool) { return 1.25, "proc-loadavg", true }
	got := w.run(w.filtered("google-benchmark", "bench", "^Environment$", `{"slot":4}`))
	load, time := got["Environment load-average"], got["Environment wall-time"]
	if load["attempt_key"] != time["attempt_key"] || document.At(load, "measurement", "kind") != "condition" || text(observations(load)) != "[1.25]" {
		t.Errorf("%s", text(load))
	}
	if v := text(document.At(load, "coordinates", "comparison_context", "protocol")); v != `{"probe":{"name":"proc-loadavg"}}` {
		t.Errorf("the protocol is %s", v)
	}
	if key, _ := load["ingest_key"].(string); key != "r1:Environment:load-average:slot-4" {
		t.Errorf("the key is %s", key)
	}
	// What must agree within an attempt agrees.
	for _, path := range [][]string{{"source"}, {"revision"}, {"benchmark"}, {"coordinates", "workload"}, {"coordinates", "subject"}, {"coordinates", "environment", "identity"}, {"provenance", "subject_tree"}} {
		if diff := cmp.Diff(document.At(load, path...), document.At(time, path...)); diff != "" {
			t.Errorf("%v: %s", path, diff)
		}
	}
}

func TestTheSameOrderAgainHasTheSameKeysAndLosesNothing(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	order := w.filtered("google-benchmark", "bench", "^Sum/100$", `{}`)
	first, err := runner.Run(context.Background(), order, w.path("out"), w.opts)
	if err != nil {
		t.Fatal(err)
	}
	one := w.read(first)["Sum/100 wall-time"]
	second, err := runner.Run(context.Background(), order, w.path("out"), w.opts)
	if err != nil {
		t.Fatal(err)
	}
	two := w.read(second)["Sum/100 wall-time"]
	if one["ingest_key"] != two["ingest_key"] || one["attempt_key"] != two["attempt_key"] || first.OrderHash != second.OrderHash {
		t.Errorf("%v and %v", one["ingest_key"], two["ingest_key"])
	}
	if first.Files[0] == second.Files[0] {
		t.Error("the second run replaced the first one's file")
	}
	w.read(first) // with its artifacts as they were
}

func TestAnInterruptedOrderKeepsWhatIsDoneAndEndsWhatRuns(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	seconds := strconv.Itoa(800000 + os.Getpid())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w.opts.Progress = func(d runner.Done) {
		if d.Case.Name == "Aborts" { // the next one hangs
			time.AfterFunc(200*time.Millisecond, cancel)
		}
	}
	ran, err := runner.Run(ctx, w.order("google-benchmark", "bench", `{"environment_variables":{"HANG":"`+seconds+`"}}`), w.path("out"), w.opts)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	got := w.read(ran)
	if got["Aborts wall-time"] == nil || got["Hangs wall-time"] != nil {
		t.Errorf("%v", ran.Files)
	}
	if p := processes(t, seconds); len(p) > 0 {
		t.Errorf("still running: %v", p)
	}
	entries, err := os.ReadDir(w.path("out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".tmp") {
			t.Errorf("left: %s", e.Name())
		}
	}
}

func TestABuildThatIsOlderThanItsSourcesAndAChangedCheckoutAreSaid(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	w.write("src/lib.cc", "int x;")
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(w.path("src/lib.cc"), future, future); err != nil {
		t.Fatal(err)
	}
	d := w.run(w.filtered("google-benchmark", "bench", "^Environment$", `{}`))["Environment wall-time"]
	if got := warnings(d); !strings.Contains(got, `"stale-build"`) || !strings.Contains(got, `"dirty-subject-tree"`) || !strings.Contains(got, `"dirty-benchmark-tree"`) {
		t.Errorf("the warnings are %s", got)
	}
	if v := document.At(d, "provenance", "info", "stale_build", "newer_source"); v != "lib.cc" {
		t.Errorf("newer is %v", v)
	}
}

func TestTheCheckoutIsTheOneThatTheBuildWasConfiguredFrom(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	w.write("build/CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL="+w.path("src")+"\nCMAKE_BUILD_TYPE:STRING=Release\nCMAKE_PROJECT_NAME:STATIC=demo\nDEMO_HARDENED:BOOL=ON\n")
	order := w.filtered("google-benchmark", "bench", "^Environment$", `{}`)
	delete(order["target"].(map[string]any), "source_dir")
	d := w.run(order)["Environment wall-time"]
	if v := document.At(d, "revision", "key"); v != w.git("rev-parse", "HEAD") {
		t.Errorf("the revision is %v", v)
	}
	if v := text(document.At(d, "coordinates", "subject", "configuration")); v != `{"build_type":"Release","options":{"DEMO_HARDENED":"ON"}}` {
		t.Errorf("the configuration is %s", v)
	}
}

func TestDeclaredTextIsRecordedAndNeverRun(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	order := w.filtered("google-benchmark", "bench", "^Environment$", `{}`)
	target := order["target"].(map[string]any)
	target["how_built"], target["activation"], target["shell"] = "touch "+w.path("X"), "touch "+w.path("X"), "  "
	target["provider"] = map[string]any{"name": "p", "version": "1"}
	d := w.run(order)["Environment wall-time"]
	if _, err := os.Stat(w.path("X")); err == nil {
		t.Error("it was run")
	}
	info, _ := document.At(d, "provenance", "info").(map[string]any)
	if info["how_built"] != "touch "+w.path("X") || info["shell"] != nil || text(info["target_provider"]) != `{"name":"p","version":"1"}` {
		t.Errorf("%s", text(info))
	}
}

func TestResultsInARelativeFolderLandWhereTheCallerIs(t *testing.T) {
	w := newWork(t).withGoogleBenchmark()
	t.Chdir(w.dir)
	ran, err := runner.Run(context.Background(), w.filtered("google-benchmark", "bench", "^Environment$", `{}`), "out", w.opts)
	if err != nil {
		t.Fatal(err)
	}
	w.read(ran)
	if filepath.Dir(ran.Files[0]) != w.path("out") {
		t.Errorf("they are in %s", ran.Files[0])
	}
}

// library installs the newest library of PyPI, whose programs are Python scripts with the same options as those in C++, and returns the interpreter that has it.
var library = sync.OnceValues(func() (string, string) {
	bin, why := python()
	if why != "" {
		return "", why
	}
	program := filepath.Join(bin, "python")
	if out, err := exec.Command(program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "30", "google-benchmark>=1.9.4,<2").CombinedOutput(); err != nil {
		return "", "google-benchmark cannot be installed: " + err.Error() + ": " + string(out)
	}
	return program, ""
})

func TestANewLibraryRunsAFixedNumberOfIterations(t *testing.T) {
	python, why := library()
	if why != "" {
		t.Skip(why)
	}
	w := newWork(t)
	w.write("build/bench", "#!"+python+`
import google_benchmark as benchmark

@benchmark.register
def works(state):
    while state:
        sum(range(10))

@benchmark.register
def fails(state):
    state.skip_with_error("no device")
    while state:
        pass

benchmark.main()
`)
	got := w.run(w.order("google-benchmark", "bench", `{"precision":{"repetitions":3,"calibration":{"mode":"fixed","n_iterations":17},"warmup":{"mode":"time","seconds":0.01}}}`))
	d := got["works wall-time"]
	version, _ := document.At(d, "coordinates", "comparison_context", "harness", "version").(string)
	if outcome(d) != "success" || len(observations(d)) != 3 || document.At(d, "procedure", "inner_iterations") != 17.0 || !strings.HasPrefix(version, "1.") {
		t.Errorf("%s", text(d))
	}
	if v := text(document.At(d, "coordinates", "comparison_context", "protocol", "calibration")); v != `{"mode":"fixed","n_iterations":17}` {
		t.Errorf("the calibration is %s", v)
	}
	if f := got["fails wall-time"]; outcome(f) != "error harness.error" || document.At(f, "provenance", "info", "message") != "no device" {
		t.Errorf("%s", text(f))
	}
}
