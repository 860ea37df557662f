package memray_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/providertest"
)

// known allocates known sizes with mmap, which nothing else in Python does with these functions' names.
const known = `
import mmap, sys
kept = []
def keep(n):
    kept.append(mmap.mmap(-1, n))
def peak(n):
    m = mmap.mmap(-1, n)
    inner(n)
    m.close()
def inner(n):
    m = mmap.mmap(-1, n)
    m.close()
def again(depth):
    if depth:
        again(depth - 1)
    else:
        kept.append(mmap.mmap(-1, 1 << 20))
def main():
    keep(3 << 20)
    peak(64 << 20)
    again(5)
    print("done")
main()
`

func TestKnownSizesAndTotalsAreThoseOfMemray(t *testing.T) {
	dir := project(t, map[string]string{"app/known.py": known})
	in, ran := capture(t, options(), dir, "app/known.py")
	if string(ran.Stdout) != "done\n" {
		t.Errorf("the workload's output is %q", ran.Stdout)
	}
	r := validate(t, in)
	if !r.Valid || r.Producer == "" {
		t.Fatalf("receipt %+v", r)
	}
	out, tables := extract(t, in, extraction())
	if out.State != evidence.Complete || out.Producer != r.Producer {
		t.Errorf("outcome %+v", out)
	}
	equalToStats(t, in.Artifacts[0].Path, "", tables)
	for _, c := range []struct {
		metric, function string
		self, inclusive  int64
	}{
		{"memory.high_watermark", "keep", 3 << 20, 3 << 20},
		{"memory.high_watermark", "inner", 64 << 20, 64 << 20},
		{"memory.high_watermark", "peak", 64 << 20, 128 << 20},
		{"memory.retained_end", "keep", 3 << 20, 3 << 20},
		{"memory.retained_end", "inner", 0, 0},
		{"memory.allocated", "peak", 64 << 20, 128 << 20},
		{"memory.temporary", "inner", 64 << 20, 64 << 20},
		{"memory.temporary", "keep", 0, 0},
	} {
		self, inclusive, file := values(tables, c.metric, c.function)
		// A function allocates a little beside what it maps.
		if self-c.self < 0 || self-c.self > 64<<10 || inclusive-c.inclusive < 0 || inclusive-c.inclusive > 64<<10 || file != "app/known.py" {
			t.Errorf("%s of %s in %q is %d and %d, want about %d and %d", c.metric, c.function, file, self, inclusive, c.self, c.inclusive)
		}
	}
	// The line that recurses is one frame, however often it is on a stack.
	var recursing int64
	for _, row := range tables["frames"] {
		if row["function"] == "again" {
			for _, v := range tables["frame_values"] {
				if v["frame"] == row["frame"] && v["metric"] == "memory.retained_end" {
					recursing = max(recursing, v["inclusive"].(int64))
				}
			}
		}
	}
	if recursing < 1<<20 || recursing > 1<<20+64<<10 {
		t.Errorf("the frame that recurses has %d bytes, want those of one mapping", recursing)
	}
	for _, row := range tables["frames"] {
		file, _ := row["file"].(string)
		if want := "partial"; (strings.HasPrefix(file, "<") || strings.HasPrefix(file, "/")) && row["symbolization"] != want || file == "app/known.py" && row["symbolization"] != "complete" || row["language"] != "python" {
			t.Errorf("frame %v", row)
		}
	}
}

func TestAnAggregatedCaptureHasNoHistoryAndSaysSo(t *testing.T) {
	dir := project(t, map[string]string{"known.py": known})
	o := options()
	o.Aggregate = true
	in, _ := capture(t, o, dir, "known.py")
	out, tables := extract(t, in, extraction())
	if out.State != evidence.Complete || !providertest.HasCode(out.Limitations, memray.NoHistory) {
		t.Errorf("outcome %+v", out)
	}
	for _, metric := range []string{"memory.allocated", "memory.temporary"} {
		if n, _ := total(tables, metric, nil); n != 0 {
			t.Errorf("%s is %d", metric, n)
		}
	}
	for _, r := range tables["measurements"] {
		if name := r["name"].(string); strings.Contains(name, "allocat") || strings.Contains(name, "temporary") {
			t.Errorf("%s is %v, and the capture does not have it", name, r["value_int"])
		}
	}
	peak, _ := total(tables, "memory.high_watermark", nil)
	if got := measured(t, tables, "memory.peak", ""); got != peak || peak < 131<<20 {
		t.Errorf("peak %d, its stacks %d", got, peak)
	}
	if r := validate(t, in); !r.Valid {
		t.Errorf("receipt %+v", r)
	}
}

const threaded = `
import mmap, threading
kept = []
def keep(n):
    kept.append(mmap.mmap(-1, n))
def run(n):
    threads = [threading.Thread(target=keep, args=(n,), name="worker-%d" % i) for i in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
run(2 << 20)
`

func TestWhatIsNotAskedForIsNeitherThereNorSaidToBeWrong(t *testing.T) {
	in, _ := capture(t, options(), project(t, map[string]string{"known.py": known}), "known.py")
	o := extraction()
	o.Allocated = false
	out, tables := extract(t, in, o)
	if out.State != evidence.Complete || len(out.Limitations) != 0 {
		t.Errorf("outcome %+v", out)
	}
	if n, _ := total(tables, "memory.allocated", nil); n != 0 {
		t.Errorf("memory.allocated is %d", n)
	}
	if got, want := measured(t, tables, "memory.allocated_bytes", ""), stats(t, in.Artifacts[0].Path).Bytes; got != want {
		t.Errorf("allocated bytes %d, memray says %d", got, want)
	}
	for _, r := range tables["measurements"] {
		if r["name"] == "memory.frame_coverage.allocated.complete" {
			t.Error("the frames of a view that was not made are said to be complete")
		}
	}
}

func TestThreadsAreKeptApartOnlyWhereThatIsAsked(t *testing.T) {
	in, _ := capture(t, options(), project(t, map[string]string{"t.py": threaded}), "t.py")
	_, merged := extract(t, in, extraction())
	if self, _, _ := values(merged, "memory.retained_end", "keep"); self < 6<<20 || self > 6<<20+64<<10 {
		t.Errorf("three threads kept %d bytes", self)
	}
	o := extraction()
	o.Threads = true
	_, apart := extract(t, in, o)
	threads := map[string]int64{}
	for _, r := range apart["stacks"] {
		if l := r["labels"].(map[string]string); r["metric"] == "memory.retained_end" {
			threads[l["thread"]] += r["weight"].(int64)
		}
	}
	workers := 0
	for name, bytes := range threads {
		if strings.Contains(name, "worker-") || bytes >= 2<<20 && bytes < 2<<20+256<<10 {
			workers++
		}
	}
	if workers != 3 {
		t.Errorf("threads %v", threads)
	}
	for _, metric := range []string{"memory.high_watermark", "memory.retained_end", "memory.allocated"} {
		a, n := total(merged, metric, nil)
		b, k := total(apart, metric, nil)
		if a != b || n != k || n == 0 {
			t.Errorf("%s is %d of %d allocations merged and %d of %d apart", metric, a, n, b, k)
		}
	}
	equalToStats(t, in.Artifacts[0].Path, "", apart)
}

const forking = `
import mmap, os
kept = []
def keep(n):
    kept.append(mmap.mmap(-1, n))
keep(1 << 20)
for i in range(2):
    pid = os.fork()
    if pid == 0:
        keep((5 + i) << 20)
        raise SystemExit(0)
    os.waitpid(pid, 0)
`

func TestForkedProcessesAreCapturesOfTheirOwn(t *testing.T) {
	o := options()
	o.FollowFork = true
	dir := project(t, map[string]string{"f.py": forking})
	in, ran := capture(t, o, dir, "f.py")
	if len(in.Artifacts) != 3 {
		t.Fatalf("%d captures\n%s%s", len(in.Artifacts), ran.Stdout, ran.Stderr)
	}
	if r := validate(t, in); !r.Valid {
		t.Errorf("receipt %+v", r)
	}
	out, tables := extract(t, in, extraction())
	if out.State != evidence.Complete || !providertest.HasCode(out.Limitations, memray.SeveralProcesses) {
		t.Errorf("outcome %+v", out)
	}
	for process, want := range map[string]int64{"": 1 << 20, "fork-1": 5 << 20, "fork-2": 6 << 20} {
		got := measured(t, tables, "memory.retained_end", process)
		if got < want || got > want+1<<20 {
			t.Errorf("process %q kept %d bytes, want about %d", process, got, want)
		}
		path := ""
		for _, a := range in.Artifacts {
			if s := stats(t, a.Path); s.Bytes == measured(t, tables, "memory.allocated_bytes", process) {
				path = a.Path
			}
		}
		if path == "" {
			t.Errorf("no capture has the totals of process %q", process)
			continue
		}
		equalToStats(t, path, process, tables)
	}
	o.FollowFork = false
	in, _ = capture(t, o, dir, "f.py")
	if len(in.Artifacts) != 1 {
		t.Errorf("%d captures without follow_fork", len(in.Artifacts))
	}
}

const pool = `
import multiprocessing, mmap
kept = []
def keep(n):
    kept.append(mmap.mmap(-1, n))
    return n
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    child = multiprocessing.Process(target=keep, args=(9 << 20,))
    child.start()
    child.join()
`

// multiprocessing ends its processes without a chance for memray to close their captures.
func TestAForkThatDoesNotCloseItsCaptureLeavesTheRunValidAndTheEvidencePartial(t *testing.T) {
	o := options()
	o.FollowFork = true
	in, ran := capture(t, o, project(t, map[string]string{"pool.py": pool}), "pool.py")
	if len(in.Artifacts) != 2 {
		t.Fatalf("%d captures\n%s%s", len(in.Artifacts), ran.Stdout, ran.Stderr)
	}
	if r := validate(t, in); !r.Valid || !providertest.HasCode(r.Limitations, memray.EndUnverified) {
		t.Errorf("receipt %+v", r)
	}
	out, tables := extract(t, in, extraction())
	if got := measured(t, tables, "memory.retained_end", "fork-1"); out.State != evidence.Partial || !providertest.HasCode(out.Limitations, memray.EndUnverified) || got < 9<<20 {
		t.Errorf("outcome %+v, the fork kept %d", out, got)
	}
	equalToStats(t, in.Artifacts[1].Path, "fork-1", tables)
}

func TestNativeFramesStandAmongThoseOfPython(t *testing.T) {
	o := options()
	o.Native = true
	in, ran := capture(t, o, project(t, map[string]string{"known.py": known}), "known.py")
	out, tables := extract(t, in, extraction())
	if out.State != evidence.Complete || out.Results["native"] != true {
		t.Fatalf("outcome %+v\n%s", out, ran.Stderr)
	}
	languages := map[any]int{}
	for _, r := range tables["frames"] {
		languages[r["language"]]++
	}
	if languages[nil] == 0 || languages["python"] == 0 {
		t.Errorf("languages of frames: %v", languages)
	}
	if _, inclusive, _ := values(tables, "memory.retained_end", "keep"); inclusive < 3<<20 {
		t.Errorf("keep has %d bytes", inclusive)
	}
	equalToStats(t, in.Artifacts[0].Path, "", tables)
}

func TestPythonAllocatorsAddRecordsAndTotalsStayThoseOfMemray(t *testing.T) {
	dir := project(t, map[string]string{"o.py": "kept = [str(i) * 3 for i in range(20000)]\n"})
	plain, _ := capture(t, options(), dir, "o.py")
	o := options()
	o.PythonAllocators = true
	traced, _ := capture(t, o, dir, "o.py")
	_, a := extract(t, plain, extraction())
	_, b := extract(t, traced, extraction())
	if x, y := measured(t, a, "memory.allocation_operations", ""), measured(t, b, "memory.allocation_operations", ""); y < x+20000 {
		t.Errorf("%d operations, and %d with Python's allocator", x, y)
	}
	equalToStats(t, traced.Artifacts[0].Path, "", b)
}

const temporary = `
import mmap
def now(n):
    m = mmap.mmap(-1, n)
    m.close()
def later(n):
    m = mmap.mmap(-1, n)
    others = [mmap.mmap(-1, 4096) for _ in range(3)]
    m.close()
    for o in others: o.close()
now(8 << 20)
later(16 << 20)
`

func TestTheThresholdDecidesWhatIsTemporary(t *testing.T) {
	in, _ := capture(t, options(), project(t, map[string]string{"t.py": temporary}), "t.py")
	for threshold, want := range map[int][2]int64{0: {8 << 20, 0}, 1: {8 << 20, 0}, 20: {8 << 20, 16 << 20}} {
		o := extraction()
		o.Threshold = threshold
		_, tables := extract(t, in, o)
		now, _, _ := values(tables, "memory.temporary", "now")
		later, _, _ := values(tables, "memory.temporary", "later")
		if now>>20 != want[0]>>20 || later>>20 != want[1]>>20 {
			t.Errorf("threshold %d: now %d, later %d, want about %v", threshold, now, later, want)
		}
		for _, r := range tables["measurements"] {
			if d := r["dimensions"].(map[string]string); r["name"] == "memory.temporary" && d["threshold"] != fmt.Sprint(threshold) {
				t.Errorf("dimensions %v", d)
			}
		}
	}
}

func TestACaptureThatWasNeverClosedIsKeptAndIsNoValidRun(t *testing.T) {
	for name, end := range map[string]string{"killed": "os.kill(os.getpid(), 9)", "left by os._exit": "os._exit(0)"} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, map[string]string{"k.py": "import mmap, os\nkept = []\ndef keep():\n    kept.append(mmap.mmap(-1, 5 << 20))\nkeep()\n" +
				"junk = [bytearray(1000 + i) for i in range(50000)]\n" + end + "\n"})
			in, ran := capture(t, options(), dir, "k.py")
			if ran.Exit < 0 {
				in.Exit = 137
			}
			r := validate(t, in)
			if r.Valid || !providertest.HasCode(r.Reasons, memray.NotClosed) {
				t.Errorf("exit %d, receipt %+v", ran.Exit, r)
			}
			out, tables := extract(t, in, extraction())
			self, _, _ := values(tables, "memory.high_watermark", "keep")
			if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, memray.EndUnverified) || self < 5<<20 {
				t.Errorf("outcome %+v, keep %d", out, self)
			}
		})
	}
}

func TestAnExitStatusIsTheWorkloads(t *testing.T) {
	in, ran := capture(t, options(), project(t, map[string]string{"e.py": "raise SystemExit(7)\n"}), "e.py")
	if ran.Exit != 7 {
		t.Errorf("exit %d", ran.Exit)
	}
	in.ExpectExit = []int{7}
	if r := validate(t, in); !r.Valid {
		t.Errorf("receipt %+v", r)
	}
}

func TestModulesAndTextRunAsPythonRunsThem(t *testing.T) {
	dir := project(t, map[string]string{"pkg/__main__.py": "import sys, pkg.lib\nprint(sys.argv[1:])\npkg.lib.keep()\n", "pkg/__init__.py": "", "pkg/lib.py": "kept = []\ndef keep():\n    kept.append(bytearray(7 << 20))\n"})
	for name, argv := range map[string][]string{"module": {"-X", "utf8", "-m", "pkg", "--output", "x"}, "text": {"-c", "import pkg.lib; pkg.lib.keep()"}} {
		in, ran := capture(t, options(), dir, argv...)
		_, tables := extract(t, in, extraction())
		if self, _, file := values(tables, "memory.retained_end", "keep"); self < 7<<20 || file != "pkg/lib.py" {
			t.Errorf("%s: keep in %q has %d bytes\n%s%s", name, file, self, ran.Stdout, ran.Stderr)
		}
		if name == "module" && string(ran.Stdout) != "['--output', 'x']\n" {
			t.Errorf("%s: the program's arguments are %s", name, ran.Stdout)
		}
	}
}

func TestOnlyTheVersionThatWroteACaptureReadsIt(t *testing.T) {
	in, _ := capture(t, options(), project(t, map[string]string{"x.py": "pass\n"}), "x.py")
	in.Reading = providertest.Read(t, p, python(t), "extract", extraction(), in.Artifacts, t.TempDir())
	in.Reading.Version = "1.2.3"
	out, tables := providertest.Extract(t, p, in, extraction(), evidence.DefaultBudget())
	if out.State != evidence.Unavailable || len(tables) != 0 || !providertest.HasCode(out.Limitations, memray.ReaderOther) || !strings.Contains(out.Limitations[0].Text, "memray==1.2.3") {
		t.Errorf("outcome %+v", out)
	}
}

func TestAnInterpreterWithoutMemrayIsSaidAndNothingIsRead(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Skipf("no environment could be made: %v %s", err, out)
	}
	in := providertest.Input(t, memray.Role, []byte("memray\x00 and more"))
	in.Reading = providertest.Read(t, p, filepath.Join(dir, "bin", "python"), "extract", extraction(), in.Artifacts, t.TempDir())
	out, _ := providertest.Extract(t, p, in, extraction(), evidence.DefaultBudget())
	if out.State != evidence.Unavailable || !providertest.HasCode(out.Limitations, memray.NoReader) {
		t.Errorf("outcome %+v", out)
	}
}

func TestACaptureOfAnotherVersionIsIncompatible(t *testing.T) {
	for _, name := range []string{"plain", "aggregated", "pymalloc"} {
		in := providertest.Input(t, memray.Role, providertest.Fixture(t, "memray/local-memray"+old+"-"+name+".bin"))
		in.Reading = providertest.Read(t, p, pythonWith(t, pinned), "extract", extraction(), in.Artifacts, t.TempDir())
		out, _ := providertest.Extract(t, p, in, extraction(), evidence.DefaultBudget())
		if out.State != evidence.Incompatible || !providertest.HasCode(out.Limitations, memray.Incompatible) {
			t.Errorf("%s: outcome %+v", name, out)
		}
	}
}

func TestConformance(t *testing.T) {
	in, _ := capture(t, options(), project(t, map[string]string{"known.py": known}), "known.py")
	valid, err := os.ReadFile(in.Artifacts[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	nothing := filepath.Join(t.TempDir(), "nothing.bin")
	record := "import sys\nfrom memray import Tracker\nwith Tracker(sys.argv[1]):\n    pass\n"
	if out, err := exec.Command(python(t), "-c", record, nothing).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	empty, err := os.ReadFile(nothing)
	if err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, p, &providertest.Cases{
		Valid: valid, Empty: empty, EmptyValid: true, Role: memray.Role, Half: evidence.Incompatible, Cuttable: true, Several: true, Interpreter: python(t), Flips: 12,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"python3", "x.py"}}, Options: options()})
}
