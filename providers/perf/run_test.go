package perf_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/perfscript"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/perf"
	"github.com/flameox/flameox/providers/providertest"
)

// Real runs of the perf that is on this machine.

func needPerf(t testing.TB) {
	t.Helper()
	path, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("there is no perf on PATH (Debian: linux-perf)")
	}
	probe, version := p.Probe([]string{path})
	cmd := exec.CommandContext(t.Context(), probe[0], probe[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &stdout, &stderr
	_ = cmd.Run() // what it printed says how it went
	if _, err := version(stdout.Bytes(), stderr.Bytes()); err != nil {
		t.Skip(err)
	}
}

const source = `
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
volatile long sink;
static inline __attribute__((always_inline)) void inside(void) { for (int i = 0; i < 200000; i++) sink += i; }
__attribute__((noinline)) void spin(double seconds) {
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	do { inside(); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b); }
	while ((b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
}
__attribute__((noinline)) void deep(int n) { if (n > 0) deep(n - 1); else spin(0.4); sink++; }
static void *thread(void *arg) { prctl(PR_SET_NAME, "io: 7 2.0: x", 0, 0, 0); spin(0.4); return 0; }
int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 1 && !strcmp(argv[1], "threads")) { pthread_create(&t, 0, thread, 0); pthread_join(t, 0); }
	deep(4);
	sink++;
	if (argc > 1 && !strcmp(argv[1], "kill")) kill(getpid(), SIGKILL);
	return argc > 1 && !strcmp(argv[1], "fail") ? 3 : 0;
}
`

// compile builds the source and returns its folder.
func compile(t testing.TB) string {
	t.Helper()
	needPerf(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no cc on PATH")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", "w", "w.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func extraction(inlined bool) *perf.ExtractOptions {
	o := lang.Defaults(p.ExtractOptions()).(*perf.ExtractOptions)
	o.Inlined = inlined
	return o
}

// record runs the program and hands on its recording.
func record(t testing.TB, dir string, o *perf.Options, args ...string) (providers.Input, string) {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: append([]string{"./w"}, args...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	path := filepath.Join(ran.Out, "perf.data")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, ran.Stderr)
	}
	in := recording(t, data)
	in.Exit, in.Paths = ran.Exit, providers.Paths{Root: dir, Dir: dir}
	return in, path
}

func recording(t testing.TB, data []byte) providers.Input {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	return providers.Input{Artifacts: []providers.Artifact{{Name: "perf.data", Role: perf.Role, MediaType: perf.MediaType, Size: int64(len(data)), Path: path}}}
}

func printed(t testing.TB, in providers.Input, o any) providers.Input {
	t.Helper()
	in.Reading = providertest.Print(t, p, "perf", o, in.Artifacts[0], t.TempDir())
	return in
}

// report is what perf report sums up for an event, which is what the periods of its samples are together.
func report(t *testing.T, path string) (total string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "perf", "report", "-f", "-i", path, "--stdio", "--no-children", "-g", "none").Output()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`Event count \(approx\.\): (\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("perf report says no count: %s", out)
	}
	return string(m[1])
}

func TestRealRuns(t *testing.T) {
	dir := compile(t)
	t.Run("stacks by frame pointers have the totals of perf report", func(t *testing.T) {
		in, path := record(t, dir, options(func(o *perf.Options) { o.Frequency, o.Event = 999, "cpu-clock" }), "threads")
		if r, err := p.Validate(t.Context(), printed(t, in, nil)); err != nil || !r.Valid || r.Producer == "" {
			t.Fatalf("%+v %v", r, err)
		}
		out, tables := providertest.Extract(t, p, printed(t, in, extraction(false)), extraction(false), evidence.DefaultBudget())
		got := values(tables, "perf.cpu-clock")
		if out.State != evidence.Complete || fmt.Sprint(out.Results["total"]) != report(t, path) || out.Producer == "" {
			t.Errorf("%+v, want %s", out, report(t, path))
		}
		// Recursion counts once: deep is five frames of each of its stacks, and spins for 400 ms of 800. A sample in spin's first instruction lacks its caller.
		if d, s, m := got["deep"], got["spin"], got["main"]; d[1] < 250e6 || d[1] > 700e6 || s[1] < d[1]*3/2 || m[1] < d[1]*9/10 {
			t.Errorf("deep %v, spin %v, main %v", d, s, m)
		}
		if l := labels(tables); l["w/io: 7 2.0: x"] < 250e6 || l["w"] < 250e6 {
			t.Errorf("%v", l)
		}
		for _, f := range tables["frames"] {
			if f["function"] == "spin" && f["module"] != "w" {
				t.Errorf("the object is %v and not relative to the project", f["module"])
			}
		}
		if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), ".debug", dir)); err == nil {
			t.Error("perf copied the program to its cache")
		}
	})
	t.Run("stacks by debug information, with inlined calls", func(t *testing.T) {
		in, _ := record(t, dir, options(func(o *perf.Options) { o.Frequency, o.CallGraph, o.Event = 499, "dwarf", "task-clock" }))
		out, tables := providertest.Extract(t, p, printed(t, in, extraction(true)), extraction(true), evidence.DefaultBudget())
		found := false
		for _, f := range tables["frames"] {
			found = found || f["function"] == "inside" && f["inlined"] == true
		}
		if !found || values(tables, "perf.task-clock")["deep"][1] < 250e6 {
			t.Errorf("inlined %v, %+v", found, out)
		}
	})
	t.Run("without stacks", func(t *testing.T) {
		in, _ := record(t, dir, options(func(o *perf.Options) { o.CallGraph = "none" }))
		out, tables := providertest.Extract(t, p, printed(t, in, extraction(false)), extraction(false), evidence.DefaultBudget())
		if !providertest.HasCode(out.Limitations, perf.OnePlace) || len(tables["call_edges"]) != 0 || out.Results["samples"].(int64) < 10 {
			t.Errorf("%+v", out)
		}
	})
	t.Run("a workload that fails or is killed leaves its recording", func(t *testing.T) {
		for arg, exit := range map[string]int{"fail": 3, "kill": -1} { // perf ends by the signal that ended its workload
			in, _ := record(t, dir, options(), arg)
			r, err := p.Validate(t.Context(), printed(t, in, nil))
			if err != nil || in.Exit != exit || r.Valid || len(r.Reasons) != 1 || r.Reasons[0].Code != perf.UnexpectedExit {
				t.Errorf("%s: exit %d, %+v %v", arg, in.Exit, r, err)
			}
		}
	})
	t.Run("a recording that perf did not close is no valid run, and never complete", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "perf.data")
		cmd := exec.CommandContext(t.Context(), "perf", "record", "-N", "-F", "999", "--call-graph", "dwarf", "-m", "16", "-o", path, "--", "./w")
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if info, err := os.Stat(path); err == nil && info.Size() > 200_000 {
				break
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := printed(t, recording(t, data), nil)
		if r, err := p.Validate(t.Context(), in); err != nil || r.Valid {
			t.Errorf("%+v %v", r, err)
		}
		in = printed(t, recording(t, data), extraction(false))
		if out, tables := providertest.Extract(t, p, in, extraction(false), evidence.DefaultBudget()); out.State != evidence.Partial && out.State != evidence.Incompatible || (out.State == evidence.Partial) != (len(tables["stacks"]) > 0) {
			t.Errorf("%+v", out)
		}
	})
	t.Run("samples that perf lost are said", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "perf.data")
		cmd := exec.CommandContext(t.Context(), "perf", "record", "-N", "-F", "10000", "-m", "1", "--call-graph", "dwarf,65528", "-o", path, "--", "./w")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := printed(t, recording(t, data), extraction(false))
		if out, _ := providertest.Extract(t, p, in, extraction(false), evidence.DefaultBudget()); out.State != evidence.Partial || !providertest.HasCode(out.Limitations, perf.Lost) || out.Results["lost"].(int64) < 100 {
			t.Errorf("%+v", out)
		}
	})
	t.Run("symbols of a runtime's map", func(t *testing.T) {
		in := mapped(t)
		_, tables := providertest.Extract(t, p, printed(t, in, extraction(false)), extraction(false), evidence.DefaultBudget())
		if got := values(tables, "perf.cpu-clock"); got["jitted code: spin(int)"][0] == 0 {
			t.Errorf("%v", got)
		}
		for _, f := range tables["frames"] {
			if m, _ := f["module"].(string); regexp.MustCompile(`perf-[0-9]+\.map`).MatchString(m) {
				t.Errorf("the number of the process is in %s", m)
			}
		}
	})
	t.Run("recordings of other machines are read or refused", func(t *testing.T) {
		for name, want := range map[string]evidence.State{
			"local-perf6.1.data": evidence.Complete, "sleep.compressed.pipe.data": evidence.Complete,
		} {
			in := printed(t, recording(t, providertest.Fixture(t, "perf-data/"+name)), extraction(false))
			if out, _ := providertest.Extract(t, p, in, extraction(false), evidence.DefaultBudget()); out.State != want || out.Results["samples"].(int64) == 0 || !providertest.HasCode(out.Limitations, perf.SymbolsOfHere) {
				t.Errorf("%s: %+v", name, out)
			}
		}
		for _, name := range []string{"sleep.data", "sleep.compressed.data", "fibo.compressed2.pipe.data"} {
			in := printed(t, recording(t, providertest.Fixture(t, "perf-data/"+name)), extraction(false))
			out, _ := providertest.Extract(t, p, in, extraction(false), evidence.DefaultBudget())
			if in.Reading.Failure != "" && out.State != evidence.Incompatible && out.State != evidence.Partial || in.Reading.Failure == "" && out.State == evidence.Incompatible {
				t.Errorf("%s: %q %+v", name, in.Reading.Failure, out)
			}
		}
	})
}

// mapped is a recording of a program that makes code of its own and says so where perf looks.
func mapped(t *testing.T) providers.Input {
	t.Helper()
	dir := compile(t)
	const jit = `
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	/* mov ecx, edi; 1: dec ecx; jnz 1b; ret */
	unsigned char code[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	unsigned char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(at, code, sizeof code);
	char name[64];
	snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(name, "w");
	fprintf(f, "%lx %x jitted code: spin(int)\n", (unsigned long)at, 64);
	fclose(f);
	puts(name);
	for (int i = 0; i < 400; i++) ((void (*)(int))at)(1000000);
	return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "jit.c"), []byte(jit), 0o644); err != nil {
		t.Fatal(err)
	}
	if goarch := probeArch(t); goarch != "x86_64" {
		t.Skip("the code of the test is of x86-64, and this is " + goarch)
	}
	cmd := exec.CommandContext(t.Context(), "cc", "-O1", "-o", "w", "jit.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in, _ := record(t, dir, options(func(o *perf.Options) { o.Frequency, o.Event = 999, "cpu-clock" }))
	maps, err := filepath.Glob("/tmp/perf-*.map")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range maps {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte("jitted code: spin(int)")) {
				os.Remove(name)
			}
		}
	})
	return in
}

func probeArch(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestConformanceOfRecordings(t *testing.T) {
	dir := compile(t)
	_, path := record(t, dir, options(func(o *perf.Options) { o.Frequency, o.Event = 199, "cpu-clock" }))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A recording that begins when nothing is left to be recorded.
	empty := filepath.Join(t.TempDir(), "empty.data")
	cmd := exec.CommandContext(t.Context(), "perf", "record", "-N", "-q", "-D", "-1", "-o", empty, "--", "./w")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none, err := os.ReadFile(empty)
	if err != nil {
		t.Fatal(err)
	}
	// perf puts records in order before it prints them, and prints none of a file as small as this that breaks off.
	providertest.Run(t, p, &providertest.Cases{
		Valid: data, Empty: none, Role: perf.Role, Options: extraction(false), Half: evidence.Incompatible, Cuttable: true, EmptyValid: true, Interpreter: "perf", Flips: 12,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"./w"}}})
}

// BenchmarkLargeText compares how long perf prints with how long its text is read, for a text of at least 100 MB.
func BenchmarkLargeText(b *testing.B) {
	dir := compile(b)
	in, _ := record(b, dir, options(func(o *perf.Options) { o.Frequency, o.CallGraph = 4999, "dwarf" }))
	start := time.Now()
	in = printed(b, in, extraction(false))
	once := time.Since(start)
	text, err := os.ReadFile(in.Reading.Path)
	if err != nil {
		b.Fatal(err)
	}
	times := 1 + (100<<20)/len(text)
	large, err := os.Create(filepath.Join(b.TempDir(), "large"))
	if err != nil {
		b.Fatal(err)
	}
	for range times {
		if _, err := io.Copy(large, bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
	if err := large.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(times * len(text)))
	input := providers.Input{Artifacts: []providers.Artifact{{Name: "large", Role: perf.Role, MediaType: perfscript.MediaType, Size: int64(times * len(text)), Path: large.Name()}}}
	for b.Loop() {
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "perf", ProviderVersion: 1}, evidence.DefaultBudget())
		start := time.Now()
		if _, err := p.Extract(b.Context(), input, nil, evidence.DefaultBudget(), sink); err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		sink.Discard()
		b.ReportMetric(float64(once)*float64(times)/float64(took), "×perf's-own-time")
	}
}
