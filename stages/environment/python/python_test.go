package python

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/kind"
)

// The broker starts this binary again as its supervisor.
func TestMain(m *testing.M) {
	broker.MaybeSupervise()
	os.Exit(m.Run())
}

const locked = "six==1.17.0 --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274\n"

// project is a folder with a lock.
func project(t *testing.T, lock string) *kind.Project {
	t.Helper()
	python3(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "x.lock.txt"), lock)
	dir := filepath.Join(root, ".flameox")
	blobs, err := cas.Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := broker.New(broker.Options{NoSupervisor: true})
	t.Cleanup(func() { b.Close() })
	return &kind.Project{
		Root: root, Memo: kind.NewMemo(), Environ: map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Stat:  cas.OpenStatCache(filepath.Join(dir, "cache", "stat"), vfs.OS{}),
		Store: &graph.Store{Dir: dir, CAS: blobs, Broker: b},
	}
}

func python3(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func key(t *testing.T, p *kind.Project, o Options) string {
	t.Helper()
	if o.Requirements == "" {
		o.Requirements = "x.lock.txt"
	}
	if o.Interpreter == "" {
		o.Interpreter = "python3"
	}
	e, err := New("environment.python.x", &o, p, p.Environ["PATH"], nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Describe(context.Background(), &graph.Results{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Manifest.Key().String()
}

func TestTheKeyIsWhatIsLockedAndNotHowItIsWritten(t *testing.T) {
	p := project(t, locked)
	base := key(t, p, Options{})
	write(t, filepath.Join(p.Root, "x.lock.txt"), "# by hand\n"+strings.ReplaceAll(locked, " --hash", " \\\n  --hash"))
	p.Memo.Reset()
	if key(t, p, Options{}) != base {
		t.Error("a comment changes the key")
	}
	if key(t, p, Options{Packages: []string{"six"}, Variables: map[string]string{"A": "1"}}) != base {
		t.Error("what the lock is made from, or a variable, changes the environment")
	}
	write(t, filepath.Join(p.Root, "y.lock.txt"), locked)
	if key(t, p, Options{Requirements: "y.lock.txt"}) != base {
		t.Error("the name of the lock is in the key")
	}
	write(t, filepath.Join(p.Root, "x.lock.txt"), strings.Replace(locked, "1.17.0", "1.17.1", 1))
	p.Memo.Reset()
	if key(t, p, Options{}) == base {
		t.Error("another version has the same key")
	}
}

func TestShimsAndVirtualEnvironmentsAreFollowedToTheInterpreter(t *testing.T) {
	p := project(t, locked)
	base := key(t, p, Options{})
	shim := filepath.Join(p.Root, "python")
	write(t, shim, "#!/bin/sh\nexec "+python3(t)+" \"$@\"\n")
	venv := filepath.Join(p.Root, "venv")
	if out, err := exec.Command(python3(t), "-I", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("python3 has no venv: %v\n%s", err, out)
	}
	for _, i := range []string{"./python", "venv/bin/python"} {
		if key(t, p, Options{Interpreter: i}) != base {
			t.Errorf("%s stands for another interpreter", i)
		}
	}
}

func TestWhatTheInterpreterAnsweredIsBelievedWhileNothingMoves(t *testing.T) {
	p := project(t, locked)
	asked := filepath.Join(p.Root, "asked")
	shims := filepath.Join(p.Root, "shims")
	if err := os.Mkdir(shims, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(shims, "python"), "#!/bin/sh\necho x >>"+asked+"\nexec "+python3(t)+" \"$@\"\n")
	times := func() int {
		p.Memo.Reset()
		key(t, p, Options{Interpreter: "shims/python"})
		b, _ := os.ReadFile(asked)
		return strings.Count(string(b), "x")
	}
	if n := times(); n != 1 {
		t.Fatalf("it was asked %d times", n)
	}
	if n := times(); n != 1 {
		t.Errorf("it was asked again, though nothing moved")
	}
	write(t, filepath.Join(p.Root, ".python-version"), "3\n")
	if n := times(); n != 2 {
		t.Errorf("it was asked %d times; the choice of a version has changed", n)
	}
	write(t, p.Store.Dir+"/cache/interpreters.json", "{damaged")
	if n := times(); n != 3 {
		t.Errorf("it was asked %d times; nothing is remembered", n)
	}
}

func TestWhatKeepsAnEnvironmentFromBeingDescribedSaysWhatToDo(t *testing.T) {
	p := project(t, "six==1.17.0\n")
	write(t, filepath.Join(p.Root, "no-python"), "#!/bin/sh\necho hello\n")
	write(t, filepath.Join(p.Root, "good.lock.txt"), locked)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Requirements: "x.lock.txt"}, "has no --hash"},
		{Options{Requirements: "none.txt", Packages: []string{"six"}}, "run `flameox lock environment.python.x`"},
		{Options{Requirements: "none.txt"}, "say in from or packages what it is made from"},
		{Options{Requirements: "good.lock.txt", Interpreter: "./no-python"}, "it answered something else"},
		{Options{Requirements: "good.lock.txt", Interpreter: "python9.99"}, "it is not found on PATH"},
	} {
		if c.o.Interpreter == "" {
			c.o.Interpreter = "python3"
		}
		e, err := New("environment.python.x", &c.o, p, p.Environ["PATH"], nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Describe(context.Background(), &graph.Results{})
		var blocked *graph.BlockedError
		if !errors.As(err, &blocked) || !strings.Contains(blocked.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
	for _, o := range []Options{
		{Requirements: "../x", Interpreter: "p"}, {Requirements: "/x", Interpreter: "p"}, {Requirements: "x", From: []string{"x"}, Interpreter: "p"}, {Requirements: "x"},
	} {
		if _, err := New("b", &o, p, "", nil); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestPasswordsInURLsAreNotKept(t *testing.T) {
	got := redact("PIP_INDEX_URL=https://me:hunter2@host/simple and http://t0ken@x/")
	if strings.Contains(got, "hunter2") || strings.Contains(got, "t0ken") || !strings.Contains(got, "@host/simple") {
		t.Error(got)
	}
}

func TestEveryOptionIsInAFacetOrExemptWithAReason(t *testing.T) {
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		f := options.Field(i)
		tag := f.Tag.Get("facet")
		if reason, exempt := strings.CutPrefix(tag, "exempt: "); exempt && reason != "" {
			continue
		}
		if !slices.Contains(facet.Order, facet.Name(tag)) {
			t.Errorf("%s has the facet tag %q", f.Name, tag)
		}
	}
}
