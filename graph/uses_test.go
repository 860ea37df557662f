package graph

import (
	"testing"

	"github.com/flameox/flameox/graph/cache"
)

// What a node uses has to stand before it, like an environment; the node's key is known without it.
func TestWhatANodeUsesRunsFirstAndLeavesItsKeyExact(t *testing.T) {
	b := newBench(t)
	env, text, fails := "env", "text", false
	e := b.node("environment.e", Pure, &fakeStage{input: &env, do: func(_ *Task, rec *cache.Record) error {
		if fails {
			rec.Validation, rec.Execution = cache.ValidationFailed, cache.ExecutionFailed
		}
		return nil
	}})
	w := b.node("workload.w", Definition, &fakeStage{})
	w.Stage, w.Uses = nil, []*Node{e}
	c := b.node("capture.c", Pure, &fakeStage{input: &text}, w)
	other := b.node("capture.other", Pure, &fakeStage{input: &text})
	g := b.graph(e, w, c, other)
	p := b.plan(g, Selection{})
	wantState(t, p, e, Run, NeverRan)
	wantState(t, p, c, Run, NeverRan)

	runs, _ := b.apply(g, Selection{Target: patterns(t, "capture.c")})
	wantRuns(t, runs, "environment.e/1", "capture.c/1")

	env = "another"
	p = b.plan(g, Selection{})
	wantState(t, p, e, Run, InputsChanged)
	wantState(t, p, c, Cached)

	fails, text = true, "another"
	runs, report := b.apply(g, Selection{Target: patterns(t, "capture.c")})
	wantRuns(t, runs, "environment.e/1")
	if report.Failed != 1 || report.Blocked != 1 {
		t.Errorf("failed %d, blocked %d; want 1 and 1", report.Failed, report.Blocked)
	}
}
