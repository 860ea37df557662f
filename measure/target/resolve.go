package target

import (
	"context"
	"fmt"
	"maps"
	"os"
)

// Resolved is a target that is there.
type Resolved struct {
	Argument Argument
	Target   map[string]any // as an order holds it; without source where nothing described it
	Labels   map[string]any // that its description declares
	// Description is what a provider or the build directory said, nil where nothing did.
	Description Description
}

// Kind is the target's.
func (r *Resolved) Kind() string { kind, _ := r.Target["kind"].(string); return kind }

// Path is the target's, absolute.
func (r *Resolved) Path() string { path, _ := r.Target["path"].(string); return path }

// SourceDir is the checkout as the target names it, "" where it does not.
func (r *Resolved) SourceDir() string { dir, _ := r.Target["source_dir"].(string); return dir }

// Resolve finds the target of an argument: it asks the provider, or reads the path as a target of the kind. side names it in errors.
func (p Provider) Resolve(ctx context.Context, op Operation, a Argument, kind, side string) (*Resolved, error) {
	r := &Resolved{Argument: a}
	var err error
	switch {
	case a.Provided():
		if r.Description, err = p.Ask(ctx, op, a, side); err != nil {
			return nil, err
		}
		if got := r.Description.Kind(); got != kind {
			return nil, fmt.Errorf("the target provider described @%s, %s, as a target of the kind %s, and the harness measures the kind %s", a.Configuration, side, got, kind)
		}
	case !isDir(a.Path):
		return nil, fmt.Errorf("%s, %s, is no folder%s: build it first, and give its path", a.Path, side, absent(a.Path))
	case kind == Build:
		if r.Description, err = ReadSidecar(a.Path); err != nil {
			return nil, err
		}
	}
	if r.Description != nil {
		r.Target, r.Labels = r.Description.Target(), maps.Clone(r.Description.Labels())
		if path := r.Path(); !isDir(path) {
			return nil, fmt.Errorf("%s, %s, is described as %s, which is no folder%s", a.Text, side, path, absent(path))
		}
	} else {
		r.Target = map[string]any{"kind": kind, "path": a.Path}
	}
	if a.SourceDir != "" {
		r.Target["source_dir"] = a.SourceDir
	}
	if dir := r.SourceDir(); dir != "" && !isDir(dir) {
		return nil, fmt.Errorf("%s, the source directory of %s, %s, is no folder%s", dir, a.Text, side, absent(dir))
	}
	return r, nil
}

func absent(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return ", it does not exist"
	}
	return ""
}
