package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/sources"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
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
	start       *broker.Executable       // the same where it is the first argument; nil where that is an upstream output
	trees       map[string]digest.Digest // upstream token → root of the tree it stands for
	collectors  []providers.Collector
}

// fileSet is the resolved and hashed sources of a program.
type fileSet struct {
	root  digest.Digest
	paths []string // absolute
	ids   []cas.Identity
	tree  []cas.File
}

// Facets are what the program contributes to a key.
func (p *Prepared) Facets() []facet.Facet {
	return []facet.Facet{p.command, p.executables, p.inputs, p.program.identity()}
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
	files, err := p.sourceFiles(ctx)
	if err != nil {
		return nil, err
	}
	if files != nil {
		out.files = files
		out.inputs.AddTree("sources", files.root)
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
	}
	return out, p.resolve(ctx, out)
}

// sourceFiles lists and hashes what the program reads; nil where it declares that it reads nothing.
func (p *Program) sourceFiles(ctx context.Context) (*fileSet, error) {
	if p.Sources != nil && len(p.Sources) == 0 {
		return nil, nil
	}
	var extra []string
	if p.Sources == nil {
		for _, a := range p.Command {
			if rel, ok := p.argumentFile(a); ok {
				extra = append(extra, rel)
			}
		}
	}
	key := "sources\x00" + p.Dir + "\x00" + strconv.FormatBool(p.Sources == nil) + "\x00" + strings.Join(p.Sources, "\x00") + "\x00\x00" + strings.Join(extra, "\x00")
	return kind.Remember(p.project.Memo, key, func() (*fileSet, error) {
		var rels []string
		var err error
		if p.Sources == nil {
			rels, err = p.project.Sources().Default(ctx, p.Dir)
		} else {
			rels, err = p.project.Sources().Resolve(below(p.Dir, p.Sources))
		}
		if errors.Is(err, sources.ErrRequired) {
			return nil, &graph.BlockedError{Why: "the project is not a git repository, so the files that the command reads are not known", Do: "set sources = [\"…\"], or [] where it reads none"}
		}
		if err != nil {
			return nil, err
		}
		rels = append(slices.Clone(rels), extra...) // the resolver's list is shared
		sort.Strings(rels)
		rels = slices.Compact(rels)
		return p.hash(rels)
	})
}

// argumentFile says whether an argument names a file of the project.
func (p *Program) argumentFile(a string) (string, bool) {
	if a == "" || token.Has(a) || strings.HasPrefix(a, "-") || path.IsAbs(a) || !filepath.IsLocal(path.Join(p.Dir, a)) {
		return "", false
	}
	rel := path.Join(p.Dir, a)
	info, err := os.Stat(filepath.Join(p.project.Root, rel))
	return rel, err == nil && info.Mode().IsRegular()
}

func (p *Program) hash(rels []string) (*fileSet, error) {
	fs := &fileSet{paths: make([]string, len(rels)), ids: make([]cas.Identity, len(rels)), tree: make([]cas.File, len(rels))}
	for i, rel := range rels {
		fs.paths[i] = filepath.Join(p.project.Root, filepath.FromSlash(rel))
	}
	for i, s := range p.project.Stat.DigestAll(fs.paths) {
		if errors.Is(s.Err, cas.ErrNotRegular) { // a link, which the resolver has found to stay inside the project
			if fs.paths[i], s.Err = filepath.EvalSymlinks(fs.paths[i]); s.Err == nil {
				s, s.Err = p.project.Stat.Digest(fs.paths[i])
			}
		}
		if s.Err != nil {
			return nil, fmt.Errorf("hash the sources: %w", s.Err)
		}
		fs.ids[i] = s.Identity
		fs.tree[i] = cas.File{Path: rels[i], Digest: s.Digest, Size: s.Size, Exec: s.Exec}
	}
	var err error
	fs.root, _, err = cas.BuildTree(fs.tree)
	if err != nil {
		return nil, fmt.Errorf("hash the sources: %w", err)
	}
	p.project.Store.KnowTree(fs.root, fs.tree)
	return fs, nil
}

// resolve finds what really runs and adds it to the executables facet.
func (p *Program) resolve(ctx context.Context, out *Prepared) error {
	out.executables.Name = facet.Executables
	for _, c := range out.collectors {
		out.executables.Add("collector "+c.Name, digest.Sum(c.Content).String())
	}
	env := broker.Env{Path: p.Host.Path, Dir: filepath.Join(p.project.Root, filepath.FromSlash(p.Dir)), Digest: p.digestFile}
	argv0, skip := p.Command[0], 0
	if names := token.Names(argv0); len(names) > 0 {
		// The program is an upstream output: its content is among the inputs. What is left is the interpreter of a script.
		script, err := p.treeScript(out, argv0, names[0])
		if err != nil || script == "" {
			return err
		}
		argv0, skip = script, 1
	}
	type memoKey struct{ path, dir, argv string }
	args := []string(nil)
	if path.Base(argv0) == "env" {
		args = p.Command[1:]
	}
	exe, err := kind.Remember(p.project.Memo, memoKey{env.Path, env.Dir, argv0 + "\x00" + strings.Join(args, "\x00")}, func() (*broker.Executable, error) {
		return broker.Resolve(env, argv0, args...)
	})
	var start *broker.StartError
	if errors.As(err, &start) {
		return &graph.BlockedError{Why: start.Error()}
	}
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
	return nil
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

// below makes globs that are relative to dir relative to the project root.
func below(dir string, globs []string) []string {
	if dir == "" {
		return globs
	}
	out := make([]string, len(globs))
	for i, g := range globs {
		pattern, excluded := strings.CutPrefix(g, "!")
		out[i] = path.Join(dir, pattern)
		if excluded {
			out[i] = "!" + out[i]
		}
	}
	return out
}
