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
)

// everything is an experiment with something of each kind that a plan is made from.
const everything = `
flameox { env = ["PLAN_MODE"] }
variable "level" { default = "x" }
variable "count" { default = 1 }
variable "key" {
  default   = ""
  sensitive = true
}
locals {
  extra = trimspace(file("conf/extra.txt"))
  cases = fileset("cases", "*.in")
}
environment "host" "dev" {
  path      = ["bin0", "tools", "/usr/bin", "/bin"]
  variables = { REV = substr(git_revision("main"), 0, 8), EXTRA = local.extra, MODE = env("PLAN_MODE") }
  inherit   = ["DEV_MODE"]
  untracked = ["DEV_CACHE"]
}
environment "host" "other" {
  path      = ["bin0", "tools", "/usr/bin", "/bin"]
  inherit   = ["DEV_MODE"]
}
workload "listed" {
  environment = environment.host.dev
  command     = ["work", "data/in.txt", var.level]
}
workload "plain" {
  command = ["cat", "data/in.txt"]
  env     = { COUNT = var.count, KEY = var.key }
}
build "made" {
  environment = environment.host.other
  matrix      = { n = ["a", "b", "c"] }
  command     = ["sh", "make.sh", "src/${matrix.n}", out.dir]
  sources     = ["src/${matrix.n}/**", "make.sh", "!src/*/skip/**"]
  outputs     = ["o.txt"]
}
build "cases" {
  environment = environment.host.other
  for_each    = toset(local.cases)
  command     = ["cp", "cases/${each.key}", "${out.dir}/c"]
  sources     = ["cases/${each.key}"]
  outputs     = ["c"]
}
workload "reader" {
  environment = environment.host.other
  command     = ["cat", "${build.made.dir}/o.txt"]
  sources     = []
}
server "one" {
  environment = environment.host.other
  command     = ["sh", "serve.sh"]
  sources     = ["serve.sh"]
}
workload "asks" {
  command = ["cat", "data/in.txt", server.one.url]
  sources = ["data/in.txt"]
}
capture "command" "asks" {
  workload = workload.asks
}
capture "command" "listed" {
  workload = workload.listed
  attempts = 2
}
capture "command" "plain" {
  workload = workload.plain
  reuse    = "1h"
}
capture "command" "reader" {
  workload = workload.reader
}
workload "bench" {
  environment = environment.host.other
  command     = ["bench.test"]
  sources     = ["bench.txt"]
}
capture "gobench" "bench" { workload = workload.bench }
import "gobench" "old" { path = "old.txt" }
check "made" {
  assert {
    condition     = capture.command.plain.wall.median >= 0
    error_message = "it took less than no time"
  }
}
`

func everythingProject(t *testing.T) *project {
	p := newProject(t, map[string]string{
		"flameox.hcl":      everything,
		"conf/extra.txt":   "extra\n",
		"data/in.txt":      "in\n",
		"data/more.txt":    "more\n",
		"src/a/1.txt":      "a1\n",
		"src/a/deep/2.txt": "a2\n",
		"src/a/skip/3.txt": "a3\n",
		"src/b/1.txt":      "b1\n",
		"src/c/1.txt":      "c1\n",
		"linked/1.txt":     "l1\n",
		"linked2/1.txt":    "l2\n",
		"cases/one.in":     "1\n",
		"cases/two.in":     "2\n",
		"make.sh":          "cat $1/*.txt > $2/o.txt\n",
		"serve.sh":         "sleep 1\n",
		"old.txt":          "goos: linux\nBenchmarkX-2 \t 10 \t 100 ns/op\n",
		".gitignore":       "*.o\nignored/\n",
		"ignored/x":        "x\n",
		"tools/work":       "#!/bin/sh\ncat $1\necho $2\n",
		"tools/other":      "#!/bin/sh\nexit 0\n",
		"tools/bench.test": "#!/bin/sh\ncat bench.txt\n",
		"bench.txt":        benchmarked(100),
	})
	for _, program := range []string{"tools/work", "tools/bench.test"} {
		p.must(os.Chmod(p.path(program), 0o755))
	}
	if err := os.Symlink("../../linked", filepath.Join(p.dir, "src/c/more")); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	p.env = append(p.env, cmdline.ExplainEnv+"=1", "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "GIT_CONFIG_NOSYSTEM=1", "DEV_MODE=m", "PLAN_MODE=slow", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.commit("first")
	return p
}

// benchmarked is what a benchmark of Go prints.
func benchmarked(ns int) string {
	return fmt.Sprintf("goos: linux\ngoarch: amd64\npkg: x\nBenchmarkX-2 \t 10 \t %d ns/op\nPASS\n", ns)
}

func (p *project) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *project) commit(message string) { p.git("commit", "-q", "--allow-empty", "-m", message) }

func (p *project) setenv(name, value string) {
	p.env = slices.DeleteFunc(p.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	p.env = append(p.env, name+"="+value)
}

// answer is everything that a plan printed and its exit code, without the moment.
type answer struct{ out, shortcut string }

var created = regexp.MustCompile(`"created": "[^"]*"`)

func (p *project) plan(args ...string) answer {
	p.t.Helper()
	cmd, _ := p.command(append([]string{"plan", "-json", "-detailed-exitcode"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	var said, shortcut []string
	for line := range strings.Lines(stderr.String()) {
		if rest, ok := strings.CutPrefix(line, "shortcut: "); ok {
			shortcut = append(shortcut, strings.TrimSpace(rest))
		} else {
			said = append(said, line)
		}
	}
	return answer{
		out:      fmt.Sprintf("%d\n%s\n%s", cmd.ProcessState.ExitCode(), strings.Join(said, ""), created.ReplaceAllString(stdout.String(), "")),
		shortcut: strings.Join(shortcut, "; "),
	}
}

// short says whether the remembered plan stood, and whether some of it was decided again.
func (a answer) short() (stood, again bool) {
	again = strings.Contains(a.shortcut, "recalled: decided again")
	return again || strings.Contains(a.shortcut, "recalled: it stands"), again
}

// settle waits until what was written is old enough to vouch for itself, and has the plan remembered.
func (p *project) settle(args ...string) {
	p.t.Helper()
	var last answer
	p.must(os.RemoveAll(p.path(".flameox/cache/plans"))) // one of which little moved would stand until more does
	for range 40 {
		time.Sleep(70 * time.Millisecond)
		last = p.plan(args...)
		if stood, again := last.short(); stood && !again {
			return
		}
	}
	p.t.Fatalf("no plan is remembered: %s", last.shortcut)
}

// same fails where the quick answer and the long one differ. It returns the quick one.
func (p *project) same(what string, args ...string) answer {
	p.t.Helper()
	quick := p.plan(args...)
	long := p.plan(append(args, "-no-shortcut")...)
	if quick.out != long.out {
		p.t.Errorf("%s: the plan is not what it is without the shortcut (%s)\n--- quick\n%s\n--- long\n%s", what, quick.shortcut, quick.out, long.out)
	}
	return quick
}

// mutation changes one thing that a plan may depend on. args are the plan's from then on.
type mutation struct {
	name string
	do   func(p *project)
	args []string // nil: as before
	// stands says that nothing moved for the plan, so that the remembered one has to be taken; again, that stages have to be decided again and no more.
	stands, again bool
}

func (p *project) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// blobs are the files of the store's blobs, sorted.
func (p *project) blobs() []string {
	list, _ := filepath.Glob(p.path(".flameox/cas/??/*"))
	return list
}

var mutations = []mutation{
	{name: "nothing", stands: true, do: func(p *project) {}},
	{name: "a variable that nobody reads", stands: true, do: func(p *project) { p.setenv("NOBODY_READS", fmt.Sprint(time.Now())) }},
	{name: "a file that nobody lists", stands: true, do: func(p *project) { p.write("ignored/new.o", "x") }},
	{name: "a source of one instance", again: true, do: func(p *project) { p.write("src/b/1.txt", "b1 changed\n") }},
	{name: "a source with its size and times kept", again: true, do: func(p *project) {
		info, err := os.Stat(p.path("src/b/1.txt"))
		p.must(err)
		b, err := os.ReadFile(p.path("src/b/1.txt"))
		p.must(err)
		b[0] ^= 1
		p.write("src/b/1.txt", string(b))
		p.must(os.Chtimes(p.path("src/b/1.txt"), info.ModTime(), info.ModTime()))
	}},
	{name: "a source touched", again: true, do: func(p *project) {
		now := time.Now()
		p.must(os.Chtimes(p.path("src/a/1.txt"), now, now))
	}},
	{name: "a source made executable", again: true, do: func(p *project) { p.must(os.Chmod(p.path("src/a/1.txt"), 0o755)) }},
	{name: "a source of a measurement from which rows are extracted", again: true, do: func(p *project) { p.write("bench.txt", benchmarked(200)) }},
	{name: "and as it was", do: func(p *project) { p.write("bench.txt", benchmarked(100)) }},
	{name: "a source of every instance", again: true, do: func(p *project) { p.write("make.sh", "cat $1/1.txt > $2/o.txt\n") }},
	{name: "a source that git lists", again: true, do: func(p *project) { p.write("data/more.txt", "more and more\n") }},
	{name: "an argument that is a file", do: func(p *project) { p.write("data/in.txt", "in and in\n") }},
	{name: "a source of a server", do: func(p *project) { p.write("serve.sh", "sleep 2\n") }},
	{name: "a new file in a folder with sources", do: func(p *project) { p.write("src/a/new.txt", "new\n") }},
	{name: "a new folder with sources", do: func(p *project) { p.write("src/a/fold/new.txt", "new\n") }},
	{name: "a file that sources leave out", do: func(p *project) { p.write("src/a/skip/4.txt", "new\n") }},
	{name: "a deleted source", do: func(p *project) { p.must(os.Remove(p.path("src/a/deep/2.txt"))) }},
	{name: "a renamed folder", do: func(p *project) { p.must(os.Rename(p.path("src/a/fold"), p.path("src/a/plied"))) }},
	{name: "two folders swapped", do: func(p *project) {
		p.must(os.Rename(p.path("src/a"), p.path("src/tmp")))
		p.must(os.Rename(p.path("src/b"), p.path("src/a")))
		p.must(os.Rename(p.path("src/tmp"), p.path("src/b")))
	}},
	{name: "two files swapped", do: func(p *project) {
		p.must(os.Rename(p.path("src/a/1.txt"), p.path("t")))
		p.must(os.Rename(p.path("src/b/1.txt"), p.path("src/a/1.txt")))
		p.must(os.Rename(p.path("t"), p.path("src/b/1.txt")))
	}},
	{name: "a link to another folder", do: func(p *project) {
		p.must(os.Remove(p.path("src/c/more")))
		p.must(os.Symlink("../../linked2", p.path("src/c/more")))
	}},
	{name: "a file behind a link", again: true, do: func(p *project) { p.write("linked2/1.txt", "l2 changed\n") }},
	{name: "a source that became a link", do: func(p *project) {
		p.must(os.Rename(p.path("src/c/1.txt"), p.path("linked2/c.txt")))
		p.must(os.Symlink("../../linked2/c.txt", p.path("src/c/1.txt")))
	}},
	{name: "an unreadable source", do: func(p *project) { p.must(os.Chmod(p.path("src/c"), 0o000)) }},
	{name: "a readable source", do: func(p *project) { p.must(os.Chmod(p.path("src/c"), 0o755)) }},
	{name: "an untracked file", do: func(p *project) { p.write("data/untracked.txt", "u\n") }},
	{name: "an untracked file in a new folder", do: func(p *project) { p.write("fresh/untracked.txt", "u\n") }},
	{name: "an empty folder", do: func(p *project) { p.must(os.MkdirAll(p.path("empty/deeper"), 0o755)) }},
	{name: "a file in a folder that was empty", do: func(p *project) { p.write("empty/deeper/f.txt", "f\n") }},
	{name: "a file that is ignored in an unlisted folder", do: func(p *project) { p.write("objects/a.o", "o\n") }},
	{name: "a file that is not ignored beside it", do: func(p *project) { p.write("objects/a.c", "c\n") }},
	{name: "an ignore file", do: func(p *project) { p.write(".gitignore", "*.o\nignored/\nuntracked.txt\n") }},
	{name: "an ignore file in a folder", do: func(p *project) { p.write("fresh/.gitignore", "*.txt\n") }},
	{name: "an ignore file that ignores itself, changed", do: func(p *project) { p.write("objects/.gitignore", "*\n") }},
	{name: "and changed again", do: func(p *project) { p.write("objects/.gitignore", "*.c\n.gitignore\n") }},
	{name: "an ignored folder that no longer is", do: func(p *project) { p.write(".gitignore", "*.o\nuntracked.txt\n") }},
	{name: "the excludes of the repository", do: func(p *project) { p.write(".git/info/exclude", "more.txt\n") }},
	{name: "the excludes of the user", do: func(p *project) {
		home := ""
		for _, e := range p.env {
			if rest, ok := strings.CutPrefix(e, "HOME="); ok {
				home = rest
			}
		}
		p.must(os.MkdirAll(filepath.Join(home, ".config/git"), 0o755))
		p.must(os.WriteFile(filepath.Join(home, ".config/git/ignore"), []byte("linked2/\n"), 0o644))
	}},
	{name: "a setting of git", do: func(p *project) { p.git("config", "core.excludesFile", "conf/ignore") }},
	{name: "the file that it names", do: func(p *project) { p.write("conf/ignore", "fresh/\n") }},
	{name: "the index", do: func(p *project) { p.git("add", "-A") }},
	{name: "a commit", do: func(p *project) { p.commit("second") }},
	{name: "a branch", do: func(p *project) { p.git("checkout", "-q", "-b", "side") }},
	{name: "packed references", do: func(p *project) { p.git("pack-refs", "--all") }},
	{name: "a nested repository", do: func(p *project) { p.git("init", "-q", "nested"); p.write("nested/f.txt", "n\n") }},
	{name: "a file of the nested repository", do: func(p *project) { p.write("nested/g.txt", "n\n") }},
	{name: "the nested repository is one no more", do: func(p *project) { p.must(os.RemoveAll(p.path("nested/.git"))) }},
	{name: "a file that the configuration reads", do: func(p *project) { p.write("conf/extra.txt", "extra 2\n") }},
	{name: "a file that the configuration lists", do: func(p *project) { p.write("cases/three.in", "3\n") }},
	{name: "one file of the cases", again: true, do: func(p *project) { p.write("cases/three.in", "3 changed\n") }},
	{name: "a configuration file more", do: func(p *project) {
		p.write("x.flameox.hcl", "build \"extra\" {\n  command = [\"cp\", \"make.sh\", \"${out.dir}/x\"]\n  sources = [\"make.sh\"]\n  outputs = [\"x\"]\n}\n")
	}},
	{name: "the configuration", do: func(p *project) { p.write("flameox.hcl", everything+"\n# a remark\n") }},
	{name: "the configuration with its size and times kept", do: func(p *project) {
		info, err := os.Stat(p.path("flameox.hcl"))
		p.must(err)
		p.write("flameox.hcl", strings.Replace(everything+"\n# a remark\n", "attempts = 2", "attempts = 3", 1))
		p.must(os.Chtimes(p.path("flameox.hcl"), info.ModTime(), info.ModTime()))
	}},
	{name: "a program earlier on the path", do: func(p *project) {
		p.write("bin0/work", "#!/bin/sh\nexit 0\n")
		p.must(os.Chmod(p.path("bin0/work"), 0o755))
	}},
	{name: "that program is executable no more", do: func(p *project) { p.must(os.Chmod(p.path("bin0/work"), 0o644)) }},
	{name: "the program", do: func(p *project) { p.write("tools/work", "#!/bin/sh\nexit 3\n") }},
	{name: "the program is gone", do: func(p *project) { p.must(os.Remove(p.path("tools/work"))) }},
	{name: "the program is a link", do: func(p *project) { p.must(os.Symlink("other", p.path("tools/work"))) }},
	{name: "what the link leads to", do: func(p *project) { p.must(os.Chmod(p.path("tools/other"), 0o755)) }},
	{name: "an inherited variable", do: func(p *project) { p.setenv("DEV_MODE", "n") }},
	{name: "a variable that is not in a key", do: func(p *project) { p.setenv("DEV_CACHE", "/tmp") }},
	{name: "a variable that the configuration reads", do: func(p *project) { p.setenv("PLAN_MODE", "fast") }},
	{name: "a variable of the configuration from the environment", do: func(p *project) { p.setenv("FLAMEOX_VAR_level", "y") }},
	{name: "a sensitive one", do: func(p *project) { p.setenv("FLAMEOX_VAR_key", "hunter2") }},
	{name: "the caller's PATH", do: func(p *project) { p.setenv("PATH", p.path("tools")+":"+os.Getenv("PATH")) }},
	{name: "the imported file", do: func(p *project) { p.write("old.txt", "goos: linux\nBenchmarkX-2 \t 10 \t 200 ns/op\n") }},
	{name: "the imported file is gone", do: func(p *project) { p.must(os.Remove(p.path("old.txt"))) }},
	{name: "an apply", do: func(p *project) { p.run("apply", "-exclude", "capture.command.asks") }},
	{name: "a lost blob", do: func(p *project) { p.must(os.Remove(p.blobs()[0])) }},
	{name: "a cut blob", do: func(p *project) {
		b := p.blobs()[len(p.blobs())/2]
		p.must(os.Chmod(b, 0o644))
		p.must(os.Truncate(b, 0))
	}},
	{name: "all blobs lost", do: func(p *project) {
		for _, b := range p.blobs() {
			p.must(os.Remove(b))
		}
	}},
	{name: "a record more", do: func(p *project) { p.run("apply", "-replace", "build.made") }},
	{name: "the stat cache is gone", stands: true, do: func(p *project) { p.must(os.Remove(p.path(".flameox/cache/stat"))) }},
	{name: "the state file is gone", stands: true, do: func(p *project) { os.Remove(p.path(".flameox/state")) }},
	{name: "the remembered plan is damaged", do: func(p *project) {
		list, _ := filepath.Glob(p.path(".flameox/cache/plans/*"))
		for _, f := range list {
			b, err := os.ReadFile(f)
			p.must(err)
			b[len(b)/3] ^= 0x40
			p.must(os.WriteFile(f, b, 0o644))
		}
	}},
	{name: "the journal is gone", do: func(p *project) {
		list, _ := filepath.Glob(p.path(".flameox/runs/*"))
		for _, f := range list {
			p.must(os.Remove(f))
		}
	}},
	{name: "the store is gone", do: func(p *project) { p.must(os.RemoveAll(p.path(".flameox"))) }},
}

func TestAPlanIsTheSameWithAndWithoutTheShortcutWhateverMoves(t *testing.T) {
	p := everythingProject(t)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	for _, m := range mutations {
		if _, err := os.Stat(p.path(".flameox")); err == nil {
			p.settle()
		}
		m.do(p)
		quick := p.same(m.name)
		stood, again := quick.short()
		switch {
		case m.stands && (!stood || again):
			t.Errorf("%s: the remembered plan was not taken: %s", m.name, quick.shortcut)
		case m.again && !again:
			t.Errorf("%s: more was decided again than what stands on it: %s", m.name, quick.shortcut)
		case !m.stands && !m.again && stood && !again:
			// That is no fault where the answer is the same, but then the mutation says nothing.
			t.Logf("%s: the remembered plan stood", m.name)
		}
	}
}

func TestAPlanIsTheSameWithAndWithoutTheShortcutAfterRandomMutations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLAMEOX_TEST_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	t.Logf("FLAMEOX_TEST_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	p := everythingProject(t)
	p.self = filepath.Join(t.TempDir(), "flameox")
	p.rebuild(nil)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	all := slices.Concat(mutations[:len(mutations)-1], givenAPlan)
	var args []string
	quick := 0
	for range 40 {
		switch rng.IntN(5) {
		case 0:
			p.run("apply", "-exclude", "capture.command.asks")
		case 1, 2:
			time.Sleep(70 * time.Millisecond)
			p.plan(args...)
		}
		m := all[rng.IntN(len(all))]
		if m.do != nil && !p.tried(m) {
			continue
		}
		if m.args != nil {
			args = m.args
		}
		if stood, _ := p.same(m.name, args...).short(); stood {
			quick++
		}
	}
	t.Logf("%d plans were remembered ones", quick)
}

// tried makes a mutation, and is false where it cannot be made as things are.
func (p *project) tried(m mutation) (ok bool) {
	t := p.t
	defer func() { p.t = t }()
	inner := &testing.T{}
	p.t = inner
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() { recover() }()
		m.do(p)
	}()
	<-done
	return !inner.Failed()
}
