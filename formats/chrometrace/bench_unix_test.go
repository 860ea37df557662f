//go:build unix

package chrometrace_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/formats/timeline"
)

// BenchmarkTraceToParquetAgainstPythonsJSON reads a generated trace of FLAMEOX_TRACE_MB megabytes (64), as torch.profiler lays its traces out, nests, sums and
// writes it, and lets Python's json module alone read the same file in the same run. CPU time is compared, so that a busy machine does not decide.
func BenchmarkTraceToParquetAgainstPythonsJSON(b *testing.B) {
	mb := 64
	if s := os.Getenv("FLAMEOX_TRACE_MB"); s != "" {
		var err error
		if mb, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(b.TempDir(), "trace.json")
	size := generate(b, path, int64(mb)<<20)
	b.SetBytes(size)
	best := time.Hour
	var sum timeline.Summary
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		start := cpu(b)
		c := timeline.New(timeline.Options{Budget: evidence.DefaultBudget()})
		if _, err := chrometrace.Feed(b.Context(), f, chrometrace.Limits{}, c, nil); err != nil {
			b.Fatal(err)
		}
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Provider: "bench", ProviderVersion: 1}, evidence.DefaultBudget())
		if sum, err = c.Finish(b.Context(), sink); err != nil {
			b.Fatal(err)
		}
		if _, err := sink.Close(); err != nil {
			b.Fatal(err)
		}
		c.Close()
		best = min(best, cpu(b)-start)
		f.Close()
	}
	ours := float64(size) / 1e6 / best.Seconds()
	b.ReportMetric(ours, "MB/cpu-s")
	b.ReportMetric(float64(sum.Slices), "slices")
	b.ReportMetric(peak(b), "peak-MiB")
	out, err := exec.CommandContext(b.Context(), "python3", "-c", "import json, resource, sys\njson.load(open(sys.argv[1]))\nu = resource.getrusage(resource.RUSAGE_SELF)\nprint(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)", path).Output()
	if err != nil {
		b.Logf("there is no python3 to compare with: %v", err)
		return
	}
	var seconds, resident float64
	if _, err := fmt.Sscan(string(out), &seconds, &resident); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ours/(float64(size)/1e6/seconds), "x-python")
	b.ReportMetric(resident, "python-MiB")
}

// peak is the largest resident memory of this process so far.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kb float64
			fmt.Sscan(rest, &kb)
			return kb / 1024
		}
	}
	return 0
}

// generate writes a trace of operators that call each other and launch kernels, with the arguments that torch.profiler writes.
func generate(b *testing.B, path string, size int64) int64 {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var n int64
	put := func(format string, args ...any) {
		k, err := fmt.Fprintf(w, format, args...)
		if err != nil {
			b.Fatal(err)
		}
		n += int64(k)
	}
	operators := []string{"aten::mm", "aten::linear", "aten::t", "aten::transpose", "aten::as_strided", "aten::relu", "aten::add_", "aten::empty", "aten::copy_", "aten::view"}
	id := 0
	var call func(depth, way int, at, lasts float64, thread int)
	call = func(depth, way int, at, lasts float64, thread int) {
		id++
		dim := 1 << (way % 6)
		put("  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": %q, \"pid\": 318, \"tid\": %d,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n      \"External id\": %d,\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"[%d]\"], \"Input type\": [\"float\", \"ScalarList\"], \"Input Strides\": [[%d, 1], []], \"Input Dims\": [[%d, %d], []], \"Ev Idx\": %d\n    }\n  },\n",
			operators[(way*7919>>3)%len(operators)], thread, at, lasts, id, dim, dim, dim, dim, id)
		if way%4 == 1 {
			put("  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, float, %d>(int, float)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": %.3f,\n    \"args\": {\n      \"External id\": %d, \"correlation\": %d, \"device\": 0, \"stream\": 7, \"grid\": [%d, 1, 1], \"block\": [128, 1, 1]\n    }\n  },\n",
				way%50, at+5, lasts/8, id, id, dim)
		}
		if depth == 5 {
			return
		}
		within := at + lasts*0.05
		for i := range 2 + way%2 {
			call(depth+1, way*3+i+1, within, lasts*0.25, thread)
			within += lasts * 0.275
		}
	}
	put("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n  ],\n  \"baseTimeNanoseconds\": 1775078550000000000,\n  \"traceEvents\": [\n")
	at := 3603029046213.755
	for ; n < size; at += 6000 {
		for thread := range 4 {
			call(0, 1, at, 5000, 318+thread)
		}
	}
	put("  {\n    \"ph\": \"i\", \"s\": \"g\", \"name\": \"Record Window End\", \"pid\": \"\", \"tid\": \"\", \"ts\": %.3f\n  }\n  ]\n}\n", at)
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return n
}

// cpu is the processor time of the process so far, the collector's included.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
