package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const line = "123 (%s) S 45 67 89 0 -1 4194560 10 0 0 0 11 12 13 14 20 0 7 0 987654321 4096 25 18446744073709551615 1 1 0"

func TestANameWithParenthesesDoesNotShiftTheFields(t *testing.T) {
	for _, name := range []string{"sh", "a) S 1 2", ") R 9 9 9", "(x)", "", "x) ", "((()))", "a\nb"} {
		var s Stat
		if !parseStat([]byte(fmt.Sprintf(line, name)), &s, 4096) {
			t.Errorf("%q: not read", name)
			continue
		}
		if s.Comm() != name || s.Pid != 123 || s.State != 'S' || s.Parent != 45 || s.Group != 67 || s.Session != 89 || s.User != 11 || s.Sys != 12 ||
			s.ChildUser != 13 || s.ChildSys != 14 || s.Threads != 7 || s.Start != 987654321 || s.RSS != 25*4096 {
			t.Errorf("%q: %+v with name %q", name, s, s.Comm())
		}
	}
	for _, bad := range []string{"", "1", "1 (sh", "1 (sh)", "1 (sh) S", "x (sh) S 1 2 3", fmt.Sprintf(line, "sh")[:40]} {
		if parseStat([]byte(bad), new(Stat), 4096) {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(line, "sh")))
	f.Add([]byte(fmt.Sprintf(line, ") S 1")))
	f.Add([]byte("1 () S 1 1 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stat
		if parseStat(b, &s, 4096) && !strings.Contains(string(b), "("+s.Comm()) {
			t.Errorf("name %q is not in %q", s.Comm(), b)
		}
	})
}

func TestARealProcessWithAnAwkwardNameIsRead(t *testing.T) {
	bin, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skipf("no /bin/sleep to copy: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a) R 1 (b")
	if err := os.WriteFile(path, bin, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "60")
	cmd.Env = []string{"OTHER=1", "WANTED=a=b", "WANTEDX=2"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	settled(t, cmd.Process.Pid, "WANTED")
	var r Reader
	var s Stat
	if err := r.Stat(cmd.Process.Pid, &s); err != nil || s.Comm() != "a) R 1 (b" || s.Parent != os.Getpid() || s.Start == 0 {
		t.Errorf("%+v, name %q: %v", s, s.Comm(), err)
	}
	// The kernel's counts are per CPU and may be 0 for a process as small as that one; this one is not.
	var self Stat
	if err := r.Stat(os.Getpid(), &self); err != nil || self.RSS < 1<<20 {
		t.Errorf("this process has %d bytes resident: %v", self.RSS, err)
	}
	if v, ok := r.Variable(s.Pid, "WANTED"); !ok || v != "a=b" {
		t.Errorf("variable %q, %v", v, ok)
	}
	if _, ok := r.Variable(s.Pid, "MISSING"); ok {
		t.Error("a missing variable was found")
	}
	for _, scan := range []bool{false, true} {
		r.noTree = scan
		kids, err := r.Children(os.Getpid(), 2, nil)
		if err != nil || !slices.Contains(kids, s.Pid) {
			t.Errorf("by scan %v: children %v, %v; want %d among them", scan, kids, err, s.Pid)
		}
	}
	if err := r.Signal(Key{s.Pid, s.Start + 1}, unix.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("a process of this number that started later: %v, want ErrGone", err)
	}
	if err := r.Signal(s.Key, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	cmd.Wait()
	if err := r.Signal(s.Key, unix.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("after its exit: %v, want ErrGone", err)
	}
	if err := r.Stat(s.Pid, &s); !errors.Is(err, ErrGone) {
		t.Errorf("state after its exit: %v, want ErrGone", err)
	}
}

// settled waits until a process that was just started can be looked at: for a moment after exec the kernel shows neither
// environment nor memory.
func settled(t *testing.T, pid int, variable string) {
	t.Helper()
	for range 400 {
		if _, ok := new(Reader).Variable(pid, variable); ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the process shows no environment")
}

func TestALongEnvironmentIsReadToItsEnd(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	for i := range 2000 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("FILLER_%d=%s", i, strings.Repeat("x", 100)))
	}
	cmd.Env = append(cmd.Env, "LAST=here")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	settled(t, cmd.Process.Pid, "LAST")
	v, _ := new(Reader).Variable(cmd.Process.Pid, "LAST")
	if v != "here" {
		t.Errorf("%q", v)
	}
}
