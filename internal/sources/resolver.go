package sources

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/internal/selftrace"
)

// ErrRequired is what errors.Is finds where a stage has no sources and git cannot say which they are.
var ErrRequired = errors.New("outside git \"sources\" is required")

// Error is a glob that cannot be used.
type Error struct {
	Index   int    // of the glob in the list
	Pattern string // as written
	Problem string // what is wrong and what to do
}

// Error names the glob.
func (e *Error) Error() string { return fmt.Sprintf("sources %q: %s", e.Pattern, e.Problem) }

// Resolver resolves globs below one directory. It may be used by several goroutines; answers are those
// of the first look at each directory, so it serves one plan and is then thrown away.
type Resolver struct {
	Trace *selftrace.Recorder // nil where nobody asks where time goes

	root string // absolute, links resolved

	mu      sync.Mutex
	listing listing
	dirs    map[string]*dir
	globs   map[string]*globResult
	lists   map[string][]string // default list by cwd
	merged  map[string][]string // result by all globs
	links   map[string]link
	tree    map[string][]string // git's list by the directory it was asked in
	asked   []gitList
	probed  []string // absolute paths by which it was found out what is a repository
}

// gitList is one answer of git.
type gitList struct {
	repo    *git.Repo
	dir     string // absolute
	listing git.Listing
}

type globResult struct {
	files []string
	err   error // a *Error without Index
}

// New is a resolver for the experiment in the directory root.
func New(root string) (*Resolver, error) {
	abs, err := filepath.Abs(root)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("resolve sources below %s: %w", root, err)
	}
	return &Resolver{
		root: abs, dirs: map[string]*dir{}, globs: map[string]*globResult{}, lists: map[string][]string{},
		merged: map[string][]string{}, links: map[string]link{}, tree: map[string][]string{},
	}, nil
}

// Root is the absolute directory that results are relative to, links resolved.
func (r *Resolver) Root() string { return r.root }

// Resolve is the list of files that globs match, sorted by bytes, with slashes, relative to the root, each once. Nobody may
// change the slice. A glob that cannot be used or matches nothing is an *Error; no globs at all say that there are no sources.
func (r *Resolver) Resolve(globs []string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := strings.Join(globs, "\x00")
	if files, ok := r.merged[key]; ok {
		return files, nil
	}
	if r.Trace != nil {
		defer r.Trace.Begin("list", strings.Join(globs, " ")).End()
	}
	clean := make([]string, len(globs))
	var excludes []string
	for i, g := range globs {
		pattern, excluded := strings.CutPrefix(g, "!")
		var problem string
		if clean[i], problem = checkPattern(pattern); problem != "" {
			return nil, &Error{Index: i, Pattern: g, Problem: problem}
		}
		if excluded {
			excludes = append(excludes, clean[i])
			clean[i] = ""
		}
	}
	if len(excludes) == len(globs) && len(globs) > 0 {
		return nil, &Error{Pattern: strings.Join(globs, ", "), Problem: "says no file to begin with; add a pattern without !, such as \"**\""}
	}
	var files []string
	for i, pattern := range clean {
		if pattern == "" {
			continue
		}
		result := r.glob(pattern, excludes)
		var e *Error
		if errors.As(result.err, &e) {
			return nil, &Error{Index: i, Pattern: globs[i], Problem: e.Problem}
		}
		if result.err != nil {
			return nil, result.err
		}
		files = append(files, result.files...)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(excludes) > 0 {
		// A file named without wildcards, or below a directory that is excluded.
		files = slices.DeleteFunc(files, func(f string) bool { return excludedBy(excludes, f) })
		if len(files) == 0 {
			return nil, &Error{Pattern: strings.Join(globs, ", "), Problem: "the patterns with ! take away every file"}
		}
	}
	r.merged[key] = files
	return files, nil
}

// Default is the list of a stage without sources: what git tracks, or does not ignore, below cwd (relative to the root),
// submodules included, without flameox's own files. The result has the form that Resolve's has; it may be empty.
// errors.Is(err, ErrRequired) outside git.
func (r *Resolver) Default(ctx context.Context, cwd string) ([]string, error) {
	cwd = path.Clean(filepath.ToSlash(cwd))
	if !filepath.IsLocal(filepath.FromSlash(cwd)) {
		return nil, fmt.Errorf("the working directory %s is outside %s", cwd, r.root)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if files, ok := r.lists[cwd]; ok {
		return files, nil
	}
	all, err := r.gitFiles(ctx, cwd)
	if err != nil {
		return nil, err
	}
	prefix := ""
	if cwd != "." {
		prefix = cwd + "/"
	}
	lo := sort.SearchStrings(all, prefix)
	var files []string
	for _, f := range all[lo:] {
		if !strings.HasPrefix(f, prefix) {
			break
		}
		if own(f) {
			continue
		}
		if files, err = r.take(files, f); err != nil {
			var e *Error
			if errors.As(err, &e) {
				return nil, fmt.Errorf("%s is a source because git lists it, but %s", f, e.Problem)
			}
			return nil, err
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	r.lists[cwd] = files
	return files, nil
}

// gitFiles is git's list below the root or, where only cwd is in a repository, below cwd; always relative to the root.
// Asking at the root makes one process serve all working directories.
func (r *Resolver) gitFiles(ctx context.Context, cwd string) ([]string, error) {
	for _, at := range []string{".", cwd} {
		if files, ok := r.tree[at]; ok {
			return files, nil
		}
		r.probe(at)
		repo, err := git.Find(filepath.Join(r.root, filepath.FromSlash(at)))
		if errors.Is(err, git.ErrNotRepository) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files, err := r.listBelow(ctx, repo, at, 0)
		if err != nil {
			return nil, err
		}
		slices.Sort(files)
		r.tree[at] = files
		return files, nil
	}
	return nil, fmt.Errorf("%s is not in a git repository: %w; say which files the stage reads", filepath.Join(r.root, cwd), ErrRequired)
}

// maxNested bounds repositories within repositories.
const maxNested = 20

func (r *Resolver) listBelow(ctx context.Context, repo *git.Repo, at string, depth int) ([]string, error) {
	abs := filepath.Join(r.root, filepath.FromSlash(at))
	listing, err := repo.List(ctx, abs, ".flameox/")
	if err != nil {
		return nil, err
	}
	files := listing.Files
	r.asked = append(r.asked, gitList{repo, abs, git.Listing{Files: slices.Clone(files), Submodules: listing.Submodules}})
	if at != "." {
		for i, f := range files {
			files[i] = at + "/" + f
		}
	}
	for _, s := range listing.Submodules {
		sub := path.Join(at, s)
		abs := filepath.Join(r.root, filepath.FromSlash(sub))
		r.probe(sub)
		nested, err := git.Find(abs)
		if err != nil || nested.Root != abs {
			continue // not checked out
		}
		if depth == maxNested {
			return nil, fmt.Errorf("%s is more than %d repositories deep: give the stage its \"sources\"", abs, maxNested)
		}
		more, err := r.listBelow(ctx, nested, sub, depth+1)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// probe notes what decides whether a directory is, or is in, a repository of its own.
func (r *Resolver) probe(at string) {
	for ; ; at = path.Dir(at) {
		dir := filepath.Join(r.root, filepath.FromSlash(at), ".git")
		r.probed = append(r.probed, dir, filepath.Join(dir, "HEAD"))
		if at == "." {
			return
		}
	}
}

// GitReads are what git's answers so far depend on. It starts git where it was asked.
func (r *Resolver) GitReads(ctx context.Context) (git.Reads, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := git.Reads{Paths: slices.Clone(r.probed)}
	for _, a := range r.asked {
		more, err := a.repo.ListReads(ctx, a.dir, a.listing, func(name string) bool { return name == ".flameox" })
		if err != nil {
			return out, err
		}
		out.Paths, out.Env = append(out.Paths, more.Paths...), append(out.Env, more.Env...)
		if more.Unknown != "" {
			out.Unknown = more.Unknown
		}
	}
	return out, nil
}

// Reads are the directories whose listings the answers so far depend on, and the links that were followed,
// relative to the root, sorted. git reports whether git was asked: its answer also depends on the index, on ignore
// files and on directories that hold no listed file.
func (r *Resolver) Reads() (dirs, links []string, git bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d := range r.dirs {
		dirs = append(dirs, d)
	}
	for l := range r.links {
		links = append(links, l)
	}
	slices.Sort(dirs)
	slices.Sort(links)
	return dirs, links, len(r.tree) > 0
}

// checkPattern cleans a pattern and says what is wrong with it.
func checkPattern(p string) (clean, problem string) {
	switch {
	case p == "":
		return "", "is empty"
	case strings.ContainsRune(p, 0):
		return "", "holds a value that exists only when the stage runs; sources must be known before"
	case path.IsAbs(p):
		return "", "is absolute; write it relative to the directory of flameox.hcl"
	case !doublestar.ValidatePattern(p):
		return "", "has an unclosed [ or {, or ends in \\"
	}
	clean = path.Clean(p)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(clean, "/../") {
		return "", "leaves the directory of flameox.hcl"
	}
	return clean, ""
}

// excludedBy says whether a pattern matches f or a directory above it.
func excludedBy(patterns []string, f string) bool {
	for at := f; at != "."; at = path.Dir(at) {
		if matchesAny(patterns, at) {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if doublestar.MatchUnvalidated(p, name) {
			return true
		}
	}
	return false
}

// own says whether f is flameox's: configuration, lock, store.
func own(f string) bool {
	base := path.Base(f)
	if base == "flameox.hcl" || base == "flameox.lock.hcl" || strings.HasSuffix(base, ".flameox.hcl") {
		return true
	}
	for part := range strings.SplitSeq(f, "/") {
		if hidden(part) {
			return true
		}
	}
	return false
}

// hidden says whether a directory is never entered. What Python keeps in __pycache__ follows from the sources beside it, and is written while they run.
func hidden(name string) bool { return name == ".git" || name == ".flameox" || name == "__pycache__" }
