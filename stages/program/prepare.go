package program

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/environment/managed"
	"github.com/flameox/flameox/stages/kind"
)

// Prepared is a program whose files and upstream results are known: everything that enters the key.
type Prepared struct {
	program     *Program
	command     facet.Facet
	executables facet.Facet
	inputs      facet.Facet
	files       *fileSet
	exe         *broker.Executable       // what really runs, where it is not an upstream output
	others      []*broker.Executable     // further programs that it starts
	start       *broker.Executable       // the same where it is the first argument; nil where that is an upstream output
	trees       map[string]digest.Digest // upstream token → root of the tree it stands for
	collectors  []providers.Collector
	own         string               // the program as the command names it, where the environment has it: python
	runtime     *managed.Description // of the environment that has to stand first; nil where that is nothing
	leases      map[kind.Lease]kind.PreparedLease
	order       []kind.Lease // of the leases, by first use
	tools       []kind.File  // by first use
	identity    facet.Facet
}

// Facets are what the program contributes to a key.
func (p *Prepared) Facets() []facet.Facet {
	return []facet.Facet{p.command, p.executables, p.inputs, p.identity}
}

// Prepare resolves and hashes. It starts nothing. Where the program cannot run here the error is a *graph.BlockedError.
func (p *Program) Prepare(ctx context.Context, in *graph.Results, collectors []providers.Collector) (*Prepared, error) {
	out := &Prepared{program: p, trees: map[string]digest.Digest{}, collectors: collectors}
	for _, a := range p.Command {
		if _, err := token.Expand(a, func(string) (string, error) { return "", nil }); err != nil {
			return nil, err
		}
	}
	c := &canonical{p: p, index: map[string]int{}}
	out.command = p.commandFacet(c)
	out.inputs.Name = facet.Inputs
	if err := p.checkDir(); err != nil {
		return nil, err
	}
	files, err := p.sourceFiles(ctx)
	if err != nil {
		return nil, err
	}
	if files != nil {
		out.files = files
		out.inputs.AddTree("sources", files.root)
		for i, f := range files.outside {
			out.inputs.AddNote("argument "+strconv.Itoa(i+1), f.digest.String(), f.path)
		}
	}
	for i, name := range c.order {
		node := p.tokens[name].Node
		recs := in.Of(node)
		if len(recs) == 0 {
			return nil, fmt.Errorf("%s has no result", node.Address)
		}
		tree := treeOf(recs[len(recs)-1].Outputs)
		if tree == nil {
			return nil, fmt.Errorf("the result of %s has no files", node.Address)
		}
		out.trees[name] = tree.Digest
		out.inputs.AddTree(upstreamPrefix+strconv.Itoa(i+1), tree.Digest)
		out.inputs.Entries[len(out.inputs.Entries)-1].Note = node.Address.String()
	}
	if err := out.prepareLeases(ctx, in, c.leases); err != nil {
		return nil, err
	}
	out.executables.Name = facet.Executables
	out.tools = c.files
	for i, f := range c.files {
		e := f.Fact()
		e.Name = toolPrefix + strconv.Itoa(i+1) + " " + e.Name
		out.executables.Entries = append(out.executables.Entries, e)
	}
	if p.Host.Runtime != nil {
		if out.runtime, err = p.Host.Runtime.Describe(ctx, in); err != nil {
			return nil, err
		}
		out.executables.Entries = append(out.executables.Entries, out.runtime.Facts...)
	}
	return out, p.resolve(ctx, out)
}

// resolve finds what really runs and adds it to the executables facet.
func (p *Program) resolve(ctx context.Context, out *Prepared) error {
	for _, c := range out.collectors {
		out.executables.Add("collector "+c.Name, digest.Sum(c.Content).String())
	}
	hint := ""
	if out.runtime != nil {
		hint = out.runtime.Hint
	}
	env := p.searched()
	if err := p.resolveOwn(out, env, hint); err != nil {
		return err
	}
	for n, name := range p.starts {
		if out.runtime != nil {
			if base, ok := out.runtime.Programs[name]; ok { // the environment's own links to it, once that stands
				name = base
			}
		}
		other, err := p.lookUp(env, hint, name)
		if err != nil {
			return err
		}
		out.others = append(out.others, other)
		for i, link := range other.Chain {
			out.executables.AddNote(fmt.Sprintf("starts %d %s %d", n+1, link.Kind, i), link.Digest.String(), link.Real)
		}
		addLibraries(&out.executables, other)
		if out.runtime == nil { // what an interpreter has installed runs as much as when the command begins with it
			if err := p.addDistributions(&out.executables, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolveOwn finds the program that the command names.
func (p *Program) resolveOwn(out *Prepared, env broker.Env, hint string) error {
	argv0, skip := p.Command[0], 0
	if names := token.Names(argv0); len(names) > 0 {
		if p.tokens[names[0]].File != nil && argv0 == token.Make(names[0]) {
			return nil // its content is in the facet already, and is verified right before the start
		}
		// The program is an upstream output: its content is among the inputs. What is left is the interpreter of a script.
		script, err := p.treeScript(out, argv0, names[0])
		if err != nil || script == "" {
			return err
		}
		argv0, skip = script, 1
	}
	if out.runtime != nil {
		if base, ok := out.runtime.Programs[argv0]; ok { // the environment's own links to it, once that stands
			argv0, out.own = base, argv0
		}
	}
	args := []string(nil)
	if path.Base(argv0) == "env" {
		args = p.Command[1:]
	}
	exe, err := p.lookUp(env, hint, argv0, args...)
	if err != nil {
		return err
	}
	out.exe = exe
	if skip == 0 {
		out.start = exe
	}
	for i, link := range exe.Chain[skip:] {
		out.executables.AddNote(string(link.Kind)+" "+strconv.Itoa(i), link.Digest.String(), link.Real)
	}
	addLibraries(&out.executables, exe)
	if out.runtime == nil {
		if err := p.addDistributions(&out.executables, exe); err != nil {
			return err
		}
	}
	return nil
}

// searched is what programs and their libraries are looked up in.
func (p *Program) searched() broker.Env {
	vars := p.trackedEnv()
	list := func(name string, split func(r rune) bool) []string {
		if token.Has(vars[name]) { // known when it runs; what is behind it is an input anyway
			return nil
		}
		return strings.FieldsFunc(vars[name], split)
	}
	return broker.Env{
		Path: p.Host.Path, Dir: filepath.Join(p.project.Root, filepath.FromSlash(p.Dir)), Digest: p.digestFile, Looked: p.project.Looked,
		Libraries: list("LD_LIBRARY_PATH", func(r rune) bool { return r == ':' || r == ';' }),
		Preload:   list("LD_PRELOAD", func(r rune) bool { return r == ':' || r == ' ' }),
	}
}

// addLibraries puts the shared libraries of a program into the facet, by name: a new one shifts no other.
func addLibraries(f *facet.Facet, exe *broker.Executable) {
	for _, l := range exe.Libraries {
		name := "library " + l.Asked
		if !slices.ContainsFunc(f.Entries, func(e facet.Entry) bool { return e.Name == name && e.Value == l.Digest.String() }) {
			f.AddNote(name, l.Digest.String(), l.Real)
		}
	}
}

// lookUp finds what really runs where a command names argv0. hint is what to do where there is nothing.
func (p *Program) lookUp(env broker.Env, hint, argv0 string, args ...string) (*broker.Executable, error) {
	type memoKey struct{ path, dir, argv string }
	exe, err := kind.Remember(p.project.Memo, memoKey{env.Path + "\x00" + strings.Join(env.Libraries, ":") + "\x00" + strings.Join(env.Preload, ":"), env.Dir, argv0 + "\x00" + strings.Join(args, "\x00")}, func() (*broker.Executable, error) {
		return broker.Resolve(env, argv0, args...)
	})
	var start *broker.StartError
	if errors.As(err, &start) {
		return nil, &graph.BlockedError{Why: start.Error(), Do: hint}
	}
	return exe, err
}

func (p *Program) digestFile(path string) (digest.Digest, error) {
	s, err := p.project.Stat.Digest(path)
	return s.Digest, err
}

// treeScript is where a script of an upstream tree lies on disk, "" for a binary, which needs nothing else to run.
func (p *Program) treeScript(out *Prepared, argv0, name string) (string, error) {
	_, rel, ok := strings.Cut(argv0, token.Make(name)+"/")
	root, known := out.trees[name]
	if !ok || !known || token.Has(rel) {
		return "", fmt.Errorf("the program %s is not a file of an upstream output; write \"${build.x.dir}/name\"", token.Display(argv0))
	}
	rel = path.Clean(rel)
	return kind.Remember(p.project.Memo, "script\x00"+root.String()+"\x00"+rel, func() (string, error) {
		blobs := p.project.Store.CAS
		files, err := blobs.ReadTree(root)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(files, func(f cas.File) bool { return f.Path == rel })
		if i < 0 {
			return "", &graph.BlockedError{Why: fmt.Sprintf("the output of %s has no file %s", strings.TrimSuffix(name, ".dir"), rel), Do: "correct the command or the outputs of the build"}
		}
		r, err := blobs.Open(files[i].Digest)
		if err != nil {
			return "", err
		}
		defer r.Close()
		head := make([]byte, 2)
		if n, _ := r.Read(head); n < 2 || string(head) != "#!" {
			return "", nil
		}
		dir, err := blobs.Materialize(root)
		return filepath.Join(dir, filepath.FromSlash(rel)), err
	})
}
