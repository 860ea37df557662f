package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tick is the unit of the times in a Stat. USER_HZ is 100 on every Linux platform that Go supports.
const Tick = 10 * time.Millisecond

// Key identifies a process for as long as the machine is up.
type Key struct {
	Pid   int
	Start uint64 // ticks since boot
}

// Stat is one line of /proc/<pid>/stat.
type Stat struct {
	Key
	Parent, Group, Session int
	State                  byte   // R, S, D, T, t, Z, X, I
	User, Sys              uint64 // ticks, of the process
	ChildUser, ChildSys    uint64 // ticks, of the children that it waited for
	Threads                int
	RSS                    int64 // bytes
	comm                   [64]byte
	commLen                uint8
}

// Comm is the name of the program as the kernel has it, at most 15 bytes for a user's process.
func (s *Stat) Comm() string { return string(s.comm[:s.commLen]) }

// Dead says that the process has exited and only waits for its parent to take notice.
func (s *Stat) Dead() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// ErrGone says that there is no such process any more.
var ErrGone = errors.New("the process is gone")

// Reader reads /proc with buffers of its own. The zero value is ready.
type Reader struct {
	path   []byte
	buf    []byte
	tasks  []int
	noTree bool // the kernel has no children files: the tree is found by a scan of all processes
	page   int64
}

func (r *Reader) init() {
	if r.buf == nil {
		r.path = make([]byte, 0, 64)
		r.buf = make([]byte, 8<<10)
		r.page = int64(os.Getpagesize())
		self := unix.Getpid()
		r.at(self, "/task/", self, "/children")
		fd, err := r.open(unix.O_RDONLY)
		r.noTree = err != nil
		if err == nil {
			unix.Close(fd)
		}
	}
}

// at sets the path that the next open uses: /proc/<pid><a><tid><b>, without tid and b where tid is 0.
func (r *Reader) at(pid int, a string, tid int, b string) {
	p := append(r.path[:0], "/proc/"...)
	p = strconv.AppendInt(p, int64(pid), 10)
	p = append(p, a...)
	if tid != 0 {
		p = strconv.AppendInt(p, int64(tid), 10)
		p = append(p, b...)
	}
	r.path = append(p, 0)
}

// open opens r.path. It goes around unix.Open only because that allocates a copy of the path.
func (r *Reader) open(flags int) (int, error) {
	dir := unix.AT_FDCWD
	for {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&r.path[0])), uintptr(flags|unix.O_CLOEXEC), 0, 0, 0)
		switch e {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		case unix.ENOENT, unix.ESRCH:
			return -1, ErrGone
		default:
			return -1, e
		}
	}
}

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR:
		case err == unix.ESRCH:
			return 0, ErrGone
		case err != nil:
			return 0, err
		default:
			return n, nil
		}
	}
}

// all reads r.path into r.buf, which grows up to limit; what is beyond it is not read.
func (r *Reader) all(limit int) ([]byte, error) {
	fd, err := r.open(unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(r.buf) {
			if n >= limit {
				return r.buf[:n], nil
			}
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		m, err := read(fd, r.buf[n:])
		if err != nil {
			return nil, err
		}
		if m == 0 {
			return r.buf[:n], nil
		}
		n += m
	}
}

// Stat reads the state of a process, alive or waiting to be reaped.
func (r *Reader) Stat(pid int, s *Stat) error {
	r.init()
	r.at(pid, "/stat", 0, "")
	b, err := r.all(8 << 10)
	if err != nil {
		return err
	}
	if !parseStat(b, s, r.page) {
		if len(b) == 0 {
			return ErrGone
		}
		return fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	return nil
}

// parseStat reads the line. The name of the program stands in parentheses and may itself hold ") ", so it
// ends at the last parenthesis of the line; nothing after it can hold one.
func parseStat(b []byte, s *Stat, page int64) bool {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 2 || end < open || end+2 >= len(b) {
		return false
	}
	pid, rest := number(b)
	if len(rest) == 0 || pid == 0 {
		return false
	}
	*s = Stat{}
	s.Pid = int(pid)
	s.commLen = uint8(copy(s.comm[:], b[open+1:end]))
	b = b[end+2:]
	s.State, b = b[0], b[1:]
	for field := 4; field <= 24; field++ {
		if len(b) == 0 || b[0] != ' ' {
			return false
		}
		var v int64
		v, b = number(b[1:])
		switch field {
		case 4:
			s.Parent = int(v)
		case 5:
			s.Group = int(v)
		case 6:
			s.Session = int(v)
		case 14:
			s.User = uint64(v)
		case 15:
			s.Sys = uint64(v)
		case 16:
			s.ChildUser = uint64(v)
		case 17:
			s.ChildSys = uint64(v)
		case 20:
			s.Threads = int(v)
		case 22:
			s.Start = uint64(v)
		case 24:
			s.RSS = v * page
		}
	}
	return true
}

// number reads a decimal integer at the start of b and returns what follows it.
func number(b []byte) (v int64, rest []byte) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		v = v*10 + int64(b[0]-'0')
		b = b[1:]
	}
	if neg {
		v = -v
	}
	return v, b
}

// Self is the key of this process.
func (r *Reader) Self() (Stat, error) {
	var s Stat
	err := r.Stat(unix.Getpid(), &s)
	return s, err
}

// Pids appends the numbers of all processes that can be seen.
func (r *Reader) Pids(dst []int) ([]int, error) {
	r.init()
	r.path = append(append(r.path[:0], "/proc"...), 0)
	return r.numbers(dst)
}

// numbers appends the entries of the directory r.path that are numbers.
func (r *Reader) numbers(dst []int) ([]int, error) {
	fd, err := r.open(unix.O_RDONLY | unix.O_DIRECTORY)
	if err != nil {
		return dst, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Getdents(fd, r.buf)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ESRCH || err == unix.ENOENT {
			return dst, ErrGone
		}
		if err != nil || n == 0 {
			return dst, err
		}
		for b := r.buf[:n]; len(b) > 0; {
			// struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name.
			size := int(b[16]) | int(b[17])<<8
			name := b[19:size]
			if name[0] >= '1' && name[0] <= '9' {
				if v, rest := number(name); len(rest) > 0 && rest[0] == 0 {
					dst = append(dst, int(v))
				}
			}
			b = b[size:]
		}
	}
}

// children appends the children of one thread.
func (r *Reader) children(pid, tid int, dst []int) ([]int, error) {
	r.at(pid, "/task/", tid, "/children")
	b, err := r.all(1 << 20)
	if err != nil {
		return dst, err
	}
	for len(b) > 0 {
		var v int64
		if v, b = number(b); v > 0 {
			dst = append(dst, int(v))
		}
		if len(b) > 0 {
			b = b[1:]
		}
	}
	return dst, nil
}

// Children appends the children of a process. threads is the number of its threads as its Stat has it: a
// child belongs to the thread that made it, so with more than one each thread is asked.
func (r *Reader) Children(pid, threads int, dst []int) ([]int, error) {
	r.init()
	if r.noTree {
		return r.childrenByScan(pid, dst)
	}
	if threads <= 1 {
		return r.children(pid, pid, dst)
	}
	r.at(pid, "/task", 0, "")
	var err error
	if r.tasks, err = r.numbers(r.tasks[:0]); err != nil {
		return dst, err
	}
	for _, tid := range r.tasks {
		dst, err = r.children(pid, tid, dst)
		if err != nil && err != ErrGone {
			return dst, err
		}
	}
	return dst, nil
}

func (r *Reader) childrenByScan(pid int, dst []int) ([]int, error) {
	all, err := r.Pids(nil)
	if err != nil {
		return dst, err
	}
	var s Stat
	for _, p := range all {
		if r.Stat(p, &s) == nil && s.Parent == pid {
			dst = append(dst, p)
		}
	}
	return dst, nil
}

// Adopted appends the processes that the kernel gave to this process when their parents died. It gives
// them to the first thread, so one list is enough; children that this process started itself may be among them.
func (r *Reader) Adopted(dst []int) ([]int, error) {
	r.init()
	self := unix.Getpid()
	if r.noTree {
		return r.childrenByScan(self, dst)
	}
	return r.children(self, self, dst)
}

// Tree appends the state of every process of queue and of all their descendants to out, parents first, and
// returns the used queue for its memory. A process that is gone is left out.
func (r *Reader) Tree(queue []int, out []Stat) ([]int, []Stat) {
	for i := 0; i < len(queue); i++ {
		out = append(out, Stat{})
		s := &out[len(out)-1]
		if r.Stat(queue[i], s) != nil {
			out = out[:len(out)-1]
			continue
		}
		if !s.Dead() {
			queue, _ = r.Children(s.Pid, s.Threads, queue)
		}
	}
	return queue, out
}

// Variable is the value of one variable in the environment with which a process was started. ok is false where
// there is none, or where the environment may not be read.
func (r *Reader) Variable(pid int, name string) (value string, ok bool) {
	r.init()
	r.at(pid, "/environ", 0, "")
	b, err := r.all(4 << 20)
	if err != nil {
		return "", false
	}
	for len(b) > 0 {
		var entry []byte
		entry, b, _ = bytes.Cut(b, []byte{0})
		if len(entry) > len(name) && entry[len(name)] == '=' && string(entry[:len(name)]) == name {
			return string(entry[len(name)+1:]), true
		}
	}
	return "", false
}

// Namespace identifies the process namespace of a process, or is "" where it may not be known.
func Namespace(pid int) string {
	s, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return ""
	}
	return s
}

// Signal sends sig to the process that k identifies, and to no other: a descriptor pins the process before its
// start time is compared. ErrGone where it has exited.
func (r *Reader) Signal(k Key, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(k.Pid, 0)
	switch {
	case err == unix.ESRCH:
		return ErrGone
	case err == unix.ENOSYS || err == unix.EPERM:
		fd = -1 // an old kernel, or a filter: the window between the check and kill is accepted there
	case err != nil:
		return err
	default:
		defer unix.Close(fd)
	}
	var s Stat
	if err := r.Stat(k.Pid, &s); err != nil {
		return err
	}
	if s.Start != k.Start || s.Dead() {
		return ErrGone
	}
	if fd >= 0 {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(k.Pid, sig)
	}
	if err == unix.ESRCH {
		return ErrGone
	}
	return err
}
