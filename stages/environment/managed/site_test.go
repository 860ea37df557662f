package managed

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// childEnv makes this binary the process that is killed.
const childEnv = "FLAMEOX_TEST_BUILD_AND_HANG"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		s, err := open(dir)
		if err != nil {
			panic(err)
		}
		_, err = s.Ensure(context.Background(), func(dir string) error {
			fill(dir)
			os.Stdout.WriteString("half\n")
			select {}
		})
		panic(err)
	}
	os.Exit(m.Run())
}

func open(dir string) (*Site, error) {
	blobs, err := cas.Open(dir, vfs.OS{})
	return &Site{Store: &graph.Store{Dir: dir, CAS: blobs}, Kind: "python", Key: digest.SumString("key")}, err
}

func site(t *testing.T) *Site {
	t.Helper()
	s, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fill(dir string) error {
	err := os.MkdirAll(filepath.Join(dir, "lib", "__pycache__"), 0o755)
	for name, text := range map[string]string{"lib/a.py": "one", "lib/b.py": "two", "lib/__pycache__/a.pyc": "compiled"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return errors.Join(err, os.Symlink("lib", filepath.Join(dir, "lib64")))
}

// ensure says whether the environment was built, and what was wrong with it.
func ensure(t *testing.T, s *Site) (built bool, damaged string) {
	t.Helper()
	damaged, err := s.Ensure(context.Background(), func(dir string) error { built = true; return fill(dir) })
	if err != nil {
		t.Fatal(err)
	}
	return built, damaged
}

func TestWhatIsNotAsBuiltIsBuiltAgainAndSaid(t *testing.T) {
	write := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	}
	for name, c := range map[string]struct {
		do   func(dir string) error
		want string
	}{
		"removed":          {func(dir string) error { return os.Remove(filepath.Join(dir, "lib/a.py")) }, "lib/a.py is missing"},
		"last removed":     {func(dir string) error { return os.Remove(filepath.Join(dir, "lib64")) }, "lib64 is missing"},
		"changed":          {write("lib/a.py", "eno"), "lib/a.py was changed"},
		"longer":           {write("lib/b.py", "two\n"), "lib/b.py was changed"},
		"added":            {write("lib/sitecustomize.py", ""), "lib/sitecustomize.py was added"},
		"added compiled":   {write("lib/c.pyc", ""), "lib/c.pyc was added"},
		"mode":             {func(dir string) error { return os.Chmod(filepath.Join(dir, "lib/a.py"), 0o755) }, "lib/a.py was changed"},
		"manifest":         {write(manifestName, `{"format":1,"files":[]}`), "its manifest was changed"},
		"manifest removed": {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, "its manifest cannot be read"},
		"stamp":            {write(stampName, "{"), "its stamp is no stamp"},
		"compiled changed": {write("lib/__pycache__/a.pyc", "COMPILED"), "lib/__pycache__/a.pyc was changed"},
		"link to elsewhere": {func(dir string) error {
			l := filepath.Join(dir, "lib64")
			return errors.Join(os.Remove(l), os.Symlink("bin", l))
		}, "lib64 was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := site(t)
			if built, damaged := ensure(t, s); !built || damaged != "" {
				t.Fatalf("at first: built %v, damaged %q", built, damaged)
			}
			if err := c.do(s.Dir()); err != nil {
				t.Fatal(err)
			}
			if built, damaged := ensure(t, s); !built || damaged != c.want {
				t.Errorf("built %v, damaged %q; want %q", built, damaged, c.want)
			}
			if built, damaged := ensure(t, s); built || damaged != "" {
				t.Errorf("the new one: built %v, damaged %q", built, damaged)
			}
		})
	}
}

func TestTheSameContentIsNoDamage(t *testing.T) {
	s := site(t)
	ensure(t, s)
	for _, f := range []string{"lib/a.py", "lib/__pycache__/a.opt-1.pyc"} {
		text := "one"
		if err := os.WriteFile(filepath.Join(s.Dir(), f), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if built, damaged := ensure(t, s); built || damaged != "" {
		t.Errorf("built %v, damaged %q", built, damaged)
	}
}

func TestAMovedEnvironmentIsNone(t *testing.T) {
	s := site(t)
	ensure(t, s)
	moved := site(t)
	if err := os.MkdirAll(filepath.Dir(moved.Dir()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Dir(), moved.Dir()); err != nil {
		t.Fatal(err)
	}
	if built, damaged := ensure(t, moved); !built || !strings.Contains(damaged, "it was moved here from "+s.Dir()) {
		t.Errorf("built %v, damaged %q", built, damaged)
	}
}

func TestWhatFailedIsNoEnvironment(t *testing.T) {
	s := site(t)
	if _, err := s.Ensure(context.Background(), func(dir string) error { return errors.Join(fill(dir), errors.New("no")) }); err == nil {
		t.Fatal("no error")
	}
	if built, damaged := ensure(t, s); !built || damaged != "" {
		t.Errorf("built %v, damaged %q", built, damaged)
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	s := site(t)
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			other, err := open(s.Store.Dir)
			if err == nil {
				_, err = other.Ensure(context.Background(), func(dir string) error { builds.Add(1); return fill(dir) })
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("it was built %d times", n)
	}
}

func TestAKilledBuildLeavesNothingThatCounts(t *testing.T) {
	s := site(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+s.Store.Dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	child.Process.Kill()
	child.Wait()
	if line != "half\n" {
		t.Fatalf("the child said %q (%v)", line, err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), "lib", "a.py")); err != nil {
		t.Fatalf("the killed build left nothing, so this proves nothing: %v", err)
	}
	if built, damaged := ensure(t, s); !built || damaged != "" {
		t.Errorf("built %v, damaged %q", built, damaged)
	}
}
