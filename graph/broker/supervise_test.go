package broker

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// flameox starts a process that runs a script through a broker, as flameox does, and returns it with the numbers that the script
// writes to the file pids.
func flameox(t *testing.T, store, script string, n int) (*exec.Cmd, []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, dir, script)
	cmd.Env = testEnv(helperEnv+"=flameox", "BROKER_TEST_STORE="+store)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, awaitFile(t, filepath.Join(dir, "pids"), n)
}

// A plain child, one that left the session, one that also gave up its environment, and a daemon that forked twice.
const family4 = `
sleep 100 & echo $! >> pids
setsid sh -c 'echo $$ >> pids; exec sleep 100' &
setsid sh -c 'echo $$ >> pids; sleep 100 & wait' &
(setsid sh -c 'echo $$ >> pids; exec sleep 100' &)
env -i /bin/sh -c 'echo $$ >> pids; sleep 100 & wait' &
wait`

func TestKillMinusNineOfFlameoxLeavesNothing(t *testing.T) {
	store := "kill9-" + strconv.Itoa(os.Getpid())
	cmd, pids := flameox(t, store, family4, 5)
	for _, pid := range pids {
		if !running(pid) {
			t.Fatalf("process %d does not run before the kill", pid)
		}
	}
	if left := Leftovers(store + "/"); len(left) != 0 {
		t.Errorf("while its flameox lives, %+v are called left over", left)
	}
	if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	cmd.Wait()
	for slices.ContainsFunc(pids, running) {
		if time.Since(killed) > 2*time.Second {
			t.Fatalf("of %v some still run 2 s after flameox was killed; left over: %+v", pids, Leftovers(store+"/"))
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Logf("all gone %s after the kill", time.Since(killed).Round(time.Millisecond))
	if left := Leftovers(store + "/"); len(left) != 0 {
		t.Errorf("left over: %+v", left)
	}
}

func TestWhatSurvivesItsSupervisorIsALeftover(t *testing.T) {
	store := "both-" + strconv.Itoa(os.Getpid())
	cmd, pids := flameox(t, store, family4, 5)
	sup := supervisorOf(t, cmd.Process.Pid)
	unix.Kill(sup, unix.SIGSTOP) // it must not win the race
	unix.Kill(sup, unix.SIGKILL)
	cmd.Process.Signal(unix.SIGKILL)
	cmd.Wait()

	left := Leftovers(store + "/")
	found := map[string]int{}
	for _, pid := range pids {
		if at := slices.IndexFunc(left, func(p Process) bool { return p.Pid == pid }); at >= 0 {
			found[left[at].Found]++
		}
	}
	// One of them has no environment.
	if found[FoundMark] != 4 || found[FoundSession] != 1 {
		t.Errorf("of %v, found as %v in %+v; want 4 by mark and 1 by session", pids, found, left)
	}
	for _, p := range left {
		if p.Found == FoundMark && !strings.HasPrefix(p.Mark, store+"/"+strconv.Itoa(cmd.Process.Pid)+".") {
			t.Errorf("%+v has another mark", p)
		}
	}
	if other := Leftovers("another-store/"); len(other) != 0 {
		t.Errorf("of another store: %+v", other)
	}
	gone := KillLeftovers(store + "/")
	for _, p := range gone {
		if p.Action != ActionKill || p.Outcome != OutcomeExited {
			t.Errorf("%+v", p)
		}
	}
	for _, pid := range pids {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if again := KillLeftovers(store + "/"); len(again) != 0 {
		t.Errorf("a second time: %+v", again)
	}
}

// carries says whether a process has the mark in its environment.
func carries(pid int) bool {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return strings.Contains(string(b), MarkEnv+"=")
}

// supervisorOf finds the supervisor among the children of a process.
func supervisorOf(t *testing.T, pid int) int {
	t.Helper()
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(b)) {
			cmdline, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if strings.Contains(string(cmdline), superviseArg) {
				n, _ := strconv.Atoi(child)
				return n
			}
		}
	}
	t.Fatalf("process %d has no supervisor", pid)
	return 0
}

func TestTheSupervisorSurvivesWhatEndsFlameoxAndExitsWithIt(t *testing.T) {
	store := "signals-" + strconv.Itoa(os.Getpid())
	cmd, pids := flameox(t, store, "sleep 100 & echo $! >> pids; wait", 1)
	sup := supervisorOf(t, cmd.Process.Pid)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		unix.Kill(sup, sig)
	}
	time.Sleep(50 * time.Millisecond)
	if !running(sup) {
		t.Fatal("a signal ended the supervisor")
	}
	if carries(sup) {
		t.Error("the supervisor carries a mark")
	}
	cmd.Process.Signal(unix.SIGKILL)
	cmd.Wait()
	for end := time.Now().Add(3 * time.Second); running(pids[0]); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("after 3 s the command's child still runs")
		}
	}
	for end := time.Now().Add(supervisorSettle + 5*time.Second); running(sup); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the supervisor outlives what it looked for")
		}
	}
}

func TestTheSupervisorUsesNoTimeWhileItWaits(t *testing.T) {
	b := testBroker(t)
	must(t, b, shell(t, "true"))
	before := cpuTicks(t, b.sup.pid)
	time.Sleep(time.Second)
	if used := cpuTicks(t, b.sup.pid) - before; used > 1 {
		t.Errorf("it used %d ticks of 10 ms in a second", used)
	}
}

func cpuTicks(t *testing.T, pid int) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b)[strings.LastIndex(string(b), ")")+1:])
	user, _ := strconv.ParseUint(f[11], 10, 64)
	sys, _ := strconv.ParseUint(f[12], 10, 64)
	return user + sys
}

func TestCloseEndsTheSupervisorAndLaterRunsFail(t *testing.T) {
	b := New(Options{Store: "close"})
	must(t, b, shell(t, "true"))
	sup := b.sup.pid
	if err := b.Close(); err != nil || exists(sup) {
		t.Errorf("close: %v; the supervisor is there: %v", err, exists(sup))
	}
	if _, err := b.Run(t.Context(), shell(t, "true")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a run after Close: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestABadStoreIdIsTheErrorOfTheFirstRun(t *testing.T) {
	if _, err := New(Options{Store: "a/b"}).Run(t.Context(), shell(t, "true")); err == nil || !strings.Contains(err.Error(), "a/b") {
		t.Errorf("error %v", err)
	}
}

func TestMarksReadBackWhatTheyWrite(t *testing.T) {
	m, err := NewMark("store-1", "01JD8K/3")
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseMark(m.String())
	if err != nil || back != m || !m.Alive() {
		t.Errorf("%+v from %s: %v, alive %v", back, m, err, m.Alive())
	}
	m.Start++
	if m.Alive() {
		t.Error("a process of this number that started at another time is taken for the marked one")
	}
	for _, bad := range []string{"", "a", "a/b", "a/1.2", "a/1.2/", "a/1/x", "/1.2/x", "a/01.2/x", "a/1.2/x y", "a/-1.2/x", "a b/1.2/x", "a/1.2/x\n"} {
		if m, err := ParseMark(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, m)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add("store/12.345/attempt")
	f.Add("s/1.2/a/b")
	f.Add("s/1.+2/a")
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := ParseMark(s); err == nil && m.String() != s {
			t.Errorf("%q was read as %q", s, m.String())
		}
	})
}
