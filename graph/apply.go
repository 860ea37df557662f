package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/ready"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/selftrace"
)

// EventKind is what happened to a node during an apply.
type EventKind string

// The events of an apply.
const (
	EventStarted  EventKind = "started"  // an attempt begins
	EventFinished EventKind = "finished" // an attempt is committed and valid
	EventFailed   EventKind = "failed"   // an attempt is committed and not valid, or could not be made
	EventCached   EventKind = "cached"   // the node's results were there
	EventBlocked  EventKind = "blocked"  // the node cannot run
	EventWaiting  EventKind = "waiting"  // somebody else holds the measuring lock
	EventCleaned  EventKind = "cleaned"  // processes of an earlier flameox that died were ended
)

// Event is one thing that happened. Record is set where an attempt was committed.
type Event struct {
	Kind     EventKind
	Node     *Node
	Decision *Decision
	Attempt  int
	Record   *cache.Record
	Err      error
	Time     time.Time
}

// ApplyOptions say how to apply.
type ApplyOptions struct {
	Parallelism int             // nodes that may run at once; exclusive ones always run alone
	FailFast    bool            // start nothing more after a failure
	Observe     func(Event)     // called from one goroutine; may be nil
	Stop        <-chan struct{} // closed: finish what runs, start nothing
	Refresh     func() error    // forgets what was read of the project's files, for when one has changed
}

// Report is what an apply did.
type Report struct {
	Done, Cached, Failed, Blocked, Waiting int // nodes; Waiting were not started
	Failures                               []Event
	Stopped                                bool
}

// Apply runs what is stale. The caller holds the workspace's apply lock. Cancelling ctx kills what runs; every
// finished attempt is kept.
func (p *Planner) Apply(ctx context.Context, g *Graph, o ApplyOptions) (*Report, error) {
	a := &applier{Planner: p, o: o, g: g, report: &Report{}, waiting: map[*Node]int{}, busy: map[digest.Digest]bool{}, keeping: map[*Node]bool{}, moves: map[*Node]int{}, links: map[*Node][]cache.Link{}, done: make(chan *outcome)}
	if a.o.Parallelism < 1 {
		a.o.Parallelism = 1
	}
	p.trace = selftrace.From(ctx)
	defer p.trace.Begin("apply", "").End()
	if err := a.clean(); err != nil {
		return nil, err
	}
	if err := a.classify(); err != nil {
		return nil, err
	}
	return a.run(ctx)
}

type applier struct {
	*Planner
	o       ApplyOptions
	g       *Graph
	report  *Report
	waiting map[*Node]int                      // upstream nodes that are not settled yet
	ready   *ready.Queue[*Node, digest.Digest] // decided to run, not started; by priority
	running int
	keeping map[*Node]bool // committing their last result; they take no slot
	alone   bool           // what runs is exclusive
	done    chan *outcome
	weight  map[*Node]time.Duration
	links   map[*Node][]cache.Link
	stop    bool
	moves   map[*Node]int          // how often a node's inputs moved before it started
	busy    map[digest.Digest]bool // keys of what runs
	settled []*Node                // ready nodes that turned out to need no run
}

// outcome is what a node's goroutine reports when it ends.
type outcome struct {
	node  *Node
	event *Event // of one attempt; nil at the end
	keeps bool   // all that is left is to commit
	how   end
	fatal error
}

// clean ends what a flameox that died has left, and removes the folders of its attempts.
func (a *applier) clean() error {
	left := broker.KillLeftovers(a.store.ID + "/")
	if len(left) > 0 {
		a.emit(Event{Kind: EventCleaned, Err: fmt.Errorf("ended %d processes that an interrupted flameox had left", len(left))})
	}
	dir := filepath.Join(a.store.Dir, "tmp")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for folders of interrupted attempts: %w", err)
	}
	for _, e := range entries {
		// The apply lock is ours, so nothing alive uses them.
		removeAll(filepath.Join(dir, e.Name())) // what cannot be removed is in nobody's way
	}
	_, err = a.store.CAS.Sweep()
	return err
}

func (a *applier) emit(e Event) {
	if a.o.Observe != nil {
		e.Time = a.store.Now()
		a.o.Observe(e)
	}
}

func (a *applier) run(ctx context.Context) (*Report, error) {
	a.weigh()
	a.ready = ready.New[*Node, digest.Digest](a.before)
	var settle []*Node
	for _, n := range a.g.Nodes {
		if n.Stage == nil {
			continue
		}
		a.waiting[n] = len(n.needs) + len(n.after)
		if a.waiting[n] == 0 {
			settle = append(settle, n)
		}
	}
	var fatal error
	for {
		// Settle what needs no run; each may free others.
		for len(settle) > 0 {
			n := settle[0]
			settle = settle[1:]
			run, err := a.settle(ctx, n)
			if err != nil {
				fatal, a.stop = errors.Join(fatal, err), true
				continue
			}
			if run {
				a.ready.Push(n)
			} else {
				settle = append(settle, a.free(n)...)
			}
		}
		select {
		case <-a.o.Stop:
			a.stop, a.report.Stopped = true, true
		default:
		}
		if ctx.Err() != nil {
			a.stop, a.report.Stopped = true, true
		}
		if !a.stop {
			a.start(ctx)
		}
		if len(a.settled) > 0 {
			settle, a.settled = append(settle, a.settled...), nil
			continue
		}
		if a.running == 0 && len(a.keeping) == 0 {
			break
		}
		var out *outcome
		select {
		case out = <-a.done:
		case <-a.stopped():
			continue
		}
		if out.event != nil {
			if r := out.event.Record; r != nil {
				a.made[r.Run] = true
				a.found() // the run may have left the very bytes that were lost
			}
			a.emit(*out.event)
			continue
		}
		if out.keeps {
			if !a.urgent(out.node) {
				a.running--
				a.keeping[out.node] = true
			}
			continue
		}
		if a.keeping[out.node] {
			delete(a.keeping, out.node)
		} else {
			a.running--
			a.alone = false
		}
		for _, k := range a.by[out.node].Keys() {
			delete(a.busy, k)
			a.ready.Free(k)
		}
		if out.how == moved {
			if a.moves[out.node]++; a.moves[out.node] <= mostMoves {
				if err := a.refresh(); err == nil {
					settle = append(settle, out.node)
					continue
				}
			}
			out.fatal = fmt.Errorf("%s: %w, again and again: run apply when nothing edits it", out.node.Address, out.fatal)
		}
		if out.fatal != nil {
			fatal, a.stop = errors.Join(fatal, out.fatal), true
			a.report.Failed++
			continue
		}
		switch out.how {
		case notStarted:
			a.report.Waiting++
			continue // nor is what stands on it
		case broken:
			a.report.Failed++
			a.failed[out.node] = true
			a.by[out.node].State = Blocked
			if a.o.FailFast {
				a.stop = true
			}
		case done:
			a.adopt(out.node)
		}
		settle = append(settle, a.free(out.node)...)
	}
	a.report.Waiting += a.ready.Len()
	for n, c := range a.waiting {
		if c > 0 && n.Stage != nil {
			a.report.Waiting++
		}
	}
	if err := a.commitLinks(); err != nil {
		fatal = errors.Join(fatal, err)
	}
	return a.report, fatal
}

// stopped is the Stop channel until it has been seen, so that a closed one does not spin.
func (a *applier) stopped() <-chan struct{} {
	if a.stop {
		return nil
	}
	return a.o.Stop
}

// settle decides about a node whose upstream is settled, and says whether it has to run.
func (a *applier) settle(ctx context.Context, n *Node) (run bool, err error) {
	d, err := a.decide(ctx, n)
	if err != nil {
		return false, fmt.Errorf("%s: %w", n.Address, err)
	}
	switch d.State {
	case Cached:
		a.report.Cached++
		if n.Level == cache.Sensitive { // the result may be another address's
			if err := a.store.raise(d.Records); err != nil {
				return false, err
			}
		}
		a.emit(Event{Kind: EventCached, Node: n, Decision: d})
		a.link(d)
		return false, nil
	case Blocked:
		a.report.Blocked++
		a.emit(Event{Kind: EventBlocked, Node: n, Decision: d, Err: d.Block})
		return false, nil
	case Excluded:
		return false, nil
	}
	return true, nil
}

// free are the nodes that were waiting for n alone.
func (a *applier) free(n *Node) (out []*Node) {
	for _, u := range n.users {
		if a.waiting[u]--; a.waiting[u] == 0 {
			out = append(out, u)
		}
	}
	return out
}

// before is the order in which ready nodes are started: those that share the machine first, for they may free others; the longest estimated path first.
func (a *applier) before(x, y *Node) bool {
	if x.Exclusive != y.Exclusive {
		return !x.Exclusive
	}
	if a.weight[x] != a.weight[y] {
		return a.weight[x] > a.weight[y]
	}
	return x.order < y.order
}

// mostKeeping is how many nodes may be committing while others run. As many share one sync of the store.
const mostKeeping = 32

// start begins as many of the ready nodes as may run now; an exclusive one when nothing else runs, and nothing is written for what ran.
func (a *applier) start(ctx context.Context) {
	for !a.alone && a.running < a.o.Parallelism && len(a.keeping) < mostKeeping {
		n, ok := a.ready.First()
		if !ok || n.Exclusive && a.running+len(a.keeping) > 0 {
			return
		}
		if k, busy := a.busyKey(a.by[n]); busy { // another node makes the same result at this moment
			a.ready.Park(k)
			continue
		}
		a.ready.Pop()
		d, err := a.redecide(ctx, n)
		if err == nil && (d.State == Cached || d.State == Blocked) {
			a.settled = append(a.settled, n)
			continue
		}
		a.running++
		a.alone = n.Exclusive
		for _, k := range d.Keys() {
			a.busy[k] = true
		}
		go func() {
			how := broken
			if err == nil {
				how, err = a.runNode(ctx, d)
			}
			a.done <- &outcome{node: n, how: how, fatal: err}
		}()
	}
}

// urgent says that what waits for n alone comes before everything that is ready: its slot is kept for that.
func (a *applier) urgent(n *Node) bool {
	first, ok := a.ready.First()
	return ok && slices.ContainsFunc(n.users, func(u *Node) bool { return a.waiting[u] == 1 && a.before(u, first) })
}

// busyKey is one of the results that d needs and that a running node makes: equal instances share one.
func (a *applier) busyKey(d *Decision) (digest.Digest, bool) {
	for _, s := range d.slots {
		if a.busy[s.key] {
			return s.key, true
		}
	}
	return digest.Digest{}, false
}

// mostMoves is how often a node is tried again because its inputs moved.
const mostMoves = 5

// refresh forgets what was read of the project's files.
func (a *applier) refresh() error {
	if a.o.Refresh == nil {
		return nil
	}
	return a.o.Refresh()
}

// redecide looks again right before the start: what an equal node made meanwhile stands for this one.
func (a *applier) redecide(ctx context.Context, n *Node) (*Decision, error) {
	d, err := a.decide(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Address, err)
	}
	return d, nil
}

// runNode makes the missing attempts of a node, one after the other. It runs in its own goroutine and touches
// nothing of the applier but the store and the channel.
func (a *applier) runNode(ctx context.Context, d *Decision) (end, error) {
	n := d.Node
	defer selftrace.About(a.trace, "stage", n.Address).End()
	wait := a.trace.Begin("measuring lock", "")
	l, err := a.measuringLock(ctx, n)
	wait.End()
	if ctx.Err() != nil || a.isStopped() {
		if l != nil {
			l.Release()
		}
		return notStarted, nil
	}
	if err != nil {
		return broken, err
	}
	defer l.Release()
	made := map[digest.Digest]bool{}
	for i, action := range d.actions {
		s := d.slots[i]
		if made[s.key] { // equal upstream attempts share one result
			continue
		}
		made[s.key] = true
		attempt, again := s.next-1, 0
		for k := 0; k < s.missing; k++ {
			if attempt++; ctx.Err() != nil || (attempt > s.next && a.isStopped()) {
				return notStarted, nil
			}
			a.done <- &outcome{node: n, event: &Event{Kind: EventStarted, Node: n, Decision: d, Attempt: attempt}}
			rec, err := a.attempt(ctx, n, action, s, attempt, i == len(d.actions)-1 && k == s.missing-1)
			var changed *MovedError
			if errors.As(err, &changed) {
				return moved, err
			}
			if err != nil {
				return broken, fmt.Errorf("%s: %w", n.Address, err)
			}
			e := &Event{Kind: EventFinished, Node: n, Decision: d, Attempt: attempt, Record: rec}
			if !rec.Valid() {
				e.Kind = EventFailed
			}
			a.done <- &outcome{node: n, event: e}
			if !rec.Valid() {
				if ctx.Err() != nil {
					return notStarted, nil // we killed it: that is no failure of its own
				}
				if again < contentionRetries && onlyContention(rec) {
					again++
					k--
					continue
				}
				return broken, nil
			}
		}
	}
	return done, nil
}

// Contended is the code of an attempt that is not valid because others used the machine.
const Contended = "contention"

// contentionRetries is how often a contended attempt is made again.
const contentionRetries = 2

func onlyContention(rec *cache.Record) bool {
	return len(rec.Invalid) == 1 && rec.Invalid[0].Code == Contended
}

// end is how a node's goroutine ended.
type end int

const (
	done       end = iota
	broken         // an attempt is not valid, or could not be made
	notStarted     // the apply was interrupted before all attempts were made
	moved          // a file changed before the start
)

func (a *applier) isStopped() bool {
	select {
	case <-a.o.Stop:
		return true
	default:
		return false
	}
}

// adopt makes the records that a run has left the node's results. Where one of them cannot be read any more the node is blocked.
func (a *applier) adopt(n *Node) {
	d := a.by[n]
	d.State, d.Records, d.Have = Cached, nil, 0
	delete(a.replaced, n)
	for i, action := range d.actions {
		s, reasons, err := a.look(n, action)
		if err != nil {
			a.refuse(d, err)
			a.report.Blocked++
			a.emit(Event{Kind: EventBlocked, Node: n, Decision: d, Err: d.Block})
			return
		}
		s.level = d.slots[i].level
		d.slots[i] = s
		d.Records = append(d.Records, d.slots[i].records...)
		d.Have += len(d.slots[i].records)
		d.Reasons = append(d.Reasons, reasons...)
	}
	a.results.records[n] = d.Records
	a.report.Done++
	a.link(d)
}
