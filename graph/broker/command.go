package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is one process to start, with everything that limits it.
type Command struct {
	// Argv is handed over as it is; nothing expands it. Argv[0] is what the program sees as its name.
	Argv []string
	// Path is the file to execute, absolute or relative to Dir. Where it is empty, Argv[0] is looked up: through PATH in Env, or
	// relative to Dir when it has a slash.
	Path string
	// Executable is what Path was resolved to, re-verified right before the start; Path may then be empty. Optional.
	Executable *Executable
	Dir        string   // absolute working directory
	Env        []string // the whole environment as NAME=value; the mark is added
	Mark       string   // from Broker.Mark; one is made where it is empty

	Stdin          string // a file to read; nothing can be read where empty
	Stdout, Stderr string // spool files, made or emptied; discarded where empty; both may be the same file
	OutputLimit    int64  // bytes in both spools together; 0 for none

	Timeout time.Duration // from start to root exit; 0 for none
	Grace   time.Duration // between TERM and KILL; 5 s where 0, none where negative

	MemoryLimit int64 // bytes of resident set of the whole tree, as sampled; 0 for none

	Staging        string   // directory whose growth and free space are watched; "" for none
	StagingExclude []string // declared writable roots below it, relative to it, whose growth does not count
	MinFree        int64    // bytes that must stay free on Staging's file system; 0 for none

	SampleEvery time.Duration // of the resource sampler: 25 ms to 10 s; 250 ms where 0

	// OnStart is told the number of the root as soon as it runs, for what must attach to it. It must return at once: limits are
	// watched only after it. Optional.
	OnStart func(pid int)
	// OnExit is told as soon as the root has exited, before what it left behind is ended, which can take as long as Grace. It must return
	// at once. Optional.
	OnExit func()
}

// Why a run was ended by us. The empty cause means that it ended by itself.
const (
	CauseTimeout        = "timeout"
	CauseCancelled      = "cancelled"
	CauseOutputLimit    = "output_limit"
	CauseMemoryLimit    = "memory_limit"
	CauseStorageReserve = "storage_reserve"
)

// Result is what became of a process that was started.
type Result struct {
	Mark   string
	Pid    int
	Exit   int    // status; -1 where Signal is set, or where the root could not be killed
	Signal string // name of the signal that ended the root: SIGKILL
	Cause  string // why we ended it, or ""

	Started   time.Time     // wall clock, UTC
	Wall      time.Duration // monotonic, from just before the start to the exit of the root
	User, Sys time.Duration // wait4: the root and the descendants that were waited for
	// MaxRSS is wait4's ru_maxrss in bytes: the largest single process among the root and the descendants that were waited for. Linux
	// counts into it the memory of the process that started the root, so a value not above MaxRSSFloor, this process's own
	// peak, says nothing about the command.
	MaxRSS, MaxRSSFloor int64

	StdoutBytes, StderrBytes int64 // written, before a spool was cut to the limit
	Truncated                bool  // a spool was cut

	Resources Resources
	Left      []Process // what still ran after the root had exited
}

// StartError says that nothing was started, and why.
type StartError struct {
	Kind   StartErrorKind
	Path   string // what the error is about: the executable, the interpreter, the directory, the spool
	Detail string // a sentence that says what is wrong and what to do
	Err    error  // the cause, or nil
}

// StartErrorKind is a class of reasons.
type StartErrorKind string

// The reasons for which nothing was started.
const (
	NotFound       StartErrorKind = "not_found"
	NotExecutable  StartErrorKind = "not_executable"
	BadFormat      StartErrorKind = "bad_format" // neither a binary of this machine nor a script with an interpreter
	BadInterpreter StartErrorKind = "bad_interpreter"
	BadDir         StartErrorKind = "bad_dir"
	BadArgument    StartErrorKind = "bad_argument" // of the Command itself
	TooLong        StartErrorKind = "too_long"     // arguments and environment exceed what the kernel takes
	NoResources    StartErrorKind = "no_resources"
	NoSpool        StartErrorKind = "no_spool"
	NotStarted     StartErrorKind = "not_started" // cancelled before, or the broker cannot work here
)

func (e *StartError) Error() string { return e.Detail }

func (e *StartError) Unwrap() error { return e.Err }

func refuse(kind StartErrorKind, path string, err error, format string, args ...any) *StartError {
	return &StartError{Kind: kind, Path: path, Err: err, Detail: fmt.Sprintf(format, args...)}
}

const (
	defaultGrace  = 5 * time.Second
	defaultSample = 250 * time.Millisecond
	minSample     = 25 * time.Millisecond
	maxSample     = 10 * time.Second
)

// check fills in defaults and refuses what cannot be started. owner is what the mark must begin with.
func (c *Command) check(owner string) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return refuse(BadArgument, "", nil, "start a command: it has no program: argv is empty")
	}
	for i, a := range c.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return refuse(BadArgument, "", nil, "start %s: argument %d, %q, has a NUL byte, which no program can be given", c.Argv[0], i, a)
		}
	}
	for _, e := range c.Env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.IndexByte(e, 0) >= 0 {
			return refuse(BadArgument, "", nil, "start %s: the environment entry %q is not NAME=value without NUL bytes", c.Argv[0], name)
		}
	}
	if m, err := ParseMark(c.Mark); err != nil {
		return refuse(BadArgument, "", err, "start %s: %v", c.Argv[0], err)
	} else if m.Owner() != owner {
		return refuse(BadArgument, "", nil, "start %s: the mark %s is not one of this broker, whose marks begin with %s", c.Argv[0], c.Mark, owner)
	}
	if !filepath.IsAbs(c.Dir) {
		return refuse(BadDir, c.Dir, nil, "start %s: the working directory %q is not absolute", c.Argv[0], c.Dir)
	}
	switch st, err := os.Stat(c.Dir); {
	case err != nil:
		return refuse(BadDir, c.Dir, err, "start %s in %s: the working directory cannot be used: %v", c.Argv[0], c.Dir, plain(err))
	case !st.IsDir():
		return refuse(BadDir, c.Dir, nil, "start %s in %s: the working directory is not a directory", c.Argv[0], c.Dir)
	}
	if c.SampleEvery == 0 {
		c.SampleEvery = defaultSample
	}
	if c.SampleEvery < minSample || c.SampleEvery > maxSample {
		return refuse(BadArgument, "", nil, "start %s: the sampling interval %s is outside %s to %s", c.Argv[0], c.SampleEvery, minSample, maxSample)
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	c.Grace = max(c.Grace, 0)
	if c.Timeout < 0 || c.OutputLimit < 0 || c.MemoryLimit < 0 || c.MinFree < 0 {
		return refuse(BadArgument, "", nil, "start %s: a limit is negative", c.Argv[0])
	}
	if c.MinFree > 0 && c.Staging == "" {
		return refuse(BadArgument, "", nil, "start %s: space to keep free is declared without a staging directory to watch", c.Argv[0])
	}
	return nil
}

// plain is the error without the operation and path that the caller's sentence already names.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// locate finds the file to execute.
func (c *Command) locate() (string, error) {
	path := c.Path
	if path == "" && c.Executable != nil {
		path = c.Executable.Path
	}
	if path == "" {
		search := ""
		for _, e := range c.Env {
			if v, ok := strings.CutPrefix(e, "PATH="); ok {
				search = v
			}
		}
		return lookup(Env{Path: search, Dir: c.Dir}, c.Argv[0])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	return path, nil
}

// environment is Env with the mark in front, so that whoever looks for it finds it in the first page.
func (c *Command) environment() []string {
	env := make([]string, 0, len(c.Env)+1)
	env = append(env, MarkEnv+"="+c.Mark)
	for _, e := range c.Env {
		if !strings.HasPrefix(e, MarkEnv+"=") {
			env = append(env, e)
		}
	}
	return env
}

// explain turns the bare error number of a failed start into a reason. The kernel says "no such file" for a missing
// program, interpreter and directory alike.
func (c *Command) explain(path string, err error) error {
	name := c.Argv[0]
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		if _, serr := os.Stat(c.Dir); serr != nil {
			return refuse(BadDir, c.Dir, err, "start %s in %s: the working directory is gone", name, c.Dir)
		}
		if _, serr := os.Stat(path); serr != nil {
			return refuse(NotFound, path, err, "start %s: %s does not exist", name, path)
		}
		if line, ok := shebangOf(path); ok {
			return refuse(BadInterpreter, path, err, "start %s: %s asks for the interpreter %q, which does not exist; install it or change the first line of the script", name, path, line.interpreter)
		}
		return refuse(BadInterpreter, path, err, "start %s: the loader that %s asks for does not exist on this machine; the program was built for another system (see `readelf -l`)", name, path)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		st, serr := os.Stat(path)
		switch {
		case serr == nil && st.IsDir():
			return refuse(NotExecutable, path, err, "start %s: %s is a directory", name, path)
		case serr == nil && st.Mode()&0o111 == 0:
			return refuse(NotExecutable, path, err, "start %s: %s is not executable; run chmod +x on it, or name its interpreter first", name, path)
		}
		return refuse(NotExecutable, path, err, "start %s: executing %s is not permitted (%v): look at the permissions of it, its interpreter and its directories, and whether the file system is mounted noexec", name, path, err)
	case errors.Is(err, unix.ENOEXEC):
		return refuse(BadFormat, path, err, "start %s: %s is neither a program for this machine nor a script with a #! line", name, path)
	case errors.Is(err, unix.E2BIG):
		return refuse(TooLong, path, err, "start %s: its arguments and environment are longer than the kernel takes; pass a file instead of a list", name)
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return refuse(NoResources, path, err, "start %s: the system has no room for another process or file: %v", name, err)
	}
	return refuse(NotExecutable, path, err, "start %s: executing %s failed: %v", name, path, err)
}

// spools are the open files that a command writes to.
type spools struct {
	null, in, out, err int
	same               bool
}

func openSpools(c *Command) (*spools, error) {
	s := &spools{null: -1, in: -1, out: -1, err: -1}
	fail := func(path string, err error) (*spools, error) {
		s.close()
		return nil, refuse(NoSpool, path, err, "start %s: open the spool file %s: %v", c.Argv[0], path, err)
	}
	var err error
	if s.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return fail(os.DevNull, err)
	}
	if c.Stdin != "" {
		if s.in, err = unix.Open(c.Stdin, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fail(c.Stdin, err)
		}
	}
	// Appending, so that what two processes write at once is kept, and so that nothing leaves a hole after a cut.
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if c.Stdout != "" {
		if s.out, err = unix.Open(c.Stdout, flags, 0o600); err != nil {
			return fail(c.Stdout, err)
		}
	}
	if c.Stderr != "" && c.Stderr == c.Stdout {
		s.same = true
	} else if c.Stderr != "" {
		if s.err, err = unix.Open(c.Stderr, flags, 0o600); err != nil {
			return fail(c.Stderr, err)
		}
	}
	return s, nil
}

// files are the descriptors 0, 1 and 2 of the command.
func (s *spools) files() []uintptr {
	in, out, err := s.null, s.null, s.null
	if s.in >= 0 {
		in = s.in
	}
	if s.out >= 0 {
		out = s.out
	}
	if s.same {
		err = out
	} else if s.err >= 0 {
		err = s.err
	}
	return []uintptr{uintptr(in), uintptr(out), uintptr(err)}
}

// sizes are the bytes in the spools.
func (s *spools) sizes() (out, err int64) {
	var st unix.Stat_t
	if s.out >= 0 && unix.Fstat(s.out, &st) == nil {
		out = st.Size
	}
	if s.err >= 0 && unix.Fstat(s.err, &st) == nil {
		err = st.Size
	}
	return out, err
}

// cut shortens the spools to limit bytes together. A stream that needs less than half leaves its rest to the other.
func (s *spools) cut(limit int64) {
	out, err := s.sizes()
	keepOut := min(out, max(limit/2, limit-err))
	if s.out >= 0 {
		unix.Ftruncate(s.out, keepOut)
	}
	if s.err >= 0 {
		unix.Ftruncate(s.err, min(err, limit-keepOut))
	}
}

func (s *spools) close() {
	for _, fd := range []int{s.null, s.in, s.out, s.err} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// start runs fork and exec. A file that is busy because another thread of this process is between fork and exec with a
// descriptor open for writing is tried again: the collision lasts microseconds.
func start(path string, c *Command, s *spools) (int, error) {
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.environment(), Files: s.files(), Sys: &syscall.SysProcAttr{Setsid: true}}
	for pause := time.Millisecond; ; pause *= 2 {
		pid, err := syscall.ForkExec(path, c.Argv, attr)
		if err != syscall.ETXTBSY || pause > 64*time.Millisecond {
			return pid, err
		}
		time.Sleep(pause)
	}
}

// clamp limits a number of bytes of the kernel's to what fits.
func clamp(v uint64) int64 { return int64(min(v, math.MaxInt64)) }
