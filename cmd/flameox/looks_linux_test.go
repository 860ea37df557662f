package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/internal/host"
)

// look is an output that flameox adapts to.
type look struct {
	name string
	cols int // of a terminal; 0 is a pipe
	args []string
	env  []string
}

// looks are the outputs of every golden file: what internal/view is tested with, as the program finds it out.
var looks = []look{
	{name: "colour", cols: 100, env: []string{"TERM=xterm"}},
	{name: "plain"},
	{name: "ascii", args: []string{"-ascii"}, env: []string{"COLUMNS=100"}},
	{name: "narrow", env: []string{"COLUMNS=60"}},
}

const looksConfig = `
workload "sort" {
  command = ["./sort.sh", matrix.n]
  sources = ["data.txt"]
  matrix  = { n = [1000, 20000] }
}
workload "broken" {
  command = ["./broken.sh"]
  sources = []
}
workload "absent" {
  command = ["no-such-program"]
  sources = []
}
capture "command" "sort" { workload = workload.sort }
capture "command" "broken" { workload = workload.broken }
capture "command" "absent" { workload = workload.absent }
output "status" { value = capture.command.sort["n=1000"].status }
`

func TestTheProgramLooksAsItIsMeantToInEveryOutput(t *testing.T) {
	p := newProject(t, map[string]string{"flameox.hcl": looksConfig, "data.txt": "one\n"})
	p.env = append(p.env, "PATH=/usr/bin:/bin")
	// The longer one is run first, and longer than it takes until the display is drawn again.
	p.script("sort.sh", "#!/bin/sh\nif [ $1 = 1000 ]; then sleep 1.5; else sleep 1; fi\n")
	p.script("broken.sh", "#!/bin/sh\nsleep 0.02\necho working\necho \"ImportError: No module named 'sortlib.merge'\" >&2\nexit 1\n")
	p.want(5, "apply")
	p.write("data.txt", "two\n")
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"plan", []string{"plan"}, 0},
		{"why", []string{"why", "capture.command.sort:n=1000"}, 0},
		{"apply", []string{"apply", "-parallelism", "1", "-replace", "capture.command.sort"}, 5},
		{"show", []string{"show", "capture.command.broken"}, 0},
	} {
		p.looks(c.name, c.code, c.args...)
	}
	p.write("flameox.hcl", "workload \"w\" {\n  command = [\"true\"]\n  sourcs  = []\n}\ncapture \"command\" \"a\" {\n  workload   = workload.w\n  depends_on = [capture.command.b]\n}\n"+
		"capture \"command\" \"b\" {\n  workload   = workload.w\n  depends_on = [capture.command.a]\n}\n")
	p.looks("validate", 1, "validate")
}

func (p *project) script(name, text string) {
	p.write(name, text)
	if err := os.Chmod(filepath.Join(p.dir, name), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// looks runs a command in every output and compares what is on the screen at the end with a golden file.
func (p *project) looks(name string, code int, args ...string) {
	p.t.Helper()
	var all strings.Builder
	for _, l := range looks {
		got, out := p.on(l, args...)
		if got != code {
			p.t.Errorf("%s %s exited %d, want %d:\n%s", l.name, name, got, code, out)
		}
		if l.cols == 0 && strings.ContainsAny(out, "\x1b\r") {
			p.t.Errorf("%s %s controls a terminal that is not there: %q", l.name, name, out)
		}
		if slices.Contains(l.args, "-ascii") && strings.ContainsFunc(out, func(r rune) bool { return r > 126 }) {
			p.t.Errorf("%s %s has symbols beyond ASCII: %q", l.name, name, out)
		}
		if name == "apply" && l.cols > 0 && !regexp.MustCompile(`● \x1b\[0m\x1b\[1mcapture.command.sort\["n=1000"\]\x1b\[0m   0:0[01] `).MatchString(out) {
			p.t.Errorf("the running stage was not shown: %q", out)
		}
		fmt.Fprintf(&all, "== %s\n%s", l.name, lasting(screen(out)))
	}
	path := filepath.Join("testdata", "looks", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		p.t.Errorf("%s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// on runs flameox with both streams on one output.
func (p *project) on(l look, args ...string) (int, string) {
	p.t.Helper()
	cmd, out := p.command(append(slices.Clone(l.args), args...)...)
	cmd.Env = slices.DeleteFunc(slices.Clone(cmd.Env), func(e string) bool {
		return strings.HasPrefix(e, "NO_COLOR=") || strings.HasPrefix(e, "COLUMNS=") || strings.HasPrefix(e, "LC_") || strings.HasPrefix(e, "TERM=")
	})
	cmd.Env = append(cmd.Env, l.env...)
	if l.cols == 0 {
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			p.t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String()
	}
	master, slave := pseudoTerminal(p.t, l.cols)
	cmd.Stdout, cmd.Stderr = slave, slave
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	slave.Close()
	var shown bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(&shown, master) // ends with an error when the last writer is gone
	}()
	cmd.Wait()
	<-read
	master.Close()
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

// pseudoTerminal is a pseudo terminal: what the test reads, and what a program writes to.
func pseudoTerminal(t *testing.T, cols int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: uint16(cols)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

var redraw = regexp.MustCompile(`\x1b\[(\d+)A\r\x1b\[J`)

// screen is what stays of an output in which lines were drawn again.
func screen(out string) string {
	for {
		at := redraw.FindStringSubmatchIndex(out)
		if at == nil {
			return out
		}
		n, _ := strconv.Atoi(out[at[2]:at[3]])
		head := out[:at[0]]
		for range n {
			head = strings.TrimSuffix(head, "\n")
			head = head[:strings.LastIndexByte(head, '\n')+1]
		}
		out = head + out[at[1]:]
	}
}

// passing is what differs from run to run and from machine to machine.
var passing = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`01[0-9A-HJKMNP-TV-Z]{24}`), "RUN"},
	{regexp.MustCompile(`01[0-9A-HJKMNP-TV-Z]{2}(…|\.\.\.)[0-9A-Z]{2}`), "RUN"},
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{8,24}\b`), "RUN"},
	{regexp.MustCompile(`(?:   |, )(?:contention|overlap)(?:, (?:contention|overlap))*`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [+-]\d{4})?`), "WHEN"},
	{regexp.MustCompile(`just now|\d+ [smh] ago`), "AGE"},
	{regexp.MustCompile(`\b\d[\d.]* (?:ms|s|us|µs)(\b|$)`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "KEY"},
	{regexp.MustCompile(`(\b|m)[0-9a-f]{6}\b`), "${1}HASH"},
	{regexp.MustCompile(`\b\d[\d.]* (?:B|KiB)\b`), "SIZE"},
}

// lasting is an output without what passes, and without the lines that say what machine this is. How columns are laid out is tested with the views.
func lasting(out string) string {
	for _, p := range passing {
		out = p.what.ReplaceAllString(out, p.as)
	}
	out = strings.ReplaceAll(out, host.Name(), "HOST")
	var b strings.Builder
	machine := false
	for line := range strings.Lines(out) {
		plain := regexp.MustCompile(`\x1b\[[0-9]+m`).ReplaceAllString(line, "")
		word := strings.TrimLeft(plain, " ")
		indent := len(plain) - len(word)
		if strings.HasPrefix(word, "limitations:") { // the last section: what others did to this machine meanwhile
			break
		}
		switch {
		case slices.ContainsFunc([]string{"executables ", "host class ", "in ", "key "}, func(s string) bool { return indent == 2 && strings.HasPrefix(word, s) }):
			machine = true
			continue
		case machine && indent > 4:
			continue
		}
		machine = false
		line = regexp.MustCompile(`(\S) {2,}`).ReplaceAllString(line, "$1  ")
		b.WriteString(strings.ReplaceAll(strings.TrimRight(line, " \n"), "\x1b", "␛") + "\n")
	}
	return b.String()
}
