package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	s.leaveWord(command)
	return true
}

// leaveWord appends a line. Not being able to must not keep a reader from reading.
func (s *Store) leaveWord(command string) {
	line, err := json.Marshal(overlap{At: s.Now().UTC(), Pid: os.Getpid(), Command: command})
	if err != nil {
		return
	}
	// It lies where every user may write: a link, or a pipe that nobody reads, must not lead or hold this process.
	f, err := os.OpenFile(readersPath(), os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		if f, err = os.OpenFile(readersPath(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			f.Chmod(0o666) // every user of the machine leaves word there, whatever the umask says
		}
	}
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() > mostReaders {
		f.Truncate(0) // of measurements that are long on record
	}
	f.Write(append(line, '\n'))
}

const mostReaders = 1 << 20

// readersPath lies beside the measuring lock: it is the machine's, like what is measured.
func readersPath() string { return lock.MeasurePath() + ".readers" }

// overlaps are the readers that stepped back since a moment, as limitations of what was measured meanwhile.
func (s *Store) overlaps(since time.Time) (out []cache.Note) {
	f, err := os.OpenFile(readersPath(), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, 2*mostReaders))
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
