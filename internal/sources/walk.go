package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"
)

// maxFiles bounds one glob: what matches more is a mistake such as "**" over a home directory.
const maxFiles = 2_000_000

type kind uint8

const (
	missing  kind = iota // not there, or a link to nothing
	regular              // a file, or a link to one inside the root
	folder               // a directory, or a link to one inside the root
	outside              // a link that leaves the root
	special              // a socket, device or pipe
	loopback             // a link to a directory above itself: following it never ends
)

type entry struct {
	name string
	kind kind
}

// dir is one directory as it was first seen.
type dir struct {
	entries []entry // sorted by name
	err     error
}

func (d *dir) find(name string) kind {
	i, ok := slices.BinarySearchFunc(d.entries, name, func(e entry, n string) int { return strings.Compare(e.name, n) })
	if !ok {
		return missing
	}
	return d.entries[i].kind
}

// link is where a symbolic link ends.
type link struct {
	kind   kind
	target string // relative to the root, of a folder
}

// read is the directory at, relative to the root. A directory that is not there is empty.
func (r *Resolver) read(at string) *dir {
	if d, ok := r.dirs[at]; ok {
		return d
	}
	d := &dir{}
	r.dirs[at] = d
	abs := r.root
	if at != "." {
		abs = filepath.Join(r.root, filepath.FromSlash(at))
	}
	list, err := r.listing.read(abs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		d.err = fmt.Errorf("look for sources in %s: %w", at, err)
		return d
	}
	d.entries = make([]entry, len(list))
	for i, e := range list {
		k := special
		switch t := e.mode; {
		case t.IsRegular():
			k = regular
		case t.IsDir():
			k = folder
		case t&fs.ModeSymlink != 0:
			k = r.follow(path.Join(at, e.name)).kind
		}
		d.entries[i] = entry{e.name, k}
	}
	return d
}

// follow says where the link at ends.
func (r *Resolver) follow(at string) link {
	if l, ok := r.links[at]; ok {
		return l
	}
	l := r.followFresh(at)
	r.links[at] = l
	return l
}

func (r *Resolver) followFresh(at string) link {
	abs := filepath.Join(r.root, filepath.FromSlash(at))
	end, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return link{kind: missing}
	}
	rel, err := filepath.Rel(r.root, end)
	if err != nil || !filepath.IsLocal(rel) {
		return link{kind: outside}
	}
	info, err := os.Stat(end)
	switch {
	case err != nil:
		return link{kind: missing}
	case info.Mode().IsRegular():
		return link{kind: regular}
	case !info.IsDir():
		return link{kind: special}
	}
	// The directory that holds the link, as it really is: it may itself be reached through links.
	holder, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return link{kind: missing}
	}
	if holder == end || strings.HasPrefix(holder, strings.TrimSuffix(end, "/")+"/") {
		return link{kind: loopback}
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if hidden(part) {
			return link{kind: special}
		}
	}
	return link{kind: folder, target: filepath.ToSlash(rel)}
}

// kindOf is what is at a path relative to the root.
func (r *Resolver) kindOf(at string) (kind, error) {
	if at == "." {
		return folder, nil
	}
	d := r.read(path.Dir(at))
	return d.find(path.Base(at)), d.err
}

// take appends the file f, or the files below it where it is a link to a directory.
func (r *Resolver) take(files []string, f string) ([]string, error) {
	k, err := r.kindOf(f)
	if err != nil {
		return nil, err
	}
	switch k {
	case regular:
		return append(files, f), nil
	case outside:
		return nil, leaves(f)
	case folder:
		if _, isLink := r.links[f]; !isLink {
			return files, nil // git lists a file where a directory now is
		}
		w := walker{r: r, seen: map[string]bool{}}
		w.match(f, []string{"**"})
		return append(files, w.files...), w.err
	}
	return files, nil
}

func leaves(f string) *Error {
	return &Error{Pattern: f, Problem: fmt.Sprintf("the symbolic link %s leaves the directory of flameox.hcl; copy what it points to into the project, or leave it out with \"!%s\" in sources", f, f)}
}

// glob is what one clean pattern matches without what excludes match.
func (r *Resolver) glob(pattern string, excludes []string) *globResult {
	key := strings.Join(append([]string{pattern}, excludes...), "\x00")
	if g, ok := r.globs[key]; ok {
		return g
	}
	g := r.globFresh(pattern, excludes)
	r.globs[key] = g
	return g
}

func (r *Resolver) globFresh(pattern string, excludes []string) *globResult {
	if !strings.ContainsAny(pattern, meta) {
		return r.literal(pattern)
	}
	w := walker{r: r, seen: map[string]bool{}, excludes: excludes}
	for _, p := range alternatives(pattern) {
		w.match(".", strings.Split(p, "/"))
	}
	switch {
	case w.err != nil:
		return &globResult{err: w.err}
	case len(w.files) == 0 && w.folders > 0:
		return &globResult{err: &Error{Problem: fmt.Sprintf("matches directories but no file; write %q for the files below them", pattern+"/**")}}
	case len(w.files) == 0 && w.dropped > 0:
		return &globResult{err: &Error{Problem: "matches only files that a pattern with ! takes away"}}
	case len(w.files) == 0:
		return &globResult{err: &Error{Problem: "matches no file" + r.nearest(pattern)}}
	}
	slices.Sort(w.files)
	return &globResult{files: slices.Compact(w.files)}
}

// meta are the characters that make a pattern of a name.
const meta = `*?[{\`

// literal is a pattern that names one file.
func (r *Resolver) literal(name string) *globResult {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if hidden(part) {
			return &globResult{err: &Error{Problem: "is inside " + part + ", which is never a source"}}
		}
	}
	// A directory on the way may be a link that leaves the root.
	for at := path.Dir(name); at != "."; at = path.Dir(at) {
		if k, _ := r.kindOf(at); k == outside {
			return &globResult{err: leaves(at)}
		}
	}
	k, err := r.kindOf(name)
	switch {
	case err != nil:
		return &globResult{err: err}
	case k == regular:
		return &globResult{files: []string{name}}
	case k == folder || k == loopback:
		return &globResult{err: &Error{Problem: fmt.Sprintf("is a directory; write %q for the files below it", path.Join(name, "**"))}}
	case k == outside:
		return &globResult{err: leaves(name)}
	case k == special:
		return &globResult{err: &Error{Problem: "is neither a file nor a directory"}}
	}
	return &globResult{err: &Error{Problem: "matches no file" + r.nearest(name)}}
}

// nearest says which directory of a pattern is missing, so that the person sees where the mistake is.
func (r *Resolver) nearest(pattern string) string {
	at := "."
	for part := range strings.SplitSeq(path.Dir(pattern), "/") {
		if strings.ContainsAny(part, meta) {
			break
		}
		next := path.Join(at, part)
		if k, _ := r.kindOf(next); k == missing {
			return fmt.Sprintf(": there is no %s in %s", part, filepath.Join(r.root, filepath.FromSlash(at)))
		}
		at = next
	}
	return ""
}

// walker matches patterns part by part, entering only directories that can hold a match.
type walker struct {
	r       *Resolver
	seen    map[string]bool // directory and remaining pattern, visited
	stack   []string        // targets of the links that were followed to get here
	files   []string
	folders int // directories that matched as a whole
	dropped int // what matched and was excluded
	err     error

	excludes []string
}

func (w *walker) match(at string, parts []string) {
	if w.err != nil {
		return
	}
	state := at + "\x00" + strings.Join(parts, "/")
	if w.seen[state] {
		return
	}
	w.seen[state] = true
	part, rest := parts[0], parts[1:]
	if part == "**" && len(rest) > 0 {
		w.match(at, rest)
	}
	d := w.r.read(at)
	if d.err != nil {
		w.err = d.err
		return
	}
	if !strings.ContainsAny(part, meta) {
		w.one(at, entry{part, d.find(part)}, part, rest)
		return
	}
	for _, e := range d.entries {
		if w.err != nil {
			return
		}
		if part == "**" || matchName(part, e.name) {
			w.one(at, e, part, rest)
		}
	}
}

// one goes on with the entry e of the directory at, which part matches.
func (w *walker) one(at string, e entry, part string, rest []string) {
	if e.kind == missing || hidden(e.name) {
		return
	}
	name := e.name
	if at != "." {
		name = at + "/" + e.name
	}
	if len(w.excludes) > 0 && matchesAny(w.excludes, name) {
		w.dropped++
		return
	}
	last := len(rest) == 0
	switch e.kind {
	case regular:
		if last && !own(name) {
			w.add(name)
		}
	case outside:
		// On the way to something else a link that leaves is no input, unless it is named.
		if last || part != "**" && !strings.ContainsAny(part, meta) {
			w.err = leaves(name)
		}
	case folder:
		switch {
		case part == "**":
			w.enter(name, append([]string{part}, rest...))
		case last:
			w.folders++
		default:
			w.enter(name, rest)
		}
	}
}

// enter goes on in a directory. Two directories with links to each other would never end: no link's target is entered twice
// on one way.
func (w *walker) enter(name string, parts []string) {
	l, isLink := w.r.links[name]
	if !isLink {
		w.match(name, parts)
		return
	}
	if slices.Contains(w.stack, l.target) {
		return
	}
	w.stack = append(w.stack, l.target)
	w.match(name, parts)
	w.stack = w.stack[:len(w.stack)-1]
}

func (w *walker) add(f string) {
	if len(w.files) == maxFiles || len(w.seen) > maxFiles {
		w.err = fmt.Errorf("sources match more than %d files below %s: narrow the patterns, or take directories out with patterns that begin with \"!\"", maxFiles, w.r.root)
		return
	}
	w.files = append(w.files, f)
}

func matchName(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok && !strings.ContainsAny(suffix, meta) {
		return strings.HasSuffix(name, suffix)
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

// alternatives expands the first {a/b,c} that has a slash inside, because only those cannot be matched part by part.
func alternatives(pattern string) []string {
	depth, open := 0, -1
	var commas []int
	slash := false
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, commas, slash = i, nil, false
			}
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '/':
			slash = slash || depth > 0
		case '}':
			depth--
			if depth != 0 || !slash {
				continue
			}
			var out []string
			from := open + 1
			for _, c := range append(commas, i) {
				// An inner alternative may be empty or need cleaning: "a{,/b}".
				out = append(out, alternatives(path.Clean(pattern[:open]+pattern[from:c]+pattern[i+1:]))...)
				from = c + 1
			}
			return out
		}
	}
	return []string{pattern}
}
