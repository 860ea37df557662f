package selftrace

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock moves by a millisecond whenever somebody looks.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Millisecond)
	return c.t
}

func newRecorder() *Recorder {
	return New("flameox plan", (&clock{t: time.Unix(1e9, 0)}).now)
}

// span is one complete event.
type span struct {
	Ph, Name string
	Tid      int
	Ts, Dur  float64
	Args     map[string]any
}

func (s span) end() float64 { return s.Ts + s.Dur }

func read(t testing.TB, r *Recorder) (spans []span) {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct{ TraceEvents []span }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v in %s", err, b.Bytes())
	}
	for _, e := range doc.TraceEvents {
		if e.Ph == "X" {
			spans = append(spans, e)
		}
	}
	return spans
}

func TestSpansHaveTheirTimesTheirSubjectAndTheirFigures(t *testing.T) {
	r := newRecorder()
	ctx := With(context.Background(), r)
	outer := Begin(ctx, "outer \"quoted\"\n")
	inner := r.Begin("inner", "a file \xff of another alphabet ü")
	inner.Note("bytes", 1<<40)
	inner.End()
	outer.End()
	got := read(t, r)
	if len(got) != 2 || got[0].Name != "outer \"quoted\"\n" || got[0].Ts != 1000 || got[0].Dur != 3000 || got[1].Ts != 2000 || got[1].Dur != 1000 {
		t.Fatalf("read %+v", got)
	}
	if a := got[1].Args; a["of"] != "a file \ufffd of another alphabet ü" || a["bytes"] != float64(1<<40) {
		t.Errorf("arguments %v", a)
	}
}

func TestSpansOfALaneNestOrFollowEachOtherAndLanesAreUsedAgain(t *testing.T) {
	r := newRecorder()
	whole := r.Begin("whole", "")
	slots := make(chan bool, 3)
	var wg sync.WaitGroup
	for range 300 {
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			a := r.Begin("a", "")
			r.Begin("b", "").End()
			r.Begin("c", "").End()
			a.End()
		})
	}
	wg.Wait()
	whole.End()
	got := read(t, r)
	if len(got) != 901 {
		t.Fatalf("%d spans", len(got))
	}
	open := map[int][]span{}
	for _, s := range got {
		on := open[s.Tid]
		for len(on) > 0 && on[len(on)-1].end() <= s.Ts {
			on = on[:len(on)-1]
		}
		if len(on) > 0 && s.end() > on[len(on)-1].end() {
			t.Fatalf("%+v overlaps %+v", s, on[len(on)-1])
		}
		open[s.Tid] = append(on, s)
	}
	// One for this goroutine, and as many as ran beside each other: a goroutine may begin before the one that gave it its slot has ended.
	if len(open) > 8 {
		t.Errorf("%d lanes for three goroutines at a time", len(open))
	}
}

func TestNothingIsRecordedOrAllocatedWithoutARecorder(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		s := Begin(ctx, "x")
		s.Note("n", 1)
		s.End()
		About(From(ctx), "y", panics{}).End()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

type panics struct{}

func (panics) String() string { panic("made a text that nobody reads") }

// BenchmarkOff is what a span costs where nobody asks for a trace, BenchmarkOn where somebody does.
func BenchmarkOff(b *testing.B) {
	ctx := context.WithValue(context.Background(), t0{}, 0)
	for b.Loop() {
		Begin(ctx, "x").End()
	}
}

type t0 struct{}

func BenchmarkOn(b *testing.B) {
	ctx := With(context.Background(), New("x", time.Now))
	for b.Loop() {
		Begin(ctx, "x").End()
	}
}

// Perfetto's own reader is asked where it is installed: no registry of packages has it.
func TestPerfettosReaderAcceptsTheTrace(t *testing.T) {
	shell, err := exec.LookPath("trace_processor_shell")
	if err != nil {
		t.Skip("trace_processor_shell is not on PATH (perfetto.dev/docs/analysis/trace-processor)")
	}
	r := newRecorder()
	outer := r.Begin("outer", "")
	r.Begin("inner", "x").End()
	outer.End()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	trace, query := filepath.Join(dir, "t.json"), filepath.Join(dir, "q.sql")
	if err := os.WriteFile(trace, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(query, []byte("select name, dur, depth from slice order by ts;"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(shell, "-q", query, trace).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"outer",3000000,0`) || !strings.Contains(string(out), `"inner",1000000,1`) {
		t.Errorf("%v\n%s", err, out)
	}
}
