package graph

import (
	"context"
	"runtime"
)

// ahead asks the stages that need nothing upstream for their actions while the planner looks at results. What they say
// depends on the project's files alone, so it can be known before anything is decided; listing and looking at those files
// is about half of a plan.
type ahead struct {
	answers chan []answer
	stop    context.CancelFunc
	got     []answer
}

type answer struct {
	node    *Node
	actions []*Action
	err     error
}

// aheadRun is how many answers are handed over at once.
const aheadRun = 32

// lookAhead begins to ask, in the order of the graph. It returns nil where there is only one thread, as in a command that
// steps back while something is measured.
func lookAhead(ctx context.Context, g *Graph) *ahead {
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	a := &ahead{answers: make(chan []answer, 4), stop: stop}
	go func() {
		defer close(a.answers)
		var run []answer
		for _, n := range g.Nodes {
			if n.Stage == nil || len(n.needs) > 0 {
				continue
			}
			actions, err := n.Stage.Actions(ctx, &Results{})
			if run = append(run, answer{n, actions, err}); len(run) < aheadRun {
				continue
			}
			select {
			case a.answers <- run:
				run = nil
			case <-ctx.Done():
				return
			}
		}
		select {
		case a.answers <- run:
		case <-ctx.Done():
		}
	}()
	return a
}

// of is the answer of n, if n was asked; nodes are to be named in the order of the graph.
func (a *ahead) of(n *Node) (answer, bool) {
	if a == nil || len(n.needs) > 0 {
		return answer{}, false
	}
	for len(a.got) == 0 {
		run, more := <-a.answers
		if !more {
			return answer{}, false
		}
		a.got = run
	}
	if a.got[0].node != n {
		return answer{}, false
	}
	first := a.got[0]
	a.got = a.got[1:]
	return first, true
}

// close ends the asking and waits until no stage is being asked.
func (a *ahead) close() {
	if a == nil {
		return
	}
	a.stop()
	for range a.answers {
	}
}
