package graph

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/flameox/flameox/internal/selftrace"
)

// ahead asks the stages that need nothing upstream for their actions while the planner looks at results. What they say
// depends on the project's files alone, so it can be known before anything is decided; listing and looking at those files
// is most of a plan. A second goroutine asks run by run, in the order of the graph; the planner asks too, rather than wait.
type ahead struct {
	runs   []*askRun
	stop   context.CancelFunc
	ended  chan struct{} // closed when the second goroutine is
	at, in int           // the planner's place: the run, and the answer in it
	help   int           // the first run that may be left for the planner to ask
}

// askRun is a few neighbours that are asked one after the other.
type askRun struct {
	nodes   []*Node
	claimed atomic.Bool
	answers []answer
	done    chan struct{} // closed when the answers are there
}

type answer struct {
	actions []*Action
	err     error
}

// aheadRun is how many nodes are in a run.
const aheadRun = 16

// lookAhead begins to ask. It returns nil where there is only one thread, as in a command that steps back while something
// is measured.
func lookAhead(ctx context.Context, g *Graph) *ahead {
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	a := &ahead{ended: make(chan struct{})}
	for _, n := range g.Nodes {
		if n.Stage == nil || len(n.needs) > 0 {
			continue
		}
		k := len(a.runs) - 1
		if k < 0 || len(a.runs[k].nodes) == aheadRun {
			k++
			a.runs = append(a.runs, &askRun{done: make(chan struct{})})
		}
		a.runs[k].nodes = append(a.runs[k].nodes, n)
	}
	ctx, a.stop = context.WithCancel(ctx)
	go func() {
		defer close(a.ended)
		for _, r := range a.runs {
			if ctx.Err() != nil {
				return
			}
			r.ask(ctx)
		}
	}()
	return a
}

// ask asks every node of the run, unless somebody else does.
func (r *askRun) ask(ctx context.Context) bool {
	if !r.claimed.CompareAndSwap(false, true) {
		return false
	}
	defer close(r.done)
	r.answers = make([]answer, len(r.nodes))
	trace := selftrace.From(ctx)
	for i, n := range r.nodes {
		span := selftrace.About(trace, "actions", n.Address)
		r.answers[i].actions, r.answers[i].err = n.Stage.Actions(ctx, &Results{})
		span.End()
	}
	return true
}

// of is the answer of n, if n is one that is asked ahead. Nodes are to be named in the order of the graph.
func (a *ahead) of(ctx context.Context, n *Node) (answer, bool) {
	if a == nil || a.at == len(a.runs) || a.runs[a.at].nodes[a.in] != n {
		return answer{}, false
	}
	r := a.runs[a.at]
	if a.in == 0 && !r.ask(ctx) {
		select {
		case <-r.done:
		default: // it is being asked: be useful meanwhile
			for a.help = max(a.help, a.at+1); a.help < len(a.runs) && !a.runs[a.help].ask(ctx); a.help++ {
			}
			<-r.done
		}
	}
	out := r.answers[a.in]
	if a.in++; a.in == len(r.nodes) {
		a.at, a.in = a.at+1, 0
	}
	return out, true
}

// close ends the asking and waits until no stage is being asked.
func (a *ahead) close() {
	if a == nil {
		return
	}
	a.stop()
	<-a.ended
}
