package broker

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

const (
	// settle is how long something that outlives the root may take to end by itself, as helpers do that wait for
	// a pipe to close.
	settle = 20 * time.Millisecond
	// sweepLimit is how long the kernel may take to end what was killed.
	sweepLimit = 5 * time.Second
)

// abrupt says that the cause leaves no time for a grace period: what passed a limit goes on passing it.
func abrupt(cause string) bool {
	return cause == CauseOutputLimit || cause == CauseMemoryLimit || cause == CauseStorageReserve
}

// terminate ends a command that still runs: TERM to its group and to everything outside the group, the grace period, KILL. It
// returns when the root has exited or cannot be ended.
func (r *run) terminate() {
	r.termAt = time.Now()
	if !abrupt(r.cause) && r.c.Grace > 0 {
		r.broadcast(unix.SIGTERM)
		r.broadcast(unix.SIGCONT) // what is stopped would not see TERM
		end := time.NewTimer(r.c.Grace)
		defer end.Stop()
		look := time.NewTicker(longLook)
		defer look.Stop()
	grace:
		for {
			select {
			case <-r.exited:
				return
			case <-end.C:
				break grace
			case <-look.C:
				if r.exceeded() != "" {
					break grace
				}
			}
		}
	}
	give := time.After(sweepLimit)
	for {
		r.broadcast(unix.SIGKILL)
		select {
		case <-r.exited:
			return
		case <-give:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// broadcast signals the root's group at once, so that nothing forks its way out of it, and then what has left the group.
// The root is not reaped yet, so the number of the group is still its own.
func (r *run) broadcast(sig unix.Signal) {
	unix.Kill(-r.key.Pid, sig)
	r.tree.scan(r)
	for i := range r.tree.procs {
		if s := &r.tree.procs[i]; s.Group != r.key.Pid && !s.Dead() {
			r.tree.r.Signal(s.Key, sig)
		}
	}
}

// sweep ends and reaps what is left when the root has exited. It returns when nothing is left, or when the rest
// cannot be ended.
func (r *run) sweep() {
	family.mu.Lock()
	r.sweeping = true
	family.mu.Unlock()
	began := time.Now()
	if r.termAt.IsZero() {
		r.termAt = began.Add(settle)
	}
	killAt := r.termAt.Add(r.c.Grace)
	if abrupt(r.cause) {
		killAt = began
	}
	giveUp := killAt.Add(sweepLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		r.tree.scan(r)
		live := r.end(killAt)
		if live == 0 {
			r.tree.scanMarks(r)
			live = r.end(killAt)
		}
		if live == 0 || time.Now().After(giveUp) {
			break
		}
		time.Sleep(pause)
	}
	var s proc.Stat
	for k, p := range r.left {
		if gone := r.tree.r.Stat(k.Pid, &s) != nil || s.Start != k.Start || s.Dead(); gone {
			p.Outcome = OutcomeExited
		} else if p.Outcome == "" {
			p.Outcome = OutcomeStillRunning
		}
	}
}

// end notes the live processes of the last scan, without the root, does to each what its time asks for, and returns
// how many there are.
func (r *run) end(killAt time.Time) (live int) {
	now := time.Now()
	for i := range r.tree.procs {
		s := &r.tree.procs[i]
		if s.Dead() || s.Key == r.key {
			continue
		}
		live++
		p := r.left[s.Key]
		if p == nil {
			d := describe(s, r.tree.found(s, r))
			p = &d
			p.Action = ActionNone
			r.left[s.Key], r.order = p, append(r.order, s.Key)
		}
		var err error
		switch {
		case now.After(killAt):
			p.Action = ActionKill
			err = r.tree.r.Signal(s.Key, unix.SIGKILL)
		case p.Action == ActionNone && now.After(r.termAt):
			p.Action = ActionTerm
			if err = r.tree.r.Signal(s.Key, unix.SIGTERM); err == nil {
				r.tree.r.Signal(s.Key, unix.SIGCONT)
			}
		}
		if errors.Is(err, unix.EPERM) {
			p.Outcome = OutcomeNotPermitted
		}
	}
	return live
}

// killAll kills what find returns until it finds nothing for as long as settle, and reports what it killed. A process that was just
// started shows no environment, and so no mark, for a moment after exec has closed its descriptors: who acts on a flameox that
// died this instant must look for longer than that moment lasts on a busy machine.
func killAll(find func(*proc.Reader) []marked, settle, limit time.Duration) []Process {
	r := new(proc.Reader)
	var order []proc.Key
	all := map[proc.Key]*Process{}
	clean, giveUp := 0, time.Now().Add(limit)
	settled := time.Now().Add(settle)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		found := find(r)
		for _, f := range found {
			p := all[f.key]
			if p == nil {
				p = &f.Process
				all[f.key], order = p, append(order, f.key)
			}
			p.Action = ActionKill
			if err := r.Signal(f.key, unix.SIGKILL); errors.Is(err, unix.EPERM) {
				p.Outcome = OutcomeNotPermitted
			}
		}
		// A process that was between fork and exec carried no mark yet: only a second clean look counts.
		if clean++; len(found) > 0 {
			clean, settled = 0, time.Now().Add(settle)
		}
		if clean >= 2 && time.Now().After(settled) || time.Now().After(giveUp) {
			break
		}
		time.Sleep(pause)
	}
	out := make([]Process, 0, len(order))
	var s proc.Stat
	for _, k := range order {
		p := all[k]
		if r.Stat(k.Pid, &s) != nil || s.Start != k.Start || s.Dead() {
			p.Outcome = OutcomeExited
		} else if p.Outcome == "" {
			p.Outcome = OutcomeStillRunning
		}
		out = append(out, *p)
	}
	return out
}
