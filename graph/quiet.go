package graph

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/lock"
)

// Commands that only read work while something is measured, without its lock. They step back: one thread, the lowest
// priority, and a line in a file that the measuring apply looks at, so that the overlap is on the record of the attempt.

// overlap is one such line.
type overlap struct {
	At      time.Time `json:"at"`
	Pid     int       `json:"pid"`
	Command string    `json:"command"`
}

// StepBack makes this process as quiet as it can be, and leaves word of it, where something is measured on the machine at this
// moment. It says whether that is so.
func (s *Store) StepBack(command string) bool {
	if !lock.Held(lock.MeasurePath()) {
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
	if _, err := os.Stat(s.Dir); err != nil {
		return true
	}
	line, err := json.Marshal(overlap{At: s.Now().UTC(), Pid: os.Getpid(), Command: command})
	if err != nil {
		return true
	}
	if os.MkdirAll(filepath.Dir(s.overlapPath()), 0o755) != nil {
		return true
	}
	f, err := os.OpenFile(s.overlapPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return true // not being able to leave word must not keep a reader from reading
	}
	defer f.Close()
	f.Write(append(line, '\n'))
	return true
}

func (s *Store) overlapPath() string { return filepath.Join(s.Dir, "cache", "overlap") }

// overlaps are the readers that stepped back since a moment, as limitations of what was measured meanwhile.
func (s *Store) overlaps(since time.Time) (out []cache.Note) {
	b, err := os.ReadFile(s.overlapPath())
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var o overlap
		if json.Unmarshal([]byte(line), &o) == nil && !o.At.Before(since) {
			out = append(out, cache.Note{Code: "overlap", Text: fmt.Sprintf("%s (pid %d) ran beside it, at the lowest priority", o.Command, o.Pid)})
		}
	}
	return out
}
