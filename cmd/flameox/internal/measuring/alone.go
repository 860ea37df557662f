package measuring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/flameox/flameox/internal/lock"
)

// patience is how long nobody is told that there is something to wait for.
const patience = time.Second

// alone takes the lock under which everything on this machine is measured, and says whom it waits for. A command that runs below one that holds the lock, as a workload of it, is a part of that measurement and takes none.
func alone(ctx context.Context, w io.Writer, command string) (release func(), err error) {
	holder := lock.Holder{Command: command}
	l, err := lock.TryAcquireMeasure(holder)
	var held *lock.HeldError
	if errors.As(err, &held) {
		if above(held.Pid) || slices.ContainsFunc(held.Others, func(p lock.Party) bool { return above(p.Pid) }) {
			return func() {}, nil
		}
		short, cancel := context.WithTimeout(ctx, patience)
		l, err = lock.AcquireMeasure(short, holder)
		cancel()
		if errors.As(err, &held) && ctx.Err() == nil {
			who := "something else is"
			if held.Pid != 0 {
				who = fmt.Sprintf("%s (pid %d) is", held.Command, held.Pid)
			}
			fmt.Fprintf(w, "waiting: %s measuring on this machine\n", who)
			l, err = lock.AcquireMeasure(ctx, holder)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("wait until nothing else is measured on this machine: %w", err)
	}
	return func() { l.Release() }, nil
}

// above says whether a process is one that this one descends from.
func above(pid int) bool {
	for at := os.Getppid(); at > 1; {
		if at == pid {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", at))
		if err != nil {
			return false
		}
		// The name before the last parenthesis may hold anything; state and parent come after it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			return false
		}
		if at, err = strconv.Atoi(string(fields[1])); err != nil {
			return false
		}
	}
	return false
}
