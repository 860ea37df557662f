package lock

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// HeldError says that other processes hold a lock or go first, and who, as far as the lock file tells. Pid 0 means that it does not tell.
type HeldError struct {
	Path    string
	Pid     int // of the first holder that is named
	Host    string
	Command string
	Since   time.Time // UTC

	Others  []Party // who holds it too: those that share it
	Waiters []Party // who waits to hold it alone and keeps others from sharing it meanwhile

	// Free says that nobody holds the lock in a way that excludes this one: it is the turn of somebody who waited for longer.
	Free bool

	// Doubt is why the file does not say who holds the lock, or why what it says may be old; "" where
	// there is no doubt.
	Doubt string

	full  bool  // there may be more than have a place
	cause error // why waiting ended
}

// Unwrap is the reason that waiting ended, such as context.DeadlineExceeded, or nil.
func (e *HeldError) Unwrap() error { return e.cause }

func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lock %s is ", e.Path)
	var holders []Party
	if e.Pid != 0 {
		holders = append([]Party{{Pid: e.Pid, Host: e.Host, Command: e.Command, Since: e.Since}}, e.Others...)
	}
	switch {
	case e.Free && len(holders) > 0:
		b.WriteString("shared" + parties(holders) + ", and it is the turn of who waits for it")
	case e.Free:
		b.WriteString("free, but it is the turn of who waits for it")
	default:
		b.WriteString("held" + parties(holders))
	}
	if e.full {
		b.WriteString(", and perhaps others")
	}
	if len(e.Waiters) > 0 {
		b.WriteString("; it is waited for" + parties(e.Waiters))
	}
	if e.Doubt != "" {
		fmt.Fprintf(&b, "; %s", e.Doubt)
	}
	b.WriteString("; wait for it to finish, or end that process")
	if e.cause != nil {
		fmt.Fprintf(&b, " (stopped waiting: %v)", e.cause)
	}
	return b.String()
}

// mostNamed is how many of many are named in one message.
const mostNamed = 3

func parties(list []Party) string {
	var b strings.Builder
	for i, p := range list {
		if i == mostNamed {
			fmt.Fprintf(&b, " and %d more", len(list)-i)
			break
		}
		if i == 0 {
			b.WriteString(" by")
		} else {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " pid %d on %s", p.Pid, p.Host)
		if p.Command != "" {
			fmt.Fprintf(&b, " (%s)", p.Command)
		}
		fmt.Fprintf(&b, " since %s", p.Since.Local().Format("2006-01-02 15:04:05"))
	}
	return b.String()
}

// held makes the error from the lock file's content. free says that only the order of those who wait is in the way.
func held(path string, f *os.File, free bool) *HeldError {
	e := &HeldError{Path: path, Free: free}
	var holders []Party
	holders, e.Waiters, e.full, e.Doubt = who(f)
	if len(holders) > 0 {
		e.Pid, e.Host, e.Command, e.Since = holders[0].Pid, holders[0].Host, holders[0].Command, holders[0].Since
		e.Others = holders[1:]
	}
	if free {
		e.Doubt = "" // that nobody is named is as it should be
	}
	return e
}

// Held says whether somebody holds the lock on the file at path alone, without touching the lock: a question must not make a
// measurement wait, and who takes the lock at the same moment must not find it held. It is false where the lock is shared, and where the
// file system has no locks of ranges of bytes.
func Held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return noted(f, markExclusive)
}
