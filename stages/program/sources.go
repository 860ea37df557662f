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
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/sources"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/stages/kind"
)

// fileSet is the resolved and hashed sources of a program.
type fileSet struct {
	root    digest.Digest
	rels    []string // below the project root, sorted; argument files included
	paths   []string // absolute, links followed
	ids     []cas.Identity
	links   []link // of paths and outside, those that are not where their name is
	tree    []cas.File
	outside []outsideFile
}

// link is a name and the file that it led to when it was hashed.
type link struct{ name, to string }

// outsideFile is an argument that names a file outside of the project.
type outsideFile struct {
	path   string // links followed
	digest digest.Digest
	id     cas.Identity
}

// checkDir blocks a stage whose working directory is not there.
func (p *Program) checkDir() error {
	_, err := kind.Remember(p.project.Memo, "dir\x00"+p.Dir, func() (struct{}, error) { return struct{}{}, p.lookAtDir() })
	return err
}

func (p *Program) lookAtDir() error {
	dir := filepath.Join(p.project.Root, filepath.FromSlash(p.Dir))
	p.project.Reads.Path(dir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &graph.BlockedError{Why: fmt.Sprintf("the working directory %s does not exist", p.Dir), Do: "make it, or correct cwd"}
	case err != nil:
		return &graph.BlockedError{Why: fmt.Sprintf("the working directory %s cannot be used (%v)", p.Dir, err)}
	case !info.IsDir():
		return &graph.BlockedError{Why: fmt.Sprintf("the working directory %s is not a folder", p.Dir), Do: "correct cwd"}
	}
	return nil
}

// sourceFiles lists and hashes what the program reads; nil where it declares that it reads nothing.
func (p *Program) sourceFiles(ctx context.Context) (*fileSet, error) {
	if p.Sources != nil && len(p.Sources) == 0 {
		return nil, nil
	}
	inside, outside := p.argumentFiles()
	key := "sources\x00" + p.Dir + "\x00" + strconv.FormatBool(p.Sources == nil) + "\x00" + strings.Join(p.Sources, "\x00") + "\x00\x00" + strings.Join(inside, "\x00") + "\x00\x00" + strings.Join(outside, "\x00")
	return kind.Remember(p.project.Memo, key, func() (*fileSet, error) {
		rels, err := p.list(ctx, p.project.Sources())
		if err != nil {
			return nil, err
		}
		return p.hash(rels, outside)
	})
}

// list is the files below the project root that the program reads, as r sees them. A *graph.BlockedError says what to do.
func (p *Program) list(ctx context.Context, r *sources.Resolver) ([]string, error) {
	if p.Sources != nil {
		rels, err := r.Resolve(below(p.Dir, p.Sources))
		var bad *sources.Error
		if errors.As(err, &bad) {
			return nil, &graph.BlockedError{Why: bad.Error(), Do: "correct sources"}
		}
		return rels, err
	}
	rels, err := r.Default(ctx, p.Dir)
	if errors.Is(err, sources.ErrRequired) {
		return nil, &graph.BlockedError{Why: "the project is not a git repository, so the files that the command reads are not known", Do: "set sources = [\"…\"], or [] where it reads none"}
	}
	if err != nil {
		return nil, err
	}
	inside, _ := p.argumentFiles()
	rels = append(slices.Clone(rels), inside...) // the resolver's list is shared
	sort.Strings(rels)
	return slices.Compact(rels), nil
}

// argumentFiles are the arguments that name files, where sources are not declared: those of the project relative to its
// root, and others by their absolute path. The program itself is among the executables.
func (p *Program) argumentFiles() (inside, outside []string) {
	if p.Sources != nil {
		return nil, nil
	}
	for i, a := range p.Command {
		if a == "" || token.Has(a) || strings.HasPrefix(a, "-") {
			continue
		}
		abs := a
		if !filepath.IsAbs(a) {
			abs = filepath.Join(p.project.Root, filepath.FromSlash(p.Dir), a)
		}
		p.project.Reads.Path(abs)
		if info, err := os.Stat(abs); err != nil || !info.Mode().IsRegular() {
			continue
		}
		rel, err := filepath.Rel(p.project.Root, abs)
		switch {
		case err == nil && filepath.IsLocal(rel):
			inside = append(inside, filepath.ToSlash(rel))
		case i > 0:
			outside = append(outside, filepath.Clean(abs))
		}
	}
	return inside, outside
}

func (p *Program) hash(rels, outside []string) (*fileSet, error) {
	fs := &fileSet{rels: rels, paths: make([]string, len(rels)), ids: make([]cas.Identity, len(rels)), tree: make([]cas.File, len(rels))}
	for i, rel := range rels {
		fs.paths[i] = filepath.Join(p.project.Root, filepath.FromSlash(rel))
	}
	set := false
	defer func() {
		if !set { // which of them cannot be read depends on all
			p.project.Reads.Below(p.project.Root, rels...)
		}
	}()
	for i, s := range p.project.Stat.DigestAll(fs.paths) {
		if s.Err != nil {
			var err error
			name := fs.paths[i]
			if fs.paths[i], s, err = p.hashOne(name, s.Err); err != nil {
				return nil, err
			}
			fs.links = append(fs.links, link{name, fs.paths[i]})
		}
		fs.ids[i] = s.Identity
		fs.tree[i] = cas.File{Path: rels[i], Digest: s.Digest, Size: s.Size, Exec: s.Exec}
	}
	for _, path := range outside {
		p.project.Reads.Path(path)
		s, err := p.project.Stat.Digest(path)
		if err != nil {
			name := path
			if path, s, err = p.hashOne(name, err); err != nil {
				return nil, err
			}
			fs.links = append(fs.links, link{name, path})
		}
		fs.outside = append(fs.outside, outsideFile{path: path, digest: s.Digest, id: s.Identity})
	}
	var err error
	fs.root, _, err = cas.BuildTree(fs.tree)
	if err != nil {
		return nil, fmt.Errorf("hash the sources: %w", err)
	}
	p.project.Store.KnowTree(fs.root, fs.tree)
	p.project.Reads.Set(fs.root, p.project.Root, rels)
	set = true
	return fs, nil
}

// hashOne follows a link, which hashing refused. Anything else that keeps a file from being read blocks the stage.
func (p *Program) hashOne(path string, err error) (string, cas.Hashed, error) {
	p.project.Reads.Path(path)
	if errors.Is(err, cas.ErrNotRegular) {
		var s cas.Hashed
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if s, err = p.project.Stat.Digest(path); err == nil {
				return path, s, nil
			}
		}
	}
	return path, cas.Hashed{}, &graph.BlockedError{Why: fmt.Sprintf("an input cannot be read: %v", err), Do: "make it readable, or leave it out of sources"}
}

// FixSources says that a key has the sources in another form than its inputs, so that it cannot be made again from new sources alone.
func (p *Prepared) FixSources() {
	if p.files != nil {
		p.program.project.Reads.Fix(p.files.root)
	}
}

// changed names the first input whose stat identity is no longer the hashed one, or that is a link to another file by now.
func (p *Prepared) changed() string {
	if p.files == nil {
		return ""
	}
	fsys := p.program.project.Store.CAS.FS()
	for i, path := range p.files.paths {
		if same, err := cas.Same(fsys, path, p.files.ids[i]); err != nil || !same {
			return p.files.tree[i].Path
		}
	}
	for _, f := range p.files.outside {
		if same, err := cas.Same(fsys, f.path, f.id); err != nil || !same {
			return f.path
		}
	}
	for _, l := range p.files.links { // the file that was hashed is the same; the name may lead to another
		if to, err := filepath.EvalSymlinks(l.name); err != nil || to != l.to {
			return l.name
		}
	}
	return ""
}

// listChanged names the first file that the program may read now and that was not there when the key was made, or that is gone.
func (p *Prepared) listChanged(ctx context.Context) string {
	if p.files == nil {
		return ""
	}
	fresh, err := sources.New(p.program.project.Root)
	if err != nil {
		return p.program.project.Root
	}
	now, err := p.program.list(ctx, fresh)
	if err != nil {
		return "the list of sources"
	}
	for i := range max(len(now), len(p.files.rels)) {
		switch {
		case i == len(now):
			return p.files.rels[i]
		case i == len(p.files.rels) || now[i] < p.files.rels[i]:
			return now[i]
		case now[i] != p.files.rels[i]:
			return p.files.rels[i]
		}
	}
	return ""
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
