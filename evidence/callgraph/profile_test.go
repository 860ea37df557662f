package callgraph_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/callgraph"
)

func ptr[T any](v T) *T { return &v }

// id is an identity of 64 digits that begins as given.
func id(s string) string { return s + strings.Repeat("0", 64-len(s)) }

// write makes the parts of a profile: main calls fib, which calls itself; 70 ns in all, 10 of which two labels of one stack.
func write(t *testing.T, more func(*evidence.Sink)) map[string][]string {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "test", ProviderVersion: 1}, evidence.Budget{})
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []evidence.Frame{
		{Frame: id("aa1111"), Function: ptr("main"), File: ptr("main.go"), Line: ptr(int64(3)), Symbolization: "complete"},
		{Frame: id("bb2222"), Function: ptr("fib"), Module: ptr("lib"), Symbolization: "partial"},
		{Frame: id("bb3333"), Function: ptr("fibonacci"), Symbolization: "partial"},
		{Frame: id("cc4444"), Address: ptr(uint64(0x1f)), Module: ptr("libc.so"), Symbolization: "absent"},
	} {
		check(sink.Frames.Put(&f))
	}
	for _, v := range []evidence.FrameValue{
		{Frame: id("aa1111"), Metric: "cpu", Unit: "ns", Self: 10, Inclusive: 70, Samples: ptr(uint64(7))},
		{Frame: id("bb2222"), Metric: "cpu", Unit: "ns", Self: 60, Inclusive: 60},
		{Frame: id("bb2222"), Metric: "cpu", Unit: "ns", Self: 60, Inclusive: 60, Labels: map[string]string{"thread": "1"}},
		{Frame: id("bb2222"), Metric: "hits", Unit: "count", Self: 6, Inclusive: 6},
		{Frame: id("bb3333"), Metric: "cpu", Unit: "ns"},
		{Frame: id("cc4444"), Metric: "cpu", Unit: "ns"},
	} {
		check(sink.FrameValues.Put(&v))
	}
	for _, e := range []evidence.CallEdge{
		{Parent: id("aa1111"), Child: id("bb2222"), Metric: "cpu", Unit: "ns", Weight: 60},
		{Parent: id("bb2222"), Child: id("bb2222"), Metric: "cpu", Unit: "ns", Weight: 50},
	} {
		check(sink.CallEdges.Put(&e))
	}
	for _, s := range []evidence.Stack{
		{Stack: id("01"), Frames: []string{id("aa1111"), id("bb2222"), id("bb2222")}, Leaf: id("bb2222"), Metric: "cpu", Unit: "ns", Weight: 50},
		{Stack: id("02"), Frames: []string{id("aa1111")}, Leaf: id("aa1111"), Metric: "cpu", Unit: "ns", Weight: 10},
		{Stack: id("03"), Frames: []string{id("aa1111"), id("bb2222")}, Leaf: id("bb2222"), Metric: "cpu", Unit: "ns", Weight: 10, Labels: map[string]string{"thread": "1"}},
	} {
		check(sink.Stacks.Put(&s))
	}
	if more != nil {
		more(sink)
	}
	parts, err := sink.Close()
	check(err)
	out := map[string][]string{}
	for _, p := range parts {
		out[p.Table] = append(out[p.Table], p.Path)
	}
	return out
}

func open(t *testing.T) *callgraph.Profile {
	t.Helper()
	p, err := callgraph.Open(write(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var cpu = callgraph.Metric{Name: "cpu", Unit: "ns"}

func TestRowsThatAreAPartOfAnotherAreNotCountedTwice(t *testing.T) {
	p := open(t)
	values, err := p.Values(cpu)
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != 4 || values[0].Name() != "fib" || values[0].Self != 60 || callgraph.Total(values) != 70 {
		t.Errorf("the frames are %+v", values)
	}
	callgraph.SortByInclusive(values)
	if values[0].Name() != "main" || values[0].Inclusive != 70 || *values[0].Samples != 7 || values[0].Place() != "main.go:3" {
		t.Errorf("the frame with the greatest inclusive weight is %+v", values[0])
	}
}

func TestMetricsAreNamedAndOneThatIsNotThereIsAnError(t *testing.T) {
	p := open(t)
	if got := p.Metrics(); len(got) != 2 || got[0] != cpu {
		t.Errorf("the metrics are %v; the producer's first is cpu", got)
	}
	if m, err := p.Metric("hits"); err != nil || m.Unit != "count" {
		t.Errorf("hits is %v, %v", m, err)
	}
	if _, err := p.Metric("wall"); err == nil || !strings.Contains(err.Error(), "cpu (ns), hits (count)") {
		t.Errorf("a metric that is not there: %v", err)
	}
}

func TestEdgesGoInTheDirectionThatIsAsked(t *testing.T) {
	p := open(t)
	callers, err := p.Edges(cpu, func(_, child string) bool { return child == id("bb2222") })
	if err != nil || len(callers) != 2 || callers[0].Parent.Name() != "main" || callers[1].Parent.Name() != "fib" {
		t.Errorf("who calls fib: %v, %v", callers, err)
	}
	callees, err := p.Edges(cpu, func(parent, _ string) bool { return parent == id("aa1111") })
	if err != nil || len(callees) != 1 || callees[0].Weight != 60 {
		t.Errorf("whom main calls: %v, %v", callees, err)
	}
}

func TestStacksKeepRecursionAndLabels(t *testing.T) {
	p := open(t)
	stacks, err := p.Stacks(cpu, "")
	if err != nil || len(stacks) != 3 {
		t.Fatalf("%v, %v", stacks, err)
	}
	if s := stacks[0]; s.Weight != 50 || len(s.Frames()) != 3 || s.Frames()[1] != s.Frames()[2] || s.Frames()[0].Name() != "main" {
		t.Errorf("the heaviest stack is %+v", s)
	}
	// Equal weights stand in the order of identities, whatever the order of the rows.
	if stacks[1].ID != id("02") || stacks[2].Labels["thread"] != "1" {
		t.Errorf("then come %+v", stacks[1:])
	}
}

func TestAFrameIsFoundByItsNameBeforeAPartOfOne(t *testing.T) {
	p := open(t)
	values, err := p.Values(cpu)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"fib": id("bb2222"), "fibo": id("bb3333"), "bb3333": id("bb3333"), "libc.so+0x1f": id("cc4444"), "main main.go:3": id("aa1111"),
	} {
		if got := callgraph.Find(values, name); len(got) != 1 || got[0].ID != want {
			t.Errorf("%q finds %v", name, got)
		}
	}
	if got := callgraph.Find(values, "i"); len(got) != 4 {
		t.Errorf("a part of four names finds %d", len(got))
	}
	if got := callgraph.Find(values, "nowhere"); got != nil {
		t.Errorf("a name of no frame finds %v", got)
	}
}

func TestARowOfAFrameThatIsNotThereIsDamageAndSaid(t *testing.T) {
	parts := write(t, func(s *evidence.Sink) {
		if err := s.FrameValues.Put(&evidence.FrameValue{Frame: id("dead00"), Metric: "cpu", Unit: "ns", Self: 1}); err != nil {
			t.Fatal(err)
		}
	})
	p, err := callgraph.Open(parts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Values(cpu); err == nil || !strings.Contains(err.Error(), "dead00") {
		t.Errorf("the error is %v", err)
	}
}

func TestSumsThatDoNotFitStayAtTheLimit(t *testing.T) {
	for _, c := range [][3]int64{{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MinInt64, -1}} {
		if got := callgraph.Add(c[0], c[1]); got != c[2] {
			t.Errorf("%d + %d is %d, want %d", c[0], c[1], got, c[2])
		}
	}
	if callgraph.Heavier(math.MinInt64, math.MaxInt64) >= 0 {
		t.Error("the least number weighs more than the greatest")
	}
}

// many writes n stacks that go deeper and deeper and branch, over few frames, and gives their frames by stack.
func many(t *testing.T, n, depth int) (parts map[string][]string, want map[string][]string) {
	t.Helper()
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "test", ProviderVersion: 1}, evidence.Budget{})
	name := func(i int) string { return id(fmt.Sprintf("%04x", i)) }
	for i := range 300 {
		if err := sink.Frames.Put(&evidence.Frame{Frame: name(i), Function: ptr(fmt.Sprint("f", i)), Symbolization: "complete"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.FrameValues.Put(&evidence.FrameValue{Frame: name(0), Metric: "cpu", Unit: "ns", Self: 1, Inclusive: 1}); err != nil {
		t.Fatal(err)
	}
	want = map[string][]string{}
	for i := range n {
		frames := make([]string, 1+(i*37)%depth)
		for j := range frames {
			frames[j] = name((j*j + i/50*(j%3)) % 300)
		}
		s := evidence.Stack{Stack: id(fmt.Sprintf("%06x", i)), Frames: frames, Leaf: frames[len(frames)-1], Metric: "cpu", Unit: "ns", Weight: int64(1 + i)}
		want[s.Stack] = frames
		for _, metric := range []string{"cpu", "hits"} {
			if s.Metric = metric; metric == "hits" {
				s.Unit = "count"
			}
			if err := sink.Stacks.Put(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	written, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	parts = map[string][]string{}
	for _, p := range written {
		parts[p.Table] = append(parts[p.Table], p.Path)
	}
	return parts, want
}

func TestEveryStackHasItsOwnFramesHoweverTheyAreShared(t *testing.T) {
	parts, want := many(t, 3000, 400)
	p, err := callgraph.Open(parts)
	if err != nil {
		t.Fatal(err)
	}
	stacks, err := p.Stacks(cpu, "")
	if err != nil || len(stacks) != len(want) {
		t.Fatalf("%d stacks, %v", len(stacks), err)
	}
	for i := range stacks {
		s := &stacks[i]
		if i > 0 && s.Weight > stacks[i-1].Weight {
			t.Fatal("the heaviest do not come first")
		}
		for j, f := range s.Frames() {
			if f.ID != want[s.ID][j] {
				t.Fatalf("frame %d of stack %s is %s, want %s", j, s.ID[:8], f.ID[:8], want[s.ID][j][:8])
			}
		}
		if len(s.Frames()) != len(want[s.ID]) {
			t.Fatalf("stack %s has %d frames, want %d", s.ID[:8], len(s.Frames()), len(want[s.ID]))
		}
	}
	one := id(fmt.Sprintf("%04x", 299))
	with, err := p.Stacks(cpu, one)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, frames := range want {
		if slices.Contains(frames, one) {
			n++
		}
	}
	if len(with) != n {
		t.Errorf("%d stacks have the frame, want %d", len(with), n)
	}
}

// Four bytes for each frame of a stack are what a profile of deep stacks takes; lists of identities took ninety and more.
func TestAProfileOfDeepStacksIsHeldInFourBytesAFrame(t *testing.T) {
	parts, want := many(t, 2000, 2000)
	p, err := callgraph.Open(parts)
	if err != nil {
		t.Fatal(err)
	}
	frames := 0
	for _, list := range want {
		frames += len(list)
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, n := live(), int64(0), 0
	if err := p.EachStack([]callgraph.Metric{cpu}, func(int, *callgraph.Stack) error {
		if n++; n%500 == 0 {
			most = max(most, live()-before)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if limit := int64(40 << 20); most > limit {
		t.Errorf("reading %d frames of stacks in two metrics takes %d MiB; the bound is %d", frames, most>>20, limit>>20)
	}
	stacks, err := p.Stacks(cpu, "")
	if err != nil {
		t.Fatal(err)
	}
	if held := live() - before; held > int64(6*frames)+4<<20 {
		t.Errorf("%d stacks with %d frames hold %d MiB", len(stacks), frames, held>>20)
	}
	runtime.KeepAlive(stacks)
}
