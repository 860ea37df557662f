package coverage_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/coverage"
	"github.com/flameox/flameox/providers/providertest"
)

var p coverage.Provider

// The versions that the tests install.
const (
	oldest = "7.13.0"
	middle = "7.14.0"
	newest = "7.15.0"
)

// venv is an environment with one version of coverage.
type venv struct {
	once   sync.Once
	dir    string
	python string
	why    string // there is none
}

var venvs = map[string]*venv{oldest: {}, middle: {}, newest: {}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, v := range venvs {
		if v.dir != "" {
			os.RemoveAll(v.dir)
		}
	}
	os.Exit(code)
}

// python is the interpreter of a new environment into which a version of coverage is installed.
func python(t testing.TB, version string) string {
	t.Helper()
	v := venvs[version]
	v.once.Do(func() {
		dir, err := os.MkdirTemp("", "coverage-")
		if err != nil {
			v.why = err.Error()
			return
		}
		v.dir, v.python = dir, filepath.Join(dir, "bin", "python")
		for _, argv := range [][]string{{"python3", "-m", "venv", dir}, {v.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:", "coverage==" + version}} {
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				v.why = fmt.Sprintf("%s: %v: %s", strings.Join(argv, " "), err, out)
				return
			}
		}
	})
	if v.why != "" {
		t.Skipf("there is no Python with coverage %s, and none could be made: %s", version, v.why)
	}
	return v.python
}

func options() *coverage.Options { return lang.Defaults(p.Options()).(*coverage.Options) }

// project is a folder with files.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
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

// capture plans with o over argv behind a Python with a version of coverage, runs it, and makes the input that the engine would.
func capture(t testing.TB, version string, o *coverage.Options, dir string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: append([]string{python(t, version)}, argv...)}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, Paths: providers.Paths{Root: dir, Dir: dir}}
	for _, out := range inv.Outputs {
		if out.Path == "" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(ran.Out, out.Path))
		for _, f := range found {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			in.Artifacts = append(in.Artifacts, providers.Artifact{Name: filepath.Base(f), Role: out.Role, MediaType: out.MediaType, Digest: digest.Sum(data), Size: int64(len(data)), Path: f})
		}
	}
	return in, ran
}

// read lets the reader run over an input, as the engine does.
func read(t testing.TB, version, job string, in providers.Input) providers.Input {
	t.Helper()
	var options any
	if job == "extract" {
		options = lang.Defaults(p.ExtractOptions())
	}
	in.Reading = providertest.Read(t, p, python(t, version), job, options, in.Artifacts, t.TempDir())
	return in
}

func extract(t *testing.T, version string, in providers.Input) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, read(t, version, "extract", in), lang.Defaults(p.ExtractOptions()), evidence.DefaultBudget())
}

// set is the rows of a table as "file:line context" or "file:from>to context".
func set(tables map[string][]providertest.Row, table string) map[string]bool {
	out := map[string]bool{}
	for _, r := range tables[table] {
		key := fmt.Sprintf("%v:%v %v", r["file"], r["line"], r["context"])
		if table == "coverage_arcs" {
			key = fmt.Sprintf("%v:%v>%v %v", r["file"], r["line_from"], r["line_to"], r["context"])
		}
		if out[key] {
			panic("twice: " + key)
		}
		out[key] = true
	}
	return out
}
