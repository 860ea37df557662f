package pprof_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/providertest"
)

const benchSource = `package m

import (
	"os"
	"runtime/pprof"
	"sync"
	"testing"
)

var sink [][]byte

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func BenchmarkFib(b *testing.B) {
	for b.Loop() {
		fib(24)
		sink = append(sink[:0], make([]byte, 1<<16))
	}
}

func BenchmarkLock(b *testing.B) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for b.Loop() {
		for range 4 {
			wg.Go(func() {
				mu.Lock()
				fib(12)
				mu.Unlock()
			})
		}
		wg.Wait()
	}
}

func TestOwnProfile(t *testing.T) {
	f, err := os.Create(os.Getenv("PROFILE"))
	if err != nil {
		t.Skip(err)
	}
	pprof.StartCPUProfile(f)
	fib(34)
	pprof.StopCPUProfile()
	f.Close()
}

func TestKilled(t *testing.T) {
	fib(30)
	os.Exit(3)
}
`

func options() *pprof.Options {
	return lang.Defaults(p.Options()).(*pprof.Options)
}

// capture plans with o over argv, runs it, and makes the input that the engine would.
func capture(t *testing.T, o *pprof.Options, env map[string]string, dir string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: argv}, o)
	if err != nil {
		t.Fatal(err)
	}
	inv.Env = env
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, Paths: providers.Paths{Root: dir, Dir: dir}}
	for _, out := range inv.Outputs {
		if out.Path == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(ran.Out, out.Path))
		if err != nil {
			t.Fatalf("%v\n%s%s", err, ran.Stdout, ran.Stderr)
		}
		a := providertest.Input(t, out.Role, data).Artifacts[0]
		a.Name = out.Name
		in.Artifacts = append(in.Artifacts, a)
	}
	return in, ran
}

func TestRealRuns(t *testing.T) {
	dir := providertest.GoModule(t, map[string]string{"m_test.go": benchSource})
	binary := filepath.Join(t.TempDir(), "m.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	t.Run("all profiles of go test", func(t *testing.T) {
		o := options()
		o.Profiles, o.Benchtime = []string{"cpu", "mem", "block", "mutex"}, "300ms"
		rate := 1024
		o.MemProfileRate = &rate
		in, ran := capture(t, o, nil, dir, "go", "test", ".")
		if r, err := p.Validate(t.Context(), in); err != nil || !r.Valid {
			t.Fatalf("receipt %+v %v\n%s%s", r, err, ran.Stdout, ran.Stderr)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*.test"))
		if err != nil || len(left) != 0 {
			t.Errorf("the capture left %v in the folder that is measured", left)
		}
		out, tables := providertest.Extract(t, p, in, by("function"), evidence.DefaultBudget())
		if out.State != evidence.Complete {
			t.Errorf("outcome %+v", out)
		}
		for metric, function := range map[string]string{"cpu": "example.test/m.fib", "alloc_space": "example.test/m.BenchmarkFib", "mutex.delay": "sync.(*Mutex).Unlock"} {
			if v := values(tables, metric)[function]; v[1] <= 0 {
				t.Errorf("%s of %s is %v", metric, function, v)
			}
		}
		for i, a := range in.Artifacts {
			data, err := os.ReadFile(a.Path)
			if err != nil {
				t.Fatal(err)
			}
			compareWithTool(t, data, a.Path, []string{"cpu", "alloc_space", "delay", "delay"}[i])
		}
		for _, r := range tables["frames"] {
			if r["function"] == "example.test/m.fib" && r["file"] != "m_test.go" {
				t.Errorf("the file is %v and not relative to the project", r["file"])
			}
		}
	})
	t.Run("a test binary", func(t *testing.T) {
		o := options()
		o.Bench, o.Benchtime = "Fib", "200ms"
		in, _ := capture(t, o, nil, dir, binary)
		_, tables := providertest.Extract(t, p, in, by("function"), evidence.DefaultBudget())
		v := values(tables, "cpu")
		if fib := v["example.test/m.fib"]; fib[0] <= 0 || fib[1] > v["example.test/m.BenchmarkFib"][1] {
			t.Errorf("recursion was counted more than once: %v", v)
		}
	})
	t.Run("a file that the workload writes", func(t *testing.T) {
		o := options()
		o.Mode, o.Path = "file", "own/*.pprof"
		inv, err := p.Plan(providers.Workload{Argv: []string{binary, "-test.run=OwnProfile"}}, o)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), "own")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		inv.Env = map[string]string{"PROFILE": filepath.Join(folder, "x.pprof")}
		providertest.Start(t, inv, dir)
		data, err := os.ReadFile(filepath.Join(folder, "x.pprof"))
		if err != nil {
			t.Fatal(err)
		}
		out, tables := extract(t, data, "function")
		if v := values(tables, "cpu"); out.State != evidence.Complete || v["example.test/m.fib"][0] <= 0 {
			t.Errorf("outcome %+v, values %v", out, v)
		}
	})
	t.Run("a process that exits before it writes its profile", func(t *testing.T) {
		o := options()
		o.Bench, o.Run = "", "Killed"
		in, ran := capture(t, o, nil, dir, binary)
		r, err := p.Validate(t.Context(), in)
		if err != nil || ran.Exit == 0 || r.Valid || !providertest.HasCode(r.Reasons, pprof.UnexpectedExit) {
			t.Fatalf("exit %d, receipt %+v %v", ran.Exit, r, err)
		}
		if codes := providertest.Codes(r.Reasons); codes[0] != pprof.EmptyFile && codes[0] != pprof.Truncated {
			t.Errorf("reasons %v", r.Reasons)
		}
	})
}

// TestTotalsAgreeWithGoToolPprof compares every function's self and inclusive weight.
func TestTotalsAgreeWithGoToolPprof(t *testing.T) {
	for name, metric := range map[string]string{"local-go1.26.8-cpu-labels.pb.gz": "cpu", "profile-with-labels.pb.gz": "samples", "sample.cpu": "cpu", "simple.prof": "cpu"} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, "pprof/"+name)
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			compareWithTool(t, data, path, metric)
		})
	}
}

var topLine = regexp.MustCompile(`^ *(-?[0-9.]+)[a-zA-Z]* +\S+ +\S+ +(-?[0-9.]+)[a-zA-Z]* +\S+ +(.*?)( \((partial-)?inline\))?$`)

func compareWithTool(t *testing.T, data []byte, path, metric string) {
	t.Helper()
	pr, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	unit := ""
	for _, st := range pr.SampleType {
		if st.Type == metric {
			unit = st.Unit
		}
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0", "-symbolize=none", "-sample_index="+metric, "-unit="+unit, path)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	top, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int64{}
	twice := map[string]bool{}
	body := false
	for s := bufio.NewScanner(bytes.NewReader(top)); s.Scan(); {
		if strings.Contains(s.Text(), "flat%") {
			body = true
			continue
		}
		m := topLine.FindStringSubmatch(s.Text())
		if !body || m == nil {
			continue
		}
		flat, err1 := strconv.ParseFloat(m[1], 64)
		cum, err2 := strconv.ParseFloat(m[2], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("line %q", s.Text())
		}
		_, had := want[m[3]]
		twice[m[3]] = twice[m[3]] || had
		want[m[3]] = [2]int64{int64(flat), int64(cum)}
	}
	_, tables := extract(t, data, "function")
	got := values(tables, metric)
	// Frames here are apart where their files differ, which the tool's functions are not.
	frames := map[string]int{}
	for _, name := range names(tables["frames"]) {
		frames[name]++
	}
	compared := 0
	for name, w := range want {
		g, ok := got[name]
		if twice[name] || frames[name] > 1 || name == "<unknown>" || (!ok && w == [2]int64{}) {
			continue
		}
		compared++
		if g != w {
			t.Errorf("%s: %s is %v, go tool pprof says %v", path, name, g, w)
		}
	}
	if compared == 0 || compared < len(want)*9/10 {
		t.Errorf("%s: only %d of %d functions could be compared", path, compared, len(want))
	}

	// -raw has every sample: their sum is the total of the stacks.
	var sum, stacks int64
	for _, s := range pr.Sample {
		for i, st := range pr.SampleType {
			if st.Type == metric {
				sum += s.Value[i]
			}
		}
	}
	for _, r := range tables["stacks"] {
		if r["metric"] == metric {
			stacks += r["weight"].(int64)
		}
	}
	if sum != stacks {
		t.Errorf("%s: the samples sum to %d, the stacks to %d", path, sum, stacks)
	}
}

func TestConformance(t *testing.T) {
	dir := providertest.GoModule(t, map[string]string{"m_test.go": benchSource})
	o := options()
	o.Bench, o.Benchtime = "Fib", "200ms"
	in, _ := capture(t, o, nil, dir, "go", "test", ".")
	valid, err := os.ReadFile(in.Artifacts[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	empty := small()
	empty.Sample = nil
	providertest.Run(t, p, &providertest.Cases{
		Valid: valid, Empty: encode(t, empty), EmptyValid: true, Several: true, Role: pprof.Role, Half: evidence.Incompatible, Cuttable: true,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"go", "test", "."}}, Options: o})
}

// TestFlippedBytesBehindTheChecksum flips bytes where no gzip checksum protects them.
func TestFlippedBytesBehindTheChecksum(t *testing.T) {
	pr := small()
	empty := small()
	empty.Sample = nil
	providertest.Run(t, p, &providertest.Cases{
		Valid: raw(t, pr), Empty: raw(t, empty), EmptyValid: true, Several: true, Role: pprof.Role, Options: by("line"), Half: evidence.Incompatible, Cuttable: true,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"go", "test", "."}}, Options: options()})
}
