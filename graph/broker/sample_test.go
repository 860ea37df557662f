package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

func TestTheSamplerCountsAChildOfAChild(t *testing.T) {
	// Each of three generations holds 40 MiB.
	c := shell(t, `exec python3 -c '
import os, sys, time
for depth in range(3):
    block = bytearray(40 << 20)
    for i in range(0, len(block), 4096): block[i] = 1
    if depth < 2 and os.fork(): os.wait(); os._exit(0)
time.sleep(0.4)
'`)
	c.SampleEvery = 25 * time.Millisecond
	res := must(t, testBroker(t), c)
	r := res.Resources
	if r.PeakRSS.Unavailable != "" || r.PeakRSS.Bytes < 120<<20 || r.PeakRSS.Bytes > 400<<20 {
		t.Errorf("peak %+v (%d MiB)", r.PeakRSS, r.PeakRSS.Bytes>>20)
	}
	if most := slices.MaxFunc(r.Points, func(a, b Point) int { return a.Processes - b.Processes }); most.Processes != 3 || most.Threads < 3 {
		t.Errorf("most processes at once: %+v", most)
	}
	if r.Backend != BackendProc || r.Interval != c.SampleEvery || r.Samples != len(r.Points) || r.Samples < 5 {
		t.Errorf("backend %q, interval %s, %d samples, %d points", r.Backend, r.Interval, r.Samples, len(r.Points))
	}
	if last := r.Points[len(r.Points)-1]; last.User+last.Sys > res.User+res.Sys+100*time.Millisecond || res.User == 0 {
		t.Errorf("sampled CPU %s + %s, wait4 %s + %s", last.User, last.Sys, res.User, res.Sys)
	}
}

func TestADetachedDescendantIsSampled(t *testing.T) {
	c := shell(t, `(setsid python3 -c '
import time
block = bytearray(64 << 20)
for i in range(0, len(block), 4096): block[i] = 1
open("ready", "w").close()
time.sleep(0.3)
' &); while ! [ -e ready ]; do sleep 0.01; done; sleep 0.2`)
	c.SampleEvery = 25 * time.Millisecond
	if r := must(t, testBroker(t), c).Resources; r.PeakRSS.Bytes < 64<<20 {
		t.Errorf("peak %+v; want the daemon's 64 MiB in it", r.PeakRSS)
	}
}

func TestWithoutAnySampleOfALiveProcessThePeakIsUnavailableNotZero(t *testing.T) {
	s := newSampler(&Command{SampleEvery: defaultSample})
	s.sample(0, &tree{procs: []proc.Stat{{State: 'Z'}}})
	s.sample(time.Second, &tree{procs: []proc.Stat{{State: 'R', RSS: 0}}})
	s.sample(2*time.Second, &tree{})
	r := s.result()
	if r.PeakRSS.Unavailable == "" || r.PeakRSS.Bytes != 0 {
		t.Errorf("peak %+v", r.PeakRSS)
	}
	for _, p := range r.Points {
		if p.RSS != -1 {
			t.Errorf("point %+v has a resident set", p)
		}
	}
	if r.MinimumFree.Unavailable == "" || r.StagingGrowth.Unavailable == "" {
		t.Errorf("without a staging directory: free %+v, growth %+v", r.MinimumFree, r.StagingGrowth)
	}
}

func TestStagingGrowthAndFreeSpaceAreObserved(t *testing.T) {
	b := testBroker(t)
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "old"), make([]byte, 1000), 0o644)
	os.Mkdir(filepath.Join(dir, "root"), 0o755)
	c := shell(t, `head -c 5000 /dev/zero > new; head -c 9000 /dev/zero > root/file; ln -s /etc/passwd link; mkdir d; head -c 7 /dev/zero > d/x`)
	c.Dir, c.Staging, c.StagingExclude = dir, dir, []string{"root"}
	r := must(t, b, c).Resources
	if r.StagingGrowth != (Value{Bytes: 5007}) {
		t.Errorf("growth %+v, want 5007 bytes", r.StagingGrowth)
	}
	if r.MinimumFree.Unavailable != "" || r.MinimumFree.Bytes <= 0 {
		t.Errorf("free %+v", r.MinimumFree)
	}
	c.Argv[2] = "rm -rf old new d"
	if r := must(t, b, c).Resources; r.StagingGrowth != (Value{}) {
		t.Errorf("after a shrink the growth is %+v, want zero", r.StagingGrowth)
	}
	c.Staging = filepath.Join(dir, "missing")
	r = must(t, b, c).Resources
	if !strings.Contains(r.StagingGrowth.Unavailable, "missing") || !strings.Contains(r.MinimumFree.Unavailable, "missing") {
		t.Errorf("of a missing directory: %+v, %+v", r.StagingGrowth, r.MinimumFree)
	}
}

func TestAStagingTreeOverItsBoundIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		put(t, dir, fmt.Sprint(i%3, "/", i), "12345")
	}
	// Three directories, twenty files.
	if n, none := stagingSize(dir, nil, 23); none != "" || n != 100 {
		t.Errorf("with exactly as many as allowed: %d bytes, %s", n, none)
	}
	if _, none := stagingSize(dir, nil, 22); !strings.Contains(none, "more than 22") {
		t.Errorf("with one more: %q", none)
	}
	if maxStaging != 10_000 {
		t.Errorf("the registry promises a bound of 10,000 entries, not %d", maxStaging)
	}
}

func TestPointsAreThinnedAndTheirPeakIsKept(t *testing.T) {
	s := newSampler(&Command{SampleEvery: minSample})
	for i := range 100_001 {
		s.sample(time.Duration(i)*minSample, &tree{procs: []proc.Stat{{State: 'R', RSS: int64(1 + i%7777)}}})
	}
	r := s.result()
	if len(r.Points) > maxPoints || len(r.Points) < maxPoints/2 || r.Samples != 100_001 || r.PeakRSS.Bytes != 7777 {
		t.Errorf("%d points of %d samples, peak %d", len(r.Points), r.Samples, r.PeakRSS.Bytes)
	}
	step := r.Points[1].At - r.Points[0].At
	for i, p := range r.Points {
		if p.At != time.Duration(i)*step {
			t.Fatalf("point %d is at %s; want even steps of %s", i, p.At, step)
		}
	}
}

func TestTheRegistryHasExactlyTheReviewedMetrics(t *testing.T) {
	want := []string{"runtime_resource.peak_rss_bytes", "runtime_resource.minimum_free_bytes", "runtime_resource.staging_growth_bytes"}
	var ids []string
	for _, m := range Registry() {
		ids = append(ids, m.ID)
		if m.Unit != "bytes" || m.Scope == "" || m.Aggregation == "" || m.Backend == "" || m.Unavailable == "" || m.WhenUnavailable == "" || len(m.Limitations) == 0 || m.Compatibility == nil {
			t.Errorf("%+v is incomplete", m)
		}
		if strings.Contains(m.Backend, "psutil") {
			t.Errorf("%s claims a backend that is not ours", m.ID)
		}
		if _, ok := new(Resources).Value(m.ID); !ok {
			t.Errorf("%s has no value in a result", m.ID)
		}
	}
	if !slices.Equal(ids, want) {
		t.Errorf("metrics %v, want %v", ids, want)
	}
	if _, ok := MetricByID("runtime_resource.cpu"); ok {
		t.Error("an unregistered metric was found")
	}
	if _, ok := new(Resources).Value("runtime_resource.cpu"); ok {
		t.Error("an unregistered metric has a value")
	}
	Registry()[0].Limitations[0] = "changed by a caller"
	if m, _ := MetricByID(PeakRSS); m.Limitations[0] == "changed by a caller" {
		t.Error("a caller can change the registry")
	}
}

// sleepers starts a root with n-1 children and returns a run that scans them.
func sleepers(b testing.TB, n int) *run {
	dir := b.TempDir()
	c := Command{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("i=1; while [ $i -lt %d ]; do sleep 60 & i=$((i+1)); done; echo 1 > ready; wait", n)}, Dir: dir, Env: testEnv()}
	br := New(Options{Store: "bench", NoSupervisor: true})
	done := make(chan struct{})
	ctx := b.Context()
	go func() {
		defer close(done)
		br.Run(ctx, c)
	}()
	b.Cleanup(func() { <-done })
	awaitFile(b, filepath.Join(dir, "ready"), 1)
	family.mu.Lock()
	defer family.mu.Unlock()
	for _, r := range family.runs {
		if r.c.Dir == dir {
			return &run{c: r.c, key: r.key, mark: r.mark, sampler: newSampler(&Command{SampleEvery: defaultSample, Staging: dir})}
		}
	}
	b.Fatal("the run is not there")
	return nil
}

func TestASampleAllocatesNothing(t *testing.T) {
	r := sleepers(t, 20)
	r.tree.scan(r)
	if n := len(r.tree.procs); n != 20 {
		t.Fatalf("%d processes, want 20", n)
	}
	r.sampler.points = make([]Point, 0, maxPoints)
	for range 3 { // both maps and all buffers reach their size
		r.tree.scan(r)
	}
	if allocs := testing.AllocsPerRun(50, func() { r.tree.scan(r); r.sampler.sample(0, &r.tree) }); allocs > 2 {
		t.Errorf("%.1f allocations a sample", allocs)
	}
}

// BenchmarkSample is one tick over a tree of 20 processes. At 250 ms, 1.25 ms a tick are 0.5 % of a core.
func BenchmarkSample(b *testing.B) {
	r := sleepers(b, 20)
	r.tree.scan(r)
	before := threadTime()
	for b.Loop() {
		r.tree.scan(r)
		r.sampler.sample(0, &r.tree)
	}
	used := threadTime() - before
	b.ReportMetric(100*float64(used)/float64(b.N)/float64(defaultSample), "%core@250ms")
}

func threadTime() time.Duration {
	var ru unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
