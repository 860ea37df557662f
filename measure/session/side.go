package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/runner"
	"github.com/flameox/flameox/measure/source"
	"github.com/flameox/flameox/measure/target"
)

// Side is a target that is there, with everything an order says of it.
type Side struct {
	Name     string // baseline, contender; target where there is one
	Argument string
	// Identity is what was found before anything ran; results have what was found when they were measured.
	Identity source.Identity

	target    map[string]any
	benchmark map[string]any
	labels    map[string]any
	uri       string // of the source, as identities compare it
}

// Path is the target's, absolute.
func (s *Side) Path() string { path, _ := s.target["path"].(string); return path }

// Host is what a session works with beside its settings.
type Host struct {
	Broker   *broker.Broker
	Environ  []string
	Dir      string   // what relative targets start from
	Exclude  []string // absolute paths that are no part of a measured tree, beside the results: the store
	Provider target.Provider
	Version  string // of the program, recorded in results
	Log      func(format string, args ...any)
	// Alone waits until nothing else is measured on the machine, and keeps others waiting until it is released; nil where that does not matter.
	Alone func(ctx context.Context) (release func(), err error)
	Done  func(side *Side, d runner.Done) // after every case; nil where nobody listens
	// Deliver takes what an order left to the store; nil where files are all that is wanted. An error stops the session.
	Deliver func(ctx context.Context, ran *runner.Ran) error
}

func (s *Settings) options(h *Host, done func(runner.Done)) runner.Options {
	return runner.Options{Broker: h.Broker, Environ: h.Environ, AllowCollectors: true, Root: s.Config.Root, Exclude: s.excluded(h), Version: h.Version, Progress: done}
}

// excluded are the paths that a run writes, so that a run's own output makes no tree dirty.
func (s *Settings) excluded(h *Host) []string {
	return append([]string{s.Config.ResultsPath(), s.Out}, h.Exclude...)
}

// Side finds a target and says what it is. Nothing is measured.
func (s *Settings) Side(ctx context.Context, h *Host, text, name string) (*Side, error) {
	a, err := target.Parse(text, s.Harness.TargetKind, h.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	op := target.Prepare
	if s.NoBuild {
		op = target.Describe
	}
	spoken := "the " + name
	found, err := h.Provider.Resolve(ctx, op, a, s.Harness.TargetKind, spoken)
	if err != nil {
		return nil, err
	}
	side := &Side{Name: name, Argument: text, target: found.Target, labels: found.Labels}
	checkout, err := checkout(found)
	if err != nil {
		return nil, err
	}
	if side.Identity, err = source.Identify(ctx, checkout, s.excluded(h)...); err != nil {
		return nil, fmt.Errorf("%s, %s, cannot be identified: %w", text, spoken, err)
	}
	if err := s.source(side, h.Dir); err != nil {
		return nil, err
	}
	return side, s.outside(ctx, side)
}

// checkout is where the source of a target lies.
func checkout(r *target.Resolved) (string, error) {
	if dir := r.SourceDir(); dir != "" {
		return dir, nil
	}
	if r.Kind() != target.Build {
		return r.Path(), nil
	}
	cmake, err := facts.ReadCMake(r.Path())
	switch {
	case err != nil:
		return "", err
	case cmake.Home == "":
		return "", fmt.Errorf("the build directory %s does not say which checkout it was built from: give it as BUILD_DIR:SOURCE_DIR", r.Path())
	}
	if info, err := os.Stat(cmake.Home); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the build directory %s was built from %s, which is no folder any more: give the checkout as BUILD_DIR:SOURCE_DIR", r.Path(), cmake.Home)
	}
	return cmake.Home, nil
}

// source settles the address of the source: as the command says it, as the description does, as the project does, and else as the checkout itself does.
func (s *Settings) source(side *Side, dir string) error {
	described, _ := document.At(side.target, "source", "uri").(string)
	kind, _ := document.At(side.target, "source", "type").(string)
	if kind == "" {
		kind = side.Identity.Type
	}
	uri := side.Identity.URI
	switch {
	case s.SourceURI != "":
		uri = document.SourceURI(s.SourceURI, dir)
	case described != "":
		uri = document.SourceURI(described, side.Path())
	case s.Config.Source.URI != "":
		uri = document.SourceURI(s.Config.Source.URI, s.Config.Root)
	}
	if uri == "" {
		return fmt.Errorf("%s, the %s, has a source without an address: give it with --source-uri URI, or as source.uri in the project's file", side.Argument, side.Name)
	}
	for other, known := range s.Config.Source.Aliases {
		if document.IdentityURI(document.SourceURI(other, s.Config.Root)) == document.IdentityURI(uri) {
			uri = document.SourceURI(known, s.Config.Root)
			break
		}
	}
	side.target = maps.Clone(side.target)
	side.target["source"] = map[string]any{"uri": uri, "type": kind}
	side.uri = document.IdentityURI(uri)
	return nil
}

// outside names the benchmark's own source where the suite is a file that lies outside the measured checkout.
func (s *Settings) outside(ctx context.Context, side *Side) error {
	if !s.Harness.SuiteIsFile {
		return nil
	}
	path := s.Suite.Value
	if !filepath.IsAbs(path) {
		path = filepath.Join(side.Path(), filepath.FromSlash(path))
	}
	inside, err := within(path, side.Identity.Root)
	if err != nil || inside {
		return nil // the runner says what is wrong with a suite that is not there
	}
	id, err := source.File(ctx, path)
	if err != nil {
		return err
	}
	if id.Revision == "" {
		return nil // an order names a revision; the runner finds out the rest
	}
	side.benchmark = map[string]any{"source": map[string]any{"uri": id.URI, "type": id.Type}, "revision": id.Revision}
	return nil
}

func within(path, root string) (bool, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return false, err
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel), err
}

// label adds a label that tells the side apart.
func (s *Side) label(name, value string) {
	s.labels = maps.Clone(s.labels)
	if s.labels == nil {
		s.labels = map[string]any{}
	}
	s.labels[name] = value
}

// Labels reads NAME=VALUE flags.
func Labels(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range flags {
		name, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) == "" || strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("--label %s is not NAME=VALUE", text)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("--label gives %s twice", name)
		}
		out[name] = value
	}
	return out, nil
}

// TwoValues reads NAME=BASE,CONTENDER, the label of a comparison of environments.
func TwoValues(flag string) (name, baseline, contender string, err error) {
	name, values, ok := strings.Cut(flag, "=")
	list := strings.Split(values, ",")
	switch {
	case !ok || strings.TrimSpace(name) == "" || len(list) != 2 || strings.TrimSpace(list[0]) == "" || strings.TrimSpace(list[1]) == "":
		return "", "", "", fmt.Errorf("--label %s is not NAME=BASE,CONTENDER: one name, and exactly two values that are not empty", flag)
	case list[0] == list[1]:
		return "", "", "", fmt.Errorf("--label %s gives both sides the value %s, which tells them apart by nothing", flag, list[0])
	}
	return name, list[0], list[1], nil
}

// Module reads MODULE.py: the checkout that the module lies in, or the given tree, or its folder; and its path in there.
func Module(module, tree, dir string) (root, suite string, err error) {
	path := module
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", "", fmt.Errorf("there is no module %s", path)
	case err != nil:
		return "", "", fmt.Errorf("the module %s cannot be read: %w", path, err)
	case !info.Mode().IsRegular():
		return "", "", fmt.Errorf("%s is no file; to measure a tree, say which suite in it with --suite", path)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", "", err
	}
	root = filepath.Dir(path)
	switch {
	case tree != "":
		root = tree
		if !filepath.IsAbs(root) {
			root = filepath.Join(dir, root)
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return "", "", fmt.Errorf("--tree %s is no folder", tree)
		}
		if root, err = filepath.EvalSymlinks(root); err != nil {
			return "", "", err
		}
	default:
		repo, err := git.Find(root)
		if err == nil {
			root = repo.Root
		} else if !errors.Is(err, git.ErrNotRepository) {
			return "", "", fmt.Errorf("find the checkout of %s: %w", module, err)
		}
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return root, path, nil // a module outside the tree that it measures
	}
	return root, filepath.ToSlash(rel), nil
}
