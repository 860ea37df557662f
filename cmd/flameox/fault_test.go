package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/digest"
)

// asMain makes the test binary be flameox, arguments and all.
const asMain = "FLAMEOX_TEST_AS_MAIN"

// project is a folder with a configuration, and flameox as its user runs it.
type project struct {
	t      *testing.T
	dir    string
	env    []string
	self   string   // the binary; "" is that of the test
	before []string // words in front of every command: another program that starts it
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	if testing.Short() {
		t.Skip("runs flameox many times")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: dir, env: append(os.Environ(), asMain+"=1", "FLAMEOX_MEASURE_LOCK="+filepath.Join(t.TempDir(), "measure"), "NO_COLOR=1", "LANG=C.UTF-8")}
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	self := p.self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			p.t.Fatal(err)
		}
	}
	words := append(append(slices.Clone(p.before), self), args...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// run runs flameox to its end and returns its exit status and everything it printed.
func (p *project) run(args ...string) (int, string) {
	p.t.Helper()
	cmd, out := p.command(args...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func (p *project) want(code int, args ...string) string {
	p.t.Helper()
	got, out := p.run(args...)
	if got != code {
		p.t.Fatalf("flameox %s exited %d, want %d:\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// marked are the processes that carry a mark of the project's store.
func (p *project) marked() (found []string) {
	mark := "FLAMEOX_ATTEMPT=" + digest.SumString(filepath.Join(p.dir, ".flameox")).String()[:12] + "/"
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(d, "stat"))
		_, carried, _ := bytes.Cut(env, []byte("FLAMEOX_ATTEMPT="))
		carried, _, _ = bytes.Cut(carried, []byte{0})
		found = append(found, fmt.Sprintf("%s %s (%s) %s", d, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '}), stat, carried))
	}
	return found
}

const manyStages = `
variable "round" { default = 0 }
build "b" {
  command = ["sh", "work.sh", out.dir, var.round, matrix.n]
  sources = ["work.sh"]
  outputs = ["o.txt"]
  matrix  = { n = range(1, 201) }
}
`

func TestKilledAtAnyInstantTheNextApplyFinishes(t *testing.T) {
	p := newProject(t, map[string]string{
		"flameox.hcl": manyStages,
		// Every stage leaves a process in a session of its own behind, as a daemon would.
		"work.sh": "setsid sleep 300 >/dev/null 2>&1 &\necho round $2 stage $3 > $1/o.txt\n",
	})
	const kills = 50
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	round, acknowledged := 0, 0
	done := regexp.MustCompile(`✓ build.b\["n=\d+"\]`)
	for range kills {
		how := "killed"
		cmd, out := p.command("apply", "-var", fmt.Sprintf("round=%d", round))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-time.After(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))):
			cmd.Process.Kill()
			<-ended
		case err := <-ended:
			if err != nil {
				t.Fatalf("apply that was not killed: %v\n%s", err, out)
			}
			round++
			how = "finished"
		}
		acknowledged += len(done.FindAllString(out.String(), -1))
		// What holds the pipe of a dead flameox ends its processes at once, or when the disk lets go of them. A process in the moment of its
		// exec shows no mark, so one clean look says nothing.
		deadline := time.Now().Add(20 * time.Second)
		for clean := 0; clean < 10; time.Sleep(10 * time.Millisecond) {
			left := p.marked()
			if clean++; len(left) > 0 {
				clean = 0
			}
			if time.Now().After(deadline) {
				t.Fatalf("processes of a flameox (%d) that was %s are left: %v", cmd.Process.Pid, how, left)
			}
		}
	}
	p.want(0, "apply", "-var", fmt.Sprintf("round=%d", round))
	p.want(0, "plan", "-detailed-exitcode", "-var", fmt.Sprintf("round=%d", round))
	out := p.want(0, "fsck", "-full")
	if !strings.Contains(out, "0 problems") {
		t.Errorf("fsck -full: %s", out)
	}
	runs := strings.Count(p.want(0, "runs", "-json", "-limit", "0"), `"run":`)
	if runs < acknowledged || runs < 200 {
		t.Errorf("%d runs are kept, %d were reported as done", runs, acknowledged)
	}
	t.Logf("%d kills, %d rounds finished, %d runs kept", kills, round, runs)
	if left := p.marked(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if entries, _ := os.ReadDir(filepath.Join(p.dir, ".flameox", "tmp")); len(entries) > 0 {
		t.Errorf("%d attempt folders are left", len(entries))
	}
}

const sleeper = `
workload "w" {
  command = ["sh", "-c", "echo begun; sleep 2"]
  sources = []
}
capture "command" "w" { workload = workload.w }
`

// begun waits until a stage of the project runs.
func (p *project) begun() {
	p.t.Helper()
	for range 500 {
		if len(p.marked()) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatal("no stage has begun")
}

func TestTwoAppliesAtOnceAndReadersMeanwhile(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": sleeper})
	first, out := p.command("apply")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	p.begun()
	refused := p.want(1, "apply")
	if want := fmt.Sprintf("pid %d", first.Process.Pid); !strings.Contains(refused, "another apply is running") || !strings.Contains(refused, want) {
		t.Errorf("the second apply says %q, want who holds the lock (%s)", refused, want)
	}
	// Readers take no lock.
	p.want(2, "plan", "-detailed-exitcode")
	p.want(0, "runs")
	p.want(0, "why", "capture.command.w")
	p.want(0, "query", "SELECT count(*) FROM runs")
	if err := first.Wait(); err != nil {
		t.Fatalf("the first apply: %v\n%s", err, out)
	}
	if shown := p.want(0, "show", "capture.command.w"); !strings.Contains(shown, "overlap: flameox query") {
		t.Errorf("what ran beside the measurement is not on its record:\n%s", shown)
	}
	p.want(0, "apply")
	p.want(0, "plan", "-detailed-exitcode")
}

func TestInterruptFinishesWhatRunsAndASecondOneKills(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": sleeper + `
workload "next" {
  command = ["true"]
  sources = []
}
capture "command" "next" { workload = workload.next }
`})
	cmd, out := p.command("apply")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.begun()
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cmdline.ExitInterrupted {
		t.Errorf("exit %d after one interrupt, want %d:\n%s", code, cmdline.ExitInterrupted, out)
	}
	if got := strings.Count(p.want(0, "runs", "-json"), `"validation": "passed"`); got != 1 {
		t.Errorf("%d valid runs are kept, want the one that ran", got)
	}
	p.want(0, "apply", "-replace", "capture.command.next") // the rest
	cmd, out = p.command("apply", "-replace", "capture.command.w")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.begun()
	begin := time.Now()
	cmd.Process.Signal(os.Interrupt)
	time.Sleep(100 * time.Millisecond)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cmdline.ExitInterrupted || time.Since(begin) > 1500*time.Millisecond {
		t.Errorf("exit %d after %s, want %d before the stage ended by itself:\n%s", code, time.Since(begin), cmdline.ExitInterrupted, out)
	}
	if !strings.Contains(p.want(0, "runs", "-json"), `"cancelled"`) {
		t.Error("the killed attempt is not kept as cancelled")
	}
	if left := p.marked(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestAFullDiskIsSaidAndLosesNothing(t *testing.T) {
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		t.Skip("a private mount namespace needs privileges that are not there")
	}
	p := newProject(t, map[string]string{"flameox.hcl": `
workload "small" {
  command = ["sh", "-c", "echo small"]
  sources = []
}
workload "big" {
  command = ["sh", "-c", "head -c 20000000 /dev/zero > \"$0/big.bin\"", out.dir]
  sources = []
}
capture "command" "a_small" { workload = workload.small }
capture "command" "big" {
  workload = workload.big
  outputs  = ["big.bin"]
}
`})
	if err := os.Mkdir(filepath.Join(p.dir, ".flameox"), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// 32 MB: the program's own output fits, its copy in the store does not.
	script := `mount -t tmpfs -o size=32m none .flameox || exit 77
"$0" apply -target capture.command.a_small || exit 1
echo "--- full"; "$0" apply; echo "exit $?"
"$0" fsck -full || exit 1
echo "--- more room"; mount -o remount,size=200m .flameox
"$0" apply || exit 1
"$0" plan -detailed-exitcode && "$0" fsck -full`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, self)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 77 {
		t.Skip("a tmpfs cannot be mounted here")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	full := string(out[bytes.Index(out, []byte("--- full")):bytes.Index(out, []byte("--- more room"))])
	if !strings.Contains(full, "no space left") && !strings.Contains(full, "disk") {
		t.Errorf("nothing says that the disk is full:\n%s", full)
	}
	if !strings.Contains(full, "exit 1") && !strings.Contains(full, "exit 5") {
		t.Errorf("the apply on a full disk did not fail:\n%s", full)
	}
	t.Log(full)
}

func TestAWorkloadThatWritesWithoutEndIsStoppedAndBounded(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": `
workload "flood" {
  command      = ["sh", "-c", "trap '' TERM; head -c 10000000000 /dev/zero"]
  sources      = []
  grace        = "200ms"
  output_limit = "1MiB"
}
capture "command" "flood" { workload = workload.flood }
`})
	begin := time.Now()
	out := p.want(cmdline.ExitSome, "apply")
	if !strings.Contains(out, "output_limit") {
		t.Errorf("the reason is not said:\n%s", out)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	var size int64
	filepath.Walk(filepath.Join(p.dir, ".flameox"), func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			size += info.Size()
		}
		return nil
	})
	if size > 16<<20 {
		t.Errorf("the store holds %d bytes", size)
	}
	if left := p.marked(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
