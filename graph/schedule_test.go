package graph

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
)

func TestExclusiveNodesRunAloneAndOthersInParallel(t *testing.T) {
	b := newBench(t)
	type interval struct{ from, to time.Time }
	when := map[string]*interval{}
	var mu = make(chan struct{}, 1)
	record := func(t *Task, _ *cache.Record) error {
		from := time.Now()
		time.Sleep(30 * time.Millisecond)
		mu <- struct{}{}
		when[t.Node.Address.Block] = &interval{from, time.Now()}
		<-mu
		return nil
	}
	var nodes []*Node
	for i := range 4 {
		text := fmt.Sprint(i)
		nature := Shared
		if i%2 == 0 {
			nature = Measurement
		}
		n := b.node(fmt.Sprintf("n%d", i), nature, &fakeStage{input: &text, do: record})
		n.Stage.(*fakeStage).runs = new([]string) // not shared between goroutines
		nodes = append(nodes, n)
	}
	g := b.graph(nodes...)
	p, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 4}); err != nil {
		t.Fatal(err)
	}
	overlap := func(a, b string) bool {
		return when[a].from.Before(when[b].to) && when[b].from.Before(when[a].to)
	}
	for _, pair := range [][2]string{{"n0", "n1"}, {"n0", "n2"}, {"n0", "n3"}, {"n2", "n1"}, {"n2", "n3"}} {
		if overlap(pair[0], pair[1]) {
			t.Errorf("%s ran beside %s, which measures alone", pair[1], pair[0])
		}
	}
	if !overlap("n1", "n3") {
		t.Error("n1 and n3 share the machine and did not run in parallel")
	}
}

func TestInputsThatMoveBeforeTheStartMakeANewKeyAndNoRecord(t *testing.T) {
	b := newBench(t)
	text := "old"
	times := 0
	m := b.node("m", Measurement, &fakeStage{input: &text, do: func(*Task, *cache.Record) error {
		if times++; times < 3 {
			text = fmt.Sprint("new", times)
			return &MovedError{What: "file"}
		}
		return nil
	}})
	g := b.graph(m)
	ran, report := b.apply(g, Selection{})
	wantRuns(t, ran, "m/1", "m/1", "m/1")
	if report.Done != 1 || len(b.store.Cache.All()) != 1 {
		t.Errorf("report %+v, %d records; want one of each", report, len(b.store.Cache.All()))
	}
	wantState(t, b.plan(g, Selection{}), m, Cached)

	moves := b.node("moves", Measurement, &fakeStage{do: func(*Task, *cache.Record) error { return &MovedError{What: "file"} }})
	g = b.graph(moves)
	p, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(context.Background(), g, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "again and again") {
		t.Errorf("inputs that never hold still: %v", err)
	}
}
