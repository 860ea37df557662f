package starter

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Starter is a first configuration and what it was made for.
type Starter struct {
	What   string // "a Go module with 3 benchmarks in 2 packages"
	Config []byte // in the usual form
}

// The bounds of the walk. A folder that holds more is looked at as far as they go.
const (
	maxEntries = 20_000
	maxDepth   = 8
	maxRead    = 4 << 20 // of one file
)

// skipped are folders that hold somebody else's code, or what was made.
var skipped = []string{"vendor", "node_modules", "__pycache__", "venv", "site-packages", "third_party"}

// tree is the regular files of a folder.
type tree struct {
	fsys  fs.FS
	files []file // sorted by path
}

type file struct {
	path string // with slashes
	exec bool
}

// Look makes the first configuration of a folder.
func Look(dir string) (*Starter, error) {
	root, err := os.OpenRoot(dir) // what it opens cannot lie outside
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", dir, err)
	}
	defer root.Close()
	t := &tree{fsys: root.FS()}
	left := maxEntries
	if err := t.walk(".", 0, &left); err != nil {
		return nil, fmt.Errorf("look at %s: %w", dir, err)
	}
	for _, try := range []func(*tree) *Starter{goModule, pythonProject, cmakeProject, makeProject, executable} {
		if s := try(t); s != nil {
			return s, nil
		}
	}
	return nothing(), nil
}

func (t *tree) walk(dir string, depth int, left *int) error {
	entries, err := fs.ReadDir(t.fsys, dir)
	if err != nil {
		if dir == "." {
			return err
		}
		return nil // a folder that cannot be read is none of ours
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return nil
		}
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if depth < maxDepth && !slices.Contains(skipped, e.Name()) {
				if err := t.walk(name, depth+1, left); err != nil {
					return err
				}
			}
		case e.Type().IsRegular():
			info, err := e.Info()
			t.files = append(t.files, file{name, err == nil && info.Mode().Perm()&0o111 != 0})
		}
	}
	return nil
}

func (t *tree) has(name string) bool {
	return slices.ContainsFunc(t.files, func(f file) bool { return f.path == name })
}

// read is the text of a file; "" where it cannot be read or is too large to be source.
func (t *tree) read(name string) string {
	info, err := fs.Stat(t.fsys, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRead {
		return ""
	}
	b, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return ""
	}
	return string(b)
}

// below are the files below a folder, or in it.
func (t *tree) below(dir string) []file {
	if dir == "." {
		return t.files
	}
	var out []file
	for _, f := range t.files {
		if strings.HasPrefix(f.path, dir+"/") {
			out = append(out, f)
		}
	}
	return out
}
