package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/reads"
)

var (
	tracedCall = regexp.MustCompile(`^\d+\s+(\w+)\((?:AT_FDCWD(?:<([^>]*)>)?|\d+<([^>]*)>)?(?:, )?"((?:[^"\\]|\\.)*)"`)
	// What the process needs for itself, and what a plan looks at each time: the facts of the machine, what the kernel allows, where the repository
	// is, locks, caches that are not believed where they are wrong.
	untraced = regexp.MustCompile(`^/(proc/(self|[0-9]+|driver/nvidia)|dev|sys/fs/cgroup)(/|$)|^/proc/sys/vm/overcommit_memory$|^/sys/kernel/mm/transparent_hugepage/hpage_pmd_size$|` +
		`^/(proc/(cpuinfo|meminfo|sys/kernel/(osrelease|perf_event_paranoid|yama/ptrace_scope))|sys/devices/system/cpu/online)$|/\.git$|` +
		`/\.flameox/(cache|lock|state|tmp|cas/index)(/|$)|/\.flameox$|/measure(\.|$)|^/etc/(ld\.so\.preload|duckdb_je_malloc\.conf)$|/lib(stdc\+\+|m|gcc_s)\.so`)
)

// TestEverythingThatAPlanAsksTheKernelForIsInItsRecord compares the record of a plan with its system calls.
func TestEverythingThatAPlanAsksTheKernelForIsInItsRecord(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not there")
	}
	p := everythingProject(t)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	t.Run("of everything", func(t *testing.T) { p.t = t; p.traced(strace, "make.sh") })
	t.Run("over interpreters", func(t *testing.T) { languagesProject(t).traced(strace, "w.py") })
}

// traced fails where a plan looks at something that is not in its record. source is a file that it has to look at.
func (p *project) traced(strace, source string) {
	t := p.t
	t.Helper()
	p.settle()
	list, _ := filepath.Glob(p.path(".flameox/cache/plans/*"))
	rec, ok := reads.Open(list[0])
	if len(list) != 1 || !ok {
		t.Fatal("no record")
	}
	recorded := map[string]bool{}
	paths := rec.Paths()
	for i := 0; i < len(paths); i++ { // a link is followed to its end, so those on the way are looked at with it
		if to, err := os.Readlink(paths[i]); err == nil {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(paths[i]), to)
			}
			paths = append(paths, to)
		}
	}
	for _, f := range paths {
		for ; !recorded[f]; f = filepath.Dir(f) { // the way to a path is looked at with it
			recorded[f] = true
		}
	}
	p.must(os.Remove(list[0]))
	cmd, _ := p.command("plan", "-json")
	log := filepath.Join(t.TempDir(), "trace")
	cmd = exec.Command(strace, append([]string{"-f", "-y", "-qq", "-s", "4096", "-e", "trace=%file", "-o", log}, cmd.Args...)...)
	cmd.Dir, cmd.Env = p.dir, append(p.env, "PWD="+p.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("ptrace")) {
			t.Skip("this machine does not let a process be traced")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	p.must(err)
	var unknown []string
	git := map[string]bool{} // processes that are git: it says what it read in its own way
	for line := range strings.Lines(string(text)) {
		pid, _, _ := strings.Cut(line, " ")
		m := tracedCall.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "execve" && strings.HasSuffix(m[4], "/git") {
			git[pid] = true
		}
		path := m[4]
		if !filepath.IsAbs(path) {
			dir := m[2] + m[3]
			if dir == "" {
				dir = p.dir
			}
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if m[1] == "newfstatat" && m[3] != "" && recorded[filepath.Dir(path)] {
			continue // what kind of file an entry is: part of a listing, which is recorded
		}
		if _, err := os.Lstat(filepath.Dir(path)); err != nil && recorded[filepath.Dir(path)] {
			continue // it is not there because its folder is not
		}
		if !git[pid] && !recorded[path] && !untraced.MatchString(path) && !slices.Contains(unknown, path) {
			unknown = append(unknown, path)
		}
	}
	if len(recorded) < 50 || !bytes.Contains(text, []byte(source)) {
		t.Fatalf("%d paths are recorded, and the trace has %d bytes", len(recorded), len(text))
	}
	for _, path := range unknown {
		t.Errorf("the plan looked at %s, which is not in its record", path)
	}
}
