package pytest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pytest"
)

var p pytest.Provider

// The sets of packages that the tests install. Each is what somebody has: the last pytest of a major version with its plugins.
const (
	oldest = "pytest==7.4.4 pytest-xdist==3.5.0 pytest-rerunfailures==13.0 pytest-subtests==0.11.0 pytest-reportlog==1.0.0"
	middle = "pytest==8.4.2 pytest-xdist==3.8.0 pytest-rerunfailures==16.1 pytest-subtests==0.14.2 pytest-reportlog==1.0.0"
	newest = "pytest==9.2.0 pytest-xdist==3.8.0 pytest-rerunfailures==16.7 pytest-reportlog==1.0.0"
	bare   = "pytest==8.4.2"
)

// venv is an environment with one set of packages.
type venv struct {
	once   sync.Once
	dir    string
	python string
	why    string // there is none
}

var venvs = map[string]*venv{oldest: {}, middle: {}, newest: {}, bare: {}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, v := range venvs {
		if v.dir != "" {
			os.RemoveAll(v.dir)
		}
	}
	os.Exit(code)
}

// python is the interpreter of a new environment into which packages are installed.
func python(t testing.TB, packages string) string {
	t.Helper()
	v := venvs[packages]
	v.once.Do(func() {
		dir, err := os.MkdirTemp("", "pytest-")
		if err != nil {
			v.why = err.Error()
			return
		}
		v.dir, v.python = dir, filepath.Join(dir, "bin", "python")
		install := append([]string{v.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:"}, strings.Fields(packages)...)
		for _, argv := range [][]string{{"python3", "-m", "venv", dir}, install} {
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				v.why = fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
				return
			}
		}
	})
	if v.why != "" {
		t.Skipf("there is no Python with %s, and none could be made: %s", packages, v.why)
	}
	return v.python
}

func options() *pytest.Options { return lang.Defaults(p.Options()).(*pytest.Options) }

// project is a folder with files.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// artifact is a log as the store has it.
func artifact(t testing.TB, data []byte) providers.Artifact {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, data, 0o444); err != nil {
		t.Fatal(err)
	}
	return providers.Artifact{Name: "pytest-reportlog.jsonl", Role: pytest.Role, MediaType: pytest.MediaType, Digest: digest.Sum(data), Size: int64(len(data)), Path: path}
}

// capture plans over argv, runs it in dir, and makes the input that the engine would. There is no artifact where pytest wrote no log.
func capture(t testing.TB, dir string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	return captureWorkload(t, dir, providers.Workload{Argv: argv})
}

func captureWorkload(t testing.TB, dir string, w providers.Workload) (providers.Input, providertest.Ran) {
	t.Helper()
	inv, err := p.Plan(w, options())
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, ExpectExit: w.ExpectExit, Paths: providers.Paths{Root: dir, Dir: dir}}
	if data, err := os.ReadFile(filepath.Join(ran.Out, "pytest-reportlog.jsonl")); err == nil {
		in.Artifacts = []providers.Artifact{artifact(t, data)}
	}
	return in, ran
}

func payload(t testing.TB, in providers.Input) []byte {
	t.Helper()
	if len(in.Artifacts) != 1 {
		t.Fatal("pytest left no log")
	}
	return readFile(t, in.Artifacts[0].Path)
}
