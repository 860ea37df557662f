package python

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pylock"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/pins"
	"github.com/flameox/flameox/stages/kind"
)

// Kind is the block's, and that of its pins and stamps.
const (
	Kind     = "environment.python"
	language = "python"
)

// PackageFact begins the names of the facts that say which packages are locked: a name each, and its version as the value.
const PackageFact = "python.package "

// version is raised whenever what is built of the same lock changes.
const version = 1

// Options of `environment "python"`.
type Options struct {
	Requirements string            `arg:"requirements" doc:"the lock: a requirements file, relative to the configuration, with an exact version and hashes of every package. flameox lock makes it" facet:"executables"`
	From         []string          `arg:"from,optional" doc:"the files that flameox lock makes the lock from, such as requirements.in or pyproject.toml" facet:"exempt: what the lock is made from; the lock is in the key"`
	Packages     []string          `arg:"packages,optional" doc:"requirements that flameox lock makes the lock from, beside or instead of from: pyperf==2.10.0" facet:"exempt: what the lock is made from; the lock is in the key"`
	Interpreter  string            `arg:"interpreter" default:"\"python3\"" doc:"the base interpreter, as a name that is looked up in path, or a path. Shims and virtual environments are followed to what they stand for" facet:"executables"`
	Install      lang.Refs         `arg:"install,optional" kinds:"build" doc:"builds whose wheels are installed too, without their dependencies, in place of what is locked under the same name" facet:"executables"`
	Path         []string          `arg:"path,optional" doc:"folders that programs are searched in after those of the environment, in order, relative to the configuration; the caller's PATH where missing" facet:"command"`
	Variables    map[string]string `arg:"variables,optional" doc:"environment variables of every program" facet:"command"`
	Inherit      []string          `arg:"inherit,optional" doc:"names of the caller's variables to pass on; name and value are part of the key" facet:"command"`
	Untracked    []string          `arg:"untracked,optional" doc:"names of the caller's variables to pass on that do not change what a program computes; recorded, not part of the key" facet:"exempt: declared not to change results"`
}

// Environment is an instance of the block. It implements managed.Runtime.
type Environment struct {
	Address string // of the block
	o       *Options
	project *kind.Project
	search  string // PATH that the interpreter is looked up in
	install []*graph.Node

	mu    sync.Mutex
	ready map[digest.Digest]*managed.Place // verified by this process
}

// New checks the options. search is the PATH of the interpreter; install are the nodes of the builds.
func New(block string, o *Options, p *kind.Project, search string, install []*graph.Node) (*Environment, error) {
	for _, f := range slices.Concat([]string{o.Requirements}, o.From) {
		if f == "" || path.IsAbs(f) || !filepath.IsLocal(path.Join(p.Dir, f)) {
			return nil, fmt.Errorf("%q is not a file of the project: give a path relative to the configuration", f)
		}
		if f == o.Requirements && slices.Contains(o.From, f) {
			return nil, fmt.Errorf("%s is the lock and cannot be what the lock is made from: call what you write %s", f, strings.TrimSuffix(path.Base(f), path.Ext(f))+".in")
		}
	}
	if o.Interpreter == "" {
		return nil, errors.New("interpreter is empty: give a name such as python3.12, or a path")
	}
	return &Environment{Address: block, o: o, project: p, search: search, install: install, ready: map[digest.Digest]*managed.Place{}}, nil
}

// dir is the folder of the configuration.
func (e *Environment) dir() string {
	return filepath.Join(e.project.Root, filepath.FromSlash(e.project.Dir))
}

func (e *Environment) file(rel string) string { return filepath.Join(e.dir(), filepath.FromSlash(rel)) }

// description is what Describe found, for the halves of building.
type description struct {
	lock   *pylock.Lock
	python *Interpreter
	trees  []digest.Digest // of install
}

// Describe reads the lock and asks the interpreter, once for one look at the project.
func (e *Environment) Describe(ctx context.Context, in *graph.Results) (*managed.Description, error) {
	trees, err := e.installed(in)
	if err != nil {
		return nil, err
	}
	type memoKey struct {
		e     *Environment
		trees string
	}
	return kind.Remember(e.project.Memo, memoKey{e, fmt.Sprint(trees)}, func() (*managed.Description, error) {
		lock, err := e.readLock()
		if err != nil {
			return nil, err
		}
		python, err := e.interpreter(ctx)
		if err != nil {
			return nil, err
		}
		d := &managed.Description{
			Facts: e.facts(lock, python, trees), Value: &description{lock, python, trees},
			Programs: map[string]string{"python": python.Path, "python3": python.Path, "python" + python.Short(): python.Path},
			Hint:     `modules of the environment's packages are started through its interpreter, as in ["python", "-m", "name"]; a program that a package brings and that is none, as py-spy's, is installed outside of it`,
		}
		d.Manifest = facet.New(kind.Definition(Kind, version), facet.Facet{Name: facet.Executables, Entries: d.Facts})
		return d, nil
	})
}

func (e *Environment) installed(in *graph.Results) ([]digest.Digest, error) {
	var trees []digest.Digest
	for _, n := range e.install {
		recs := in.Of(n)
		if len(recs) == 0 {
			return nil, fmt.Errorf("%s has no result", n.Address)
		}
		i := slices.IndexFunc(recs[len(recs)-1].Outputs, func(o cache.Output) bool { return o.Tree })
		if i < 0 {
			return nil, fmt.Errorf("the result of %s has no files", n.Address)
		}
		trees = append(trees, recs[len(recs)-1].Outputs[i].Digest)
	}
	return trees, nil
}

func (e *Environment) facts(lock *pylock.Lock, python *Interpreter, trees []digest.Digest) []facet.Entry {
	var f facet.Facet
	f.AddNote("python.lock", lock.Digest().String(), path.Join(e.project.Dir, e.o.Requirements))
	for i := range lock.Packages {
		p := &lock.Packages[i]
		name := PackageFact + p.Name
		if p.Marker != "" {
			name += " ; " + p.Marker
		}
		f.Add(name, p.Version)
	}
	for i, t := range trees {
		f.AddTree("python.install "+strconv.Itoa(i+1), t)
		f.Entries[len(f.Entries)-1].Note = e.install[i].Address.String()
	}
	f.AddNote("python.interpreter", python.Digest.String(), python.Path)
	if !python.LibraryDigest.IsZero() {
		f.AddNote("python.shared", python.LibraryDigest.String(), python.Library)
	}
	f.Add("python.version", python.Implementation+" "+python.Version)
	f.Add("python.platform", python.Platform)
	return f.Entries
}

// readLock reads the lock and compares it with its pin. What is wrong blocks the stages that need it.
func (e *Environment) readLock() (*pylock.Lock, error) {
	name := e.o.Requirements
	again := fmt.Sprintf("run `flameox lock %s`", e.Address)
	if len(e.o.From)+len(e.o.Packages) == 0 {
		again = fmt.Sprintf("say in from or packages what it is made from, and run `flameox lock %s`", e.Address)
	}
	e.project.Reads.Path(e.file(name))
	src, err := os.ReadFile(e.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &graph.BlockedError{Why: "the lock " + name + " does not exist", Do: again}
	}
	if err != nil {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("the lock %s cannot be read (%v)", name, err)}
	}
	lock, err := pylock.Parse(src)
	if err != nil {
		var bad *pylock.Error
		if errors.As(err, &bad) && !bad.Unlocked {
			again = "correct it, or " + again
		}
		return nil, &graph.BlockedError{Why: fmt.Sprintf("%s is no lock: %v", name, err), Do: again}
	}
	e.project.Reads.Path(filepath.Join(e.dir(), pins.Name))
	f, err := pins.Read(e.dir())
	if err != nil {
		return nil, &graph.BlockedError{Why: err.Error()}
	}
	pin, ok := f.Of(name)
	if !ok {
		return lock, nil
	}
	if d := lock.Digest(); d != pin.Digest {
		return nil, &graph.BlockedError{
			Why: fmt.Sprintf("%s locks something else than %s says (%s → %s)", name, pins.Name, pin.Digest.Short(), d.Short()),
			Do:  fmt.Sprintf("restore it, or run `flameox lock -accept %s` to pin it as it is", e.Address),
		}
	}
	inputs, err := e.inputs()
	if err != nil {
		return nil, &graph.BlockedError{Why: err.Error(), Do: "restore it, or correct from"}
	}
	if !pin.Inputs.IsZero() && !inputs.IsZero() && inputs != pin.Inputs {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("what %s is made from has changed", name), Do: again}
	}
	return lock, nil
}

// inputs is the digest of what the lock is made from; zero where that is nothing. Files that those refer to are not read.
func (e *Environment) inputs() (digest.Digest, error) {
	if len(e.o.From)+len(e.o.Packages) == 0 {
		return digest.Digest{}, nil
	}
	f := facet.Facet{Name: facet.Inputs}
	for _, name := range e.o.From {
		e.project.Reads.Path(e.file(name))
		src, err := os.ReadFile(e.file(name))
		if err != nil {
			return digest.Digest{}, fmt.Errorf("%s, which the lock is made from, cannot be read: %w", name, err)
		}
		f.Add("from "+name, digest.Sum(src).String())
	}
	for _, p := range e.o.Packages {
		f.Add("package", p)
	}
	return f.Digest(), nil
}
