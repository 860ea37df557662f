package broker

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// Options say for whom a Broker starts processes.
type Options struct {
	// Store is the id of the store that the marks name; "none" where empty.
	Store string
	// NoSupervisor leaves out the process that ends everything when this one dies. Only for measuring what it costs.
	NoSupervisor bool
	// Started is told before every start; nil where nobody listens.
	Started func()
}

// Broker starts processes. It is safe for concurrent use.
type Broker struct {
	opts  Options
	owner Mark // with an empty attempt
	err   error

	prepare sync.Once
	started error // why prepare failed
	sup     *supervisor
}

// New makes a Broker. It starts nothing yet; what is wrong with opts is the error of the first Run.
func New(opts Options) *Broker {
	if opts.Store == "" {
		opts.Store = "none"
	}
	b := &Broker{opts: opts}
	b.owner, b.err = NewMark(opts.Store, "x")
	b.owner.Attempt = ""
	return b
}

// Mark is the mark of an attempt that this Broker runs, for Command.Mark.
func (b *Broker) Mark(attempt string) string {
	m := b.owner
	m.Attempt = attempt
	return m.String()
}

// ready makes this process a subreaper and starts the supervisor, at the first Run.
func (b *Broker) ready() error {
	if b.err != nil {
		return b.err
	}
	b.prepare.Do(func() {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			b.started = fmt.Errorf("become the subreaper of the processes to start: %w", err)
			return
		}
		if b.started = sealDescriptors(); b.started != nil {
			return
		}
		if !b.opts.NoSupervisor {
			b.sup, b.started = startSupervisor(b.owner.Owner())
		}
	})
	return b.started
}

// Close ends the supervisor. Call it when no Run is active; a Run after it fails. A process that exits without Close
// loses nothing: the supervisor notices and exits.
func (b *Broker) Close() error {
	b.prepare.Do(func() {})
	if b.started == nil {
		b.started = fmt.Errorf("the broker is closed")
	}
	if b.sup == nil {
		return nil
	}
	s := b.sup
	b.sup = nil
	return s.stop()
}

// Process is a process that was found, never with its arguments or environment.
type Process struct {
	Pid     int       `json:"pid"`
	Start   uint64    `json:"start"`   // clock ticks (10 ms) since boot; with Pid it identifies the process
	Started time.Time `json:"started"` // the same as wall-clock time, exact to a few ticks
	Parent  int       `json:"parent"`
	Comm    string    `json:"comm"` // the program's name as the kernel has it, at most 15 bytes
	Found   string    `json:"found"`
	Action  string    `json:"action,omitempty"`  // the strongest thing done to it: none, term, kill
	Outcome string    `json:"outcome,omitempty"` // exited, still_running, not_permitted
	Mark    string    `json:"mark,omitempty"`    // of leftovers
}

// How a process was found.
const (
	FoundRoot     = "root"     // it is the command's first process
	FoundSession  = "session"  // it is in the session of the root
	FoundAncestry = "ancestry" // it descends from a process that was found
	FoundObserved = "observed" // it was seen in the tree while its parent lived
	FoundMark     = "mark"     // its environment carries the mark
	FoundAdopted  = "adopted"  // the kernel gave it to us, and no other command can have left it
)

// What was done to a process, and what came of it.
const (
	ActionNone = "none"
	ActionTerm = "term"
	ActionKill = "kill"

	OutcomeExited       = "exited"
	OutcomeStillRunning = "still_running"
	OutcomeNotPermitted = "not_permitted"
)

func describe(s *proc.Stat, found string) Process {
	return Process{Pid: s.Pid, Start: s.Start, Started: bootTime().Add(time.Duration(s.Start) * proc.Tick), Parent: s.Parent, Comm: s.Comm(), Found: found}
}

// bootTime is computed anew each time, because the wall clock may be set.
func bootTime() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return time.Time{}
	}
	return time.Now().UTC().Add(-time.Duration(ts.Nano())).Truncate(proc.Tick)
}

// family is what the kernel keeps once per process, not per Broker: the children that this process has. Runs of several
// Brokers must not take each other's roots for orphans, so there is one table of them, as there is one of
// open files.
var family = struct {
	// start is held while a root is started and entered, so that no root is ever seen outside the table.
	start sync.Mutex
	mu    sync.Mutex
	runs  map[int]*run  // by process number of the root, from its start until everything of it is gone
	own   map[int]bool  // supervisors
	next  atomic.Uint64 // for marks that the caller leaves to us
}{runs: map[int]*run{}, own: map[int]bool{}}

// exitStatus splits a wait status into an exit code and the name of a signal; the code is -1 with a signal.
func exitStatus(ws unix.WaitStatus) (int, string) {
	if ws.Signaled() {
		if name := unix.SignalName(ws.Signal()); name != "" {
			return -1, name
		}
		return -1, fmt.Sprintf("SIG%d", ws.Signal())
	}
	return ws.ExitStatus(), ""
}

// selfPeak is the largest resident set, in bytes, of this program since it was executed. getrusage would count what
// executed it, too.
func selfPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("VmHWM:"))
	var kib int64
	fmt.Sscan(string(rest[:min(len(rest), 32)]), &kib)
	return kib << 10
}

// sealDescriptors keeps every descriptor that this process was itself given, such as the pipes of a build that runs it, away from
// what it starts: a daemon that held them would keep somebody else's pipeline open.
func sealDescriptors() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("close inherited descriptors to what will be started: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
