package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/cmd/flameox/internal/completion"
	"github.com/flameox/flameox/cmd/flameox/internal/manual"
)

const completionExperiment = `
variable "size" { default = "1" }
workload "w" {
  command = ["echo", matrix.n]
  sources = []
  matrix  = { n = [1, 2], impl = ["a b", "c"] }
}
capture "command" "w" { workload = workload.w }
build "tool" {
  command = ["touch", "${out.dir}/x"]
  sources = []
  outputs = ["x"]
}
`

// completed is a folder with an experiment of which one build has run.
func completed(t *testing.T, env []string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte(completionExperiment), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, env, "git init -q . && touch plan.json && mkdir folder && flameox apply -target build.tool")
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", dir).Run() })
	return dir
}

// ask completes a line, with the cursor at its end, as bash does, and gives what it would offer.
func ask(t *testing.T, dir string, env []string, line string) []string {
	t.Helper()
	out := must(t, dir, append(slices.Clone(env), "LINE="+line), `source <(flameox completion bash)
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
COMP_LINE=$LINE COMP_POINT=${#LINE} COMP_CWORD=1
COMP_WORDS=(${LINE%%" "*} "${LINE##*" "}")
_flameox flameox "${COMP_WORDS[1]}" flameox
printf '%s\n' "${COMPREPLY[@]}"`)
	return strings.Split(strings.TrimRight(out, "\n"), "\n")
}

func TestBashIsOfferedWhatMayStandAtTheCursor(t *testing.T) {
	env := programEnv(t)
	dir := completed(t, env)
	id := regexp.MustCompile(`"run": "(\w+)"`).FindStringSubmatch(must(t, dir, env, "flameox runs -json"))[1]
	for _, c := range []struct{ line, want string }{
		{"flameox ap", "apply"},
		{"X=1 ./bin/flameox ap", "apply"},
		{"flameox bundle ", "export import"},
		{"flameox help bundle i", "import"},
		{"flameox -C folder va", "validate"},
		{"flameox completion ", "bash zsh fish"},
		{"flameox man bundle e", "export"},
		{"flameox man evi", "evidence"},
		{"flameox plan -d", "-detailed-exitcode"},
		{"flameox plan --d", "--detailed-exitcode"},
		{"flameox plan -json -js", ""},
		{"flameox plan -target x -targ", "-target"},
		{"flameox plan -no-c", "-no-color"},
		{"flameox plan -- -d", ""},
		{"flameox graph -format ", "dot mermaid json"},
		{"flameox graph --format=m", "mermaid"},
		{"flameox evidence export -format c", "csv"},
		{"flameox why ", "build.tool capture.command.w"},
		{"flameox why cap", "capture.command.w"},
		{"flameox why -json cap", "capture.command.w"},
		{"flameox why capture.command.w", "capture.command.w capture.command.w:"},
		{"flameox why capture.command.w:impl=c,", "c,n=1 c,n=2"},
		{`flameox why capture.command.w:impl=`, `\"a\ b\",n=1 \"a\ b\",n=2 c,n=1 c,n=2`},
		{`flameox why 'capture.command.w["impl=c`, `capture.command.w["impl=c,n=1"] capture.command.w["impl=c,n=2"]`},
		{`flameox why "capture.command.w[\"impl=c`, `capture.command.w[\"impl=c,n=1\"] capture.command.w[\"impl=c,n=2\"]`},
		{"flameox plan -target=build.t", "build.tool"},
		{"flameox plan -var ", "size="},
		{"flameox show " + id[:10], id},
		{"flameox why build.tool -since ", id},
		{"flameox show -rows measurem", "measurements"},
		{"flameox tables fram", "frames frame_values"},
		{"flameox artifacts build.tool stdo", "stdout"},
		{"flameox schema cap", "capture"},
		{"flameox schema capture pp", "pprof"},
		{"flameox nonsense x -", "-C -no-color -ascii -profile -help"},
		{"flameox query SEL", ""},
		{"flameox " + completion.Hidden[:4], ""},
	} {
		got := ask(t, dir, env, c.line)
		want := strings.Fields(strings.ReplaceAll(c.want, `\ `, "\x00"))
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "\x00", `\ `)
		}
		if len(want) == 0 {
			want = []string{""}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", c.line, got, want)
		}
	}
}

// Nothing is printed, changed or waited for, whatever is wrong.
func TestCompletionIsSilentAndQuick(t *testing.T) {
	env := programEnv(t)
	dir := completed(t, env)
	before := must(t, dir, env, "find . -type f | sort")
	best := time.Hour
	for range 10 {
		start := time.Now()
		if out := must(t, dir, env, "flameox __complete zsh why ''"); !strings.Contains(out, "capture.command.w") {
			t.Fatalf("no addresses:\n%s", out)
		}
		best = min(best, time.Since(start))
	}
	if best > 100*time.Millisecond {
		t.Errorf("a completion with addresses takes %s, more than 100 ms", best)
	}
	if after := must(t, dir, env, "find . -type f | sort"); after != before {
		t.Errorf("files changed:\n%s\nbefore:\n%s", after, before)
	}
	for _, args := range []string{"", "zsh", "bash", "bash ''", "fish ''", "zsh -C /no/such/dir why ''", "zsh plan -var x=1 -target ''", "bash \"flameox 'un\"", "zsh why ''"} {
		if strings.HasSuffix(args, "zsh why ''") {
			must(t, dir, env, "echo 'capture {{' > flameox.hcl")
		}
		out, code := bash(t, dir, env, "flameox __complete "+args+" 2>&1 >/dev/null")
		if code != 0 || out != "" {
			t.Errorf("__complete %s: exit code %d, stderr %q", args, code, out)
		}
	}
	must(t, t.TempDir(), env, `flameox __complete zsh why "" && test ! -e .flameox`)
}

// Values that a usage text lists are the ones that the command takes: each is accepted and another one is refused.
func TestListedValuesAreTheOnesThatAreTaken(t *testing.T) {
	env := programEnv(t)
	dir := completed(t, env)
	n := 0
	for _, p := range manual.Pages(newApp()) {
		for _, o := range p.Options {
			if o.Value == "" {
				continue
			}
			list := completion.Choices(o)
			if o.Value == "FORMAT" && list == nil {
				t.Errorf("%s: -%s lists no values: write `FORMAT`: a, b or c", p.Name(), o.Names[0])
			}
			for _, v := range list {
				n++
				out, _ := bash(t, dir, env, fmt.Sprintf("%s -%s %s 2>&1", p.Name(), o.Names[0], v))
				if strings.Contains(out, fmt.Sprintf("%q", v)) {
					t.Errorf("%s -%s %s: %s", p.Name(), o.Names[0], v, out)
				}
			}
			if list != nil {
				args := map[string]string{"flameox query": " x", "flameox evidence export": " -o folder", "flameox bundle export": " -o folder", "flameox logs": " build.tool",
					"flameox hotspots": " build.tool", "flameox export": " build.tool", "flameox compare": " -run nightly -profile revisions -baseline 1f0c9a2"}[p.Name()]
				// The commands that measure end with 2 where they refuse.
				if out, code := bash(t, dir, env, fmt.Sprintf("%s -%s nonsense%s 2>&1", p.Name(), o.Names[0], args)); code != 1 && code != 2 || !strings.Contains(out, "nonsense") {
					t.Errorf("%s -%s nonsense: exit code %d, %s", p.Name(), o.Names[0], code, out)
				}
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d values were tried", n)
	}
}

// Every placeholder is one that completion knows, or one that only a person can fill in.
func TestEveryPlaceholderIsKnown(t *testing.T) {
	known := strings.Fields("ADDRESS RUN NAME=VALUE NAME TABLE BLOCK LABEL COMMAND FILE PLANFILE PATH DIR FORMAT STREAM " +
		"SQL TEXT EXPR AGE N ID URL VALUE DURATION HOST PORT PROVIDER FRAME METRIC CURSOR TIME KIND ORDER THREAD TYPE AXIS ADAPTER DIGEST FILEFORMAT " +
		"BASELINE CONTENDER CASE KEY NAME=BASE,CONTENDER NAMES PROJECT REGEX REVISION SERIES SHARE TARGET URI WHAT")
	newApp().Setup()
	for _, p := range manual.Pages(newApp()) {
		words := strings.FieldsFunc(p.Args, func(r rune) bool { return strings.ContainsRune(" []|.-", r) })
		for _, o := range p.Options {
			if o.Value != "" {
				words = append(words, o.Value)
			}
		}
		for _, w := range words {
			if w != strings.ToLower(w) && !slices.Contains(known, w) {
				t.Errorf("%s: %s is no placeholder that completion knows", p.Name(), w)
			}
		}
	}
	if cli.HelpFlag == nil {
		t.Error("there is no help flag")
	}
}

// shells are the interactive shells with a prompt that says when they are ready.
var shells = []struct {
	name string
	args []string
	init string // read the script
}{
	{"bash", []string{"--norc", "--noprofile", "-i"}, "PS1='ready> '; bind 'set enable-bracketed-paste off'; source <(flameox completion bash)\n"},
	{"zsh", []string{"-f", "-i"}, "PS1='ready> '; unsetopt zle_bracketed_paste prompt_cr; autoload -U compinit; compinit -u -D; source <(flameox completion zsh)\n"},
	{"fish", []string{"--no-config", "-i"}, "function fish_prompt; echo 'ready> '; end; flameox completion fish | source\n"},
}

// A key is pressed in a real terminal, and what stands on the line afterwards is run.
func TestTabCompletesInRealShells(t *testing.T) {
	t.Parallel()
	env := programEnv(t)
	dir := completed(t, env)
	for _, sh := range shells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(sh.name)
			if err != nil {
				t.Skipf("%s is not installed, so its completion was not tried", sh.name)
			}
			term := openTerminal(t, dir, append(slices.Clone(env), "TERM=xterm", "HOME="+t.TempDir()), path, sh.args...)
			term.say(sh.init)
			for _, c := range []struct{ typed, means string }{
				{"bundle imp\t", "bundle import"},
				{"plan -detailed\t", "plan -detailed-exitcode"},
				{"graph -format mer\t", "graph -format mermaid"},
				{"why build.to\t", "why build.tool"},
				{"why capture.command.w:impl=c,n=1\t", "why capture.command.w:impl=c,n=1"},
				{"why 'capture.command.w[\"impl=c,n=1\t", `why capture.command.w["impl=c,n=1"]`},
				{"apply pla\t", "apply plan.json"},
			} {
				// printf shows the words that the shell made of the line; what was echoed has no brackets around it.
				term.say("flameox " + c.typed)
				term.settle()
				term.say("\x01printf '<%s>' END \x05\n") // to the beginning of the line, and to its end
				want := ""
				for w := range strings.FieldsSeq("END flameox " + c.means) {
					want += "<" + w + ">"
				}
				if !term.expect(want) {
					t.Errorf("%q: want %s, the terminal shows\n%q", c.typed, want, term.text())
				}
			}
		})
	}
}

type terminal struct {
	t     *testing.T
	f     *os.File
	lines chan []byte
	seen  bytes.Buffer
}

// openTerminal starts a program in a terminal of its own, which ends with the test.
func openTerminal(t *testing.T, dir string, env []string, path string, args ...string) *terminal {
	t.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals can be made here: ", err)
	}
	fd := int(ptm.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("no terminals can be made here: ", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals can be made here: ", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	term := &terminal{t: t, f: ptm, lines: make(chan []byte, 1000)}
	go func() {
		defer close(term.lines)
		for {
			b := make([]byte, 4096)
			n, err := ptm.Read(b)
			if err != nil {
				return
			}
			term.lines <- b[:n]
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		ptm.Close()
	})
	return term
}

func (x *terminal) say(s string) {
	x.t.Helper()
	if _, err := x.f.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
	x.settle()
}

// settle waits until nothing new has come for a while.
func (x *terminal) settle() {
	for {
		select {
		case b, ok := <-x.lines:
			if !ok {
				return
			}
			x.seen.Write(b)
		case <-time.After(400 * time.Millisecond):
			return
		}
	}
}

// expect says whether the text is or comes on the terminal.
func (x *terminal) expect(want string) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if strings.Contains(x.text(), want) {
			x.seen.Reset()
			return true
		}
		x.settle()
	}
	return false
}

var controls = regexp.MustCompile(`\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]`)

func (x *terminal) text() string { return controls.ReplaceAllString(x.seen.String(), "") }
