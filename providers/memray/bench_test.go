package memray_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/providertest"
)

// busy allocates and frees in many places, a few of which it keeps.
const busy = `
import sys
def leaves(n):
    return [bytearray(600 + i % 700) for i in range(n)]
def deep(depth, n):
    return deep(depth - 1, n) if depth else leaves(n)
kept = []
for i in range(int(sys.argv[1])):
    x = leaves(200)
    y = deep(i % 30, 200)
    if i % 50 == 0:
        kept.append(x)
`

// own goes through a capture as often as the extraction does, with memray's reader alone: it asks for every view and counts the records.
const own = `
import sys
from memray import FileReader
from memray._memray import compute_statistics
reader = FileReader(sys.argv[1])
for records in (reader.get_high_watermark_allocation_records(), reader.get_leaked_allocation_records(),
                reader.get_temporary_allocation_records(threshold=1), reader.get_allocation_records()):
    for record in records: pass
compute_statistics(sys.argv[1])
`

// cpu is the CPU time of this process and of its children that have ended.
func cpu(b *testing.B) (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return d
}

// BenchmarkExtraction holds the extraction of a capture against memray's own reader in CPU time: the bound is 1.3. FLAMEOX_MEMRAY_ROUNDS is
// how much the workload does; 35,000 rounds leave some 100 MB.
func BenchmarkExtraction(b *testing.B) {
	rounds := "500"
	if s := os.Getenv("FLAMEOX_MEMRAY_ROUNDS"); s != "" {
		rounds = s
	}
	dir := project(b, map[string]string{"busy.py": busy, "own.py": own})
	in, ran := capture(b, options(), dir, "busy.py", rounds)
	if ran.Exit != 0 {
		b.Fatalf("%s", ran.Stderr)
	}
	b.SetBytes(in.Artifacts[0].Size)
	var ours, theirs time.Duration
	runtime.GC() // the capture was read whole to make its artifact
	heap := peakHeap()
	for b.Loop() {
		at := cpu(b)
		if out, err := exec.Command(python(b), dir+"/own.py", in.Artifacts[0].Path).CombinedOutput(); err != nil {
			b.Fatalf("%v %s", err, out)
		}
		theirs += cpu(b) - at
		at = cpu(b)
		in.Reading = providertest.Read(b, p, python(b), "extract", extraction(), in.Artifacts, b.TempDir())
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{Artifact: in.Artifacts[0].Digest}, evidence.DefaultBudget())
		if out, err := p.Extract(b.Context(), in, extraction(), evidence.DefaultBudget(), sink); err != nil || out.State != evidence.Complete {
			b.Fatalf("%+v %v", out, err)
		}
		if _, err := sink.Close(); err != nil {
			b.Fatal(err)
		}
		ours += cpu(b) - at
	}
	b.ReportMetric(float64(heap())/1e6, "MB-Go-heap")
	b.ReportMetric(ours.Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-memray")
	b.ReportMetric(float64(in.Artifacts[0].Size)/1e6, "MB/capture")
}

// peakHeap watches how much memory the Go side holds until what it returns is called.
func peakHeap() func() uint64 {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-peak }
}
