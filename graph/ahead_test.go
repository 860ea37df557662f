package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// askedStage counts how often it is asked, and fails where it is told to.
type askedStage struct {
	fakeStage
	asked atomic.Int32
	err   error
	hangs bool // until the plan is over
}

func (s *askedStage) Actions(ctx context.Context, in *Results) ([]*Action, error) {
	s.asked.Add(1)
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.fakeStage.Actions(ctx, in)
}

func (b *bench) asked(n int) (stages []*askedStage, nodes []*Node) {
	for i := range n {
		text := fmt.Sprint(i)
		s := &askedStage{fakeStage: fakeStage{input: &text}}
		node := b.node(fmt.Sprintf("n%03d", i), Pure, &s.fakeStage)
		node.Stage = s
		stages, nodes = append(stages, s), append(nodes, node)
	}
	return stages, nodes
}

func TestAPlanAsksEachStageOnceHoweverManyThreads(t *testing.T) {
	for _, threads := range []int{1, 2} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			b := newBench(t)
			stages, nodes := b.asked(3*aheadRun + 5)
			// One in the middle needs another, and one is blocked.
			text := "x"
			dependent := b.node("dependent", Pure, &fakeStage{input: &text}, nodes[3])
			stages[7].block = &BlockedError{Why: "because"}
			g := b.graph(append(append(append([]*Node{}, nodes[:10]...), dependent), nodes[10:]...)...)
			p := b.plan(g, Selection{Exclude: patterns(t, "n004")})
			for i, s := range stages {
				if got := s.asked.Load(); got != 1 {
					t.Errorf("stage %d was asked %d times", i, got)
				}
				want := Run
				switch i {
				case 4:
					want = Excluded
				case 7:
					want = Blocked
				}
				if got := p.Of(nodes[i]).State; got != want {
					t.Errorf("node %d: %s, want %s", i, got, want)
				}
				if i != 7 && p.Of(nodes[i]).Actions()[0].Manifest.Facets[1].Entries[0].Value != fmt.Sprint(i) {
					t.Errorf("node %d has the actions of another", i)
				}
			}
			wantState(t, p, dependent, MayRun, Upstream)
		})
	}
}

func TestAnErrorOfOneStageEndsThePlanNamesItAndLeavesNothingRunning(t *testing.T) {
	b := newBench(t)
	stages, nodes := b.asked(20 * aheadRun)
	stages[1].err = errors.New("the disk is gone")
	stages[10*aheadRun].hangs = true
	g := b.graph(nodes...)
	planner, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = planner.Plan(context.Background(), g)
	if err == nil || !strings.Contains(err.Error(), "n001: the disk is gone") {
		t.Fatal(err)
	}
	asked := func() (n int32) {
		for _, s := range stages {
			n += s.asked.Load()
		}
		return n
	}
	before := asked()
	time.Sleep(20 * time.Millisecond)
	if after := asked(); before != after {
		t.Errorf("%d stages were asked after the plan had ended", after-before)
	}
	if planner.ahead != nil {
		t.Error("the planner goes on looking ahead")
	}
}

func TestACancelledPlanEnds(t *testing.T) {
	b := newBench(t)
	_, nodes := b.asked(20 * aheadRun)
	g := b.graph(nodes...)
	planner, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, err := planner.Plan(ctx, g); err == nil && len(p.Decisions) != len(nodes) {
		t.Errorf("no error and %d of %d decisions", len(p.Decisions), len(nodes))
	}
}
