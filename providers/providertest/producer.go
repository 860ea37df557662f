package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Fixture is a file of a real producer from outside the repository: below the folder that FLAMEOX_FIXTURES
// names, or ../shared/fixtures beside the repository. The test is skipped, and says so, where there is none.
func Fixture(t testing.TB, name string) []byte {
	t.Helper()
	dir := os.Getenv("FLAMEOX_FIXTURES")
	if dir == "" {
		dir = filepath.Join(repository(t), "..", "shared", "fixtures")
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("there is no fixture %s in %s; set FLAMEOX_FIXTURES to the folder of fixtures", name, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func repository(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// GoModule writes a module of its own that needs nothing but the standard library, and returns its folder.
func GoModule(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.test/m\n\ngo 1.26\n")
	for name, content := range files {
		write(name, content)
	}
	return dir
}

// Ran is what a process left.
type Ran struct {
	Stdout, Stderr []byte
	Exit           int
	Out            string // the run's output folder
}

// Start runs a planned invocation in dir, its tokens replaced, and waits for it. It is for producers that end by
// themselves; the engine's broker has what real runs need.
func Start(t testing.TB, inv providers.Invocation, dir string) Ran {
	t.Helper()
	r := Ran{Out: t.TempDir()}
	for _, f := range inv.Folders {
		if err := os.MkdirAll(filepath.Join(r.Out, f), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	expand := func(text string) string {
		s, err := token.Expand(text, func(name string) (string, error) {
			if name != "out.dir" {
				return "", fmt.Errorf("the test has no value for %s", name)
			}
			return r.Out, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var argv []string
	for _, a := range inv.Argv {
		argv = append(argv, expand(a))
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	for k, v := range inv.Env {
		cmd.Env = append(cmd.Env, k+"="+expand(v))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %q: %v", argv, err)
	}
	r.Stdout, r.Stderr, r.Exit = stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()
	return r
}
