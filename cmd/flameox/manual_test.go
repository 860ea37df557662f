package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flameox/flameox/cmd/flameox/internal/manual"
)

// programEnv puts a flameox on the PATH that is this test binary, and gives the environment in which shells find it. Each call has a machine
// of its own, so that tests do not wait for each other's measurements.
func programEnv(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asMain, self)
	if err := os.WriteFile(filepath.Join(dir, "flameox"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	gitconfig := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(gitconfig, []byte("[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FLAMEOX_MEASURE_LOCK="+filepath.Join(home, "measure.lock"),
		"GIT_CONFIG_GLOBAL="+gitconfig, "NO_COLOR=1", "LANG=C.UTF-8", "PAGER=cat", "SHELL=/bin/sh")
}

// bash runs a script in dir and gives what it printed and its exit code. Any failing part of a pipe fails it.
func bash(t *testing.T, dir string, env []string, script string) (string, int) {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not here, which runs what people type: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v %v\n%s", script, err, ctx.Err(), out)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is bash with exit code 0.
func must(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	out, code := bash(t, dir, env, script)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", script, code, out)
	}
	return out
}

// quickstart is a copy of examples/quickstart in a repository of its own.
func quickstart(t *testing.T, env []string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "quickstart")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "quickstart"))); err != nil {
		t.Fatal(err)
	}
	must(t, dir, env, "rm -rf .flameox && git init -q . && git add . && git commit -qm one")
	return dir
}

// pythonLock is a lock that stands, so that nothing has to be fetched.
const pythonLock = `cat > python.flameox.hcl <<'EOT'
environment "python" "bench" { requirements = "bench.lock.txt" }
EOT
echo 'six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274' > bench.lock.txt`

// profiled makes profiles that have samples: the test's own are too short for one.
const profiled = `sed -i 's/"20ms"/"1s"/' flameox.hcl && flameox apply -target 'extract.pprof.sort:impl=merge,n=100000' -target 'extract.pprof.sort:impl=quick,n=100000'`

// traced is a trace of three slices in the experiment.
const traced = `printf '{"traceEvents":[{"ph":"X","name":"main","ts":0,"dur":90000,"pid":1,"tid":1},{"ph":"X","name":"load","ts":5000,"dur":20000,"pid":1,"tid":1},{"ph":"X","name":"run","ts":40000,"dur":30000,"pid":1,"tid":1}]}' > startup.json &&
flameox import startup.json -name startup -write && flameox apply -target import.chrometrace.startup -target extract.chrometrace.startup`

// benchmarks are two commits of a module whose benchmarks take a moment, each in a worktree, and a run of two variants.
const benchmarks = `rm flameox.hcl && cat > bench_sums.py <<'EOT'
def bench_sum(kind):
    sum([1, 2, 3] if kind == "list" else (1, 2, 3))
bench_sum.params, bench_sum.param_names = ["list", "tuple"], ["kind"]
EOT
cat > benchx.conf.json <<'EOT'
{"schema_version": "benchx/config/0.1.0", "adapter": {"name": "pyperf", "precision": {"calibration": {"mode": "fixed", "n_iterations": 10}, "warmup": {"mode": "none"},
 "repetitions": {"mode": "fixed", "levels": [{"unit": "process", "n": 1}, {"unit": "value", "n": 1}]}}}}
EOT
git add -A && git commit -qm old && git worktree add -q old -b old && echo >> bench_sums.py && git commit -qam new && git worktree add -q new -b new &&
flameox compare . -profile variants -suite bench_sums.py -rounds 3 -run-key nightly`

// measured are results of one benchmark at two revisions and under three kernels: their series begin with 3021551f and 9bb8, and the third is not stored yet.
const measured = `result() { # KERNEL REVISION VALUE
cat <<EOR
{"schema_version":5,"producer":{"name":"benchx/gbench-adapter","version":"1","mapping_version":"1"},"ingest_key":"nightly:BM_Sum:wall-time-$1-$2","attempt_key":"attempt-$1-$2","project":"demo",
"source":{"uri":"https://example.org/demo","type":"git"},"revision":{"key":"$2"},
"benchmark":{"source":{"uri":"https://example.org/demo","type":"git"},"revision":{"key":"$2"}},
"coordinates":{"workload":{"name":"BM_Sum","parameters":{"size":"1000"}},"subject":{"name":"demo","components":[{"role":"primary"}],"configuration":{"build_type":"Release"}},
"quantity":{"name":"wall-time","unit":"s","direction":"lower-is-better"},
"comparison_context":{"harness":{"name":"google-benchmark"},"protocol":{"calibration":{"mode":"adaptive","minimum_sample_seconds":0.5},"repetitions":{"mode":"fixed","levels":[{"unit":"repetition","n":5}]},"warmup":{"mode":"none"}}},
"environment":{"schema":"machine/v1","identity":{"runner":"host","cpu":"X","cores":2},"system":{"os":"Linux","kernel":"$1"}}},
"measurement":{"status":"success","observations":[$3]},
"provenance":{"run_key":"nightly","started_at":"2026-01-02T03:04:05Z","subject_dirty":"unknown","benchmark_dirty":"unknown"}}
EOR
}
d=results/bench-20260102T030405Z
mkdir -p $d && result 6.8 1f0c9a2 1.5 > $d/a.json && result 6.8 2b7e151 1.6 > $d/b.json && result 6.9 1f0c9a2 1.4 > $d/c.json && result 6.10 3c6ef37 1.4 > result.json`

// stored is measured, and ingested.
const stored = measured + " && flameox ingest results/bench-20260102T030405Z result.json"

// pyperf are the commands whose examples run benchmarks of Python.
var pyperf = []string{"flameox bench", "flameox compare", "flameox run"}

// withPyperf puts an interpreter that has pyperf first on the PATH.
func withPyperf(t *testing.T, env []string) []string {
	t.Helper()
	for _, need := range []string{"pip", "pypi"} {
		if ok, err := condition(need); err != nil || !ok {
			t.Skipf("pyperf cannot be installed: no %s (%v)", need, err)
		}
	}
	venv := filepath.Join(t.TempDir(), "venv")
	must(t, ".", env, "python3 -m venv --without-pip '"+venv+"' && python3 -m pip --python '"+venv+"/bin/python' install --quiet --disable-pip-version-check pyperf==2.9.0")
	path, _ := bash(t, ".", env, `printf %s "$PATH"`)
	return append(slices.Clone(env), "PATH="+venv+"/bin:"+path)
}

// before is what an example of a command needs that the quickstart does not have after one apply.
var before = map[string]string{
	"flameox hotspots":      profiled,
	"flameox callers":       profiled,
	"flameox callees":       profiled,
	"flameox stacks":        profiled,
	"flameox export":        profiled,
	"flameox flamegraph":    profiled,
	"flameox trace":         traced,
	"flameox trace window":  traced,
	"flameox plan":          `echo 'host "bench-7" { class = { os = "linux" } }' > hosts.flameox.hcl`,
	"flameox init":          "rm flameox.hcl",
	"flameox import":        `printf 'BenchmarkX-2\t100\t12 ns/op\n' > old.txt`,
	"flameox bundle import": "flameox bundle export evidence.flameox -all",
	"flameox unpin":         "flameox pin 'capture.gobench.*'",
	"flameox lock":          pythonLock,

	"flameox ingest":          measured,
	"flameox series":          stored,
	"flameox series diff":     stored,
	"flameox history":         stored,
	"flameox head":            stored,
	"flameox run":             benchmarks + " && flameox bench bench_sums.py -run-key once -no-ingest && cp results/once/orders/order.json .",
	"flameox bench":           benchmarks,
	"flameox compare":         benchmarks,
	"flameox config":          "rm flameox.hcl",
	"flameox config init":     "rm flameox.hcl",
	"flameox target":          "mkdir build",
	"flameox target describe": "mkdir build",
	"flameox target prepare":  "mkdir build",
}

func TestEveryCommandHasExamplesAndTheyWork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures the quickstart")
	}
	pages := manual.Pages(newApp())
	env := programEnv(t)
	applied := quickstart(t, env)
	must(t, applied, env, "sed -i 's/\"50ms\"/\"1ms\"/; s/\"200ms\"/\"20ms\"/' flameox.hcl && flameox apply")
	used := map[string]bool{}
	for _, p := range pages {
		if !slices.ContainsFunc(p.Examples, func(e manual.Example) bool { return strings.Contains(e.Line, p.Name()) }) {
			t.Errorf("%s has no examples of itself: its Description ends with \"Examples:\" and commands", p.Name())
			continue
		}
		t.Run(strings.Join(p.Path[1:], "_"), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "quickstart")
			// Blobs are read-only, and a test's folder has to be removed again.
			must(t, ".", env, "cp -R '"+applied+"' '"+dir+"'")
			t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", dir).Run() })
			env := env
			if slices.Contains(pyperf, p.Name()) {
				env = withPyperf(t, env)
			}
			if script := before[p.Name()]; script != "" {
				must(t, dir, env, script)
				used[p.Name()] = true
			}
			for _, e := range p.Examples {
				if out, code := bash(t, dir, env, "{ "+e.Line+"\n} </dev/null"); code != e.Exit {
					t.Errorf("%s: exit code %d, want %d\n%s", e.Line, code, e.Exit, out)
				}
			}
		})
	}
	for name, script := range before {
		if script != "" && !used[name] && !t.Failed() {
			t.Errorf("%q has no such page any more", name)
		}
	}
}

func TestHelpFitsInto80ColumnsAndIsTheSameHoweverItIsAsked(t *testing.T) {
	pages := manual.Pages(newApp())
	env := programEnv(t)
	dir := t.TempDir()
	for _, p := range pages {
		want := manual.Help(p, pages[0])
		for line := range strings.SplitSeq(want, "\n") {
			isExample := slices.ContainsFunc(p.Examples, func(e manual.Example) bool { return strings.TrimSpace(line) == e.Line })
			if n := utf8.RuneCountInString(line); n > 80 && !isExample || n > 110 {
				t.Errorf("%s: %d columns: %s", p.Name(), n, line)
			}
		}
		name := strings.Join(p.Path[1:], " ")
		for _, line := range []string{"flameox help " + name, "flameox " + name + " -help", "flameox " + name + " -h", "flameox " + name + " --help"} {
			if got, code := bash(t, dir, env, line); code != 0 || got != want {
				t.Errorf("%s: exit code %d, and\n%s\nwant\n%s", line, code, got, want)
			}
		}
	}
	for line, want := range map[string]string{
		"flameox paln": "did you mean plan?", "flameox help paln": "did you mean plan?", "flameox paln -h": "did you mean plan?",
		"flameox bundle exprot": "did you mean export?", "flameox man bundle exprot": "did you mean bundle export?",
		"flameox completion tcsh": "bash, zsh and fish",
	} {
		if out, code := bash(t, dir, env, line); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, want 1 and %q\n%s", line, code, want, out)
		}
	}
}

// Manual pages hold every flag of every command, and the programs that read them have nothing to object to.
func TestManualPagesAreWholeAndRead(t *testing.T) {
	pages := manual.Pages(newApp())
	all := manual.RoffAll(pages, "1.0", "2026-01-02")
	checkRoff(t, "all", all)
	for _, p := range pages {
		one := manual.Roff(p, "1.0", "2026-01-02")
		checkRoff(t, p.Name(), one)
		for _, o := range p.Options {
			for where, text := range map[string]string{"its page": one, "the page of the program": all} {
				if want := `\fB\-` + strings.ReplaceAll(o.Names[0], "-", `\-`) + `\fR`; !strings.Contains(text, want) && o.Names[0] != "help" {
					t.Errorf("%s: -%s is not in %s", p.Name(), o.Names[0], where)
				}
			}
		}
	}
	for _, program := range []string{"mandoc", "groff"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not here and has not read the pages", program)
		}
	}
}

func checkRoff(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "page.1")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"mandoc", "-Tlint", "-W", "warning", path}, {"groff", "-man", "-Tutf8", "-ww", "-z", path}} {
		if _, err := exec.LookPath(line[0]); err != nil {
			continue
		}
		if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %s: %v\n%s", name, line[0], err, out)
		}
	}
}
