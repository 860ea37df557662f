package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kinds of targets, as orders have them.
const (
	Build       = "build"
	WorkingTree = "working_tree"
	Artifact    = "artifact"
)

// Workspace is the source reference that means the provider's own checkout as it is.
const Workspace = "WORKSPACE"

// Argument is how a command names a target: a path that a harness reads, or a configuration that the provider knows.
type Argument struct {
	Text string // as it was typed
	// Path is absolute, and "" where the provider is to be asked. SourceDir is the checkout that a build directory was made of, where it was given.
	Path, SourceDir string
	// Configuration and SourceRef are what the provider is asked for.
	Configuration, SourceRef string
}

// Provided says that the target's provider has to be asked.
func (a Argument) Provided() bool { return a.Configuration != "" }

// Parse reads an argument: @CONFIG[=SOURCE_REF], and otherwise a path relative to dir, which for builds may be BUILD_DIR:SOURCE_DIR. Nothing is looked for but to tell a colon of a
// name from the one between two names.
func Parse(text, kind, dir string) (Argument, error) {
	a := Argument{Text: text}
	if rest, ok := strings.CutPrefix(text, "@"); ok {
		name, ref, given := strings.Cut(rest, "=")
		switch {
		case name == "":
			return a, errors.New("the target " + text + " names no configuration: write @NAME, or @NAME=SOURCE_REF")
		case given && ref == "":
			return a, fmt.Errorf("the target %s has an empty source reference: write @%s for the provider's own checkout, or @%s=SOURCE_REF", text, name, name)
		case !given:
			ref = Workspace
		}
		a.Configuration, a.SourceRef = name, ref
		return a, nil
	}
	if strings.TrimSpace(text) == "" {
		return a, errors.New("the target is empty: give the path of a target, or @NAME for one that the provider knows")
	}
	build, source := text, ""
	if kind == Build {
		build, source = split(text, dir)
		if build == "" || source == "" && strings.HasSuffix(text, ":") && build != text {
			return a, fmt.Errorf("the target %s lacks a side of its colon: write BUILD_DIR or BUILD_DIR:SOURCE_DIR", text)
		}
	}
	a.Path = absolute(build, dir)
	if source != "" {
		a.SourceDir = absolute(source, dir)
	}
	return a, nil
}

// split parts BUILD_DIR:SOURCE_DIR. A folder's own name may have a colon, and a drive does; so the build directory is the shortest part that is a folder, and the whole where all of it is one.
func split(text, dir string) (build, source string) {
	if isDir(absolute(text, dir)) {
		return text, ""
	}
	first := -1
	for i := range len(text) {
		if text[i] != ':' || drive(text, i) {
			continue
		}
		if first < 0 {
			first = i
		}
		if i > 0 && isDir(absolute(text[:i], dir)) {
			return text[:i], text[i+1:]
		}
	}
	if first < 0 {
		return text, ""
	}
	return text[:first], text[first+1:]
}

// drive says that the colon is that of a drive, as in C:\src: one letter before it that begins a path, and a backslash after it.
func drive(text string, colon int) bool {
	if colon == 0 || colon+1 >= len(text) || text[colon+1] != '\\' {
		return false
	}
	c := text[colon-1] | 0x20
	return c >= 'a' && c <= 'z' && (colon == 1 || text[colon-2] == ':')
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
