package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// scripted is a Reader whose library is a module of Python's own, so that every interpreter has it, and whose script does what a payload
// says: real processes with the faults that a library can have.
type scripted struct{ module string }

const script = `import json, os, sys, time
if sys.argv[1] == "probe":
    answer = {"library": "json", "version": "", "runtime": sys.version.split()[0]}
    try:
        import LIBRARY as library
        answer["version"] = getattr(library, "__version__", "none")
        answer["files"] = [library.__file__]
    except Exception as error:
        answer["error"] = str(error)
    print(json.dumps(answer))
    sys.exit(0)
what = open(sys.argv[3]).read()
print(sys.argv[1:3], sys.flags.isolated, sorted(k for k in os.environ if k not in ("FLAMEOX_ATTEMPT", "LC_CTYPE")), flush=True)
if what == "crash": os.abort()
if what == "raise": raise ValueError("no such record")
if what == "hang": time.sleep(600)
if what == "change":
    os.chmod(sys.argv[0], 0o600)
    with open(sys.argv[0], "a") as own: own.write("#")
if what == "flood":
    while True: print("x" * 1000)
`

func (scripted) Name() string { return "scripted" }
func (scripted) Version() int { return 1 }
func (scripted) Doc() string  { return "A reader of the test." }

func (s scripted) Script() providers.Script {
	return providers.Script{Collector: providers.Collector{Name: "reader.py", Content: []byte(strings.ReplaceAll(script, "LIBRARY", s.module))}, Library: s.module, Flags: []string{"-I"}}
}
func (scripted) Interpreter(argv []string, _ any) (string, error) { return argv[0], nil }
func (s scripted) Probe(argv []string) ([]string, error) {
	return []string{argv[0], "-c", string(s.Script().Content), "probe"}, nil
}
func (scripted) Argument(any) (string, error) { return "{}", nil }
func (scripted) Missing(interpreter, version string) string {
	return "install " + version + " in " + interpreter
}

func (scripted) Validate(_ context.Context, in providers.Input) (providers.Receipt, error) {
	if in.Reading == nil {
		return providers.Receipt{Valid: true, Producer: "outside"}, nil
	}
	f, err := os.Open(in.Reading.Path)
	if err != nil {
		return providers.Receipt{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	r := providers.Receipt{Producer: in.Reading.Version, Limitations: []evidence.Limitation{{Code: "stream", Text: string(b)}}}
	if r.Valid = in.Reading.Failure == ""; !r.Valid {
		r.Reasons = []evidence.Limitation{{Code: "failed", Text: in.Reading.Failure}}
	}
	return r, err
}

func python3(t testing.TB) string {
	t.Helper()
	// A shim of a version manager is no interpreter.
	out, err := exec.Command("python3", "-c", "import os, sys; print(os.path.realpath(sys.executable))").Output()
	if err != nil {
		t.Skipf("there is no python3: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// home is a project in a store of its own.
func home(t testing.TB, task *graph.Task) *kind.Project {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stat := cas.OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	return &kind.Project{Root: t.TempDir(), Store: task.Store, Stat: stat, Memo: kind.NewMemo(), Self: self, Environ: map[string]string{"PATH": os.Getenv("PATH")}}
}

func readWith(t *testing.T, content string, argv []string, budget evidence.Budget) *cache.Record {
	t.Helper()
	task, rec := attempt(t, content)
	rec.Argv, rec.Env, rec.Dir, rec.Producer = argv, []string{"PATH=/nowhere", "PYTHONPATH=/x", "SECRET=1"}, t.TempDir(), "7.8"
	if err := validate(t.Context(), task, home(t, task), scripted{"json"}, rec, []int{3}, budget); err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestAReaderRunsIsolatedAndItsStreamReachesTheProvider(t *testing.T) {
	rec := readWith(t, "fine", []string{python3(t), "x.py"}, evidence.DefaultBudget())
	if !rec.Valid() || rec.Producer != "7.8" {
		t.Fatalf("%s: %v", rec.Validation, rec.Invalid)
	}
	if got, want := rec.Limitations[0].Text, "['validate', '{}'] 1 ['HOME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'TMPDIR']"; strings.TrimSpace(got) != want {
		t.Errorf("the script saw %s, want %s", got, want)
	}
}

func TestAnImportIsValidatedFromOutside(t *testing.T) {
	if rec := readWith(t, "fine", nil, evidence.DefaultBudget()); !rec.Valid() || rec.Producer != "outside" {
		t.Errorf("%s by %s: %v", rec.Validation, rec.Producer, rec.Invalid)
	}
}

func TestAReaderThatFailsLeavesAnInvalidAttemptThatSaysWhy(t *testing.T) {
	python := python3(t)
	for _, c := range []struct {
		content, code, text string
		validation          cache.Validation
	}{
		{"crash", "failed", "SIGABRT", cache.ValidationFailed},
		{"raise", "failed", "exit status 1, ValueError: no such record", cache.ValidationFailed},
		{"hang", "worker_timeout", "the reader of scripted ran longer than 1s", cache.ValidationError},
		{"flood", "worker_output_limit", "the reader of scripted was ended", cache.ValidationError},
		{"change", "executable_changed", "the collector reader.py is not what it was", cache.ValidationError},
	} {
		t.Run(c.content, func(t *testing.T) {
			budget := evidence.DefaultBudget()
			budget.OutputBytes = 1 << 20
			if c.content == "hang" {
				budget.Wall = time.Second
			}
			rec := readWith(t, c.content, []string{python}, budget)
			if rec.Validation != c.validation || len(rec.Invalid) != 1 || rec.Invalid[0].Code != c.code || !strings.Contains(rec.Invalid[0].Text, c.text) {
				t.Errorf("%s: %v", rec.Validation, rec.Invalid)
			}
			if len(rec.Outputs) != 1 {
				t.Errorf("the payload is gone: %v", rec.Outputs)
			}
		})
	}
}

func TestAnInterpreterThatIsGoneIsSaidWithWhatToDo(t *testing.T) {
	rec := readWith(t, "fine", []string{"/gone/python"}, evidence.DefaultBudget())
	if rec.Valid() || rec.Invalid[0].Code != "reader_missing" || !strings.Contains(rec.Invalid[0].Text, "install 7.8 in /gone/python") {
		t.Errorf("%s: %v", rec.Validation, rec.Invalid)
	}
}

func TestACaptureIsBlockedWhereItsReaderIsMissingOrAnother(t *testing.T) {
	python := python3(t)
	task, _ := attempt(t, "")
	p := home(t, task)
	other := filepath.Join(p.Root, "other", "json")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	// The workload would load another version than the isolated interpreter has.
	if err := os.WriteFile(filepath.Join(other, "__init__.py"), []byte("__version__ = '0.0'\n"+
		"def dumps(x):\n    return '{' + ','.join('\"%s\":\"%s\"' % (k, v) for k, v in x.items() if isinstance(v, str)) + '}'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	require := func(library string, env map[string]string) (*Library, error) {
		prog := &program.Program{Declared: program.Declared{Env: env}, Host: &environment.Host{Path: "/nowhere"}}
		return Require(t.Context(), p, scripted{library}, prog, []string{python, "x.py"}, nil)
	}
	lib, err := require("json", nil)
	if err != nil || lib.Version == "" || len(lib.Facts) != 2 || !strings.Contains(lib.Facts[1].Note, "json") {
		t.Fatalf("library %+v: %v", lib, err)
	}
	again, err := require("json", nil)
	if err != nil || fmt.Sprint(again) != fmt.Sprint(lib) {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	for name, c := range map[string]struct {
		module, why string
		env         map[string]string
	}{
		"missing":           {"no_such_library", "has no no_such_library", nil},
		"another version":   {"json", "would load json 0.0", map[string]string{"PYTHONPATH": filepath.Dir(other)}},
		"a broken start-up": {"json", "failed", map[string]string{"PYTHONHOME": "/gone"}},
	} {
		_, err := require(c.module, c.env)
		var blocked *graph.BlockedError
		if !errors.As(err, &blocked) || !strings.Contains(blocked.Why, c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
