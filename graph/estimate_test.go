package graph

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
)

// took makes runs take as long as the test says, on the class of machine that it says.
func (b *bench) took(each *time.Duration) func(*Task, *cache.Record) error {
	return func(_ *Task, rec *cache.Record) error {
		rec.WallNS = each.Nanoseconds()
		return nil
	}
}

// on makes the bench's machine one of a class.
func (b *bench) on(class string) {
	facts := map[string]string{"cpu": class}
	b.store.HostClass = cache.ClassDigest(facts)
	b.store.Host = func() cache.Host { return cache.Host{Name: class, Class: facts} }
}

func TestAnEstimateIsTheMeanOfTheNewestRunsOnThisClassOfMachine(t *testing.T) {
	b := newBench(t)
	each := 10 * time.Second
	text := "0"
	m := b.node("m", Measurement, &fakeStage{input: &text, do: b.took(&each)})
	g := b.graph(m)
	want := func(when string, estimate time.Duration, runs int, elsewhere bool, unknown int) {
		t.Helper()
		s := b.plan(g, Selection{Replace: patterns(t, "m")}).Summary()
		if time.Duration(s.EstimateNS) != estimate || s.EstimateRuns != runs || s.Elsewhere != elsewhere || s.Unknown != unknown {
			t.Errorf("%s: %s from %d runs, elsewhere %t, %d unknown; want %s from %d, %t, %d",
				when, time.Duration(s.EstimateNS), s.EstimateRuns, s.Elsewhere, s.Unknown, estimate, runs, elsewhere, unknown)
		}
	}
	want("nothing ran", 0, 0, false, 1)
	b.on("there")
	b.apply(g, Selection{})
	b.on("here")
	want("only another class ran it", 10*time.Second, 1, true, 0)
	for i := range 7 {
		each, text = time.Duration(i)*time.Second, fmt.Sprint("here", i)
		b.apply(g, Selection{})
	}
	want("the five newest of seven: 2 to 6 s", 4*time.Second, 5, false, 0)
	b.on("there")
	each, text = time.Hour, "there again"
	b.apply(g, Selection{})
	b.on("here")
	want("a newer run on another class", 4*time.Second, 5, false, 0)
	m.Attempts = 3
	want("three attempts", 12*time.Second, 5, false, 0)
	text = "here6"
	s := b.plan(g, Selection{}).Summary()
	if s.TopUp != 1 || time.Duration(s.EstimateNS) != 8*time.Second {
		t.Errorf("two attempts of three are missing: %s in %d top-ups, want 8 s in 1", time.Duration(s.EstimateNS), s.TopUp)
	}
}

func TestWhatMayRunIsEstimatedApart(t *testing.T) {
	b := newBench(t)
	each := 10 * time.Second
	text := "a"
	p := b.node("p", Pure, &fakeStage{input: &text, do: b.took(&each)})
	m := b.node("m", Measurement, &fakeStage{do: b.took(&each)}, p)
	g := b.graph(p, m)
	b.apply(g, Selection{})
	text = "b"
	s := b.plan(g, Selection{}).Summary()
	if time.Duration(s.EstimateNS) != each || time.Duration(s.MayRunNS) != each || s.EstimateRuns != 1 {
		t.Errorf("%+v; want 10 s to run, from one run, and 10 s that may", s)
	}
}

// The long path is declared last and has to begin first: so the whole is done as soon as it can be.
func TestTheLongestPathByEarlierRunsBeginsFirst(t *testing.T) {
	b := newBench(t)
	times := map[string]time.Duration{"short": time.Second, "middle": 3 * time.Second, "head": time.Second, "tail": 5 * time.Second}
	texts := map[string]*string{}
	node := func(name string, deps ...*Node) *Node {
		each := times[name]
		s := &fakeStage{do: b.took(&each)}
		if len(deps) == 0 {
			texts[name] = new(string)
			*texts[name] = name
			s.input = texts[name]
		}
		return b.node(name, Shared, s, deps...)
	}
	short, middle, head := node("short"), node("middle"), node("head")
	tail := node("tail", head)
	g := b.graph(short, middle, head, tail)
	ran, _ := b.apply(g, Selection{})
	wantRuns(t, ran, "short/1", "middle/1", "head/1", "tail/1") // nothing is known: as they are declared
	for _, text := range texts {
		*text += " changed"
	}
	ran, _ = b.apply(g, Selection{})
	// head 1 + tail 5, then what is left of it, middle 3, short 1
	wantRuns(t, ran, "head/1", "tail/1", "middle/1", "short/1")

	p, err := NewPlanner(b.store, g, Selection{Replace: patterns(t, "*")})
	if err != nil {
		t.Fatal(err)
	}
	b.runs = nil
	started := []string{}
	_, err = p.Apply(context.Background(), g, ApplyOptions{Parallelism: 1, Observe: func(e Event) {
		if e.Kind == EventStarted {
			started = append(started, e.Node.Address.String())
		}
	}})
	if err != nil || fmt.Sprint(started) != "[head tail middle short]" {
		t.Errorf("started %v, %v", started, err)
	}
}
