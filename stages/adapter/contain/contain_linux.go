package contain

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// system are the folders in which programs, their libraries and what those look up lie. What a user keeps is elsewhere.
var system = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"}

// devices are read and written like files, and hold nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"}

// become takes rights away and executes the program.
func become(req *Request) error {
	// The namespace is the thread's; the thread that executes must be the one that left it.
	runtime.LockOSThread()
	report := Report{Landlock: landlock(), Network: "open", Limits: req.Limits}
	if report.Landlock == 0 && req.Required {
		return fmt.Errorf("contain %s: the kernel has no Landlock (Linux 5.13, and it must be enabled); containment = \"preferred\" in the adapter's block runs it without", req.Argv[0])
	}
	switch {
	case unix.Unshare(unix.CLONE_NEWNET) == nil: // as root
		report.Network = "none"
	case report.Landlock >= 4:
		report.Network = "no_tcp"
	}
	if err := streams(req, &report); err != nil {
		return fmt.Errorf("contain %s: %w", req.Argv[0], err)
	}
	if err := limit(req.Limits); err != nil {
		return fmt.Errorf("contain %s: %w", req.Argv[0], err)
	}
	if err := os.Chdir(req.Dir); err != nil {
		return fmt.Errorf("contain %s: %w", req.Argv[0], err)
	}
	if report.Landlock > 0 {
		if err := restrict(report.Landlock, slices.Concat(system, req.Read), slices.Concat(devices, req.Write)); err != nil {
			return fmt.Errorf("contain %s: %w", req.Argv[0], err)
		}
	}
	return fmt.Errorf("start %s: %w", req.Argv[0], syscall.Exec(req.Argv[0], req.Argv, req.Env))
}

// streams makes the request's file the standard input, and writes the report while it still can.
func streams(req *Request, report *Report) error {
	in, err := os.Open(req.Stdin)
	if err != nil {
		return err
	}
	if err := unix.Dup3(int(in.Fd()), 0, 0); err != nil {
		return err
	}
	in.Close()
	b, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return os.WriteFile(req.Report, b, 0o600)
}

func limit(l Limits) error {
	for _, r := range []struct {
		which int
		value uint64
	}{{unix.RLIMIT_CPU, l.CPUSeconds}, {unix.RLIMIT_FSIZE, l.FileBytes}, {unix.RLIMIT_NOFILE, l.Files}} {
		if r.value == 0 {
			continue
		}
		if err := unix.Setrlimit(r.which, &unix.Rlimit{Cur: r.value, Max: r.value}); err != nil {
			return fmt.Errorf("limit its resources: %w", err)
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
