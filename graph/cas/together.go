package cas

import "sync"

// Together lets callers that come at the same moment share one piece of work: who comes while others work waits and is then done with
// everybody else who waited. Syncing a disk for ten takes as long as for one. The zero value is ready.
type Together[T any] struct {
	// Workers is how many pieces are worked on at once, one where it is 0. Two keep a disk busy, and two callers out of each other's way.
	Workers int

	mu      sync.Mutex
	changed *sync.Cond
	waiting []*shared[T]
	working int
}

type shared[T any] struct {
	of          T
	taken, done bool
}

// Do returns when work has been called with x, alone or among others, by this goroutine or another.
func (g *Together[T]) Do(x T, work func([]T)) {
	me := &shared[T]{of: x}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed == nil {
		g.changed = sync.NewCond(&g.mu)
	}
	g.waiting = append(g.waiting, me)
	for me.taken || g.working >= max(1, g.Workers) {
		if me.done {
			return
		}
		g.changed.Wait()
	}
	all := g.waiting
	g.waiting = nil
	list := make([]T, len(all))
	for i, s := range all {
		list[i], s.taken = s.of, true
	}
	g.working++
	g.mu.Unlock()
	work(list)
	g.mu.Lock()
	for _, s := range all {
		s.done = true
	}
	g.working--
	g.changed.Broadcast()
}

// Waiting is how many callers wait at this moment for others to be done, so that their own work can begin.
func (g *Together[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
