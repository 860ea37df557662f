package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment/python"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// lockedPrefix begins the facts of an environment that flameox builds, one for each package that is locked: its name, and its version.
const lockedPrefix = python.PackageFact

// Library is a producer's library as a capture will load it.
type Library struct {
	Version string
	Facts   []facet.Entry // what it is, for the executables facet of the capture
}

// Require makes sure that what a capture will leave can be read, before the capture costs anything: that the interpreter of the planned
// command argv has the producer's library, and has it also where nothing but what is installed with it is loaded, as when it reads, in
// the same version. executables are what is known of the program already. Where that is not so the error is a *graph.BlockedError.
func Require(ctx context.Context, p *kind.Project, r providers.Reader, prog *program.Program, argv []string, executables *facet.Facet) (*Library, error) {
	library := r.Script().Library
	if prog.Host.Runtime != nil { // it is built when it is needed, and holds what its lock says
		for _, e := range executables.Entries {
			if name, _, _ := strings.Cut(strings.TrimPrefix(e.Name, lockedPrefix), " "); strings.HasPrefix(e.Name, lockedPrefix) && name == library {
				return &Library{Version: e.Value}, nil
			}
		}
		return nil, &graph.BlockedError{Why: "the lock of its environment has no " + library + ", with which the capture is made and read", Do: "add it to what the lock is made from, and run `flameox lock`"}
	}
	name, err := r.Interpreter(argv, nil)
	if err != nil {
		return nil, err
	}
	if token.Has(name) {
		return nil, &graph.BlockedError{Why: token.Display(name) + " is made by another stage, so which " + library + " it has is not known before", Do: "name the interpreter itself, or declare an environment \"python\""}
	}
	probe, err := r.Probe(argv)
	if err != nil {
		return nil, err
	}
	at := place{program: name, path: prog.Host.Path, dir: filepath.Join(p.Root, filepath.FromSlash(prog.Dir)), env: plainEnv(prog)}
	loaded, err := at.probe(ctx, p, library, probe)
	if err != nil {
		return nil, err
	}
	reader, err := at.isolated(ctx, p, r)
	if err != nil {
		return nil, err
	}
	exe := reader.exe
	if loaded.Version == "" {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s has no %s, with which the capture is made and read (%s)", exe, library, loaded.Error), Do: r.Missing(exe, "")}
	}
	if reader.Version != loaded.Version {
		has := library + " " + reader.Version
		if reader.Version == "" {
			has = "none"
		}
		return nil, &graph.BlockedError{
			Why: fmt.Sprintf("the workload would load %s %s, and %s by itself has %s: what the one writes only the same version reads", library, loaded.Version, exe, has),
			Do:  r.Missing(exe, loaded.Version),
		}
	}
	out := &Library{Version: loaded.Version}
	var f facet.Facet
	f.AddNote("library "+library, loaded.Version, loaded.Runtime)
	for _, file := range loaded.Files {
		s, err := p.Stat.Digest(file)
		if err != nil {
			return nil, &graph.BlockedError{Why: fmt.Sprintf("%s of %s cannot be read: %v", file, library, err), Do: r.Missing(exe, "")}
		}
		f.AddNote("library "+library+" "+filepath.Base(file), s.Digest.String(), file)
	}
	out.Facts = f.Entries
	return out, nil
}

// plainEnv are the variables of a program whose values are known before it is run.
func plainEnv(prog *program.Program) map[string]string {
	env := map[string]string{}
	for _, m := range []map[string]string{prog.Host.Untracked, prog.Host.Tracked, prog.Env} {
		maps.Copy(env, m)
	}
	maps.DeleteFunc(env, func(_, v string) bool { return token.Has(v) })
	return env
}

// place is where an interpreter is found, and what a process of it gets.
type place struct {
	program string // a name that is looked up in path, or a file relative to dir
	path    string
	dir     string
	env     map[string]string // of a probe that is to see what a workload sees; a reader gets none of it
}

// identity is a probe's answer and who gave it.
type identity struct {
	providers.ReaderIdentity
	exe string
}

// probeTimeout bounds one question; an interpreter on a cold disk takes seconds.
const probeTimeout = time.Minute

// isolated asks which library a reader in this place has.
func (at place) isolated(ctx context.Context, p *kind.Project, r providers.Reader) (*identity, error) {
	s := r.Script()
	at.env = nil
	// As text: it is the script's own bytes that answer, and no file is needed.
	return at.probe(ctx, p, s.Library, slices.Concat([]string{at.program}, s.Flags, []string{"-c", string(s.Content), "probe"}))
}

// probe asks which library there is. An answer that is none is a *graph.BlockedError.
func (at place) probe(ctx context.Context, p *kind.Project, library string, argv []string) (*identity, error) {
	said, err := at.ask(ctx, p, "which "+library+" it has", argv)
	if err != nil {
		return nil, err
	}
	out := &identity{exe: said.exe}
	// What a start file of the interpreter's prints comes before it.
	text := bytes.TrimSpace(said.stdout)
	if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &out.ReaderIdentity); err != nil {
		return nil, said.unusable("which "+library+" it has", err)
	}
	return out, nil
}

// said is what a program answered.
type said struct {
	exe    string
	stdout []byte
}

// unusable is an answer that is none, as what blocks a stage.
func (s *said) unusable(question string, err error) error {
	return &graph.BlockedError{Why: fmt.Sprintf("asking %s %s has failed: its answer is not as it should be: %v", s.exe, question, err)}
}

// ask runs a question once for one look at the project. A program that is not there or that fails is a *graph.BlockedError.
func (at place) ask(ctx context.Context, p *kind.Project, question string, argv []string) (*said, error) {
	type memoKey struct{ path, dir, argv, env string }
	env := at.variables(os.TempDir())
	key := memoKey{at.path, at.dir, strings.Join(argv, "\x00"), strings.Join(env, "\x00")}
	return kind.Remember(p.Memo, key, func() (*said, error) {
		exe, err := at.resolve(p)
		if err != nil {
			return nil, err
		}
		blocked := func(format string, args ...any) error {
			return &graph.BlockedError{Why: fmt.Sprintf("asking %s %s has failed: ", exe.Path, question) + fmt.Sprintf(format, args...)}
		}
		tmp, err := os.MkdirTemp("", "flameox-probe-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for a question to %s: %w", exe.Path, err)
		}
		defer os.RemoveAll(tmp)
		stdout, stderr := filepath.Join(tmp, "stdout"), filepath.Join(tmp, "stderr")
		b := p.Store.Broker
		res, err := b.Run(ctx, broker.Command{
			Argv: argv, Executable: exe, Dir: at.dir, Env: at.variables(tmp),
			Stdout: stdout, Stderr: stderr, Timeout: probeTimeout, OutputLimit: 1 << 20,
		})
		if err != nil {
			return nil, blocked("%v", err)
		}
		if res.Cause == broker.CauseCancelled {
			return nil, context.Cause(ctx)
		}
		if res.Exit != 0 || res.Signal != "" || res.Cause != "" {
			return nil, blocked("%s", how(res, stderr))
		}
		text, err := os.ReadFile(stdout)
		if err != nil {
			return nil, fmt.Errorf("read what %s answered: %w", exe.Path, err)
		}
		return &said{exe.Path, text}, nil
	})
}

// resolve finds the interpreter. The error is a *graph.BlockedError where it is not there.
func (at place) resolve(p *kind.Project) (*broker.Executable, error) {
	exe, err := broker.Resolve(broker.Env{Path: at.path, Dir: at.dir, Digest: func(path string) (digest.Digest, error) {
		s, err := p.Stat.Digest(path)
		return s.Digest, err
	}}, at.program)
	var start *broker.StartError
	if errors.As(err, &start) {
		return nil, &graph.BlockedError{Why: start.Error()}
	}
	return exe, err
}

// variables are the whole environment of a process, with its private folder.
func (at place) variables(private string) []string {
	env := map[string]string{"PATH": at.path, "LANG": "C.UTF-8", "HOME": private, "TMPDIR": private, "PYTHONDONTWRITEBYTECODE": "1"}
	maps.Copy(env, at.env)
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// read runs the script over in's payloads and sets in.Reading. version is the library's, "" for any. fail says why there is nothing to be
// read; err what flameox could not do.
func (at place) read(ctx context.Context, t *graph.Task, p *kind.Project, r providers.Reader, j job, options any, version string, in *providers.Input, budget evidence.Budget) (fail *cache.Note, err error) {
	var size int64
	for _, a := range in.Artifacts {
		size += a.Size
	}
	if budget.InputBytes > 0 && size > budget.InputBytes {
		return nil, nil // the provider refuses it, and says why
	}
	s := r.Script()
	argument, err := r.Argument(options)
	if err != nil {
		return nil, err
	}
	exe, err := at.resolve(p)
	var blocked *graph.BlockedError
	if errors.As(err, &blocked) {
		return &cache.Note{Code: "reader_missing", Text: fmt.Sprintf("the interpreter that reads for %s is not there (%s): %s", r.Name(), blocked.Why, r.Missing(at.program, version))}, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := readerFolder(t, r)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, s.Name)
	if err := os.WriteFile(script, s.Content, 0o400); err != nil {
		return nil, fmt.Errorf("lay out the reader of %s: %w", r.Name(), err)
	}
	argv := slices.Concat([]string{at.program}, s.Flags, []string{script, string(j), argument})
	for _, a := range in.Artifacts {
		argv = append(argv, a.Path)
	}
	out, fail, err := at.spool(ctx, t, r, exe, argv, dir, budget)
	if err != nil || fail != nil {
		return fail, err
	}
	// What ran has to be what the key says, to the byte.
	if ran, err := os.ReadFile(script); err != nil || digest.Sum(ran) != digest.Sum(s.Content) {
		return &cache.Note{Code: "executable_changed", Text: fmt.Sprintf("the collector %s is not what it was when the reader of %s was started", s.Name, r.Name())}, nil
	}
	out.Version = version
	in.Reading = out
	return nil, nil
}

// readerFolder is a private folder of a process that reads for a provider, below the attempt's, with one for temporary files in it.
func readerFolder(t *graph.Task, by providers.Provider) (string, error) {
	dir, err := os.MkdirTemp(t.Dir, "reader-")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for the reader of %s: %w", by.Name(), err)
	}
	return dir, nil
}

// spool runs argv in a folder of readerFolder's and keeps what it prints. fail says why that is nothing to be read.
func (at place) spool(ctx context.Context, t *graph.Task, by providers.Provider, exe *broker.Executable, argv []string, dir string, budget evidence.Budget) (out *providers.Reading, fail *cache.Note, err error) {
	out = &providers.Reading{Path: filepath.Join(dir, "stream")}
	stderr := filepath.Join(dir, "stderr")
	at.env = nil
	res, err := t.Store.Broker.Run(ctx, broker.Command{
		Argv: argv, Executable: exe, Dir: dir, Env: at.variables(filepath.Join(dir, "tmp")), Mark: t.Mark, Stdout: out.Path, Stderr: stderr,
		Timeout: budget.Wall, OutputLimit: budget.OutputBytes, MemoryLimit: limit(budget.Memory), Staging: t.Dir,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start the reader of %s: %w", by.Name(), err)
	}
	if res.Cause != "" {
		return nil, ended(res, "the reader of "+by.Name(), budget, stderr), nil
	}
	if res.Exit != 0 || res.Signal != "" {
		out.Failure = how(res, stderr)
	}
	return out, nil, nil
}

// limit is the memory of a process that may use n bytes for what it reads; 0 is none.
func limit(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return n + headroom
}

// captured is the place that a run had its interpreter from. PATH is that of the run.
func captured(rec *cache.Record, name string) place {
	at := place{program: name, dir: rec.Dir}
	for _, e := range rec.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			at.path = v
		}
	}
	return at
}
