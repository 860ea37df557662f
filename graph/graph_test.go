package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
)

func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	os.Exit(m.Run())
}

// fakeStage computes the upper case of its input and of its upstream's output: a real stage in everything but the work.
type fakeStage struct {
	name  string
	input *string // "file" that it reads
	up    *Node
	runs  *[]string
	do    func(t *Task, rec *cache.Record) error
	each  bool // one action per upstream attempt
	block *BlockedError
}

func (s *fakeStage) Actions(_ context.Context, in *Results) ([]*Action, error) {
	if s.block != nil {
		return nil, s.block
	}
	ups := [][]*cache.Summary{nil}
	if s.up != nil {
		recs := in.Of(s.up)
		ups = [][]*cache.Summary{recs}
		if s.each {
			ups = nil
			for _, r := range recs {
				ups = append(ups, []*cache.Summary{r})
			}
		}
	}
	var out []*Action
	for _, recs := range ups {
		def := facet.Facet{Name: facet.Definition}
		def.Add("kind", "fake")
		inputs := facet.Facet{Name: facet.Inputs}
		text := ""
		if s.input != nil {
			text = *s.input
			inputs.Add("file", text)
		}
		for _, r := range recs {
			inputs.Add("upstream", r.Outputs[0].Digest.String())
		}
		a := &Action{Manifest: facet.New(def, inputs)}
		if s.each {
			a.For, a.Provider = recs[0].Run, "fake"
		}
		a.Run = func(ctx context.Context, t *Task) (*cache.Record, error) {
			*s.runs = append(*s.runs, fmt.Sprintf("%s/%d", t.Node.Address, t.Attempt))
			rec := &cache.Record{Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed}
			if s.do != nil {
				if err := s.do(t, rec); err != nil || !rec.Valid() || len(rec.Outputs) > 0 {
					return rec, err
				}
			}
			b := []byte(strings.ToUpper(text))
			d, err := t.Batch.PutBytes(b)
			rec.Outputs = []cache.Output{{Name: "out", Digest: d, Size: int64(len(b))}}
			return rec, err
		}
		out = append(out, a)
	}
	return out, nil
}

// bench is a store in a temporary folder with what a test needs around it.
type bench struct {
	t     testing.TB
	store *Store
	runs  []string
	now   time.Time
}

func newBench(t testing.TB) *bench { return newBenchOn(t, func(string) vfs.FS { return vfs.OS{} }) }

// newBenchOn is newBench whose store is on a file system of the test's.
func newBenchOn(t testing.TB, on func(dir string) vfs.FS) *bench {
	t.Setenv(lock.MeasureEnv, filepath.Join(t.TempDir(), "measure"))
	b := &bench{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	dir := filepath.Join(t.TempDir(), ".flameox")
	if err := os.MkdirAll(filepath.Join(dir, "lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return b.now }
	files := on(dir)
	blobs, err := cas.Open(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	records, err := cache.Open(dir, files, now)
	if err != nil {
		t.Fatal(err)
	}
	b.store = &Store{
		Dir: dir, ID: "test", CAS: blobs, Cache: records, Broker: broker.New(broker.Options{Store: "test"}), Now: now,
		Host: func() cache.Host { return cache.Host{Name: "here"} }, Source: func() map[string]string { return nil }, Version: "test",
	}
	return b
}

func (b *bench) node(name string, nature Nature, s *fakeStage, deps ...*Node) *Node {
	s.name, s.runs = name, &b.runs
	n := &Node{Address: address.Address{Block: name}, Kind: "fake", Nature: nature, Stage: s, Attempts: 1, Deps: deps, Exclusive: nature == Measurement}
	if len(deps) > 0 {
		s.up = deps[0]
	}
	return n
}

func (b *bench) graph(nodes ...*Node) *Graph {
	b.t.Helper()
	g, err := New(nodes)
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

func patterns(t testing.TB, list ...string) (out []address.Pattern) {
	for _, s := range list {
		p, err := address.ParsePattern(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// apply applies and returns what ran, in order, and the report.
func (b *bench) apply(g *Graph, sel Selection) ([]string, *Report) {
	b.t.Helper()
	b.runs = nil
	p, err := NewPlanner(b.store, g, sel)
	if err != nil {
		b.t.Fatal(err)
	}
	report, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	return slices.Clone(b.runs), report
}

func (b *bench) plan(g *Graph, sel Selection) *Plan {
	b.t.Helper()
	p, err := NewPlanner(b.store, g, sel)
	if err != nil {
		b.t.Fatal(err)
	}
	plan, err := p.Plan(context.Background(), g)
	if err != nil {
		b.t.Fatal(err)
	}
	return plan
}

func wantRuns(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func wantState(t testing.TB, p *Plan, n *Node, state State, codes ...Code) {
	t.Helper()
	d := p.Of(n)
	var got []Code
	for _, r := range d.Reasons {
		got = append(got, r.Code)
	}
	if d.State != state || !slices.Equal(got, codes) {
		t.Errorf("%s is %s %v, want %s %v", n.Address, d.State, got, state, codes)
	}
}

func TestASecondApplyRunsNothing(t *testing.T) {
	b := newBench(t)
	text := "x"
	a := b.node("a", Pure, &fakeStage{input: &text})
	c := b.node("c", Pure, &fakeStage{}, a)
	g := b.graph(a, c)
	p := b.plan(g, Selection{})
	wantState(t, p, a, Run, NeverRan)
	wantState(t, p, c, MayRun, Upstream)
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "a/1", "c/1")
	ran, report := b.apply(g, Selection{})
	wantRuns(t, ran)
	if report.Cached != 2 {
		t.Errorf("%d cached, want 2", report.Cached)
	}
}

func TestEarlyCutoffWhereUpstreamRanToTheSameBytes(t *testing.T) {
	b := newBench(t)
	text := "x"
	a := b.node("a", Pure, &fakeStage{input: &text})
	c := b.node("c", Measurement, &fakeStage{}, a)
	g := b.graph(a, c)
	b.apply(g, Selection{})
	text = "X" // another input, the same output
	wantState(t, b.plan(g, Selection{}), a, Run, InputsChanged)
	wantState(t, b.plan(g, Selection{}), c, MayRun, Upstream)
	ran, report := b.apply(g, Selection{})
	wantRuns(t, ran, "a/1")
	if report.Cached != 1 {
		t.Errorf("%d cached, want 1", report.Cached)
	}
	text = "y"
	ran, _ = b.apply(g, Selection{})
	wantRuns(t, ran, "a/1", "c/1")
	text = "x"
	ran, _ = b.apply(g, Selection{})
	wantRuns(t, ran)
}

func TestAttemptsAreToppedUpAndReplacedAsAGeneration(t *testing.T) {
	b := newBench(t)
	m := b.node("m", Measurement, &fakeStage{})
	g := b.graph(m)
	b.apply(g, Selection{})
	m.Attempts = 3
	wantState(t, b.plan(g, Selection{}), m, TopUp, MoreAttempts)
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "m/2", "m/3")
	m.Attempts = 2
	p := b.plan(g, Selection{})
	wantState(t, p, m, Cached)
	if r := p.Of(m).Records; len(r) != 2 || r[0].Attempt != 2 || r[1].Attempt != 3 {
		t.Errorf("the results are not the newest two: %v", r)
	}
	sel := Selection{Replace: patterns(t, "m")}
	wantState(t, b.plan(g, sel), m, Run, Replaced)
	ran, _ = b.apply(g, sel)
	wantRuns(t, ran, "m/1", "m/2")
	p = b.plan(g, Selection{})
	wantState(t, p, m, Cached)
	if r := p.Of(m).Records; r[0].Generation != 1 || r[1].Generation != 1 {
		t.Errorf("the results are of generations %d and %d, want 1", r[0].Generation, r[1].Generation)
	}
	if n := len(b.store.Cache.Lookup(p.Of(m).Keys()[0])); n != 5 {
		t.Errorf("%d records are kept, want all 5", n)
	}
}

func TestAnExtractionIsOneActionPerAttemptAndSharedByEqualArtifacts(t *testing.T) {
	b := newBench(t)
	n := 0
	m := b.node("m", Measurement, &fakeStage{do: func(tk *Task, rec *cache.Record) error {
		n++
		d, err := tk.Batch.PutBytes([]byte(fmt.Sprint(n / 2))) // 0, 1, 1
		rec.Outputs = []cache.Output{{Name: "out", Digest: d, Size: 1}}
		return err
	}})
	m.Attempts = 3
	x := b.node("x", Pure, &fakeStage{each: true}, m)
	g := b.graph(m, x)
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "m/1", "m/2", "m/3", "x/1", "x/1")
	links := b.store.Cache.Links()
	if len(links) != 3 || links[1].Extraction != links[2].Extraction || links[0].Extraction == links[1].Extraction {
		t.Errorf("links are %v, want three, the last two to one extraction", links)
	}
	wantState(t, b.plan(g, Selection{}), x, Cached)
}

func TestALostArtifactIsMadeAgainByItsProducerOnly(t *testing.T) {
	b := newBench(t)
	text := "x"
	a := b.node("a", Pure, &fakeStage{input: &text})
	c := b.node("c", Pure, &fakeStage{input: &text}, a)
	g := b.graph(a, c)
	b.apply(g, Selection{})
	lost := b.plan(g, Selection{}).Of(a).Records[0].Outputs[0].Digest
	path := b.store.CAS.Path(lost)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p := b.plan(g, Selection{})
	wantState(t, p, a, Run, EvidenceLost)
	ran, _ := b.apply(g, Selection{})
	if !slices.Contains(ran, "a/2") && !slices.Contains(ran, "a/1") {
		t.Errorf("ran %v, want the producer", ran)
	}
	wantState(t, b.plan(g, Selection{}), a, Cached)
	wantState(t, b.plan(g, Selection{}), c, Cached)
}

func TestAFailureIsKeptNeverReusedAndBlocksOnlyDependents(t *testing.T) {
	b := newBench(t)
	broken := true
	bad := b.node("bad", Measurement, &fakeStage{do: func(_ *Task, rec *cache.Record) error {
		if broken {
			rec.Execution, rec.Validation = cache.ExecutionFailed, cache.ValidationFailed
			rec.Invalid = []cache.Note{{Code: "exit", Text: "it exited 1"}}
		}
		return nil
	}})
	after := b.node("after", Pure, &fakeStage{}, bad)
	text := "y"
	other := b.node("other", Pure, &fakeStage{input: &text})
	g := b.graph(bad, after, other)
	ran, report := b.apply(g, Selection{})
	if !slices.Contains(ran, "other/1") || slices.Contains(ran, "after/1") {
		t.Errorf("ran %v", ran)
	}
	if report.Failed != 1 || report.Blocked != 1 || report.Done != 1 {
		t.Errorf("report is %+v", report)
	}
	wantState(t, b.plan(g, Selection{}), bad, Run, PreviousFailed)
	broken = false
	ran, _ = b.apply(g, Selection{})
	wantRuns(t, ran, "bad/2", "after/1")
}

func TestReuseByAgeAndAClockSetBack(t *testing.T) {
	b := newBench(t)
	m := b.node("m", Measurement, &fakeStage{})
	m.Reuse.Age = time.Hour
	g := b.graph(m)
	b.apply(g, Selection{})
	wantState(t, b.plan(g, Selection{}), m, Cached)
	b.now = b.now.Add(-24 * time.Hour)
	wantState(t, b.plan(g, Selection{}), m, Cached)
	b.now = b.now.Add(26 * time.Hour)
	wantState(t, b.plan(g, Selection{}), m, Run, Expired)
	b.now = b.now.Add(-48 * time.Hour) // before the first run
	m.Reuse = Reuse{}
	m.Attempts = 2
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "m/2")
	p := b.plan(g, Selection{})
	wantState(t, p, m, Cached)
	if r := p.Of(m).Records; r[0].Attempt != 1 || r[1].Attempt != 2 || r[0].Run >= r[1].Run {
		t.Errorf("a clock set back changed the order of attempts: %v", r)
	}
}

func TestSelectionByTargetAndExclusion(t *testing.T) {
	b := newBench(t)
	a := b.node("a.x", Pure, &fakeStage{})
	c := b.node("c.x", Pure, &fakeStage{}, a)
	one := "1"
	d := b.node("d.x", Pure, &fakeStage{input: &one})
	g := b.graph(a, c, d)
	p := b.plan(g, Selection{Target: patterns(t, "c.*")})
	wantState(t, p, a, Run, NeverRan)
	wantState(t, p, c, MayRun, Upstream)
	wantState(t, p, d, Excluded)
	p = b.plan(g, Selection{Exclude: patterns(t, "a.x")})
	wantState(t, p, a, Excluded)
	if st := p.Of(c); st.State != Blocked || !strings.Contains(st.Block.Error(), "excluded") {
		t.Errorf("c is %s, want blocked by the exclusion", st.State)
	}
	_, err := NewPlanner(b.store, g, Selection{Target: patterns(t, "c.y")})
	if err == nil || !strings.Contains(err.Error(), "Did you mean c.x?") {
		t.Errorf("error %v suggests nothing", err)
	}
}

func TestABlockedStageNamesTheOneThingToDo(t *testing.T) {
	b := newBench(t)
	a := b.node("a", Pure, &fakeStage{block: &BlockedError{Why: "nsys is not on PATH", Do: "install it"}})
	c := b.node("c", Pure, &fakeStage{}, a)
	g := b.graph(a, c)
	_, report := b.apply(g, Selection{})
	if report.Blocked != 2 || report.Done != 0 {
		t.Errorf("report is %+v", report)
	}
	if got := b.plan(g, Selection{}).Of(a).Block.Error(); got != "nsys is not on PATH: install it" {
		t.Errorf("block is %q", got)
	}
}

func TestStopFinishesWhatRunsAndStartsNothing(t *testing.T) {
	b := newBench(t)
	stop := make(chan struct{})
	one, two := "1", "2"
	first := b.node("first", Measurement, &fakeStage{input: &one, do: func(*Task, *cache.Record) error { close(stop); return nil }})
	second := b.node("second", Measurement, &fakeStage{input: &two})
	g := b.graph(first, second)
	p, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 2, Stop: stop})
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, b.runs, "first/1")
	if !report.Stopped || report.Done != 1 || report.Waiting != 1 {
		t.Errorf("report is %+v", report)
	}
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "second/1")
}

func TestAnErrorOfFlameoxItselfStopsAndKeepsWhatIsDone(t *testing.T) {
	b := newBench(t)
	one, two := "1", "2"
	first := b.node("first", Measurement, &fakeStage{input: &one})
	second := b.node("second", Measurement, &fakeStage{input: &two, do: func(*Task, *cache.Record) error { return errors.New("no space left on device") }})
	g := b.graph(first, second)
	p, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Apply(context.Background(), g, ApplyOptions{Parallelism: 1})
	if err == nil || !strings.Contains(err.Error(), "second: no space left") {
		t.Errorf("error is %v", err)
	}
	wantState(t, b.plan(g, Selection{}), first, Cached)
	if entries, _ := os.ReadDir(filepath.Join(b.store.Dir, "tmp")); len(entries) != 0 {
		t.Errorf("%d attempt folders are left", len(entries))
	}
}
