package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/environment/pins"
	"github.com/flameox/flameox/stages/kind"
)

// Kind is the block's, and that of its pins and stamps.
const (
	Kind     = "environment.node"
	language = "node"
)

// version is raised whenever what is built of the same lock changes.
const version = 1

// Options of `environment "node"`.
type Options struct {
	Lock        string            `arg:"lock" default:"\"package-lock.json\"" doc:"the lock: a package-lock.json of version 2 or 3, relative to the configuration, with a SHA-512 of every package. flameox lock makes it" facet:"executables"`
	From        string            `arg:"from" default:"\"package.json\"" doc:"the package.json that flameox lock makes the lock from; it may be missing where the lock is there" facet:"exempt: what the lock is made from; the lock is in the key"`
	Interpreter string            `arg:"interpreter" default:"\"node\"" doc:"the base interpreter, as a name that is looked up in path, or a path. Shims are followed to what they stand for" facet:"executables"`
	Scripts     bool              `arg:"scripts" default:"false" doc:"run the lifecycle scripts of packages when the environment is built" facet:"executables"`
	ESM         bool              `arg:"esm" default:"false" doc:"let import find the packages too, not only require: a hook is loaded into every Node process, which costs it some milliseconds at its start" facet:"executables"`
	Path        []string          `arg:"path,optional" doc:"folders that programs are searched in after those of the environment, in order, relative to the configuration; the caller's PATH where missing" facet:"command"`
	Variables   map[string]string `arg:"variables,optional" doc:"environment variables of every program" facet:"command"`
	Inherit     []string          `arg:"inherit,optional" doc:"names of the caller's variables to pass on; name and value are part of the key" facet:"command"`
	Untracked   []string          `arg:"untracked,optional" doc:"names of the caller's variables to pass on that do not change what a program computes; recorded, not part of the key" facet:"exempt: declared not to change results"`
}

// Environment is an instance of the block. It implements managed.Runtime.
type Environment struct {
	Address string // of the block
	o       *Options
	project *kind.Project
	search  string // PATH that the interpreter is looked up in

	mu    sync.Mutex
	ready map[digest.Digest]*managed.Place // verified by this process
}

// New checks the options. search is the PATH of the interpreter.
func New(block string, o *Options, p *kind.Project, search string) (*Environment, error) {
	for _, f := range []string{o.Lock, o.From} {
		if f == "" || path.IsAbs(f) || !filepath.IsLocal(path.Join(p.Dir, f)) {
			return nil, fmt.Errorf("%q is not a file of the project: give a path relative to the configuration", f)
		}
	}
	if o.Lock == o.From {
		return nil, fmt.Errorf("%s is the lock and cannot be what the lock is made from", o.Lock)
	}
	if o.Interpreter == "" {
		return nil, errors.New("interpreter is empty: give a name such as node, or a path")
	}
	for _, list := range [][]string{o.Inherit, o.Untracked, names(o.Variables)} {
		for _, name := range list {
			if name == "NODE_PATH" || name == "NODE_OPTIONS" && o.ESM {
				return nil, fmt.Errorf("%s is how the packages of the environment are found: it cannot be set", name)
			}
		}
	}
	return &Environment{Address: block, o: o, project: p, search: search, ready: map[digest.Digest]*managed.Place{}}, nil
}

func names(m map[string]string) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	return out
}

// dir is the folder of the configuration.
func (e *Environment) dir() string {
	return filepath.Join(e.project.Root, filepath.FromSlash(e.project.Dir))
}

func (e *Environment) file(rel string) string { return filepath.Join(e.dir(), filepath.FromSlash(rel)) }

// description is what Describe found, for the halves of building.
type description struct {
	lock *Lock
	node *Interpreter
}

// Describe reads the lock and asks the interpreter, once for one look at the project.
func (e *Environment) Describe(ctx context.Context, _ *graph.Results) (*managed.Description, error) {
	return kind.Remember(e.project.Memo, e, func() (*managed.Description, error) {
		lock, err := e.readLock()
		if err != nil {
			return nil, err
		}
		node, err := e.interpreter(ctx)
		if err != nil {
			return nil, err
		}
		d := &managed.Description{
			Facts: e.facts(lock, node), Value: &description{lock, node}, Programs: map[string]string{"node": node.Path},
			Hint: "programs of the environment are node, and those that the packages of its lock name in bin; add the package to " + e.o.From + " and run `flameox lock`",
		}
		for name := range lock.Programs() {
			d.Programs[name] = node.Path
		}
		d.Manifest = facet.New(kind.Definition(Kind, version), facet.Facet{Name: facet.Executables, Entries: d.Facts})
		return d, nil
	})
}

func (e *Environment) facts(lock *Lock, node *Interpreter) []facet.Entry {
	var f facet.Facet
	f.AddNote("node.lock", lock.Digest().String(), path.Join(e.project.Dir, e.o.Lock))
	for i := range lock.Packages {
		p := &lock.Packages[i]
		f.Add("node.package "+strings.TrimPrefix(p.Place, "node_modules/"), p.Version)
	}
	if e.o.Scripts {
		f.Add("node.scripts", strconv.FormatBool(true))
	}
	if e.o.ESM {
		f.Add("node.esm", digest.SumString(preload+hooks).String())
	}
	f.AddNote("node.interpreter", node.Digest.String(), node.Path)
	f.Add("node.version", node.Version)
	f.Add("node.platform", node.Platform)
	return f.Entries
}

// readLock reads the lock and compares it with its pin. What is wrong blocks the stages that need it.
func (e *Environment) readLock() (*Lock, error) {
	name := e.o.Lock
	again := fmt.Sprintf("run `flameox lock %s`", e.Address)
	inputs, err := e.inputs()
	if err != nil {
		return nil, &graph.BlockedError{Why: err.Error(), Do: "correct it"}
	}
	if inputs.IsZero() {
		again = fmt.Sprintf("write %s with what the environment needs, and run `flameox lock %s`", e.o.From, e.Address)
	}
	e.project.Reads.Path(e.file(name))
	src, err := os.ReadFile(e.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &graph.BlockedError{Why: "the lock " + name + " does not exist", Do: again}
	}
	if err != nil {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("the lock %s cannot be read (%v)", name, err)}
	}
	lock, err := ParseLock(src)
	if err != nil {
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
	if !pin.Inputs.IsZero() && !inputs.IsZero() && inputs != pin.Inputs {
		return nil, &graph.BlockedError{Why: fmt.Sprintf("what %s is made from has changed", name), Do: again}
	}
	return lock, nil
}

// inputs is the digest of what the lock is made from: of what is needed, not of the whole package.json, which says much else. Zero where
// there is no package.json.
func (e *Environment) inputs() (digest.Digest, error) {
	e.project.Reads.Path(e.file(e.o.From))
	src, err := os.ReadFile(e.file(e.o.From))
	if errors.Is(err, fs.ErrNotExist) {
		return digest.Digest{}, nil
	}
	var text []byte
	if err == nil {
		text, err = neededBy(src)
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("%s, which the lock is made from, cannot be read: %w", e.o.From, err)
	}
	return digest.Sum(text), nil
}

// neededBy is what a package.json says is needed, in one form. Overrides are refused: they decide what fits, and no lock has them.
func neededBy(src []byte) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(src, &all); err != nil {
		return nil, err
	}
	if _, ok := all["overrides"]; ok {
		return nil, errors.New("it has overrides, which a lock does not repeat, so the lock alone would not say what is installed: name the versions in dependencies")
	}
	needed := map[string]any{}
	for _, name := range needs {
		if v, ok := all[name]; ok {
			needed[name] = v
		}
	}
	return json.Marshal(needed)
}

// sameNeeds says whether a lock is of what a package.json needs.
func sameNeeds(manifest []byte, l *Lock) bool {
	locked, err := json.Marshal(l.root)
	if err != nil {
		return false
	}
	a, aerr := neededBy(manifest)
	b, berr := neededBy(locked)
	return aerr == nil && berr == nil && string(a) == string(b)
}
