package target

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/measure/document"
)

// Sidecar is the file in which a build directory says what it is.
const Sidecar = ".benchx-target.json"

// Description is benchx/target-description/0.1.0.
type Description map[string]any

// Target is that of an order, with the declared text in it.
func (d Description) Target() map[string]any {
	inner, _ := d["target"].(map[string]any)
	out := maps.Clone(inner)
	for _, name := range []string{"how_built", "activation", "shell", "provider"} {
		if v, ok := d[name]; ok {
			out[name] = v
		}
	}
	return out
}

// Kind is the target's.
func (d Description) Kind() string {
	kind, _ := document.At(map[string]any(d), "target", "kind").(string)
	return kind
}

// Labels are those that results carry; an order's own win.
func (d Description) Labels() map[string]any {
	labels, _ := d["labels"].(map[string]any)
	return labels
}

// check reads a description from whoever is said to have written it.
func check(text []byte, whose string) (Description, error) {
	doc, err := document.Read(document.DescriptionKind, text)
	if err != nil {
		return nil, fmt.Errorf("what %s is not a target description: %w", whose, err)
	}
	if _, ok := doc["build"]; ok {
		return nil, fmt.Errorf("what %s has the member build: a declared build is deferred; leave it out, and declare facts of the build in how_built", whose)
	}
	return doc, nil
}

// ReadSidecar reads what a build directory says of itself; nil where it says nothing.
func ReadSidecar(dir string) (Description, error) {
	file := filepath.Join(dir, Sidecar)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the build directory says of itself: %w", err)
	}
	d, err := check(text, file+" holds")
	if err != nil {
		return nil, err
	}
	if kind := d.Kind(); kind != Build {
		return nil, fmt.Errorf("%s describes a target of the kind %s, and it lies in a build directory: it must describe the kind build", file, kind)
	}
	path, _ := document.At(map[string]any(d), "target", "path").(string)
	if !same(path, dir) {
		return nil, fmt.Errorf("%s describes %s and not the directory that it lies in: the directory was moved or copied; build it again where it is, or delete the file", file, path)
	}
	return d, nil
}

// same says whether two paths are one folder.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
