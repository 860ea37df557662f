package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// HeldError says that another process holds a lock, and who, as far as the lock file tells. Pid 0 means that it does not tell.
type HeldError struct {
	Path    string
	Pid     int
	Host    string
	Command string
	Since   time.Time // UTC

	// Doubt is why the file does not say who holds the lock, or why what it says may be old; "" where
	// there is no doubt.
	Doubt string

	cause error // why waiting ended
}

// Unwrap is the reason that waiting ended, such as context.DeadlineExceeded, or nil.
func (e *HeldError) Unwrap() error { return e.cause }

func (e *HeldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lock %s is held", e.Path)
	if e.Pid != 0 {
		fmt.Fprintf(&b, " by pid %d on %s", e.Pid, e.Host)
		if e.Command != "" {
			fmt.Fprintf(&b, " (%s)", e.Command)
		}
		fmt.Fprintf(&b, " since %s", e.Since.Local().Format("2006-01-02 15:04:05"))
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

// Longest content that is read: a line of JSON that names a command.
const longestContent = 64 << 10

// held makes the error from the lock file's content.
func held(path string, f *os.File) *HeldError {
	e := &HeldError{Path: path}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, longestContent))
	var c content
	switch {
	case err != nil:
		e.Doubt = fmt.Sprintf("who holds it cannot be read: %v", err)
		return e
	case len(strings.TrimSpace(string(b))) == 0:
		e.Doubt = "its holder has not written its name (it may be taking or releasing the lock now, or may not be allowed to write the file)"
		return e
	case json.Unmarshal(b, &c) != nil || c.Pid <= 0 || c.Host == "":
		e.Doubt = "what the file says of its holder cannot be read"
		return e
	}
	e.Pid, e.Host, e.Command, e.Since = c.Pid, printable(c.Host), printable(c.Command), c.Since
	if host, err := os.Hostname(); err == nil && host == c.Host && errors.Is(unix.Kill(c.Pid, 0), unix.ESRCH) {
		e.Doubt = "that process is gone, so another one has the lock and has not written its name yet"
	}
	return e
}

// printable removes what could move a terminal's cursor: any user may write the machine's lock file.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
