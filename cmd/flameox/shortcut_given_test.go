package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// givenAPlan are changes of what a plan is told and of what makes it. args are those of every plan from then on.
var givenAPlan = []mutation{
	{name: "a variable", args: []string{"-var", "count=2"}},
	{name: "its value", args: []string{"-var", "count=3"}},
	{name: "its value given twice", args: []string{"-var", "count=3", "-var", "count=2"}},
	{name: "a variable less", args: []string{}},
	{name: "a sensitive variable", args: []string{"-var", "key=hunter2"}},
	{name: "a file of variables", args: []string{"-var-file", "given.hcl"}, do: func(p *project) { p.write("given.hcl", "count = 4\n") }},
	{name: "its content", do: func(p *project) { p.write("given.hcl", "count = 5\n") }},
	{name: "its content with its size and times kept", do: func(p *project) {
		info, err := os.Stat(p.path("given.hcl"))
		p.must(err)
		p.write("given.hcl", "count = 6\n")
		p.must(os.Chtimes(p.path("given.hcl"), info.ModTime(), info.ModTime()))
	}},
	{name: "a variable beside it", args: []string{"-var-file", "given.hcl", "-var", "count=7"}},
	{name: "no file any more", args: []string{}},
	{name: "a selection", args: []string{"-target", "capture.command.reader"}},
	{name: "a source of what is selected", again: true, do: func(p *project) { p.write("src/b/1.txt", "b1 selected\n") }},
	{name: "a source of what is not selected", again: true, do: func(p *project) { p.write("bench.txt", benchmarked(300)) }},
	{name: "what is left out", args: []string{"-exclude", "build.made"}},
	{name: "a source of what is left out", again: true, do: func(p *project) { p.write("src/b/1.txt", "b1 left out\n") }},
	{name: "what is to be run again", args: []string{"-replace", "build.made"}},
	{name: "a source of what is to be run again", do: func(p *project) { p.write("src/b/1.txt", "b1 again\n") }},
	{name: "no selection any more", args: []string{}},
	{name: "another build of flameox", do: func(p *project) { p.rebuild([]byte{0}) }},
	{name: "the same build again", do: func(p *project) { p.rebuild(nil) }},
	{name: "a record of another working tree", do: func(p *project) {
		other := filepath.Join(p.t.TempDir(), "other")
		p.git("worktree", "add", "-q", "--detach", other)
		dir := p.dir
		p.dir = other
		p.run("apply", "-target", "build.made", "-replace", "build.made")
		p.dir = dir
	}},
	{name: "the file of variables again", args: []string{"-var-file", "given.hcl"}},
	{name: "it is gone", do: func(p *project) { p.must(os.Remove(p.path("given.hcl"))) }}, // the last one: no plan can be made
}

// rebuild puts another binary in the place of the project's own: a copy with something behind its end, where no program looks.
func (p *project) rebuild(more []byte) {
	p.t.Helper()
	self, err := os.Executable()
	p.must(err)
	in, err := os.Open(self)
	p.must(err)
	defer in.Close()
	out, err := os.OpenFile(p.self+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	p.must(err)
	_, err = io.Copy(out, io.MultiReader(in, bytes.NewReader(more)))
	p.must(err)
	p.must(out.Close())
	p.must(os.Rename(p.self+".new", p.self))
}

func TestAPlanIsTheSameWithAndWithoutTheShortcutWhateverItIsGiven(t *testing.T) {
	p := everythingProject(t)
	p.self = filepath.Join(t.TempDir(), "flameox")
	p.rebuild(nil)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	p.oneAfterTheOther(givenAPlan)
}

// languages is an experiment over interpreters, with a lock and its pin.
const languages = `
environment "python" "bench" {
  requirements = "bench.lock.txt"
  from         = ["bench.in"]
}
workload "locked" {
  environment = environment.python.bench
  command     = ["python", "w.py"]
  sources     = ["w.py"]
}
workload "installed" {
  command = ["venv/bin/python", "w.py"]
  sources = ["w.py"]
}
capture "command" "locked" { workload = workload.locked }
capture "command" "installed" { workload = workload.installed }
`

// distribution makes an installed distribution as an installer leaves it, as far as an interpreter asks for what is installed.
func (p *project) distribution(name string) {
	site, err := filepath.Glob(p.path("venv/lib/python3*/site-packages"))
	p.must(err)
	if len(site) != 1 {
		p.t.Fatal("the virtual environment has the folders ", site)
	}
	rel, err := filepath.Rel(p.dir, site[0])
	p.must(err)
	p.write(rel+"/"+name+".dist-info/METADATA", "Metadata-Version: 2.1\n")
}

var inLanguages = []mutation{
	{name: "nothing", stands: true, do: func(p *project) {}},
	{name: "the script", again: true, do: func(p *project) { p.write("w.py", "print(2)\n") }},
	{name: "an installed distribution more", do: func(p *project) { p.distribution("added-1.0") }},
	{name: "another version of it", do: func(p *project) {
		site, _ := filepath.Glob(p.path("venv/lib/python3*/site-packages"))
		p.must(os.Rename(filepath.Join(site[0], "added-1.0.dist-info"), filepath.Join(site[0], "added-1.1.dist-info")))
	}},
	{name: "the virtual environment sees the packages of the machine", do: func(p *project) {
		cfg, err := os.ReadFile(p.path("venv/pyvenv.cfg"))
		p.must(err)
		p.write("venv/pyvenv.cfg", strings.Replace(string(cfg), "= false", "= true", 1))
	}},
	{name: "the lock", do: func(p *project) { p.write("bench.lock.txt", lockOf("2")) }},
	{name: "the pin of another lock", do: func(p *project) { p.run("lock", "-accept") }},
	{name: "what the lock is made from", do: func(p *project) { p.write("bench.in", "six\n# and no more\n") }},
	{name: "the pin again", do: func(p *project) { p.run("lock", "-accept") }},
	{name: "a damaged pin", do: func(p *project) { p.write("flameox.lock.hcl", "lock {") }},
	{name: "no pin", do: func(p *project) { p.must(os.Remove(p.path("flameox.lock.hcl"))) }},
	{name: "no lock", do: func(p *project) { p.must(os.Remove(p.path("bench.lock.txt"))) }},
	{name: "the interpreter is another program", do: func(p *project) {
		p.must(os.Remove(p.path("venv/bin/python")))
		p.write("venv/bin/python", "#!/bin/sh\nexit 0\n")
		p.must(os.Chmod(p.path("venv/bin/python"), 0o755))
	}},
}

// lockOf is a lock of one package, whose archive has a hash that begins with the digit.
func lockOf(digit string) string {
	return "six==1.17.0 --hash=sha256:" + digit + "721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274\n"
}

func languagesProject(t *testing.T) *project {
	p := newProject(t, map[string]string{
		"flameox.hcl": languages, "w.py": "print(1)\n", "bench.in": "six\n", "bench.lock.txt": lockOf("4"),
	})
	p.env = append(p.env, "FLAMEOX_EXPLAIN_SHORTCUT=1")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not there")
	}
	real, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output() // beyond a shim, which is asked anew each time
	if err != nil {
		t.Skip("python3 does not say where it is: ", err)
	}
	dir := filepath.Dir(strings.TrimSpace(string(real)))
	p.setenv("PATH", dir+":"+os.Getenv("PATH"))
	if out, err := exec.Command(strings.TrimSpace(string(real)), "-m", "venv", "--without-pip", p.path("venv")).CombinedOutput(); err != nil {
		t.Skipf("python3 makes no virtual environment: %v: %s", err, out)
	}
	p.want(0, "lock", "-accept")
	p.run("apply", "-target", "capture.command.installed")
	return p
}

func TestAPlanIsTheSameWithAndWithoutTheShortcutWhateverMovesBelowAnInterpreter(t *testing.T) {
	languagesProject(t).oneAfterTheOther(inLanguages)
}

// The facts of a machine are of the kernel, so another machine is this one with another file in the place of the kernel's.
func TestAPlanIsTheSameWithAndWithoutTheShortcutOnAnotherMachine(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is not there")
	}
	p := everythingProject(t)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	for _, fact := range []struct{ file, of, now string }{
		{"/proc/meminfo", "MemTotal:", "MemTotal: 3145728 kB\n"},
		{"/proc/cpuinfo", "model name", "model name : Abacus\n"},
		{"/proc/sys/kernel/osrelease", "", "5.0.0-other\n"},
		{"/proc/sys/kernel/yama/ptrace_scope", "", "3\n"},
	} {
		text, err := os.ReadFile(fact.file)
		if err != nil {
			t.Logf("%s: %v", fact.file, err)
			continue
		}
		var other strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, fact.of) {
				line = fact.now
			}
			other.WriteString(line)
		}
		file := filepath.Join(t.TempDir(), "fact")
		p.must(os.WriteFile(file, []byte(other.String()), 0o644))
		there := []string{unshare, "--mount"}
		if os.Geteuid() != 0 {
			there = append(there, "--user", "--map-root-user")
		}
		p.before = append(slices.Clone(there), "sh", "-c", `exec "$@"`, "sh") // the same user on both machines
		p.settle()
		p.before = append(there, "sh", "-c", `mount --bind "$0" `+fact.file+` && exec "$@"`, file)
		if out, err := exec.Command(p.before[0], append(p.before[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("nothing can be mounted here: %v: %s", err, out)
		}
		quick := p.same(fact.file)
		if stood, _ := quick.short(); stood {
			t.Errorf("%s is another, and the remembered plan was taken", fact.file)
		}
		p.settle()
		p.before = nil
	}
}

// oneAfterTheOther makes the mutations, each after a plan that was remembered, and compares the plans.
func (p *project) oneAfterTheOther(list []mutation) {
	p.t.Helper()
	var args []string
	for _, m := range list {
		p.settle(args...)
		if m.args != nil {
			args = m.args
		}
		if m.do != nil {
			m.do(p)
		}
		stood, again := p.same(m.name, args...).short()
		switch {
		case m.stands != (stood && !again):
			p.t.Errorf("%s: the remembered plan was taken: %v", m.name, stood)
		case m.again && !again:
			p.t.Errorf("%s: more was decided again than what stands on it", m.name)
		}
	}
}

func TestAPlanIsTheSameWithAndWithoutTheShortcutWhateverBlobIsLost(t *testing.T) {
	p := everythingProject(t)
	p.want(0, "apply", "-exclude", "capture.command.asks")
	p.loseEachBlob("")
	// What a plan says of stages that are stale it has from blobs too: of the trees that they were made from.
	p.write("src/b/1.txt", "b1 changed\n")
	p.write("data/more.txt", "more and more\n")
	p.write("bench.txt", benchmarked(200))
	p.loseEachBlob("flameox tree ")
}

// loseEachBlob takes away or cuts one blob that begins so after the other, each after a plan that was remembered, and compares the plans.
func (p *project) loseEachBlob(start string) {
	t := p.t
	t.Helper()
	p.settle()
	missed, tried := 0, 0
	for i, b := range p.blobs() {
		content, err := os.ReadFile(b)
		p.must(err)
		if !bytes.HasPrefix(content, []byte(start)) {
			continue
		}
		tried++
		how := "lost"
		if i%2 == 0 {
			p.must(os.Rename(b, p.path("away")))
		} else {
			how = "cut"
			p.must(os.Chmod(b, 0o644))
			p.must(os.Truncate(b, int64(len(content)/2)))
		}
		quick := p.same(how + " " + b)
		if stood, _ := quick.short(); stood {
			missed++
		}
		if i%2 == 0 {
			p.must(os.Rename(p.path("away"), b))
		} else {
			p.must(os.WriteFile(b, content, 0o444))
		}
		p.settle()
	}
	if missed == tried {
		t.Errorf("none of %d blobs mattered", tried)
	}
}
