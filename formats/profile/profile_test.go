package profile

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// sample is a record as a test writes it: "main;fib;fib".
type sample struct {
	stack   string
	weights []int64
	labels  map[string]string
}

var cpu = []Metric{{"cpu", "ns"}}

func one(stack string, w int64) sample { return sample{stack: stack, weights: []int64{w}} }

type tables struct {
	sum    Summary
	frames map[string]string     // id: function
	values map[string][3]int64   // function/metric: self, inclusive, samples
	edges  map[string][2]int64   // parent>child/metric: weight, samples
	stacks []string              // path=weight, in order
	bytes  map[string]string     // table: content
	rows   map[string][]tableRow // table: rows in order
}

type tableRow map[string]any

func build(t *testing.T, opt Options, samples []sample) (tables, error) {
	t.Helper()
	b := New(opt)
	for _, s := range samples {
		var refs []Ref
		for f := range strings.SplitSeq(s.stack, ";") {
			if f == "" {
				continue
			}
			r, err := b.Frame(Frame{Function: f, File: f + ".go"})
			if err != nil {
				return tables{}, err
			}
			refs = append(refs, r)
		}
		if err := b.Add(refs, s.weights, s.labels); err != nil {
			return tables{}, err
		}
	}
	return finish(t, b)
}

func finish(t *testing.T, b *Builder) (tables, error) {
	t.Helper()
	out := tables{frames: map[string]string{}, values: map[string][3]int64{}, edges: map[string][2]int64{}, bytes: map[string]string{}, rows: map[string][]tableRow{}}
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: digest.SumString("x"), Provider: "test", ProviderVersion: 1}, b.opt.Budget)
	defer sink.Discard()
	var err error
	if out.sum, err = b.Finish(sink); err != nil {
		return out, err
	}
	parts, err := sink.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		data, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		out.bytes[p.Table] = string(data)
		if err := evidence.Scan(p.Path, evidence.ScanOptions{}, func(cols []evidence.Column, row []any) error {
			r := tableRow{}
			for i, c := range cols {
				r[c.Name] = row[i]
			}
			out.rows[p.Table] = append(out.rows[p.Table], r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range out.rows["frames"] {
		name, _ := r["function"].(string)
		out.frames[r["frame"].(string)] = name
	}
	name := func(id any) string {
		n, ok := out.frames[id.(string)]
		if !ok {
			t.Errorf("a row refers to the frame %v, which is not in frames", id)
		}
		return n
	}
	for _, r := range out.rows["frame_values"] {
		out.values[name(r["frame"])+"/"+r["metric"].(string)] = [3]int64{r["self"].(int64), r["inclusive"].(int64), int64(r["samples"].(uint64))}
	}
	for _, r := range out.rows["call_edges"] {
		out.edges[name(r["parent"])+">"+name(r["child"])+"/"+r["metric"].(string)] = [2]int64{r["weight"].(int64), int64(r["samples"].(uint64))}
	}
	for _, r := range out.rows["stacks"] {
		var path []string
		for _, f := range r["frames"].([]string) {
			path = append(path, name(f))
		}
		if r["leaf"] != r["frames"].([]string)[len(path)-1] {
			t.Error("the leaf is not the last frame")
		}
		out.stacks = append(out.stacks, fmt.Sprintf("%s=%d", strings.Join(path, ";"), r["weight"]))
	}
	return out, nil
}

func must(t *testing.T, opt Options, samples ...sample) tables {
	t.Helper()
	out, err := build(t, opt, samples)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRecursionCountsOncePerSample(t *testing.T) {
	got := must(t, Options{Metrics: cpu}, one("main;fib;fib;fib", 10), one("main;fib;fib", 5), one("main", 1), one("main;fib;fib;fib", 10))
	wantValues := map[string][3]int64{"main/cpu": {1, 26, 4}, "fib/cpu": {25, 25, 3}}
	if !reflect.DeepEqual(got.values, wantValues) {
		t.Errorf("values %v, want %v", got.values, wantValues)
	}
	wantEdges := map[string][2]int64{"main>fib/cpu": {25, 3}, "fib>fib/cpu": {25, 3}}
	if !reflect.DeepEqual(got.edges, wantEdges) {
		t.Errorf("edges %v, want %v", got.edges, wantEdges)
	}
	wantStacks := []string{"main;fib;fib;fib=20", "main;fib;fib=5", "main=1"}
	if !slices.Equal(got.stacks, wantStacks) {
		t.Errorf("stacks %v, want %v", got.stacks, wantStacks)
	}
	if got.sum.Records != 4 || got.sum.Totals[0] != 26 || got.sum.Partial {
		t.Errorf("summary %+v", got.sum)
	}
}

func TestMutualRecursionCountsEachEdgeOncePerSample(t *testing.T) {
	got := must(t, Options{Metrics: cpu}, one("a;b;a;b;a", 7))
	want := map[string][2]int64{"a>b/cpu": {7, 1}, "b>a/cpu": {7, 1}}
	if !reflect.DeepEqual(got.edges, want) {
		t.Errorf("edges %v, want %v", got.edges, want)
	}
}

// TestSumsAgreeWithCountingEachSample compares with the definitions, applied sample by sample.
func TestSumsAgreeWithCountingEachSample(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	metrics := []Metric{{"samples", "count"}, {"cpu", "ns"}}
	var samples []sample
	values, edges := map[string][3]int64{}, map[string][2]int64{}
	for range 2000 {
		var frames []string
		for range 1 + r.IntN(12) {
			frames = append(frames, string(rune('a'+r.IntN(9))))
		}
		s := sample{strings.Join(frames, ";"), []int64{int64(r.IntN(2)), int64(r.IntN(1000)) - 100}, map[string]string{"k": fmt.Sprint(r.IntN(3))}}
		samples = append(samples, s)
		for m, metric := range metrics {
			w := s.weights[m]
			if w == 0 {
				continue
			}
			for _, f := range slices.Compact(slices.Sorted(slices.Values(frames))) {
				v := values[f+"/"+metric.Name]
				if frames[len(frames)-1] == f {
					v[0] += w
				}
				values[f+"/"+metric.Name] = [3]int64{v[0], v[1] + w, v[2] + 1}
			}
			seen := map[string]bool{}
			for i := 1; i < len(frames); i++ {
				if e := frames[i-1] + ">" + frames[i] + "/" + metric.Name; !seen[e] {
					seen[e] = true
					edges[e] = [2]int64{edges[e][0] + w, edges[e][1] + 1}
				}
			}
		}
	}
	got := must(t, Options{Metrics: metrics, Primary: 1}, samples...)
	if !reflect.DeepEqual(got.values, values) {
		t.Error("frame values differ from counting each sample")
	}
	if !reflect.DeepEqual(got.edges, edges) {
		t.Error("call edges differ from counting each sample")
	}
}

func TestTheOrderOfTheInputDoesNotShow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	var samples []sample
	for range 300 {
		var frames []string
		for range 1 + r.IntN(6) {
			frames = append(frames, string(rune('a'+r.IntN(5))))
		}
		samples = append(samples, sample{strings.Join(frames, ";"), []int64{int64(1 + r.IntN(3))}, map[string]string{"thread": fmt.Sprint(r.IntN(2)), "z": "1"}})
	}
	for _, budget := range []evidence.Budget{{}, {Stacks: 20}, {Frames: 3}, {Rows: 40}, {StackDepth: 2}} {
		first := must(t, Options{Metrics: cpu, Budget: budget}, samples...)
		r.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
		second := must(t, Options{Metrics: cpu, Budget: budget}, samples...)
		if !reflect.DeepEqual(first.bytes, second.bytes) || !reflect.DeepEqual(first.sum, second.sum) {
			t.Errorf("budget %+v: another order of the samples gave other rows", budget)
		}
	}
}

func TestABudgetKeepsTheHeaviestAndSaysWhatItDropped(t *testing.T) {
	samples := []sample{one("main;a", 60), one("main;b", 30), one("main;c", 9), one("main;d", 1)}
	t.Run("stacks", func(t *testing.T) {
		got := must(t, Options{Metrics: cpu, Budget: evidence.Budget{Stacks: 2}}, samples...)
		if !slices.Equal(got.stacks, []string{"main;a=60", "main;b=30"}) {
			t.Errorf("stacks %v", got.stacks)
		}
		want := "the 2 heaviest of 4 stacks were kept; the 2 others have 10 ns of cpu together (10.0 % of the profile's total)"
		if !got.sum.Partial || len(got.sum.Limitations) != 1 || got.sum.Limitations[0] != (evidence.Limitation{Code: StacksDropped, Text: want}) {
			t.Errorf("summary %+v", got.sum)
		}
		if got.values["main/cpu"] != [3]int64{0, 100, 4} {
			t.Errorf("a dropped stack changed what its frames weigh: %v", got.values)
		}
	})
	t.Run("frames", func(t *testing.T) {
		got := must(t, Options{Metrics: cpu, Budget: evidence.Budget{Frames: 3}}, samples...)
		if len(got.values) != 3 || len(got.edges) != 2 || len(got.stacks) != 2 {
			t.Errorf("values %v, edges %v, stacks %v", got.values, got.edges, got.stacks)
		}
		codes := []string{}
		for _, l := range got.sum.Limitations {
			codes = append(codes, l.Code)
		}
		if !slices.Equal(codes, []string{FramesDropped, EdgesDropped, StacksDropped}) {
			t.Errorf("limitations %v", got.sum.Limitations)
		}
	})
	t.Run("rows", func(t *testing.T) {
		// Five frames with a value each, four edges, four stacks.
		const all = 5*2 + 4 + 4
		for rows := int64(1); rows <= all; rows++ {
			got := must(t, Options{Metrics: cpu, Budget: evidence.Budget{Rows: rows}}, samples...)
			var n int64
			for _, r := range got.rows {
				n += int64(len(r))
			}
			if n > rows || n < rows-1 { // a frame and its value stay together
				t.Errorf("%d rows with a budget of %d", n, rows)
			}
			if got.sum.Partial != (rows < all) {
				t.Errorf("budget %d: partial is %v", rows, got.sum.Partial)
			}
		}
	})
}

func TestADeepStackIsCutAtTheRootAndCounted(t *testing.T) {
	deep := strings.Repeat("r;", 50) + "leaf"
	got := must(t, Options{Metrics: cpu, Budget: evidence.Budget{StackDepth: 3}}, one("x;"+deep, 4), one("y;"+deep, 5), one("x;leaf", 1))
	if !slices.Equal(got.stacks, []string{"r;r;leaf=9", "x;leaf=1"}) {
		t.Errorf("stacks %v", got.stacks)
	}
	if !got.sum.Partial || got.sum.Limitations[0].Code != StackDepthCut || !strings.HasPrefix(got.sum.Limitations[0].Text, "2 stacks, with 9 ns of cpu, ") {
		t.Errorf("limitations %v", got.sum.Limitations)
	}
	if got.values["x/cpu"] != [3]int64{0, 5, 2} {
		t.Errorf("a cut stack changed what its frames weigh: %v", got.values["x/cpu"])
	}
}

func TestACutStackAndAnEqualWholeOneAreOneRow(t *testing.T) {
	for _, samples := range [][]sample{
		{one("a;b;c", 1), one("x;a;b;c", 2), one("y;z;a;b;c", 4)},
		{one("y;z;a;b;c", 4), one("x;a;b;c", 2), one("a;b;c", 1)},
	} {
		got := must(t, Options{Metrics: cpu, Budget: evidence.Budget{StackDepth: 3}}, samples...)
		if !slices.Equal(got.stacks, []string{"a;b;c=7"}) || got.sum.Stacks != 1 {
			t.Errorf("stacks %v", got.stacks)
		}
		if len(got.sum.Limitations) != 1 || !strings.HasPrefix(got.sum.Limitations[0].Text, "2 stacks, with 6 ns of cpu, ") {
			t.Errorf("limitations %v: the stack that was whole counts as cut", got.sum.Limitations)
		}
		if got.values["a/cpu"] != [3]int64{0, 7, 3} {
			t.Errorf("a weighs %v", got.values["a/cpu"])
		}
	}
}

func TestWeightsThatDoNotFitAreRefusedAndNeverWrap(t *testing.T) {
	for _, weights := range [][]int64{
		{math.MaxInt64, 1},
		{math.MinInt64},
		{math.MaxInt64 / 2, math.MaxInt64 / 2, 2},
		{math.MinInt64 + 1, -1},
		{math.MaxInt64, -1}, // their sum fits; sums of subsets elsewhere may not
	} {
		var samples []sample
		for i, w := range weights {
			samples = append(samples, one(fmt.Sprint("f", i), w))
		}
		var over *OverflowError
		if _, err := build(t, Options{Metrics: cpu}, samples); !errors.As(err, &over) || over.Record != uint64(len(weights)) {
			t.Errorf("%v: %v", weights, err)
		}
	}
	got := must(t, Options{Metrics: cpu}, one("a;b", math.MaxInt64-1), one("a", 1))
	if got.values["a/cpu"] != [3]int64{1, math.MaxInt64, 2} {
		t.Errorf("values %v", got.values)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := New(Options{Metrics: cpu, Budget: evidence.Budget{Memory: 1 << 20}})
	var full *evidence.BudgetError
	for i := range 1_000_000 {
		r, err := b.Frame(Frame{Function: fmt.Sprint("f", i)})
		if err == nil {
			err = b.Add([]Ref{r}, []int64{1}, map[string]string{"request": fmt.Sprint(i)})
		}
		if errors.As(err, &full) {
			if i < 100 {
				t.Errorf("the budget was used up by %d stacks", i)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("a million frames fit a megabyte")
}

func TestASampleWithoutAStackKeepsItsWeight(t *testing.T) {
	got := must(t, Options{Metrics: cpu}, one("", 12), one("main", 1))
	if got.values["[unknown]/cpu"] != [3]int64{12, 12, 1} || got.sum.Limitations[0].Code != StackMissing {
		t.Errorf("values %v, limitations %v", got.values, got.sum.Limitations)
	}
	if got.sum.Partial {
		t.Error("nothing is missing but the stack")
	}
}

func TestARowWithoutASampleIsAbsent(t *testing.T) {
	metrics := []Metric{{"alloc", "bytes"}, {"inuse", "bytes"}}
	got := must(t, Options{Metrics: metrics}, sample{"main;a", []int64{8, 0}, nil}, sample{"main;b", []int64{4, 4}, nil}, sample{"main;z", []int64{0, 0}, nil},
		sample{"main;diff", []int64{5, 0}, nil}, sample{"main;diff", []int64{-5, 0}, nil})
	if _, ok := got.values["a/inuse"]; ok {
		t.Error("a has a row for a metric no sample of it weighs on")
	}
	if _, ok := got.values["z/alloc"]; ok {
		t.Error("z has a row although it has no weight")
	}
	if v, ok := got.values["diff/alloc"]; !ok || v != [3]int64{0, 0, 2} {
		t.Errorf("weights that cancel out were dropped: %v", got.values)
	}
	if got.values["main/alloc"] != [3]int64{0, 12, 4} || got.values["main/inuse"] != [3]int64{0, 4, 1} {
		t.Errorf("values %v", got.values)
	}
}

func TestLabelsKeepStacksApartAndFramesTogether(t *testing.T) {
	got := must(t, Options{Metrics: cpu}, sample{"a", []int64{3}, map[string]string{"thread": "1"}}, sample{"a", []int64{4}, map[string]string{"thread": "2"}}, sample{"a", []int64{5}, map[string]string{"thread": "2"}})
	if !slices.Equal(got.stacks, []string{"a=9", "a=3"}) || got.values["a/cpu"] != [3]int64{12, 12, 3} {
		t.Errorf("stacks %v, values %v", got.stacks, got.values)
	}
	rows := got.rows["stacks"]
	if rows[0]["stack"] == rows[1]["stack"] || !reflect.DeepEqual(rows[0]["labels"], map[string]string{"thread": "2"}) {
		t.Errorf("rows %v", rows)
	}
}

func TestBytesThatAreNoUTF8AreReplacedAndCounted(t *testing.T) {
	b := New(Options{Metrics: cpu})
	r, err := b.Frame(Frame{Function: "na\xa0me", File: "a.go"})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := b.Frame(Frame{Function: "日本語", File: "a.go"})
	if err := b.Add([]Ref{other, r}, []int64{1}, map[string]string{"k\xff": "v"}); err != nil {
		t.Fatal(err)
	}
	got, err := finish(t, b)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.values["na\uFFFDme/cpu"]; !ok || got.sum.Limitations[0].Code != TextNotUTF8 || got.sum.Limitations[0].Text[:2] != "2 " {
		t.Errorf("values %v, limitations %v", got.values, got.sum.Limitations)
	}
	if _, ok := got.values["日本語/cpu"]; !ok {
		t.Errorf("a name beyond ASCII changed: %v", got.values)
	}
}

func TestAWrongNumberOfWeightsIsAnError(t *testing.T) {
	b := New(Options{Metrics: cpu})
	if err := b.Add(nil, []int64{1, 2}, nil); err == nil {
		t.Error("two weights were taken for one metric")
	}
}

func BenchmarkAddAndFinish(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	stacks := make([][]Ref, 20_000)
	for i := range stacks {
		for range 10 + r.IntN(40) {
			stacks[i] = append(stacks[i], Ref(r.IntN(3000)))
		}
	}
	for b.Loop() {
		p := New(Options{Metrics: cpu, Budget: evidence.DefaultBudget()})
		for i := range 3000 {
			p.Frame(Frame{Function: fmt.Sprint("f", i), File: "x.go"})
		}
		for _, s := range stacks {
			if err := p.Add(s, []int64{1}, nil); err != nil {
				b.Fatal(err)
			}
		}
		sink := evidence.NewSink(b.TempDir(), evidence.FileMeta{}, evidence.Budget{})
		if _, err := p.Finish(sink); err != nil {
			b.Fatal(err)
		}
		if _, err := sink.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(stacks)), "stacks/op")
}
