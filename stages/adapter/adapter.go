package adapter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/adapter/protocol"
	"github.com/flameox/flameox/stages/kind"
)

// Label is the first label of captures and extractions by adapters.
const Label = "adapter"

// Kind is the block `adapter "<name>"`.
type Kind struct{}

// Options of an adapter.
type Options struct {
	Program     string `arg:"program" doc:"the adapter's program: a path relative to the configuration, or an absolute one. It is never looked up and never run before you approved it" facet:"exempt: its content and version are in the executables of its users"`
	Version     string `arg:"version" doc:"its version, which the program must state too" facet:"definition"`
	Containment string `arg:"containment" default:"\"required\"" doc:"required, or preferred: run it also where the kernel cannot contain it; the record says which it was" facet:"definition"`
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "adapter", Labels: []string{"name"},
		Doc: "Declares a program of a third party that plans captures and reads what they leave. `flameox providers approve` lets it run.",
		Schemas: map[string]*lang.Schema{"": {
			Doc:     "A program that speaks version 1 of the adapter protocol.",
			Options: &Options{}, Stage: true,
		}},
	}
}

// Adapter is a declared one.
type Adapter struct {
	Name     string
	o        *Options
	program  string // absolute
	rel      string // as it is shown
	project  *kind.Project
	required bool
}

// Compile makes a definition: nothing is computed, and nothing is started.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	a, err := New(inst.Block.Name(), inst.Options.(*Options), c.Project)
	if err != nil {
		return nil, err
	}
	n := c.Node(inst, graph.Definition, nil)
	return &kind.Compiled{Node: n, Value: a, Tokens: map[string]kind.Token{"program": {File: a}}}, nil
}

// New checks a declaration.
func New(name string, o *Options, p *kind.Project) (*Adapter, error) {
	a := &Adapter{Name: name, o: o, project: p, rel: o.Program, required: o.Containment == "required"}
	switch {
	case !protocol.ValidName(name):
		return nil, fmt.Errorf("%q is no name of an adapter: up to 64 letters, digits, dots, dashes and underscores", name)
	case !protocol.ValidVersion(o.Version):
		return nil, fmt.Errorf("version is %q: give the one that the program states, such as \"1.0.0\"", o.Version)
	case !a.required && o.Containment != "preferred":
		return nil, fmt.Errorf("containment is %q: give \"required\" or \"preferred\"", o.Containment)
	case o.Program == "":
		return nil, errors.New("program is empty: give the path of the adapter's program")
	case filepath.IsAbs(o.Program):
		a.program = filepath.Clean(o.Program)
		return a, nil
	}
	a.rel = path.Join(p.Dir, o.Program)
	if !filepath.IsLocal(a.rel) {
		return nil, fmt.Errorf("program is %q, which leaves the project: give a path below it, or an absolute one", o.Program)
	}
	a.program = filepath.Join(p.Root, filepath.FromSlash(a.rel))
	return a, nil
}

// Program is where the program lies, absolute.
func (a *Adapter) Program() string { return a.program }

// Version is the declared one.
func (a *Adapter) Version() string { return a.o.Version }

// Identity is what is there now, by its bytes. An error is a *graph.BlockedError where the program cannot be used.
func (a *Adapter) Identity() (approval.Identity, []byte, error) {
	a.project.Reads.Path(a.program)
	sum, b, err := approval.Sum(a.program)
	if errors.Is(err, fs.ErrNotExist) {
		return approval.Identity{}, nil, &graph.BlockedError{Why: a.rel + " does not exist", Do: "install the adapter " + a.Name + ", or correct program"}
	}
	if err != nil {
		return approval.Identity{}, nil, &graph.BlockedError{Why: err.Error(), Do: "name the program's file itself"}
	}
	return approval.Identity{Name: a.Name, Version: a.o.Version, SHA256: sum}, b, nil
}

// Approved is the identity of what is there now, with its bytes, where the user trusts it. Else the error is a *graph.BlockedError.
func (a *Adapter) Approved() (approval.Identity, []byte, error) {
	id, b, err := a.Identity()
	if err != nil {
		return id, nil, err
	}
	a.project.Reads.Env("HOME", "XDG_CONFIG_HOME")
	store, err := approval.Of(a.project.Environ, vfs.OS{})
	if err != nil {
		return id, nil, &graph.BlockedError{Why: err.Error()}
	}
	a.project.Reads.Path(store.Path())
	ok, err := store.Approved(id)
	switch {
	case err != nil:
		return id, nil, &graph.BlockedError{Why: err.Error()}
	case !ok:
		return id, nil, &graph.BlockedError{
			Why: fmt.Sprintf("you have not approved the adapter %s %s in %s (sha256 %s)", id.Name, id.Version, a.rel, id.SHA256.Short()),
			Do:  "read it, and then run `flameox providers approve " + a.Name + "`",
		}
	}
	return id, b, nil
}

// ChangedError says that a program is not the one that an earlier phase was about.
type ChangedError struct {
	Adapter  string
	Was, Now approval.Identity
	Phase    protocol.Phase
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the adapter %s changed before it was to %s (sha256 %s, now %s); what it planned or validated is not what would run", e.Adapter, e.Phase, e.Was.SHA256.Short(), e.Now.SHA256.Short())
}

// recheck reads the program again and holds it to what an earlier phase was about.
func (a *Adapter) recheck(was approval.Identity, phase protocol.Phase) ([]byte, error) {
	now, b, err := a.Approved()
	if now.SHA256 != (digest.Digest{}) && now != was {
		return nil, &ChangedError{Adapter: a.Name, Was: was, Now: now, Phase: phase}
	}
	return b, err
}

// define adds the declaration to the definition facet of a user.
func (a *Adapter) define(f *facet.Facet) {
	f.Add("adapter", a.Name)
	f.Add("adapter version", a.o.Version)
	f.Add("adapter containment", a.o.Containment)
}

// facts identify the adapter in the executables facet of its users: its bytes, and what else runs where it is a script.
func (a *Adapter) facts(id approval.Identity) ([]facet.Entry, error) {
	var f facet.Facet
	f.AddNote("adapter "+a.Name, id.SHA256.String(), a.Name+" "+id.Version)
	exe, err := a.resolve()
	if err != nil {
		return nil, err
	}
	for i, link := range exe.Chain[1:] {
		f.AddNote(fmt.Sprintf("adapter %s %s %d", a.Name, link.Kind, i+1), link.Digest.String(), link.Real)
	}
	return f.Entries, nil
}

// resolve finds what runs where the program is started.
func (a *Adapter) resolve() (*broker.Executable, error) {
	return kind.Remember(a.project.Memo, "adapter\x00"+a.program, func() (*broker.Executable, error) {
		a.project.Reads.Env("PATH")
		exe, err := broker.Resolve(broker.Env{Path: a.project.Environ["PATH"], Dir: filepath.Dir(a.program), Looked: a.project.Looked, Digest: func(p string) (digest.Digest, error) {
			s, err := a.project.Stat.Digest(p)
			return s.Digest, err
		}}, a.program)
		var start *broker.StartError
		if errors.As(err, &start) {
			return nil, &graph.BlockedError{Why: start.Error(), Do: "make the adapter's program executable"}
		}
		return exe, err
	})
}

// Fact identifies the program where a command has ${adapter} in it.
func (a *Adapter) Fact() facet.Entry {
	id, _, err := a.Identity()
	if err != nil {
		return facet.Entry{Name: "executable", Value: "missing", Note: a.Name}
	}
	return facet.Entry{Name: "executable", Value: id.SHA256.String(), Note: a.Name + " " + id.Version}
}

// Path is where the approved copy lies once it is ready: by content, so that equal programs are one.
func (a *Adapter) Path(s *graph.Store) string {
	id, _, err := a.Identity()
	if err != nil {
		return a.program // it is refused before it is started
	}
	return filepath.Join(s.Dir, "adapters", id.SHA256.String(), a.Name)
}

// Ready copies the approved bytes.
func (a *Adapter) Ready(_ context.Context, t *graph.Task) ([]cache.Note, error) {
	_, b, err := a.Approved()
	if err != nil {
		return nil, err
	}
	to := a.Path(t.Store)
	if sum, _, err := approval.Sum(to); err == nil && sum == digest.Sum(b) {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, fmt.Errorf("copy the adapter %s: %w", a.Name, err)
	}
	if err := vfs.WriteFile(vfs.OS{}, to, b, 0o555, false); err != nil {
		return nil, fmt.Errorf("copy the adapter %s: %w", a.Name, err)
	}
	return nil, nil
}
