package gobench_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/providertest"
)

// Real runs of Go's own testing package, in the toolchain that runs the tests.

const benchSource = `package m

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

var sink []byte

func BenchmarkAlloc(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("size=%d/kind=ünï", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				sink = make([]byte, n)
			}
			b.ReportMetric(float64(n), "items/op")
		})
	}
}

func BenchmarkLog(b *testing.B)   { b.Log("a log line: with a colon") }
func BenchmarkNoise(b *testing.B) { fmt.Println("printed by the benchmark") }
func BenchmarkSkip(b *testing.B)  { b.Skip("not here") }

func BenchmarkFail(b *testing.B) {
	if os.Getenv("BAD") == "fail" {
		b.Error("wrong result")
	}
}

func BenchmarkPanic(b *testing.B) {
	if os.Getenv("BAD") == "panic" {
		panic(errors.New("ouch"))
	}
}
`

var module = map[string]string{
	"m_test.go":     benchSource,
	"sub/s_test.go": "package sub\n\nimport \"testing\"\n\nfunc BenchmarkLog(b *testing.B) {}\n",
}

// capture plans with o over argv and runs it.
func capture(t *testing.T, o *gobench.Options, env map[string]string, dir string, argv ...string) providertest.Ran {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: argv}, o)
	if err != nil {
		t.Fatal(err)
	}
	inv.Env = env
	return providertest.Start(t, inv, dir)
}

func quick(bench string) *gobench.Options {
	o := defaults()
	o.Bench, o.Count, o.Benchtime = bench, 2, "20x"
	return o
}

func compile(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "m.test")
	cmd := exec.Command("go", "test", "-c", "-o", binary, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

func TestRealRuns(t *testing.T) {
	dir := providertest.GoModule(t, module)
	binary := compile(t, dir)

	t.Run("go test and a test binary give the same rows", func(t *testing.T) {
		for _, argv := range [][]string{{"go", "test", "."}, {binary}} {
			ran := capture(t, quick("Alloc"), nil, dir, argv...)
			out, rows := extract(t, string(ran.Stdout))
			if out.State != evidence.Complete || len(out.Limitations) != 0 {
				t.Fatalf("%v: %+v\n%s%s", argv, out, ran.Stdout, ran.Stderr)
			}
			if got, want := figures(rows), independent(ran.Stdout); !slices.Equal(got, want) || len(got) != 2*2*5 {
				t.Errorf("rows %q, benchfmt %q", got, want)
			}
			units := map[string]bool{}
			for _, r := range rows {
				units[r["unit"].(string)] = true
				dims := r["dimensions"].(map[string]string)
				if dims["kind"] != "ünï" || dims["pkg"] != "example.test/m" || dims["size"] == "" || r["loops"] != uint64(20) {
					t.Errorf("row %v", r)
				}
			}
			if got := slices.Sorted(maps.Keys(units)); !slices.Equal(got, []string{"B/op", "MB/s", "allocs/op", "items/op", "ns/op"}) {
				t.Errorf("units %v", got)
			}
			if r := validate(t, string(ran.Stdout), ran.Exit); !r.Valid {
				t.Errorf("%v: %v", argv, r.Reasons)
			}
		}
	})
	t.Run("several packages and several GOMAXPROCS stay apart", func(t *testing.T) {
		o := quick("Log")
		o.CPU = []int{1, 2}
		ran := capture(t, o, nil, dir, "go", "test", "./...")
		out, rows := extract(t, string(ran.Stdout))
		seen := map[string]int{}
		for _, r := range rows {
			dims := r["dimensions"].(map[string]string)
			if r["unit"] == "ns/op" {
				seen[dims["pkg"]+"-"+dims["gomaxprocs"]]++
			}
		}
		want := map[string]int{"example.test/m-": 2, "example.test/m-2": 2, "example.test/m/sub-": 2, "example.test/m/sub-2": 2}
		if !maps.Equal(seen, want) || out.State != evidence.Complete || len(out.Limitations) != 0 {
			t.Errorf("samples %v, outcome %+v\n%s", seen, out, ran.Stdout)
		}
	})
	t.Run("a benchmark that prints into its result line loses it, and that is said", func(t *testing.T) {
		ran := capture(t, quick("Noise|Log"), nil, dir, binary)
		out, rows := extract(t, string(ran.Stdout))
		if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, gobench.LostResult) {
			t.Errorf("outcome %+v\n%s", out, ran.Stdout)
		}
		for _, r := range rows {
			if r["name"] != "gobench.BenchmarkLog" {
				t.Errorf("row %v", r)
			}
		}
	})
	t.Run("with -v the same benchmark keeps its result", func(t *testing.T) {
		ran := capture(t, quick("Noise|Log"), nil, dir, binary, "-test.v")
		out, rows := extract(t, string(ran.Stdout))
		if out.State != evidence.Complete || len(rows) != 2*2*3 {
			t.Errorf("outcome %+v, %d rows\n%s", out, len(rows), ran.Stdout)
		}
	})
	t.Run("a failing benchmark makes the run invalid and keeps what others measured", func(t *testing.T) {
		ran := capture(t, quick("Alloc|Fail"), map[string]string{"BAD": "fail"}, dir, "go", "test", ".")
		r := validate(t, string(ran.Stdout), ran.Exit)
		if codes := providertest.Codes(r.Reasons); r.Valid || !slices.Equal(codes, []string{gobench.Failed, gobench.UnexpectedExit}) {
			t.Errorf("receipt %+v\n%s", r, ran.Stdout)
		}
		if !strings.Contains(r.Reasons[0].Text, "BenchmarkFail") {
			t.Errorf("the reason does not name the benchmark: %s", r.Reasons[0])
		}
		if out, rows := extract(t, string(ran.Stdout)); out.State != evidence.Partial || len(rows) != 20 {
			t.Errorf("outcome %+v with %d rows", out, len(rows))
		}
	})
	t.Run("a panic makes the run invalid and keeps what was measured before", func(t *testing.T) {
		ran := capture(t, quick("Alloc|Panic"), map[string]string{"BAD": "panic"}, dir, "go", "test", ".")
		r := validate(t, string(ran.Stdout), ran.Exit)
		if r.Valid || !providertest.HasCode(r.Reasons, gobench.Panicked) || !strings.Contains(fmt.Sprint(r.Reasons), "ouch") {
			t.Errorf("receipt %+v\n%s", r, ran.Stdout)
		}
		if out, rows := extract(t, string(ran.Stdout)); out.State != evidence.Partial || len(rows) == 0 {
			t.Errorf("outcome %+v with %d rows\n%s", out, len(rows), ran.Stdout)
		}
	})
	t.Run("a run that matched nothing is empty and invalid", func(t *testing.T) {
		for _, argv := range [][]string{{"go", "test", "."}, {binary}} {
			ran := capture(t, quick("Nonesuch"), nil, dir, argv...)
			r := validate(t, string(ran.Stdout), ran.Exit)
			if ran.Exit != 0 || r.Valid || !strings.Contains(fmt.Sprint(r.Reasons), "-bench matched no benchmark") {
				t.Errorf("exit %d, receipt %+v\n%s", ran.Exit, r, ran.Stdout)
			}
			if out, rows := extract(t, string(ran.Stdout)); out.State != evidence.Empty || len(rows) != 0 {
				t.Errorf("outcome %+v", out)
			}
		}
	})
	t.Run("skipped benchmarks are named where Go prints them", func(t *testing.T) {
		ran := capture(t, quick("Skip|Log"), nil, dir, "go", "test", "-v", ".")
		out, _ := extract(t, string(ran.Stdout))
		if out.State != evidence.Complete || out.Results["skipped"] != int64(1) || !providertest.HasCode(out.Limitations, gobench.Skipped) {
			t.Errorf("outcome %+v\n%s", out, ran.Stdout)
		}
	})
	t.Run("a package that does not build is the reason", func(t *testing.T) {
		broken := providertest.GoModule(t, map[string]string{"m_test.go": "package m\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) { undefined() }\n"})
		ran := capture(t, quick("."), nil, broken, "go", "test", ".")
		r := validate(t, string(ran.Stdout), ran.Exit)
		if r.Valid || !slices.Equal(providertest.Codes(r.Reasons), []string{gobench.BuildFailed, gobench.NoBenchmarks, gobench.UnexpectedExit}) {
			t.Errorf("receipt %+v\n%s", r, ran.Stdout)
		}
	})
	t.Run("go test -json is put together again", func(t *testing.T) {
		cmd := exec.Command("go", "test", "-json", "-run=^$", "-bench=Alloc|Log", "-benchtime=20x", "-count=2", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		out, rows := extract(t, string(data))
		seen := map[string]int{}
		for _, r := range rows {
			seen[r["dimensions"].(map[string]string)["pkg"]+" "+r["unit"].(string)]++
		}
		want := map[string]int{"example.test/m ns/op": 6, "example.test/m MB/s": 4, "example.test/m items/op": 4, "example.test/m/sub ns/op": 2}
		if out.State != evidence.Complete || !maps.Equal(seen, want) {
			t.Errorf("outcome %+v, samples %v\n%s", out, seen, data)
		}
		if !p.Formats()[0].Detect(data[:min(len(data), 4096)]) {
			t.Error("not recognised by content")
		}
	})
}

func TestPackagesThatRunSideBySideInJSONStayApart(t *testing.T) {
	var b bytes.Buffer
	say := func(pkg, out string) {
		fmt.Fprintf(&b, "{\"Time\":\"t\",\"Action\":\"output\",\"Package\":%q,\"Output\":%q}\n", pkg, out)
	}
	say("a", "goos: linux\n")
	say("a", "pkg: a\n")
	say("b", "goos: linux\n")
	say("b", "pkg: b\n")
	say("a", "BenchmarkX-2 \t")
	say("b", "BenchmarkX-2 \t")
	say("a", " 10\t 1 ns/op\n")
	say("b", " 10\t 2 ns/op\n")
	say("a", "BenchmarkX-2 \t 10\t 3 ns/op\n")
	_, rows := extract(t, b.String())
	if got, want := figures(rows), []string{"a BenchmarkX-2 10 1 ns/op", "b BenchmarkX-2 10 2 ns/op", "a BenchmarkX-2 10 3 ns/op"}; !slices.Equal(got, want) {
		t.Errorf("rows %q", got)
	}
	whole := b.String()
	if out, _ := extract(t, whole[:len(whole)-10]); out.State != evidence.Partial {
		t.Errorf("half an event has state %s", out.State)
	}
}

func TestConformance(t *testing.T) {
	dir := providertest.GoModule(t, module)
	ran := capture(t, quick("Alloc|Log"), nil, dir, "go", "test", "./...")
	providertest.Run(t, p, &providertest.Cases{
		Valid: ran.Stdout,
		Empty: []byte("PASS\nok  \texample.test/m\t0.002s\n"),
		Role:  gobench.Role,
		Half:  evidence.Partial,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"go", "test", "."}}, Options: defaults()})
}

func TestPlan(t *testing.T) {
	all := &gobench.Options{Bench: "^X$", Run: "Y", Count: 3, Benchtime: "100x", CPU: []int{1, 4}, Short: true, Timeout: time.Minute}
	bin := token.Make("build.b.dir") + "/sort.test"
	for _, c := range []struct {
		name string
		argv []string
		o    *gobench.Options
		want []string
	}{
		{"go test", []string{"go", "test", "./p"}, defaults(), []string{"go", "test", "-run=^$", "-bench=.", "-count=10", "-benchtime=1s", "-timeout=0s", "-benchmem", "./p"}},
		{"everything", []string{"go", "test"}, all, []string{"go", "test", "-run=Y", "-bench=^X$", "-count=3", "-benchtime=100x", "-timeout=1m0s", "-short", "-cpu=1,4"}},
		{"flags of the workload stay", []string{"/usr/local/go/bin/go", "test", "-tags=x", "-race", ".", "-args", "-count=9"}, defaults(),
			[]string{"/usr/local/go/bin/go", "test", "-run=^$", "-bench=.", "-count=10", "-benchtime=1s", "-timeout=0s", "-benchmem", "-tags=x", "-race", ".", "-args", "-count=9"}},
		{"go -C", []string{"go1.26.8", "-C", "d", "test"}, defaults(), []string{"go1.26.8", "-C", "d", "test", "-run=^$", "-bench=.", "-count=10", "-benchtime=1s", "-timeout=0s", "-benchmem"}},
		{"a test binary of a build", []string{bin, "-rows=5"}, defaults(), []string{bin, "-test.run=^$", "-test.bench=.", "-test.count=10", "-test.benchtime=1s", "-test.timeout=0s", "-test.benchmem", "-rows=5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(providers.Workload{Argv: c.argv}, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(inv.Argv, c.want) {
				t.Errorf("argv %q, want %q", inv.Argv, c.want)
			}
			if inv.Outputs[0].Stream != providers.Stdout || !inv.Outputs[0].Required || inv.Outputs[0].Role != gobench.Role {
				t.Errorf("outputs %+v", inv.Outputs)
			}
		})
	}
	with := func(f func(*gobench.Options)) *gobench.Options { o := defaults(); f(o); return o }
	for _, c := range []struct {
		name string
		argv []string
		o    *gobench.Options
		want string
	}{
		{"another program", []string{"python", "x.py"}, defaults(), "neither"},
		{"a wrapper", []string{"taskset", "-c", "1", "go", "test"}, defaults(), "neither"},
		{"go build", []string{"go", "build"}, defaults(), "neither"},
		{"said twice", []string{"go", "test", "-count", "3"}, defaults(), "-count"},
		{"said twice to a binary", []string{"x.test", "--test.bench=X"}, defaults(), "-test.bench"},
		{"json", []string{"go", "test", "-json"}, defaults(), "-json"},
		{"compile only", []string{"go", "test", "-c"}, defaults(), "-c"},
		{"count", []string{"go", "test"}, with(func(o *gobench.Options) { o.Count = 0 }), "count = 0"},
		{"bench", []string{"go", "test"}, with(func(o *gobench.Options) { o.Bench = "" }), "bench"},
		{"benchtime", []string{"go", "test"}, with(func(o *gobench.Options) { o.Benchtime = "0x" }), "benchtime"},
		{"benchtime without a unit", []string{"go", "test"}, with(func(o *gobench.Options) { o.Benchtime = "100" }), "100x"},
		{"timeout", []string{"go", "test"}, with(func(o *gobench.Options) { o.Timeout = -1 }), "timeout"},
		{"cpu", []string{"go", "test"}, with(func(o *gobench.Options) { o.CPU = []int{0} }), "cpu"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(providers.Workload{Argv: c.argv}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{
		"", "\n", "PASS\n", "goos: linux\ngoarch: amd64\npkg: a\ncpu: x\nBenchmarkA/k=v-8 \t 100\t 1.5 ns/op\t 3 B/op\nPASS\nok  \ta\t1s\n",
		"Unit x better=higher assume=exact\nBenchmarkA 1 5 x\n", "BenchmarkA 1 NaN x -0 y Inf z 1e400 w\n",
		"--- FAIL: BenchmarkA\nFAIL\tp [build failed]\npanic: x\n", "      10\t 2 ns/op\n", "Benchmark", "BenchmarkA \t",
		"{\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"BenchmarkA 1 2 ns/op\\n\"}\n", "\xff\xfeB\x00e\x00", "\xef\xbb\xbfBenchmarkA 1 5 ns/op\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := providertest.Input(t, gobench.Role, data)
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: p.Name(), ProviderVersion: 1}, evidence.DefaultBudget())
		defer sink.Discard()
		out, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := p.Validate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if (out.State == evidence.Complete || out.State == evidence.Partial) && sink.Rows() == 0 && len(out.Limitations) == 0 {
			t.Fatalf("no rows and no reason: %+v", out)
		}
		if out.State == evidence.Complete && sink.Rows() == 0 {
			t.Fatal("complete without rows")
		}
		if rec.Valid && sink.Rows() == 0 {
			t.Fatal("a run that measured nothing is valid")
		}
		p.Formats()[0].Detect(data)
	})
}
