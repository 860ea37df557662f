package googlebenchmark_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/googlebenchmark"
	"github.com/flameox/flameox/providers/providertest"
)

var folder string // of everything that is built or installed once; removed by TestMain

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "googlebenchmark-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// build compiles the program with the library of the machine.
var build = sync.OnceValues(func() (string, string) {
	if _, err := exec.LookPath("c++"); err != nil {
		return "", "there is no C++ compiler"
	}
	if exec.Command("sh", "-c", "echo '#include <benchmark/benchmark.h>' | c++ -x c++ -fsyntax-only -").Run() != nil {
		return "", "the headers of Google Benchmark are not here (Debian: libbenchmark-dev)"
	}
	program := filepath.Join(folder, "bench")
	if out, err := exec.Command("c++", "-O1", "-o", program, "testdata/bench.cc", "-lbenchmark", "-lpthread").CombinedOutput(); err != nil {
		return "", "the program cannot be built: " + string(out)
	}
	return program, ""
})

func capture(t *testing.T, o *googlebenchmark.Options, argv ...string) (data []byte, ran providertest.Ran) {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: argv}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran = providertest.Start(t, inv, t.TempDir())
	data, err = os.ReadFile(filepath.Join(ran.Out, "benchmark.json"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data, ran
}

func quick(o *googlebenchmark.Options) { o.Repetitions, o.MinTime = 3, 1e6 }

func names(rows []providertest.Row, aggregation string) (list []string) {
	for _, r := range rows {
		if n := strings.TrimPrefix(r["name"].(string), "googlebenchmark."); r["aggregation"] == aggregation && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

func TestRealRuns(t *testing.T) {
	program, why := build()
	if why != "" {
		t.Skip(why)
	}
	n := 50
	t.Run("everything that a program can say", func(t *testing.T) {
		data, ran := capture(t, options(quick), program)
		out, rows := extract(t, data)
		if ran.Exit != 0 || out.State != evidence.Complete {
			t.Fatalf("exit %d, %+v\n%s%s", ran.Exit, out, ran.Stdout, ran.Stderr)
		}
		agree(t, data, rows)
		for aggregation, want := range map[string][]string{
			"sample": {"bytes_per_second.BM_Copy/1024", "bytes_per_second.BM_Copy/256", "bytes_per_second.BM_Copy/64", "cpu_time.BM_Copy/1024", "cpu_time.BM_Copy/256", "cpu_time.BM_Copy/64", "cpu_time.BM_Counters/real_time", "cpu_time.BM_Threads/threads:2",
				"items_per_second.BM_Copy/1024", "items_per_second.BM_Copy/256", "items_per_second.BM_Copy/64", "plain.BM_Counters/real_time",
				"real_time.BM_Copy/1024", "real_time.BM_Copy/256", "real_time.BM_Copy/64", "real_time.BM_Counters/real_time", "real_time.BM_Threads/threads:2"},
			"BigO": {"cpu_time_coefficient.BM_Copy", "real_time_coefficient.BM_Copy"}, "RMS": {"complexity.BM_Copy"},
		} {
			if got := names(rows, aggregation); !slices.Equal(got, want) {
				t.Errorf("%s: %q\nwant %q", aggregation, got, want)
			}
		}
		if !providertest.HasCode(out.Limitations, googlebenchmark.NonFinite) {
			t.Errorf("%v", out.Limitations)
		}
	})
	t.Run("one benchmark, mixed", func(t *testing.T) {
		data, ran := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter, o.Interleave, o.WarmUp = "^BM_Threads", true, 1e6 }), program)
		_, rows := extract(t, data)
		if got := names(rows, "sample"); ran.Exit != 0 || !slices.Equal(got, []string{"cpu_time.BM_Threads/threads:2", "real_time.BM_Threads/threads:2"}) {
			t.Errorf("exit %d, %q\n%s", ran.Exit, got, ran.Stderr)
		}
		agree(t, data, rows)
		for _, r := range rows {
			if r["dimensions"].(map[string]string)["threads"] != "2" {
				t.Errorf("%v", r)
			}
		}
	})
	t.Run("two benchmarks of one name", func(t *testing.T) {
		data, _ := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter = "^BM_Counters" }), program, "twin")
		out, rows := extract(t, data)
		families := map[string]int{}
		for _, r := range rows {
			if r["aggregation"] == "sample" && r["name"] == "googlebenchmark.real_time.BM_Counters/real_time" {
				families[r["worker"].(string)+" "+r["dimensions"].(map[string]string)["family"]]++
			}
		}
		if len(families) != 2 || !providertest.HasCode(out.Limitations, googlebenchmark.SameName) {
			t.Errorf("%v %v", families, out.Limitations)
		}
		for name, n := range families {
			if n != 3 {
				t.Errorf("%s has %d samples", name, n)
			}
		}
	})
	t.Run("a benchmark that reports an error", func(t *testing.T) {
		data, ran := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter = "BM_Error|BM_Threads" }), program, "error")
		out, rows := extract(t, data)
		if ran.Exit != 0 || out.State != evidence.Partial || !providertest.HasCode(out.Limitations, googlebenchmark.Failed) || len(names(rows, "sample")) != 2 {
			t.Errorf("exit %d, %+v", ran.Exit, out)
		}
		if data, _ = capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter = "BM_Error" }), program, "error"); data != nil {
			if out, _ := extract(t, data); out.State != evidence.Empty || !providertest.HasCode(out.Limitations, googlebenchmark.AllFailed) {
				t.Errorf("%+v", out)
			}
		}
	})
	t.Run("a program that aborts leaves a document that breaks off", func(t *testing.T) {
		data, ran := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter = "BM_Abort" }), program, "abort")
		out, _ := extract(t, data)
		if ran.Exit == 0 || out.State != evidence.Incompatible || out.Limitations[0].Code != googlebenchmark.Truncated && out.Limitations[0].Code != googlebenchmark.EmptyFile {
			t.Errorf("exit %d, %+v", ran.Exit, out)
		}
	})
	t.Run("iterations are refused before anything is measured where the library is older than 1.8", func(t *testing.T) {
		data, ran := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Iterations = &n }), program)
		if ran.Exit == 0 { // a newer library
			_, rows := extract(t, data)
			if rows[0]["loops"] != uint64(n) {
				t.Errorf("loops %v", rows[0]["loops"])
			}
			return
		}
		if len(data) != 0 || !strings.Contains(string(ran.Stderr), "benchmark_min_time") {
			t.Errorf("exit %d, %d bytes\n%s", ran.Exit, len(data), ran.Stderr)
		}
	})
	t.Run("a filter that matches nothing leaves no results", func(t *testing.T) {
		data, ran := capture(t, options(quick, func(o *googlebenchmark.Options) { o.Filter = "^nothing$" }), program)
		if len(data) != 0 || !strings.Contains(string(ran.Stderr), "match") {
			t.Errorf("exit %d, %q, %s", ran.Exit, data, ran.Stderr)
		}
	})
}

// library installs the newest library, with its Python bindings.
var library = sync.OnceValue(func() string {
	out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10", "--target", filepath.Join(folder, "py"), "google-benchmark>=1.9.4,<2").CombinedOutput()
	if err != nil {
		return "google-benchmark cannot be installed (" + err.Error() + "): " + string(out)
	}
	return ""
})

const script = `
import google_benchmark as benchmark

@benchmark.register
def sums(state):
    while state:
        sum(range(100))
    state.counters["seen"] = 3.5

@benchmark.register
@benchmark.option.unit(benchmark.kMicrosecond)
@benchmark.option.arg(64)
def sorts(state):
    while state:
        sorted(range(state.range(0)), reverse=True)

@benchmark.register
def skips(state):
    state.skip_with_error("no such thing")
    while state:
        pass

if __name__ == "__main__":
    benchmark.main()
`

func TestRealRunsOfTheNewestLibrary(t *testing.T) {
	if why := library(); why != "" {
		t.Skip(why)
	}
	t.Setenv("PYTHONPATH", filepath.Join(folder, "py"))
	file := filepath.Join(t.TempDir(), "bench.py")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 50
	for name, change := range map[string]func(*googlebenchmark.Options){
		"with a time":     func(o *googlebenchmark.Options) { o.WarmUp, o.Interleave = 1e6, true },
		"with iterations": func(o *googlebenchmark.Options) { o.Iterations = &n },
	} {
		t.Run(name, func(t *testing.T) {
			data, ran := capture(t, options(quick, change), "python3", file)
			out, rows := extract(t, data)
			if ran.Exit != 0 || out.State != evidence.Partial || !strings.HasPrefix(out.Producer, "1.9.") || !providertest.HasCode(out.Limitations, googlebenchmark.Failed) {
				t.Fatalf("exit %d, %+v\n%s%s", ran.Exit, out, ran.Stdout, ran.Stderr)
			}
			agree(t, data, rows)
			if got, want := names(rows, "sample"), []string{"cpu_time.sorts/64", "cpu_time.sums", "real_time.sorts/64", "real_time.sums", "seen.sums"}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if name == "with iterations" && rows[0]["loops"] != uint64(n) {
				t.Errorf("loops %v", rows[0]["loops"])
			}
		})
	}
}

var bare = regexp.MustCompile(`: -?(NaN|Infinity)\b`)

// agree holds rows against the document as the standard library's reader has it: every time of every run that did not fail, in its order.
func agree(t *testing.T, data []byte, rows []providertest.Row) {
	t.Helper()
	var doc struct {
		Benchmarks []struct {
			RunName   string   `json:"run_name"`
			RunType   string   `json:"run_type"`
			Aggregate string   `json:"aggregate_name"`
			Unit      string   `json:"aggregate_unit"`
			TimeUnit  string   `json:"time_unit"`
			Real      *float64 `json:"real_time"`
			Failed    bool     `json:"error_occurred"`
			Skipped   bool     `json:"skipped"`
		}
	}
	if err := json.Unmarshal(bare.ReplaceAll(data, []byte(": null")), &doc); err != nil {
		t.Fatal(err)
	}
	type one struct {
		name, aggregation string
		value             float64
	}
	var want, got []one
	for _, b := range doc.Benchmarks {
		if b.Failed || b.Skipped || b.Real == nil {
			continue
		}
		o := one{"googlebenchmark.real_time." + b.RunName, "sample", *b.Real}
		if b.RunType == "aggregate" {
			o.aggregation = b.Aggregate
		}
		if b.Unit != "percentage" {
			o.value *= map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[b.TimeUnit]
		}
		want = append(want, o)
	}
	for _, r := range rows {
		if strings.HasPrefix(r["name"].(string), "googlebenchmark.real_time.") {
			got = append(got, one{r["name"].(string), r["aggregation"].(string), r["value_float"].(float64)})
		}
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}
