package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Kind says what was read.
type Kind string

// The kinds of reads.
const (
	File Kind = "file" // a file's content; Name is its path
	Dir  Kind = "dir"  // a directory's listing; Name is its path
	Env  Kind = "env"  // an environment variable; Name is its name, whether it was set or not
	Git  Kind = "git"  // a revision that was resolved; Name is the revision as written
)

// Read is one thing outside of the configuration that was looked at.
type Read struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
}

// MaxFile is the size in bytes beyond which a file is refused.
const MaxFile = 16 << 20

// Reader reads below Root and records what it read. It is not safe for concurrent use.
type Reader struct {
	Root string // absolute; no path may leave it
	Dir  string // absolute, Root or below it; relative paths start here

	// Open and ReadDir replace the operating system's where they are not nil; they get absolute paths. Symbolic
	// links are confined to Root only by the operating system's.
	Open    func(path string) (fs.File, error)
	ReadDir func(path string) ([]fs.DirEntry, error)

	Environ map[string]string

	reads []Read
	seen  map[Read]bool
}

// Reads lists what was read so far, each once, in the order of the first time.
func (r *Reader) Reads() []Read { return slices.Clone(r.reads) }

// Record notes a read that somebody else made.
func (r *Reader) Record(kind Kind, name string) {
	read := Read{kind, name}
	if r.seen[read] {
		return
	}
	if r.seen == nil {
		r.seen = map[Read]bool{}
	}
	r.seen[read] = true
	r.reads = append(r.reads, read)
}

// Getenv is the value of an environment variable, and whether it is set.
func (r *Reader) Getenv(name string) (string, bool) {
	r.Record(Env, name)
	v, ok := r.Environ[name]
	return v, ok
}

// Resolve turns a path relative to Dir into one relative to Root, with slashes.
func (r *Reader) Resolve(p string) (string, error) {
	switch {
	case strings.ContainsRune(p, 0):
		return "", fmt.Errorf("path %q holds a NUL byte or a value that exists only when a stage runs", strings.ReplaceAll(p, "\x00", "␀"))
	case filepath.IsAbs(p) || strings.HasPrefix(p, "/"):
		return "", fmt.Errorf("path %q is absolute: write it relative to the directory of the configuration, so that it means the same on every machine", p)
	}
	base, err := filepath.Rel(r.Root, r.Dir)
	if err != nil {
		return "", fmt.Errorf("path %q: %s is not below the project root %s", p, r.Dir, r.Root)
	}
	rel := path.Join(filepath.ToSlash(base), filepath.ToSlash(p))
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("path %q leaves the project root: only files below it can be used", p)
	}
	return rel, nil
}

// ReadFile reads a regular file below the root, of at most MaxFile bytes. The path is relative to Dir.
func (r *Reader) ReadFile(p string) ([]byte, error) {
	f, err := r.OpenFile(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, p)
}

// OpenFile opens a regular file below the root. The path is relative to Dir.
func (r *Reader) OpenFile(p string) (fs.File, error) {
	rel, err := r.Resolve(p)
	if err != nil {
		return nil, err
	}
	abs := filepath.Join(r.Root, filepath.FromSlash(rel))
	r.Record(File, abs)
	if r.Open != nil {
		f, err := r.Open(abs)
		return f, explain(p, err)
	}
	f, err := openBelow(r.Root, rel)
	return f, explain(p, err)
}

// ReadOutside reads a file that was named on the command line, which may lie anywhere and be a pipe.
func (r *Reader) ReadOutside(p string) ([]byte, error) {
	r.Record(File, p)
	open := r.Open
	if open == nil {
		open = func(p string) (fs.File, error) { return os.Open(p) }
	}
	f, err := open(p)
	if err != nil {
		return nil, explain(p, err)
	}
	defer f.Close()
	return readAll(f, p)
}

// openBelow opens rel below root without ever leaving it, also not through a symbolic link.
func openBelow(root, rel string) (fs.File, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(info.Mode())
	}
	return dir.Open(rel)
}

func notRegular(m fs.FileMode) error {
	if m.IsDir() {
		return errors.New("it is a directory, not a file")
	}
	return errors.New("it is not a regular file")
}

func readAll(f fs.File, p string) ([]byte, error) {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > MaxFile {
		return nil, tooLarge(p, info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, explain(p, err)
	}
	if len(b) > MaxFile {
		return nil, tooLarge(p, int64(len(b)))
	}
	return b, nil
}

// ErrTooLarge is wrapped by errors about files of more than MaxFile bytes.
var ErrTooLarge = errors.New("the file is too large")

func tooLarge(p string, size int64) error {
	return fmt.Errorf("cannot read %q: %w: %d MiB or more, and the limit is %d MiB. Data belongs in a source of a workload, not in the configuration", p, ErrTooLarge, size>>20, MaxFile>>20)
}

// missing is fs.ErrNotExist with the path, and without the system's wording after ours.
type missing struct{ path string }

func (m missing) Error() string {
	return fmt.Sprintf("cannot read %q: there is no such file, or it is a link to one that is not there", m.path)
}

func (m missing) Unwrap() error { return fs.ErrNotExist }

// explain says which path could not be read and why, without the operating system's own wording of the path.
func explain(p string, err error) error {
	var pe *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return missing{p}
	case errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "escapes"):
		return fmt.Errorf("cannot read %q: a symbolic link in it leaves the project root", p)
	case errors.As(err, &pe):
		return fmt.Errorf("cannot read %q: %w", p, pe.Err)
	}
	return fmt.Errorf("cannot read %q: %w", p, err)
}

// List is the names in a directory below the root, sorted. The path is relative to Dir.
func (r *Reader) List(p string) ([]fs.DirEntry, error) {
	rel, err := r.Resolve(p)
	if err != nil {
		return nil, err
	}
	return r.list(rel, p)
}

func (r *Reader) list(rel, shown string) ([]fs.DirEntry, error) {
	abs := filepath.Join(r.Root, filepath.FromSlash(rel))
	r.Record(Dir, abs)
	if r.ReadDir != nil {
		entries, err := r.ReadDir(abs)
		return entries, explain(shown, err)
	}
	dir, err := os.OpenRoot(r.Root)
	if err != nil {
		return nil, explain(shown, err)
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), rel)
	return entries, explain(shown, err)
}

// Glob is the regular files below dir whose path relative to dir matches the pattern (*, ?, **, {a,b}, [a-z]),
// sorted, with slashes. Directories that are symbolic links are not entered.
func (r *Reader) Glob(dir, pattern string) ([]string, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, fmt.Errorf("pattern %q is malformed: a bracket or brace is not closed", pattern)
	}
	base, err := r.Resolve(dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(strings.Split(pattern, "/"), "..") || strings.HasPrefix(pattern, "/") {
		return nil, fmt.Errorf("pattern %q must stay below the directory it is used in", pattern)
	}
	var found []string
	// The walk is our own, not the library's, so that every directory that can change the answer is recorded.
	var walk func(rel, below string) error
	walk = func(rel, below string) error {
		entries, err := r.list(rel, rel)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(below, e.Name())
			switch {
			case e.IsDir():
				if !canMatchBelow(pattern, name) {
					continue
				}
				if err := walk(path.Join(rel, e.Name()), name); err != nil {
					return err
				}
			case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
				if ok, _ := doublestar.Match(pattern, name); ok {
					found = append(found, name)
				}
			}
		}
		return nil
	}
	if err := walk(base, ""); err != nil {
		return nil, err
	}
	slices.Sort(found)
	return found, nil
}

// canMatchBelow says whether a path below dir can match the pattern, so that a large tree beside the files is not walked.
// It may say yes too often: braces can hold slashes.
func canMatchBelow(pattern, dir string) bool {
	if strings.Contains(pattern, "{") {
		return true
	}
	parts, names := strings.Split(pattern, "/"), strings.Split(dir, "/")
	for i, n := range names {
		if i >= len(parts) {
			return false
		}
		if parts[i] == "**" {
			return true
		}
		if ok, _ := doublestar.Match(parts[i], n); !ok {
			return false
		}
	}
	return len(parts) > len(names)
}
