package broker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/graph/broker/internal/proc"
)

func TestExitCodesAndSignalsAreReported(t *testing.T) {
	b := testBroker(t)
	for _, tt := range []struct {
		script string
		exit   int
		signal string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"exit 255", 255, ""},
		{"kill -KILL $$", -1, "SIGKILL"},
		{"kill -SEGV $$", -1, "SIGSEGV"},
		{"kill -TERM $$", -1, "SIGTERM"},
	} {
		res := must(t, b, shell(t, tt.script))
		if res.Exit != tt.exit || res.Signal != tt.signal || res.Cause != "" {
			t.Errorf("%q: exit %d, signal %q, cause %q; want %d, %q and no cause", tt.script, res.Exit, res.Signal, res.Cause, tt.exit, tt.signal)
		}
		if len(res.Left) != 0 {
			t.Errorf("%q left %+v", tt.script, res.Left)
		}
	}
}

func TestStreamsGoToTheirSpoolsAndStdinIsEmpty(t *testing.T) {
	b := testBroker(t)
	c := shell(t, "cat; echo out; echo err >&2; pwd")
	res := must(t, b, c)
	if got, want := content(t, c.Stdout), "out\n"+c.Dir+"\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := content(t, c.Stderr); got != "err\n" {
		t.Errorf("stderr %q", got)
	}
	if res.StdoutBytes != int64(len("out\n"+c.Dir+"\n")) || res.StderrBytes != 4 || res.Truncated {
		t.Errorf("recorded %d and %d bytes, truncated %v", res.StdoutBytes, res.StderrBytes, res.Truncated)
	}
	c.Stderr = c.Stdout
	must(t, b, c)
	if got, want := content(t, c.Stdout), "out\nerr\n"+c.Dir+"\n"; got != want {
		t.Errorf("both streams in one spool: %q, want %q", got, want)
	}
}

func TestAFileCanBeWhatIsRead(t *testing.T) {
	b := testBroker(t)
	c := shell(t, "cat; echo changed >&0")
	c.Stdin = filepath.Join(c.Dir, "question")
	if err := os.WriteFile(c.Stdin, []byte("what?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, b, c)
	if got := content(t, c.Stdout); got != "what?\n" {
		t.Errorf("what was read is %q", got)
	}
	if got := content(t, c.Stdin); got != "what?\n" {
		t.Errorf("the file is %q afterwards", got)
	}
	c.Stdin = filepath.Join(c.Dir, "absent")
	if _, err := b.Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), c.Stdin) {
		t.Errorf("without the file: %v, want an error that names it", err)
	}
}

func TestTheNumberOfTheRootIsToldWhileItRuns(t *testing.T) {
	c := shell(t, "echo $$; sleep 0.1")
	told, ran := 0, false
	c.OnStart = func(pid int) { told, ran = pid, running(pid) }
	res := must(t, testBroker(t), c)
	if content(t, c.Stdout) != strconv.Itoa(told)+"\n" || !ran || res.Pid != told {
		t.Errorf("told %d, running %v; the process is %q, the result says %d", told, ran, content(t, c.Stdout), res.Pid)
	}
}

func TestAMarkServesOneCommandAtATime(t *testing.T) {
	b := testBroker(t)
	c := shell(t, "true")
	c.Mark = b.Mark("same")
	first := shell(t, "sleep 0.2")
	first.Mark = c.Mark
	first.OnStart = func(int) {
		if _, err := b.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "runs now") {
			t.Errorf("a second command with the mark of a running one: %v", err)
		}
	}
	must(t, b, first)
	must(t, b, c)
}

func TestEnvironmentIsWhatTheCallerConstructedAndTheMark(t *testing.T) {
	b := testBroker(t)
	c := shell(t, "")
	c.Argv = []string{"/usr/bin/env"}
	c.Env = []string{"A=1", "B=x y", MarkEnv + "=forged"}
	c.Mark = b.Mark("attempt/7")
	must(t, b, c)
	if got, want := content(t, c.Stdout), MarkEnv+"="+c.Mark+"\nA=1\nB=x y\n"; got != want {
		t.Errorf("environment\n%swant\n%s", got, want)
	}
}

func TestNothingIsInheritedButTheThreeStreams(t *testing.T) {
	// A descriptor that survives exec, as one that this process's own parent gave it would.
	fd, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	c := shell(t, "")
	c.Argv = []string{"/bin/ls", "/proc/self/fd"}
	must(t, testBroker(t), c)
	// The fourth is the directory that ls reads.
	if got := strings.Fields(content(t, c.Stdout)); !slices.Equal(got, []string{"0", "1", "2", "3"}) {
		t.Errorf("open descriptors %v", got)
	}
}

func TestTimeoutKillsAProcessThatIgnoresTerm(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell(t, "")
	c.Argv, c.Env = []string{self}, testEnv(helperEnv+"=ignore-term")
	c.Timeout, c.Grace = time.Second, 200*time.Millisecond
	res := must(t, testBroker(t), c)
	if res.Cause != CauseTimeout || res.Signal != "SIGKILL" {
		t.Errorf("cause %q, signal %q", res.Cause, res.Signal)
	}
	if res.Wall < 1200*time.Millisecond || res.Wall > 5*time.Second {
		t.Errorf("it lived %s; want the timeout and the grace, 1.2 s", res.Wall)
	}
	if got := content(t, c.Stdout); got != "ready\n" {
		t.Errorf("it never ignored TERM: stdout %q", got)
	}
}

func TestTimeoutLetsAProcessEndInItsGrace(t *testing.T) {
	c := shell(t, `trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
	c.Timeout, c.Grace = time.Second, 5*time.Second
	res := must(t, testBroker(t), c)
	if res.Cause != CauseTimeout || res.Exit != 3 || content(t, c.Stdout) != "ready\ncleaned\n" {
		t.Errorf("cause %q, exit %d, stdout %q", res.Cause, res.Exit, content(t, c.Stdout))
	}
}

func TestAStoppedProcessStillSeesTerm(t *testing.T) {
	c := shell(t, `kill -STOP $$; sleep 60`)
	c.Timeout, c.Grace = 200*time.Millisecond, 5*time.Second
	if res := must(t, testBroker(t), c); res.Cause != CauseTimeout || res.Signal != "SIGTERM" || res.Wall > 3*time.Second {
		t.Errorf("cause %q, signal %q after %s", res.Cause, res.Signal, res.Wall)
	}
}

func TestCancellingTheContextEndsTheCommand(t *testing.T) {
	b := testBroker(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	res, err := b.Run(ctx, shell(t, "sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	if res.Cause != CauseCancelled || res.Signal != "SIGTERM" || res.Wall > 5*time.Second {
		t.Errorf("cause %q, signal %q after %s", res.Cause, res.Signal, res.Wall)
	}
	_, err = b.Run(ctx, shell(t, "true"))
	var se *StartError
	if !errors.As(err, &se) || se.Kind != NotStarted || !errors.Is(err, context.Canceled) {
		t.Errorf("a run with an ended context: %v", err)
	}
}

func TestADetachedSessionIsFoundAndKilledAfterRootExit(t *testing.T) {
	c := shell(t, `setsid sh -c 'echo $$ > pid; exec sleep 100' & while ! [ -s pid ]; do sleep 0.01; done`)
	res := must(t, testBroker(t), c)
	pid := awaitFile(t, filepath.Join(c.Dir, "pid"), 1)[0]
	if exists(pid) {
		t.Errorf("process %d is still there", pid)
	}
	if res.Exit != 0 || len(res.Left) != 1 {
		t.Fatalf("exit %d, left %+v; want one process", res.Exit, res.Left)
	}
	p := res.Left[0]
	if p.Pid != pid || p.Comm != "sleep" || p.Action != ActionTerm || p.Outcome != OutcomeExited || p.Start == 0 {
		t.Errorf("left %+v", p)
	}
	if d := time.Since(p.Started); d < 0 || d > time.Minute {
		t.Errorf("it started at %s, which is %s ago", p.Started, d)
	}
}

func TestWhatIgnoresTermAfterRootExitIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell(t, `BROKER_TEST_HELPER=ignore-term setsid "$SELF" > ready & while ! [ -s ready ]; do sleep 0.01; done`)
	c.Env = testEnv("SELF=" + self)
	c.Grace = 200 * time.Millisecond
	res := must(t, testBroker(t), c)
	if len(res.Left) != 1 || res.Left[0].Action != ActionKill || res.Left[0].Outcome != OutcomeExited {
		t.Errorf("left %+v; want one killed process", res.Left)
	}
}

func TestADoubleForkedDaemonWithAnEmptyEnvironmentIsFound(t *testing.T) {
	// Neither parent, session, group nor mark lead to it: only the adoption does.
	c := shell(t, `python3 -c '
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("pid.new", "w").write(str(os.getpid())); os.rename("pid.new", "pid")
os.execve("/bin/sleep", ["sleep", "100"], {})
'; while ! [ -s pid ]; do sleep 0.01; done; sleep 0.05`)
	res := must(t, testBroker(t), c)
	pid := awaitFile(t, filepath.Join(c.Dir, "pid"), 1)[0]
	if exists(pid) {
		t.Errorf("process %d is still there", pid)
	}
	if i := slices.IndexFunc(res.Left, func(p Process) bool { return p.Pid == pid }); i < 0 || res.Left[i].Comm != "sleep" {
		t.Errorf("left %+v; want process %d", res.Left, pid)
	}
}

func TestOrphansThatExitedAreReaped(t *testing.T) {
	c := shell(t, `(setsid sh -c 'echo $$ >> pids' &) ; (sh -c 'echo $$ >> pids' &); while [ "$(wc -l < pids)" -lt 2 ]; do sleep 0.01; done; sleep 0.05`)
	res := must(t, testBroker(t), c)
	for _, pid := range awaitFile(t, filepath.Join(c.Dir, "pids"), 2) {
		if exists(pid) {
			t.Errorf("process %d was not reaped", pid)
		}
	}
	if len(res.Left) != 0 {
		t.Errorf("left %+v, but all had exited", res.Left)
	}
}

func TestTimeoutEndsDetachedDescendantsToo(t *testing.T) {
	c := shell(t, `setsid sh -c 'echo $$ > pid; sleep 100 & wait' & sleep 100`)
	c.Timeout = 2 * time.Second
	res := must(t, testBroker(t), c)
	if pid := awaitFile(t, filepath.Join(c.Dir, "pid"), 1)[0]; exists(pid) {
		t.Errorf("process %d is still there; left %+v", pid, res.Left)
	}
	if res.Cause != CauseTimeout || res.Wall > 6*time.Second {
		t.Errorf("cause %q after %s", res.Cause, res.Wall)
	}
}

func TestAnEndlessWriterIsStoppedEarly(t *testing.T) {
	const limit = 1 << 20
	c := shell(t, "echo first >&2; exec head -c 10000000000 /dev/zero")
	c.OutputLimit = limit
	res := must(t, testBroker(t), c)
	if res.Cause != CauseOutputLimit || !res.Truncated || res.Signal != "SIGKILL" {
		t.Errorf("cause %q, truncated %v, signal %q", res.Cause, res.Truncated, res.Signal)
	}
	if total := res.StdoutBytes + res.StderrBytes; total <= limit || total > 1<<30 {
		t.Errorf("%d bytes were written before it was stopped; want more than the limit and less than 1 GiB of its 10 GB", total)
	}
	var st unix.Stat_t
	if err := unix.Stat(c.Stdout, &st); err != nil || st.Size != limit-6 || st.Blocks*512 > limit+1<<20 {
		t.Errorf("the spool has %d bytes and uses %d on the disk: %v", st.Size, st.Blocks*512, err)
	}
	if got := content(t, c.Stderr); got != "first\n" {
		t.Errorf("stderr %q", got)
	}
	t.Logf("stopped after %d MiB and %s", (res.StdoutBytes)>>20, res.Wall)
}

func TestOutputOverTheLimitIsSoEvenIfTheProcessEndsFirst(t *testing.T) {
	c := shell(t, "printf 0123456789; printf abcdefghij >&2; exit 4")
	c.OutputLimit = 12
	res := must(t, testBroker(t), c)
	if res.Cause != CauseOutputLimit || !res.Truncated || res.StdoutBytes != 10 || res.StderrBytes != 10 {
		t.Errorf("%+v", res)
	}
	if out, err := content(t, c.Stdout), content(t, c.Stderr); out != "012345" || err != "abcdef" {
		t.Errorf("kept %q and %q", out, err)
	}
}

func TestMemoryLimitEndsTheTree(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell(t, `"$SELF" & wait`)
	c.Env = testEnv(helperEnv+"=allocate", "SELF="+self)
	c.MemoryLimit, c.SampleEvery = 200<<20, 50*time.Millisecond
	res := must(t, testBroker(t), c)
	if res.Cause != CauseMemoryLimit || res.Signal != "SIGKILL" {
		t.Errorf("cause %q, signal %q", res.Cause, res.Signal)
	}
	if peak := res.Resources.PeakRSS; peak.Bytes < 200<<20 || peak.Bytes > 800<<20 {
		t.Errorf("peak %+v; want between 200 and 800 MiB of its 2 GiB", peak)
	}
}

func TestStorageReserveEndsTheCommand(t *testing.T) {
	c := shell(t, "sleep 60")
	c.Staging = c.Dir
	c.MinFree = 1 << 60
	res := must(t, testBroker(t), c)
	if res.Cause != CauseStorageReserve || res.Wall > 5*time.Second {
		t.Errorf("cause %q after %s", res.Cause, res.Wall)
	}
	c.Staging = filepath.Join(c.Dir, "missing")
	if _, err := testBroker(t).Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "cannot be watched") {
		t.Errorf("a reserve that cannot be watched: %v", err)
	}
}

func TestParallelRunsEndOnlyTheirOwn(t *testing.T) {
	b := testBroker(t)
	other := testBroker(t) // one process may hold more than one broker
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			// The odd ones leave a daemon behind and end at once, the even ones depend on theirs to the end.
			script := `(setsid sh -c 'echo $$ > pid; exec env -i sleep 100' &); while ! [ -s pid ]; do sleep 0.01; done; exit 5`
			if i%2 == 0 {
				script = `(setsid sh -c 'sleep 0.6; echo done > done' &); while ! [ -s done ]; do sleep 0.02; done; exit 6`
			}
			c := shell(t, script)
			br := b
			if i%4 < 2 {
				br = other
			}
			res, err := br.Run(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			if want := 6 - i%2; res.Exit != want || res.Cause != "" {
				t.Errorf("run %d: exit %d, signal %q, cause %q; want exit %d", i, res.Exit, res.Signal, res.Cause, want)
			}
			if i%2 == 1 {
				pid := awaitFile(t, filepath.Join(c.Dir, "pid"), 1)[0]
				// Without its mark it may be left to a run that started earlier and still runs.
				for end := time.Now().Add(3 * time.Second); running(pid) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				}
				if running(pid) {
					t.Errorf("run %d: process %d is still there", i, pid)
				}
			}
		})
	}
	wg.Wait()
}

// The list of a process's children that the kernel gives may leave one out while another is reaped, and what is just being executed
// shows no mark: together they hide a daemon from a quick look.
func TestADaemonIsFoundHoweverManyCommandsEndBesideIt(t *testing.T) {
	b := testBroker(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 40 {
				res, err := b.Run(t.Context(), shell(t, `setsid sleep 300 >/dev/null 2>&1 & exit 0`))
				if err != nil || res.Exit != 0 {
					t.Errorf("exit %v, %v", res, err)
					return
				}
			}
		})
	}
	wg.Wait()
	r := new(proc.Reader)
	pids, err := r.Pids(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if mark, ok := r.Variable(pid, MarkEnv); ok && strings.HasPrefix(mark, b.owner.Owner()) {
			unix.Kill(pid, unix.SIGKILL)
			t.Errorf("process %d of %s is still there", pid, mark)
		}
	}
}

func TestNothingIsStartedFromABadCommandAndTheErrorSaysWhy(t *testing.T) {
	b := testBroker(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	noexec := write("noexec", "#!/bin/sh\n", 0o644)
	nointerp := write("nointerp", "#!/no/such/interpreter -x\n", 0o755)
	text := write("text", "echo hello\n", 0o755)
	for _, tt := range []struct {
		name string
		edit func(*Command)
		kind StartErrorKind
		says string
	}{
		{"a missing program", func(c *Command) { c.Argv = []string{"/no/such/program"} }, NotFound, "/no/such/program"},
		{"a name that PATH lacks", func(c *Command) { c.Argv = []string{"no-such-program"} }, NotFound, "PATH=/usr/local/bin:/usr/bin:/bin"},
		{"no permission to execute", func(c *Command) { c.Argv = []string{noexec} }, NotExecutable, "chmod +x"},
		{"a directory", func(c *Command) { c.Path = dir }, NotExecutable, "is a directory"},
		{"a missing interpreter", func(c *Command) { c.Argv = []string{nointerp} }, BadInterpreter, "/no/such/interpreter"},
		{"text without a #! line", func(c *Command) { c.Argv = []string{text} }, BadFormat, "#!"},
		{"a missing directory", func(c *Command) { c.Dir = filepath.Join(dir, "missing") }, BadDir, "missing"},
		{"a relative directory", func(c *Command) { c.Dir = "." }, BadDir, "not absolute"},
		{"no argv", func(c *Command) { c.Argv = nil }, BadArgument, "argv is empty"},
		{"NUL in an argument", func(c *Command) { c.Argv = []string{"true", "a\x00b"} }, BadArgument, "NUL"},
		{"NUL in the environment", func(c *Command) { c.Env = []string{"A=\x00"} }, BadArgument, "NUL"},
		{"an entry without a name", func(c *Command) { c.Env = []string{"=x"} }, BadArgument, "NAME=value"},
		{"a mark of another process", func(c *Command) { c.Mark = "store/1.2/x" }, BadArgument, "mark"},
		{"too fast a sampler", func(c *Command) { c.SampleEvery = time.Millisecond }, BadArgument, "interval"},
		{"a spool that cannot be made", func(c *Command) { c.Stdout = filepath.Join(dir, "no/spool") }, NoSpool, "spool"},
		{"arguments that are too long", func(c *Command) { c.Argv = []string{"true", strings.Repeat("x", 1<<20)} }, TooLong, "longer"},
	} {
		c := shell(t, "true")
		tt.edit(&c)
		_, err := b.Run(t.Context(), c)
		var se *StartError
		if !errors.As(err, &se) {
			t.Errorf("%s: error %v, want a StartError", tt.name, err)
			continue
		}
		if se.Kind != tt.kind || !strings.Contains(se.Error(), tt.says) {
			t.Errorf("%s: %s: %s; want %s, with %q", tt.name, se.Kind, se, tt.kind, tt.says)
		}
	}
}

func TestASpoolThatIsALinkIsRefused(t *testing.T) {
	c := shell(t, "echo x")
	target := filepath.Join(c.Dir, "precious")
	os.WriteFile(target, []byte("keep"), 0o644)
	if err := os.Symlink(target, c.Stdout); err != nil {
		t.Fatal(err)
	}
	if _, err := testBroker(t).Run(t.Context(), c); err == nil || content(t, target) != "keep" {
		t.Errorf("error %v; the target holds %q", err, content(t, target))
	}
}

func TestWait4PeakIsLabelledWithItsFloor(t *testing.T) {
	// The kernel counts this process's memory into the child's, so a small child shows no more than the floor.
	res := must(t, testBroker(t), shell(t, "true"))
	if res.MaxRSSFloor <= 0 || res.MaxRSS <= 0 || res.MaxRSS > res.MaxRSSFloor {
		t.Errorf("peak %d, floor %d", res.MaxRSS, res.MaxRSSFloor)
	}
	t.Logf("peak %d MiB, floor %d MiB", res.MaxRSS>>20, res.MaxRSSFloor>>20)
}

func TestASignalNeverHitsAnotherProcessOfTheSameNumber(t *testing.T) {
	var r proc.Reader
	self, err := r.Self()
	if err != nil {
		t.Fatal(err)
	}
	stale := self.Key
	stale.Start--
	if err := r.Signal(stale, unix.SIGKILL); !errors.Is(err, proc.ErrGone) {
		t.Errorf("a stale identity of this very process: %v, want ErrGone", err)
	}
}
