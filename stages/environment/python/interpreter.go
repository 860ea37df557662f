package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/environment/managed"
)

// Interpreter is a base interpreter: no shim, no virtual environment.
type Interpreter struct {
	Path           string        `json:"path"` // absolute, links followed
	Digest         digest.Digest `json:"sha256"`
	Library        string        `json:"library,omitempty"` // the shared library that most of it is in, or ""
	LibraryDigest  digest.Digest `json:"library_sha256,omitzero"`
	Implementation string        `json:"implementation"` // "cpython"
	Version        string        `json:"version"`        // "3.11.7"
	Platform       string        `json:"platform"`       // ABI and platform: "cpython-311-x86_64-linux-gnu linux-x86_64"
}

// Short is the version as the names of programs have it: "3.11".
func (i *Interpreter) Short() string {
	parts := strings.SplitN(i.Version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// probe is what the interpreter is asked: isolated, without site packages, so that nothing but itself answers. A free-threaded
// build says so in its ABI.
const probe = `import json, sys, sysconfig
v = sys.version_info
lib = ""
try:
    with open("/proc/self/maps") as f:
        for line in f:
            p = line.rstrip("\n").split(None, 5)
            if len(p) == 6 and "/lib" + sys.implementation.name.replace("cpython", "python") in p[5] and ".so" in p[5]:
                lib = p[5]
                break
except OSError:
    pass
abi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or ""
release = "%d.%d.%d" % v[:3] + ("" if v[3] == "final" else v[3] + str(v[4]))
print(json.dumps({"base": getattr(sys, "_base_executable", None) or sys.executable, "library": lib,
    "implementation": sys.implementation.name, "version": release, "platform": abi + " " + sysconfig.get_platform()}))
`

// answer is what the probe prints.
type answer struct {
	Base, Library, Implementation, Version, Platform string
}

const (
	probeTimeout = 30 * time.Second
	probeOutput  = 64 << 10 // bytes
)

// selectors are the caller's variables by which a shim chooses a version. They are for the probe alone: what they chose is in the key.
var selectors = []string{"PYENV_VERSION", "PYENV_ROOT", "PYENV_DIR", "ASDF_DIR", "ASDF_DATA_DIR", "ASDF_PYTHON_VERSION", "MISE_DATA_DIR", "MISE_PYTHON_VERSION"}

// chosenBy are the files by which a shim chooses a version, in the folder of the configuration or above it.
var chosenBy = []string{".python-version", ".tool-versions", "mise.toml", ".mise.toml"}

// interpreter finds the base interpreter. What a command line once answered is remembered for as long as nothing moves that it depends on.
func (e *Environment) interpreter(ctx context.Context) (*Interpreter, error) {
	exe, err := broker.Resolve(broker.Env{Path: e.search, Dir: e.dir(), Digest: e.digest, Looked: e.project.Looked}, e.o.Interpreter)
	var start *broker.StartError
	if errors.As(err, &start) {
		return nil, &graph.BlockedError{Why: start.Error()}
	}
	if err != nil {
		return nil, err
	}
	question, shim := e.question(exe)
	memo := e.remembered()
	if old := memo[question]; old != nil && e.stands(old) {
		return old, nil
	}
	a, err := e.ask(ctx, exe)
	if err != nil {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s cannot be used as a Python interpreter: %v", exe.Path, err), Do: "correct interpreter"}
	}
	found := &Interpreter{Implementation: a.Implementation, Version: a.Version, Platform: a.Platform, Library: a.Library}
	if found.Path, err = filepath.EvalSymlinks(a.Base); err == nil {
		found.Digest, err = e.digest(found.Path)
	}
	if err == nil && found.Library != "" {
		if found.Library, err = filepath.EvalSymlinks(found.Library); err == nil {
			found.LibraryDigest, err = e.digest(found.Library)
		}
	}
	if err != nil {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s stands for the interpreter %s, which cannot be read: %v", exe.Path, a.Base, err), Do: "correct interpreter"}
	}
	// What a script of an unknown kind looks at is not known, so it is asked each time.
	if !shim || filepath.Base(filepath.Dir(exe.Path)) == "shims" {
		memo[question] = found
		e.remember(memo)
	}
	return found, nil
}

func (e *Environment) digest(path string) (digest.Digest, error) {
	h, err := e.project.Stat.Digest(path)
	return h.Digest, err
}

// stands says whether a remembered interpreter is still what it was.
func (e *Environment) stands(i *Interpreter) bool {
	e.project.Reads.Path(i.Path)
	d, err := e.digest(i.Path)
	if err != nil || d != i.Digest {
		return false
	}
	if i.Library == "" {
		return true
	}
	e.project.Reads.Path(i.Library)
	d, err = e.digest(i.Library)
	return err == nil && d == i.LibraryDigest
}

// question is everything that the answer depends on, and whether a script stands in front of the interpreter.
func (e *Environment) question(exe *broker.Executable) (string, bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00", digest.SumString(probe), exe.Path)
	shim := false
	for _, l := range exe.Chain {
		shim = shim || l.Kind == broker.KindScript
		fmt.Fprintf(&b, "%s\x00%s\x00", l.Real, l.Digest)
	}
	file := func(path string) {
		if !filepath.IsAbs(path) {
			e.project.Reads.Refuse("HOME is no absolute path")
		} else {
			e.project.Reads.Path(path)
		}
		if src, err := os.ReadFile(path); err == nil {
			fmt.Fprintf(&b, "%s\x00%s\x00", path, digest.Sum(src))
		}
	}
	file(filepath.Join(filepath.Dir(filepath.Dir(exe.Path)), "pyvenv.cfg"))
	if shim {
		for _, name := range append([]string{"PATH", "HOME"}, selectors...) {
			e.project.Reads.Env(name)
			fmt.Fprintf(&b, "%s=%s\x00", name, e.project.Environ[name])
		}
		for dir := e.dir(); ; dir = filepath.Dir(dir) {
			for _, name := range chosenBy {
				file(filepath.Join(dir, name))
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		file(filepath.Join(filepath.Dir(filepath.Dir(exe.Path)), "version")) // pyenv's global choice
		file(filepath.Join(e.project.Environ["HOME"], ".tool-versions"))
	}
	return digest.SumString(b.String()).String(), shim
}

func (e *Environment) ask(ctx context.Context, exe *broker.Executable) (*answer, error) {
	e.project.Reads.Refuse("an interpreter is asked for its version") // the next plan knows it
	tmp, err := os.MkdirTemp("", "flameox-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	vars := map[string]string{"PATH": e.search, "LANG": "C.UTF-8", "HOME": e.project.Environ["HOME"], "TMPDIR": tmp}
	for _, name := range selectors {
		if v, ok := e.project.Environ[name]; ok {
			vars[name] = v
		}
	}
	out, errs := filepath.Join(tmp, "stdout"), filepath.Join(tmp, "stderr")
	res, err := e.project.Store.Broker.Run(ctx, broker.Command{
		Argv: []string{exe.Path, "-I", "-S", "-c", probe}, Executable: exe, Dir: e.dir(), Env: managed.Variables(vars),
		Mark:   e.project.Store.Broker.Mark("probe"),
		Stdout: out, Stderr: errs, Timeout: probeTimeout, OutputLimit: probeOutput,
	})
	if err != nil {
		return nil, err
	}
	if res.Exit != 0 || res.Cause != "" {
		return nil, fmt.Errorf("asked for its version, it ended with %s%s", managed.Ending(res), lastLine(errs))
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	a := new(answer)
	if err := json.Unmarshal(text, a); err != nil || a.Base == "" || !isVersion.MatchString(a.Version) {
		return nil, errors.New("asked for its version, it answered something else")
	}
	return a, nil
}

var isVersion = pattern.Lazy{Expr: `^[0-9]+\.[0-9]+\.[0-9]+[a-z0-9]*$`}

// maxRemembered bounds the file of answers.
const maxRemembered = 64

func (e *Environment) memoPath() string {
	return filepath.Join(e.project.Store.Dir, "cache", "interpreters.json")
}

// remembered are the earlier answers by question. The file is a cache: whatever is wrong with it costs a question.
func (e *Environment) remembered() map[string]*Interpreter {
	m := map[string]*Interpreter{}
	if b, err := os.ReadFile(e.memoPath()); err == nil && json.Unmarshal(b, &m) != nil {
		m = map[string]*Interpreter{}
	}
	return m
}

func (e *Environment) remember(m map[string]*Interpreter) {
	if _, err := os.Stat(filepath.Dir(e.memoPath())); err != nil {
		return // nothing was applied here: leave no folder behind
	}
	for q, i := range m {
		if len(m) > maxRemembered && i != nil {
			delete(m, q)
		}
	}
	if b, err := json.Marshal(m); err == nil {
		vfs.WriteFile(e.project.Store.CAS.FS(), e.memoPath(), b, 0o644, false)
	}
}
