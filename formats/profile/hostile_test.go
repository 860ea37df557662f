package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
)

// refs are n frames that the builder knows, all different.
func refs(t *testing.T, b *Builder, n int, name string) []Ref {
	t.Helper()
	out := make([]Ref, n)
	for i := range out {
		r, err := b.Frame(Frame{Function: fmt.Sprint(name, i)})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = r
	}
	return out
}

func wantLimit(t *testing.T, err error, what string, limit int64) {
	t.Helper()
	var over *LimitError
	if !errors.As(err, &over) || over.Limit != limit || !strings.Contains(over.What, what) {
		t.Fatalf("error %v, want the limit of %d %s", err, limit, what)
	}
	if !strings.Contains(err.Error(), number(limit)+" "+over.What) {
		t.Errorf("the message %q does not say the limit", err)
	}
}

func TestAStackDeeperThanTheLimitIsRefused(t *testing.T) {
	b := New(Options{Metrics: cpu})
	f := refs(t, b, 1, "f")
	deep := slices.Repeat(f, MaxDepth+1)
	if err := b.Add(deep[1:], []int64{1}, nil); err != nil {
		t.Fatalf("a stack of exactly the limit: %v", err)
	}
	wantLimit(t, b.Add(deep, []int64{1}, nil), "frames in one stack", MaxDepth)
	wantLimit(t, b.CheckDepth(len(deep)), "frames in one stack", MaxDepth)
	if err := b.CheckDepth(MaxDepth); err != nil {
		t.Error(err)
	}
}

func TestFramesThatAreMetAgainAndAgainAreBounded(t *testing.T) {
	b := New(Options{Metrics: cpu})
	b.maxFrames = 1000
	f := refs(t, b, 10, "f")
	for i := range 100 {
		if err := b.Add(f, []int64{1}, nil); err != nil {
			t.Fatalf("after %d frames: %v", i*10, err)
		}
	}
	err := b.Add(f[:1], []int64{1}, nil)
	wantLimit(t, err, "all samples together", 1000)
	if !strings.Contains(err.Error(), "sample record 101") {
		t.Errorf("%v does not say which record", err)
	}
}

func TestLabelsAndNamesThatAreMetAgainAndAgainAreBounded(t *testing.T) {
	text := strings.Repeat("x", 1000)
	b := New(Options{Metrics: cpu})
	b.maxText = 10_000
	f := refs(t, b, 1, "f")
	var err error
	n := 0
	for ; err == nil && n < 100; n++ { // the same set each time: it takes memory once and time each time
		err = b.Add(f, []int64{1}, map[string]string{"k": text})
	}
	wantLimit(t, err, "labels", 10_000)
	if n != 10 {
		t.Errorf("refused at record %d, want 10", n)
	}

	b = New(Options{Metrics: cpu})
	wantLimit(t, b.Add(refs(t, b, 1, "f"), []int64{1}, map[string]string{"k": strings.Repeat("x", MaxLabels)}), "labels of one sample", MaxLabels)

	b = New(Options{Metrics: cpu})
	b.maxText = 10_000
	for n = 0; n < 100; n++ {
		if _, err = b.Frame(Frame{Module: text}); err != nil {
			break
		}
	}
	wantLimit(t, err, "names of frames", 10_000)
	if n != 10 {
		t.Errorf("refused at frame %d, want 10", n)
	}
}

func TestAMetricOfAnyLengthIsRefusedBeforeEveryRowRepeatsIt(t *testing.T) {
	for _, m := range []Metric{{strings.Repeat("x", MaxMetricName+1), "ns"}, {"cpu", strings.Repeat("x", MaxMetricName+1)}} {
		b := New(Options{Metrics: []Metric{m}})
		wantLimit(t, b.Add(nil, []int64{1}, nil), "metric", MaxMetricName)
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{}, evidence.Budget{})
		_, err := b.Finish(sink)
		wantLimit(t, err, "metric", MaxMetricName)
		sink.Discard()
	}
}

func TestSumsOfFramesAndEdgesAreWithinTheMemoryBudget(t *testing.T) {
	// A metric is six bytes of a file, and each has a sum for each frame and edge.
	metrics := make([]Metric, 10_000)
	for i := range metrics {
		metrics[i] = Metric{fmt.Sprint("m", i), "ns"}
	}
	weights := make([]int64, len(metrics))
	weights[0] = 1
	var full *evidence.BudgetError
	b := New(Options{Metrics: metrics, Budget: evidence.Budget{Memory: 16 << 20}})
	for i := range 100 {
		_, err := b.Frame(Frame{Function: fmt.Sprint(i)})
		if errors.As(err, &full) {
			if i < 10 || full.Table != "frames" {
				t.Errorf("frame %d: %v", i, err)
			}
			break
		}
		if i == 99 {
			t.Error("the sums of a hundred frames, 24 MB, were begun within 16 MiB")
		}
	}

	deep := New(Options{Metrics: metrics, Budget: evidence.Budget{Memory: 16 << 20}})
	f := refs(t, deep, 15, "f")
	var stack []Ref
	for i := range 225 {
		stack = append(stack, f[i/15], f[i%15])
	}
	if err := deep.Add(stack, weights, nil); err != nil {
		t.Fatal(err)
	}
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{}, evidence.Budget{})
	defer sink.Discard()
	if _, err := deep.Finish(sink); !errors.As(err, &full) || full.Table != "call_edges" {
		t.Errorf("the sums of hundreds of edges, 36 MB, within 16 MiB: %v", err)
	}
}

// cost is the bytes that adding and finishing allocate.
func cost(t *testing.T, budget evidence.Budget, add func(*Builder)) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := New(Options{Metrics: cpu, Budget: budget})
	add(b)
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{}, budget)
	defer sink.Discard()
	if _, err := b.Finish(sink); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestManyLeavesOnOneDeepStackAreSummedExactly(t *testing.T) {
	const n = 3000 // the prefixes of one stack of n frames, each a sample
	b := New(Options{Metrics: cpu})
	f := refs(t, b, n, "f")
	for i := 1; i <= n; i++ {
		if err := b.Add(f[:i], []int64{int64(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.sum()
	if err != nil {
		t.Fatal(err)
	}
	if len(b.nodes) != n+1 || len(s.edges) != n-1 {
		t.Errorf("%d nodes and %d edges", len(b.nodes), len(s.edges))
	}
	for i := range f {
		inclusive := int64(n*(n+1)/2 - i*(i+1)/2)
		if s.self[i] != int64(i+1) || s.inclusive[i] != inclusive || s.frameSamples[i] != uint64(n-i) {
			t.Fatalf("frame %d: self %d, inclusive %d, samples %d; want %d, %d, %d", i, s.self[i], s.inclusive[i], s.frameSamples[i], i+1, inclusive, n-i)
		}
	}
}

func TestCutStacksTakeMemoryByNumberAndNotByDepth(t *testing.T) {
	// 5,000 stacks that are cut at 2,048 frames: their keys as text would be 50 MB.
	const n, depth = 5000, 2100
	allocated := cost(t, evidence.Budget{Stacks: 10, StackDepth: 2048}, func(b *Builder) {
		shared := refs(t, b, depth, "f")
		stack := slices.Clone(shared)
		for i := range n {
			r, err := b.Frame(Frame{Function: fmt.Sprint("leaf", i)})
			if err != nil {
				t.Fatal(err)
			}
			stack[depth-1] = r
			if err := b.Add(stack, []int64{1}, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocated > 60<<20 {
		t.Errorf("%d MiB were allocated for %d cut stacks", allocated>>20, n)
	}
}

func TestStacksWithOneTailAreOrderedWithoutComparingPairs(t *testing.T) {
	const n, depth = 2000, 1000
	b := New(Options{Metrics: cpu})
	tail := refs(t, b, depth, "tail")
	stack := make([]Ref, depth+1)
	copy(stack[1:], tail)
	for _, root := range refs(t, b, n, "root") {
		stack[0] = root
		if err := b.Add(stack, []int64{1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.sum()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	rows, _, _ := s.stackRows()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("ordering %d stacks took %s", len(rows), took)
	}
	if !slices.IsSortedFunc(rows, s.comparePairs) {
		t.Error("the order is not that of comparing pairs")
	}
}

// comparePairs is the order of rows as it is defined.
func (s *sums) comparePairs(x, y stackRow) int {
	if c := heavier(x.weights, y.weights, s.primary); c != 0 {
		return c
	}
	a, b := s.path(x), s.path(y)
	slices.Reverse(a)
	slices.Reverse(b)
	if c := slices.CompareFunc(a, b, func(f, g Ref) int { return cmp.Compare(s.rank[f], s.rank[g]) }); c != 0 {
		return c
	}
	return compareLabels(s.b.labels[x.labels], s.b.labels[y.labels])
}

func TestOrderingTogetherIsOrderingInPairs(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := New(Options{Metrics: cpu, Budget: evidence.Budget{StackDepth: []int{0, 3}[seed%2]}})
		f := refs(t, b, 1+r.IntN(4), "f")
		for range 200 {
			stack := make([]Ref, 1+r.IntN(6))
			for i := range stack {
				stack[i] = f[r.IntN(len(f))]
			}
			labels := []map[string]string{nil, {"a": "1"}, {"a": "2"}, {"a": "1", "b": "1"}}[r.IntN(4)]
			if err := b.Add(stack, []int64{int64(r.IntN(3)) - 1}, labels); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.sum()
		if err != nil {
			t.Fatal(err)
		}
		rows, _, _ := s.stackRows()
		want := slices.Clone(rows)
		r.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		slices.SortFunc(want, s.comparePairs)
		for i := range rows {
			if s.comparePairs(rows[i], want[i]) != 0 {
				t.Fatalf("seed %d: row %d differs", seed, i)
			}
		}
	}
}

func TestWhatIsWrittenOfStacksIsBoundedByTheirFramesAndLabels(t *testing.T) {
	s := &sums{b: New(Options{Metrics: cpu}), m: 1}
	s.b.labels = append(s.b.labels, labelSet{{"k", strings.Repeat("x", 1<<20)}})
	deep := make([]stackRow, 5000)
	for i := range deep {
		deep[i] = stackRow{depth: 1 << 14, samples: []uint64{1}}
	}
	if p := s.fit(nil, deep); len(p.stacks) != maxStackFrames>>14 {
		t.Errorf("%d stacks of %d frames are written", len(p.stacks), 1<<14)
	}
	for i := range deep {
		deep[i] = stackRow{depth: 1, labels: 1, samples: []uint64{1}}
	}
	if p := s.fit(nil, deep); len(p.stacks) > maxStackText>>20 || len(p.stacks) < maxStackText>>20-10 {
		t.Errorf("%d stacks with a label of 1 MiB are written", len(p.stacks))
	}
}
