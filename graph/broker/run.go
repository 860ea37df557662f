package broker

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
	"github.com/flameox/flameox/internal/selftrace"
)

// run is one command while it runs.
type run struct {
	sweeping bool // under family.mu: the root has exited, and what it left is being ended
	c        Command
	spool    *spools
	key      proc.Key // of the root
	mark     string
	began    time.Time
	ended    time.Time // of the root
	cause    string

	exited  chan struct{} // closed when the root has exited; it is not reaped before everything is done
	sampler *sampler
	tree    tree
	termAt  time.Time // when TERM was sent to everything, or zero
	left    map[proc.Key]*Process
	order   []proc.Key // of left, as found
}

// Run starts a command and waits until it and everything that it left behind are gone. An error means that
// nothing was started: a *StartError, or an *ExecutableChangedError. Ending ctx ends the command: TERM,
// grace, KILL.
func (b *Broker) Run(ctx context.Context, c Command) (*Result, error) {
	if b.opts.Started != nil {
		b.opts.Started()
	}
	if err := b.ready(); err != nil {
		return nil, refuse(NotStarted, "", err, "start a command: %v", err)
	}
	if trace := selftrace.From(ctx); trace != nil && len(c.Argv) > 0 {
		defer trace.Begin("process", c.Argv[0]).End()
	}
	if c.Mark == "" {
		c.Mark = b.Mark(fmt.Sprintf("run-%d", family.next.Add(1)))
	}
	if err := c.check(b.owner.Owner()); err != nil {
		return nil, err
	}
	path, err := c.locate()
	if err != nil {
		return nil, err
	}
	r := &run{c: c, mark: c.Mark, exited: make(chan struct{}), left: map[proc.Key]*Process{}}
	if r.spool, err = openSpools(&c); err != nil {
		return nil, err
	}
	defer r.spool.close()
	if r.sampler = newSampler(&r.c); c.MinFree > 0 && r.sampler.free() < 0 {
		return nil, refuse(BadArgument, c.Staging, nil, "start %s: the free space of the staging directory cannot be watched: %s", c.Argv[0], r.sampler.noFree)
	}
	if c.Executable != nil {
		if err := c.Executable.Verify(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, refuse(NotStarted, path, err, "start %s: stopped before it was started: %v", c.Argv[0], err)
	}
	if err := r.start(path); err != nil {
		return nil, err
	}
	release := func() {}
	if b.sup != nil {
		release = b.sup.watch(r.key)
	}
	go r.await()
	if c.OnStart != nil {
		c.OnStart(r.key.Pid)
	}
	r.monitor(ctx)
	r.tree.scan(r)
	r.sampler.sample(time.Since(r.began), &r.tree)
	r.sweep()
	release() // before the root's number is free to be anybody's
	res := r.finish()
	res.MaxRSSFloor = selfPeak()
	return res, nil
}

// start starts the root and enters it into the family.
func (r *run) start(path string) error {
	family.start.Lock()
	defer family.start.Unlock()
	family.mu.Lock()
	for _, o := range family.runs {
		if o.mark == r.mark {
			family.mu.Unlock()
			return refuse(BadArgument, "", nil, "start %s: the mark %s is that of a command that runs now; each needs its own, or they would end each other's processes", r.c.Argv[0], r.mark)
		}
	}
	family.mu.Unlock()
	r.began = time.Now()
	pid, err := start(path, &r.c, r.spool)
	if err != nil {
		return r.c.explain(path, err)
	}
	var s proc.Stat
	r.key.Pid = pid
	if r.tree.r.Stat(pid, &s) == nil { // it is not reaped, so it is there
		r.key.Start = s.Start
	}
	family.mu.Lock()
	family.runs[pid] = r
	family.mu.Unlock()
	return nil
}

// await waits for the root's exit without reaping it: until it is reaped nobody else can get its number, so
// signals to its group and session cannot hit a stranger.
func (r *run) await() {
	defer close(r.exited)
	for {
		err := unix.Waitid(unix.P_PID, r.key.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		r.ended = time.Now()
		if r.c.OnExit != nil {
			r.c.OnExit()
		}
		return
	}
}

// Bounds of the pause between two looks at the output and the free space. A writer into the page cache makes about 2 GB/s, so the longest
// pause lets it pass the limit by some 100 MB, which the cut gives back.
const (
	shortLook = 5 * time.Millisecond
	longLook  = 50 * time.Millisecond
)

// monitor returns when the root has exited, or cannot be killed.
func (r *run) monitor(ctx context.Context) {
	var deadline <-chan time.Time
	if r.c.Timeout > 0 {
		t := time.NewTimer(r.c.Timeout - time.Since(r.began))
		defer t.Stop()
		deadline = t.C
	}
	r.tree.scan(r)
	r.sampler.sample(time.Since(r.began), &r.tree)
	next := r.sampler.every
	tick := time.NewTimer(r.pause(next))
	defer tick.Stop()
	for {
		cause := ""
		select {
		case <-r.exited:
			return
		case <-ctx.Done():
			cause = CauseCancelled
		case <-deadline:
			cause = CauseTimeout
		case <-tick.C:
			at := time.Since(r.began)
			if at >= next {
				r.tree.scan(r)
				r.sampler.sample(at, &r.tree)
				// Never two ticks at once, however late this one was.
				next = at - at%r.sampler.every + r.sampler.every
				if r.c.MemoryLimit > 0 && r.sampler.rss > r.c.MemoryLimit {
					cause = CauseMemoryLimit
				} else if r.c.MemoryLimit > 0 && r.sampler.rss > r.c.MemoryLimit/2 {
					next = min(next, at+minSample) // it may grow by gigabytes in a second
				}
			}
			if cause == "" {
				cause = r.exceeded()
			}
			tick.Reset(r.pause(next - time.Since(r.began)))
		}
		if cause != "" {
			r.cause = cause
			r.terminate()
			return
		}
	}
}

// pause is the time until the next look, at most until the next sample.
func (r *run) pause(sample time.Duration) time.Duration {
	d := sample
	if r.c.OutputLimit > 0 {
		out, err := r.spool.sizes()
		// The time in which a fast writer could use what is left.
		room := time.Duration(max(r.c.OutputLimit-out-err, 0)/2) * time.Nanosecond
		d = min(d, max(shortLook, min(room, longLook)))
	}
	if r.c.MinFree > 0 {
		room := time.Duration(max(r.sampler.free()-r.c.MinFree, 0)/2) * time.Nanosecond
		d = min(d, max(shortLook, min(room, longLook)))
	}
	return max(d, time.Millisecond)
}

// exceeded looks at the limits that can be passed within milliseconds.
func (r *run) exceeded() string {
	if r.c.OutputLimit > 0 {
		if out, err := r.spool.sizes(); out+err > r.c.OutputLimit {
			return CauseOutputLimit
		}
	}
	if r.c.MinFree > 0 {
		if free := r.sampler.free(); free >= 0 && free < r.c.MinFree {
			return CauseStorageReserve
		}
	}
	return ""
}

// finish reaps the root and collects what is known.
func (r *run) finish() *Result {
	res := &Result{Mark: r.mark, Pid: r.key.Pid, Exit: -1, Started: r.began.Round(0).UTC(), Cause: r.cause}
	select {
	case <-r.exited:
		r.reap(res)
		res.Wall = r.ended.Sub(r.began)
	default:
		// It waits for a device, or belongs to another user by now. It is reaped when it exits.
		res.Wall = time.Since(r.began)
		var s proc.Stat
		if r.tree.r.Stat(r.key.Pid, &s) == nil {
			p := describe(&s, FoundRoot)
			p.Action, p.Outcome = ActionKill, OutcomeStillRunning
			res.Left = append(res.Left, p)
		}
		go func() { <-r.exited; r.reap(&Result{}) }()
	}
	res.StdoutBytes, res.StderrBytes = r.spool.sizes()
	if limit := r.c.OutputLimit; limit > 0 && res.StdoutBytes+res.StderrBytes > limit {
		r.spool.cut(limit)
		res.Truncated = true
		if res.Cause == "" {
			// It ended by itself between two looks. Whether a look fell in between must not change the answer.
			res.Cause = CauseOutputLimit
		}
	}
	res.Resources = r.sampler.result()
	for _, k := range r.order {
		res.Left = append(res.Left, *r.left[k])
	}
	return res
}

// reap takes the root's exit status and frees its number.
func (r *run) reap(res *Result) {
	var ws unix.WaitStatus
	var ru unix.Rusage
	for {
		_, err := unix.Wait4(r.key.Pid, &ws, 0, &ru)
		if !errors.Is(err, syscall.EINTR) {
			if err == nil {
				res.Exit, res.Signal = exitStatus(ws)
				res.User, res.Sys = time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
				res.MaxRSS = ru.Maxrss << 10
			}
			break
		}
	}
	family.mu.Lock()
	delete(family.runs, r.key.Pid)
	family.mu.Unlock()
}
