package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

// superviseArg is the hidden first argument with which the binary is started again.
const superviseArg = "__supervise"

// Descriptors of the supervisor.
const (
	fdLife  = 3 // read end of a pipe whose other end only flameox has
	fdTable = 4 // memory with the sessions that run now
	fdReady = 5 // write end of a pipe: one byte when the supervisor is ready
)

// The table has slots of a session's number and its leader's start time, both 64 bits, little-endian; zero is free. It is memory and not
// messages, so that a start wakes nobody beside the measurement.
const (
	slotSize = 16
	slots    = 1024
)

// readyWithin bounds the wait for the supervisor at the first Run.
const readyWithin = 10 * time.Second

// supervisorSettle is for how long a supervisor looks for what its flameox has left. Nobody waits for it.
const supervisorSettle = 2 * time.Second

// supervisor is the parent's side.
type supervisor struct {
	pid   int
	life  int
	table int
	mu    sync.Mutex
	used  [slots]bool
}

// MaybeSupervise turns this process into a supervisor when it was started as one, and then does not return. Call it first
// thing in main, and in TestMain of tests that start processes.
func MaybeSupervise() {
	if len(os.Args) == 3 && os.Args[1] == superviseArg {
		Supervise(os.Args[2])
		os.Exit(0)
	}
}

// Supervise waits until the process that holds the other end of descriptor 3 dies or says that it is done. In the first case
// it kills every process whose mark begins with owner or whose session is in the table, and all their descendants. It is for MaybeSupervise.
func Supervise(owner string) {
	// Whatever ends flameox from a terminal or a service manager must not end its supervisor first.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
	debug.SetGCPercent(-1)
	if _, err := unix.Write(fdReady, []byte{1}); err != nil {
		os.Exit(1)
	}
	unix.Close(fdReady)
	var b [1]byte
	for {
		n, err := unix.Read(fdLife, b[:])
		if err == unix.EINTR {
			continue
		}
		if n > 0 {
			return
		}
		break
	}
	debug.SetGCPercent(100)
	sessions := readTable(fdTable)
	killAll(func(r *proc.Reader) []marked {
		return findMarked(r, sessions, func(mark string) bool { return strings.HasPrefix(mark, owner) })
	}, supervisorSettle, supervisorSettle+2*sweepLimit)
}

func readTable(fd int) map[int]uint64 {
	b := make([]byte, slots*slotSize)
	n, _ := unix.Pread(fd, b, 0)
	out := map[int]uint64{}
	for b = b[:n]; len(b) >= slotSize; b = b[slotSize:] {
		if sid := binary.LittleEndian.Uint64(b); sid != 0 {
			out[int(sid)] = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return out
}

// startSupervisor starts this binary again, in a session of its own, and waits until it is ready.
func startSupervisor(owner string) (*supervisor, error) {
	if len(os.Args) > 1 && os.Args[1] == superviseArg {
		// Without this a program that forgot MaybeSupervise would start itself without end.
		return nil, errors.New("this process was started to supervise, but its main does not call broker.MaybeSupervise first")
	}
	fail := func(what string, err error) (*supervisor, error) {
		return nil, fmt.Errorf("start the process that cleans up when flameox dies: %s: %w", what, err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail("open "+os.DevNull, err)
	}
	defer unix.Close(null)
	var life, ready [2]int
	if err := unix.Pipe2(life[:], unix.O_CLOEXEC); err != nil {
		return fail("make a pipe", err)
	}
	defer unix.Close(life[0])
	if err := unix.Pipe2(ready[:], unix.O_CLOEXEC); err != nil {
		unix.Close(life[1])
		return fail("make a pipe", err)
	}
	answer := os.NewFile(uintptr(ready[0]), "supervisor ready")
	defer answer.Close()
	table, err := unix.MemfdCreate("flameox sessions", unix.MFD_CLOEXEC)
	if err != nil {
		unix.Close(life[1])
		unix.Close(ready[1])
		return fail("make shared memory", err)
	}
	s := &supervisor{life: life[1], table: table}
	attr := &syscall.ProcAttr{
		Dir: "/",
		// One thread that ever runs, and no mark: the supervisor must not find itself.
		Env:   []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"},
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(life[0]), uintptr(table), uintptr(ready[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	family.start.Lock()
	s.pid, err = syscall.ForkExec("/proc/self/exe", []string{os.Args[0], superviseArg, owner}, attr)
	if err == nil {
		family.mu.Lock()
		family.own[s.pid] = true
		family.mu.Unlock()
	}
	family.start.Unlock()
	unix.Close(ready[1])
	if err != nil {
		s.closeFiles()
		return fail("execute this program again", err)
	}
	if err := awaitReady(ready[0]); err != nil {
		unix.Kill(s.pid, unix.SIGKILL)
		s.stop()
		return fail("it did not answer (main must call broker.MaybeSupervise first)", err)
	}
	return s, nil
}

// awaitReady reads the one byte with which the supervisor answers.
func awaitReady(fd int) error {
	for end := time.Now().Add(readyWithin); ; {
		left := time.Until(end)
		if left <= 0 {
			return errors.New("no answer in time")
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return err
		}
		var b [1]byte
		if n, err := unix.Read(fd, b[:]); n != 1 {
			return fmt.Errorf("it exited (%v)", err)
		}
		return nil
	}
}

// watch enters a session into the table and returns what takes it out again. With a full table the session is found by
// its processes' marks alone.
func (s *supervisor) watch(k proc.Key) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.used {
		if s.used[i] {
			continue
		}
		s.used[i] = true
		var b [slotSize]byte
		binary.LittleEndian.PutUint64(b[:], uint64(k.Pid))
		binary.LittleEndian.PutUint64(b[8:], k.Start)
		unix.Pwrite(s.table, b[:], int64(i*slotSize))
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			unix.Pwrite(s.table, make([]byte, slotSize), int64(i*slotSize))
			s.used[i] = false
		}
	}
	return func() {}
}

func (s *supervisor) closeFiles() {
	unix.Close(s.life)
	unix.Close(s.table)
}

// stop tells the supervisor that nothing is left to watch, and reaps it.
func (s *supervisor) stop() error {
	unix.Write(s.life, []byte{1})
	s.closeFiles()
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(s.pid, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		family.mu.Lock()
		delete(family.own, s.pid)
		family.mu.Unlock()
		if err != nil {
			return fmt.Errorf("wait for the supervisor to exit: %w", err)
		}
		return nil
	}
}
