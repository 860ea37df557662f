package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run makes a module of the given test source, runs a real go test over it and returns what
// testsum prints and whether it is content.
func run(t *testing.T, source string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/x\n\ngo 1.26\n")
	write("x_test.go", "package x\n\nimport \"testing\"\n\n"+source)
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	events, err := cmd.Output()
	var out bytes.Buffer
	s := newSummary(&out)
	if err := s.read(bytes.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	ok := s.finish(err != nil)
	return out.String(), ok
}

func TestCountsWhatGoTestDid(t *testing.T) {
	for _, c := range []struct {
		name, source string
		ok           bool
		last         string
		contains     []string
	}{
		{"all pass", `func TestA(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }`, true, "2 passed, 0 failed, 0 skipped", nil},
		{"a skip is named with its reason", `func TestA(t *testing.T) { t.Skip("needs a full disk") }`, true, "0 passed, 0 failed, 1 skipped", []string{"TestA", "needs a full disk"}},
		{"a failure shows its output", `func TestA(t *testing.T) { t.Error("seven is not eight") }
func TestB(t *testing.T) {}`, false, "1 passed, 1 failed, 0 skipped", []string{"seven is not eight", "example.com/x TestA"}},
		{"a process that dies fails its test", `import "os"
func TestA(t *testing.T) { os.Exit(3) }`, false, "0 passed, 1 failed, 0 skipped", []string{"TestA"}},
		{"a package that does not build", `func TestA(t *testing.T) { undefined() }`, false, "0 passed, 0 failed, 0 skipped", []string{"does not build", "undefined: undefined"}},
		{"a failure outside of tests", `import "os"
func TestMain(m *testing.M) { os.Exit(1) }`, false, "0 passed, 0 failed, 0 skipped", []string{"outside of a test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, ok := run(t, c.source)
			if ok != c.ok {
				t.Errorf("content = %v, want %v\n%s", ok, c.ok, out)
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if got := lines[len(lines)-1]; got != c.last {
				t.Errorf("last line %q, want %q\n%s", got, c.last, out)
			}
			for _, want := range c.contains {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestNothingTestedIsNotSuccess(t *testing.T) {
	var out bytes.Buffer
	if newSummary(&out).finish(false) {
		t.Errorf("content although no package was tested:\n%s", out.String())
	}
}

func TestArgumentsAreSplitIntoRuns(t *testing.T) {
	got := groups([]string{"./...", "--", "-race", "./graph/...", "--"})
	if len(got) != 2 || strings.Join(got[0], " ") != "./..." || strings.Join(got[1], " ") != "-race ./graph/..." {
		t.Errorf("got %q", got)
	}
}
