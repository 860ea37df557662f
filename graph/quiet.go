package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/lock"
)

// Commands that only read work while something is measured, without its lock. They write themselves into the machine's list of
// readers, so that the overlap is on the record of the attempt, and step back: one thread, the lowest priority.

// StepBack writes this process into the list of readers until it ends, and makes it as quiet as it can be where something is measured on
// the machine at this moment. It says whether that is so. A reader that began before a measurement did does not step back, and is on its record.
func (s *Store) StepBack(command string) bool {
	quiet := lock.Held(lock.MeasurePath())
	// Not being able to must not keep a reader from reading.
	lock.Attend(lock.Reader{At: s.Now().UTC(), Pid: os.Getpid(), Command: command, Quiet: quiet})
	if !quiet && !lock.Held(lock.MeasurePath()) { // asked again: one may have begun before this reader was in the list
		return false
	}
	runtime.GOMAXPROCS(1)
	tasks, err := os.ReadDir("/proc/self/task")
	if err == nil { // new threads inherit it
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				unix.Setpriority(unix.PRIO_PROCESS, tid, 19)
			}
		}
	}
	return true
}

// overlaps are those who read beside a measurement, as limitations of it.
func overlaps(b lock.Beside) (out []cache.Note) {
	add := func(format string, args ...any) {
		out = append(out, cache.Note{Code: "overlap", Text: fmt.Sprintf(format, args...)})
	}
	for _, r := range b.Before {
		if r.Quiet { // it stepped back for an earlier measurement
			add("%s (pid %d) was running when it began, at the lowest priority", r.Command, r.Pid)
		} else {
			add("%s (pid %d) was running when it began, at normal priority", r.Command, r.Pid)
		}
	}
	for _, r := range b.During {
		if r.Quiet {
			add("%s (pid %d) ran beside it, at the lowest priority", r.Command, r.Pid)
		} else {
			add("%s (pid %d) ran beside it", r.Command, r.Pid)
		}
	}
	if b.More > 0 {
		add("%d more readers ran beside it, which are not named", b.More)
	}
	if b.Unknown {
		add("others may have read beside it: the list of readers %s was cut or could not be used", lock.ReadersPath())
	}
	return out
}

// measuringLock takes the machine's measuring lock: alone for what measures, beside others for everything else, so that nothing of ours runs
// beside a measurement of any workspace. An interrupt ends the wait.
func (a *applier) measuringLock(ctx context.Context, n *Node) (*lock.Lock, error) {
	try, wait := lock.TryShareMeasure, lock.ShareMeasure
	if n.Exclusive {
		try, wait = lock.TryAcquireMeasure, lock.AcquireMeasure
	}
	holder := lock.Holder{Command: "flameox apply: " + n.Address.String()}
	l, err := try(holder)
	var held *lock.HeldError
	if !errors.As(err, &held) {
		return l, err
	}
	a.done <- &outcome{node: n, event: &Event{Kind: EventWaiting, Node: n, Err: held}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.o.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return wait(ctx, holder)
}
