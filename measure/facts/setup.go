package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/internal/ijson"
)

// SetupVariable names the file of declared facts where it is not .benchx/setup.json.
const SetupVariable = "BENCHX_SETUP_FILE"

// Setup are the facts that the owner of an environment declares, read from the file that the environment names, or else from .benchx/setup.json in the first of the folders that has one. Without any there are none, and
// that is no error.
func Setup(environ []string, folders ...string) (map[string]any, error) {
	var paths []string
	if p := Lookup(environ, SetupVariable); p != "" {
		paths = []string{p}
	} else {
		for _, f := range folders {
			paths = append(paths, filepath.Join(f, ".benchx", "setup.json"))
		}
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the declared facts: %w", err)
		}
		v, err := ijson.Object(text)
		if err != nil {
			return nil, fmt.Errorf("read the declared facts of %s: %w", p, err)
		}
		return v, nil
	}
	return nil, nil
}

// Missing is the first fact of want, as a path of names, that have does not hold with exactly that value; empty where it holds all. Whatever else it holds does not matter. Of two objects the members are compared in the
// same way.
func Missing(have, want map[string]any) []string {
	for _, name := range slices.Sorted(keys(want)) {
		value, there := have[name]
		if !there {
			return []string{name}
		}
		if inner, ok := want[name].(map[string]any); ok {
			object, isObject := value.(map[string]any)
			if !isObject {
				return []string{name}
			}
			if m := Missing(object, inner); len(m) > 0 {
				return append([]string{name}, m...)
			}
			continue
		}
		if !equal(value, want[name]) {
			return []string{name}
		}
	}
	return nil
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// equal says whether two values have one canonical text: 1 and 1.0 have, 1 and "1" have not.
func equal(a, b any) bool {
	x, err := ijson.Canonical(a)
	if err != nil {
		return false
	}
	y, err := ijson.Canonical(b)
	return err == nil && string(x) == string(y)
}

// sources are the ends of files that a program is built from.
var sources = []string{".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc", ".s", ".asm", ".cu", ".cuh", ".f", ".f90", ".m", ".mm", ".rs", ".go", ".cmake", "CMakeLists.txt", "meson.build"}

// Newer is a source of the checkout that changed after the program was built, by the times of the files; "" where there is none, or that cannot be found out.
func Newer(ctx context.Context, checkout, program string) string {
	built, err := os.Stat(program)
	if err != nil {
		return ""
	}
	repo, err := git.Find(checkout)
	if err != nil {
		return ""
	}
	list, err := repo.List(ctx, repo.Root)
	if err != nil {
		return ""
	}
	newest, found := built.ModTime(), ""
	for _, name := range list.Files {
		if !slices.ContainsFunc(sources, func(end string) bool { return strings.HasSuffix(strings.ToLower(name), strings.ToLower(end)) }) {
			continue
		}
		path := filepath.Join(repo.Root, filepath.FromSlash(name))
		// What lies in the build directory is made by the build, and may be the last thing that it makes.
		if dir := filepath.Dir(program); !within(dir, repo.Root) && within(dir, path) {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(newest.Add(time.Second)) {
			newest, found = info.ModTime(), name
		}
	}
	return found
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
