package lock

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// The content of a lock file is a row of places, each with the name of one holder as a line of JSON, filled up with
// spaces. A place is taken while its bytes are marked; what stands in one that nobody has marked was left by a process that died.
const (
	places    = 64
	placeSize = 1024 // bytes
)

// content is one line.
type content struct {
	Pid     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
	Waits   bool      `json:"waits,omitempty"` // it does not hold the lock yet, and keeps others from sharing it
}

// Party is a process that holds a lock or waits for it.
type Party struct {
	Pid     int
	Host    string
	Command string
	Since   time.Time // UTC; of one that waits, since when it waits
}

// line is c as it stands in a place. A command that is too long is cut.
func (c content) line() []byte {
	for most := placeSize / 2; ; most /= 2 {
		if len(c.Command) > most {
			c.Command = strings.ToValidUTF8(c.Command[:most], "") + "…"
		}
		if b, err := json.Marshal(c); err == nil && len(b) < placeSize {
			b = append(b, strings.Repeat(" ", placeSize-1-len(b))...)
			return append(b, '\n')
		}
		if most == 0 {
			c.Host = "?" // nothing else is left that could be too long
		}
	}
}

// takePlace finds a place for a name, or -1. Whoever shortens the file has all of them for a moment.
func takePlace(f *os.File) int {
	for try := range 5 {
		if try > 0 {
			time.Sleep(time.Millisecond)
		}
		for i := range places {
			err := markAlone(f, int64(i)*placeSize, placeSize)
			if err == nil {
				return i
			}
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
				return -1 // the file may only be read, or the file system has no marks
			}
		}
	}
	return -1
}

// writeName says in a place who holds the lock. It is for people only, so a failure (a full disk) does not undo the lock.
func writeName(f *os.File, place int, h Holder, waits bool) {
	if place < 0 {
		return
	}
	host, _ := os.Hostname()
	c := content{Pid: os.Getpid(), Host: host, Command: h.Command, Since: time.Now().UTC().Truncate(time.Second), Waits: waits}
	f.WriteAt(c.line(), int64(place)*placeSize)
}

// leavePlace takes a name away. The last one leaves an empty file.
func leavePlace(f *os.File, place int) {
	if place < 0 {
		return
	}
	if markAlone(f, 0, places*placeSize) == nil {
		f.Truncate(0)
	} else {
		f.WriteAt([]byte(strings.Repeat(" ", placeSize-1)+"\n"), int64(place)*placeSize)
	}
	unmark(f, 0, places*placeSize)
}

// who is what the lock file says of those who hold the lock and of those who wait for it. With no holder, doubt is why.
func who(f *os.File) (holders, waiters []Party, full bool, doubt string) {
	unwritten, gone, wrong := "its holder has not written its name (it may be taking or releasing the lock now, or may not be allowed to write the file)", "", ""
	host, _ := os.Hostname()
	taken := 0
	for i := range int64(places) {
		if _, _, ok := marked(f, i*placeSize, (i+1)*placeSize); !ok {
			continue
		}
		taken++
		b, err := io.ReadAll(io.NewSectionReader(f, i*placeSize, placeSize))
		if err != nil {
			wrong = "who holds it cannot be read: " + err.Error()
			continue
		}
		text := strings.Trim(string(b), " \n\x00")
		var c content
		switch {
		case text == "":
			continue
		case json.Unmarshal([]byte(text), &c) != nil || c.Pid <= 0 || c.Host == "":
			wrong = "what the file says of its holder cannot be read"
			continue
		case c.Host == host && errors.Is(unix.Kill(c.Pid, 0), unix.ESRCH):
			gone = "that process is gone, so another one has the lock and has not written its name yet"
			continue
		}
		p := Party{Pid: c.Pid, Host: printable(c.Host), Command: printable(c.Command), Since: c.Since}
		if c.Waits {
			waiters = append(waiters, p)
		} else {
			holders = append(holders, p)
		}
	}
	if len(holders) > 0 {
		return holders, waiters, taken == places, ""
	}
	for _, s := range []string{wrong, gone, unwritten} {
		if s != "" {
			doubt = s
			break
		}
	}
	return nil, waiters, taken == places, doubt
}

// printable removes what could move a terminal's cursor: any user may write the machine's lock file.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}
