package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const helperEnv = "LOCK_TEST_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(helperEnv); path != "" {
		if mode := os.Getenv(helperMode); mode != "" {
			helperMain(mode, path)
		}
		l, err := TryAcquire(path, Holder{Command: "flameox apply"})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		// A child that outlives its parent must not keep the lock.
		exec.Command("sleep", "5").Start()
		fmt.Println("held", l.Path())
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holder starts a process that holds the lock at path.
func holder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "held ") {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd
}

func TestAHeldLockNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := holder(t, path)
	_, err := TryAcquire(path, Holder{Command: "flameox plan"})
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("error %v, want a HeldError", err)
	}
	host, _ := os.Hostname()
	if held.Pid != cmd.Process.Pid || held.Host != host || held.Command != "flameox apply" || time.Since(held.Since) > time.Minute || held.Doubt != "" {
		t.Errorf("%+v", held)
	}
	for _, want := range []string{path, fmt.Sprint("pid ", cmd.Process.Pid), host, "flameox apply", "since "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestTheKernelReleasesTheLockOfAKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := holder(t, path)
	got := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		l, err := Acquire(ctx, path, Holder{Command: "next"})
		if err == nil {
			err = l.Release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("taken while it was held: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if d := time.Since(killed); d > 2*time.Second {
		t.Errorf("taken %s after the holder was killed", d)
	}
}

func TestWaitingEndsWithTheContextAndSaysWhoHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryAcquire(path, Holder{Command: "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Acquire(ctx, path, Holder{Command: "second"})
	var held *HeldError
	if !errors.As(err, &held) || held.Command != "first" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, most, total atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				l, err := Acquire(t.Context(), path, Holder{})
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), inside.Add(1)))
				total.Add(1)
				inside.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 || total.Load() != 40 {
		t.Errorf("%d at once, %d in all", most.Load(), total.Load())
	}
}

func TestAnUnreadableHolderIsSaidToBeOne(t *testing.T) {
	host, _ := os.Hostname()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ content, doubt string }{
		{"", "has not written its name"},
		{"garbage", "cannot be read"},
		{`{"pid":0,"host":"h"}`, "cannot be read"},
		{`{"pid":12`, "cannot be read"},
		{fmt.Sprintf(`{"pid":%d,"host":%q,"command":"old","since":"2026-01-02T03:04:05Z"}`, gone.Process.Pid, host), "that process is gone"},
	} {
		path := filepath.Join(t.TempDir(), "lock")
		l, err := TryAcquire(path, Holder{})
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(path, []byte(tt.content), 0o644)
		_, err = TryAcquire(path, Holder{})
		var held *HeldError
		if !errors.As(err, &held) || !strings.Contains(held.Doubt, tt.doubt) || !strings.Contains(err.Error(), held.Doubt) {
			t.Errorf("%q: %v; want %q", tt.content, err, tt.doubt)
		}
		l.Release()
	}
}

func TestAHoldersNameCannotMoveTheCursor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryAcquire(path, Holder{Command: "a\x1b[2Jb\nc"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if _, err := TryAcquire(path, Holder{}); err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("%q", err)
	}
}

func TestAReleasedLockNamesNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryAcquire(path, Holder{Command: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("a second release: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestALockFileThatWasReplacedIsNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := open(path, private)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !current(path, f) {
		t.Error("the file just opened is said to be another")
	}
	os.Remove(path)
	if current(path, f) {
		t.Error("a removed file is taken for the lock")
	}
	os.WriteFile(path, nil, 0o644)
	if current(path, f) {
		t.Error("a replaced file is taken for the lock")
	}
}

func TestWhatIsNoFileIsNoLock(t *testing.T) {
	dir := t.TempDir()
	os.Symlink("elsewhere", filepath.Join(dir, "link"))
	os.Mkdir(filepath.Join(dir, "dir"), 0o755)
	unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644)
	for name, says := range map[string]string{"link": "symbolic link", "dir": "directory", "fifo": "named pipe", "missing/lock": "does not exist"} {
		if l, err := TryAcquire(filepath.Join(dir, name), Holder{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v; want %q", name, l, err, says)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the target of the link was made")
	}
}

func TestTheMeasuringLockIsOpenToEveryUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "measure")
	t.Setenv(MeasureEnv, path)
	old := syscall.Umask(0o077)
	l, err := TryAcquireMeasure(Holder{Command: "flameox apply"})
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var held *HeldError
	if _, err := AcquireMeasure(ctx, Holder{}); !errors.As(err, &held) || held.Path != path {
		t.Errorf("%v", err)
	}
	os.Unsetenv(MeasureEnv)
	if MeasurePath() != measurePath {
		t.Errorf("without the variable the path is %s", MeasurePath())
	}
}

func TestAFileOfAnotherUserCanBeLocked(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	// As /tmp: sticky and writable for all, in which fs.protected_regular refuses O_CREAT on another's file.
	dir, err := os.MkdirTemp("/tmp", "lock-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777|os.ModeSticky)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary lies where another user cannot reach it.
	helper := filepath.Join(dir, "helper")
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(helper, b, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, perm := range map[string]os.FileMode{"writable": 0o666, "readable": 0o644} {
		path := filepath.Join(dir, name)
		os.WriteFile(path, nil, perm)
		os.Chmod(path, perm)
		cmd := exec.Command(helper)
		cmd.Env, cmd.Dir = []string{helperEnv + "=" + path}, dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if !strings.HasPrefix(line, "held ") {
			t.Errorf("%s: %q", name, line)
		}
		var held *HeldError
		if _, err := TryAcquire(path, Holder{}); !errors.As(err, &held) || (held.Pid == 0) != (name == "readable") {
			t.Errorf("%s: %v", name, err)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}
