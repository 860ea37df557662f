package node

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/environment/managed"
)

// What the stage leaves.
const (
	packagesName = "packages"
	logName      = "stdout"
	treeRole     = "tree"
)

// Actions is one action: fetch what is locked, and build the environment of it.
func (e *Environment) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	d, err := e.Describe(ctx, in)
	if err != nil {
		return nil, err
	}
	return []*graph.Action{{
		Manifest: d.Manifest,
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			return e.make(ctx, t, d)
		},
	}}, nil
}

func (e *Environment) make(ctx context.Context, t *graph.Task, d *managed.Description) (*cache.Record, error) {
	what := d.Value.(*description)
	rec := &cache.Record{
		Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Dir: e.dir(),
		Producer: "node " + what.node.Version,
	}
	w, err := e.workshop(t, what.node)
	if err == nil {
		var root digest.Digest
		if root, err = e.fetch(ctx, w, what, rec); err == nil {
			_, err = e.place(ctx, t, d, w, root)
		}
		text := w.written()
		if sum, perr := t.Batch.PutBytes(text); perr != nil {
			return nil, fmt.Errorf("keep what was said while the environment was built: %w", perr)
		} else if len(text) > 0 {
			rec.Outputs = append(rec.Outputs, cache.Output{Name: logName, Role: logName, MediaType: "text/plain; charset=utf-8", Digest: sum, Size: int64(len(text))})
		}
	}
	if err == nil && !e.o.Scripts {
		rec.Limitations = append(rec.Limitations, unrun(what.lock)...)
	}
	var failed *managed.StepError
	switch {
	case err == nil:
		return rec, nil
	case ctx.Err() != nil:
		rec.Execution = cache.ExecutionCancelled
		return rec.Fail("cancelled", "flameox was interrupted and ended it"), nil
	case errors.As(err, &failed):
		rec.Execution, rec.Capture = cache.ExecutionFailed, cache.CaptureFailed
		return rec.Fail("environment", failed.Error()), nil
	}
	return nil, err
}

// unrun says which packages have scripts that did not run: what they would have made is missing.
func unrun(l *Lock) []cache.Note {
	var with []string
	for i := range l.Packages {
		if l.Packages[i].Installs {
			with = append(with, l.Packages[i].Name())
		}
	}
	if len(with) == 0 {
		return nil
	}
	return []cache.Note{{Code: "scripts_not_run", Text: "the lifecycle scripts of " + strings.Join(with, ", ") + " did not run; scripts = true runs them"}}
}

// fetch brings the locked tarballs into the store: the only step that may use a network. npm fetches what this platform needs.
func (e *Environment) fetch(ctx context.Context, w *workshop, d *description, rec *cache.Record) (root digest.Digest, err error) {
	if len(d.lock.Packages) == 0 {
		return root, nil
	}
	dir, store := filepath.Join(w.dir, "fetch"), filepath.Join(w.dir, "fetched")
	if err := write(dir, d.lock); err != nil {
		return root, err
	}
	// The project's own settings say where registries are; which of its scopes are whose matters for fetching alone.
	if rc, err := os.ReadFile(filepath.Join(filepath.Dir(e.file(e.o.From)), ".npmrc")); err == nil {
		if err := os.WriteFile(filepath.Join(dir, ".npmrc"), rc, 0o600); err != nil {
			return root, fmt.Errorf("write the settings for npm: %w", err)
		}
	}
	args := []string{"ci", "--ignore-scripts", "--cache", store}
	vars := e.reach()
	for _, v := range managed.Variables(vars) {
		rec.Env = append(rec.Env, shown(v))
	}
	rec.Argv = append([]string{w.node, w.npm}, args...)
	res, err := w.run(ctx, "fetch the packages", dir, args, vars)
	if res != nil && res.Signal == "" {
		rec.Exit = &res.Exit
	}
	if err != nil {
		return root, err
	}
	root, size, err := keep(w.t, store, d.lock)
	if err != nil {
		return root, err
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: packagesName, Role: treeRole, Digest: root, Size: size, Tree: true})
	return root, w.t.Flush() // building reads them from the store, as every later building will
}

// write writes what npm installs from into an empty folder.
func write(dir string, l *Lock) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), l.Manifest(), 0o644)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package-lock.json"), l.source, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the lock for npm: %w", err)
	}
	return nil
}

// content is where npm's cache has the bytes of a SHA-512.
func content(store, sum string) string {
	return filepath.Join(store, "_cacache", "content-v2", "sha512", sum[:2], sum[2:4], sum[4:])
}

// keep takes the tarballs out of npm's cache into the store, each checked by the lock's hash.
func keep(t *graph.Task, store string, l *Lock) (root digest.Digest, size int64, err error) {
	var tree []cas.File
	seen := map[string]bool{}
	for i := range l.Packages {
		p := &l.Packages[i]
		if p.SHA512 == "" || seen[p.SHA512] {
			continue
		}
		seen[p.SHA512] = true
		f, err := os.Open(content(store, p.SHA512))
		if errors.Is(err, fs.ErrNotExist) && p.Optional {
			continue
		}
		if err != nil {
			return root, 0, &managed.StepError{What: "keep the packages", Detail: fmt.Sprintf("npm did not fetch %s %s", p.Name(), p.Version)}
		}
		h := sha512.New()
		sum, n, err := t.Batch.Put(io.TeeReader(f, h))
		f.Close()
		if err != nil {
			return root, 0, fmt.Errorf("keep the package %s: %w", p.Name(), err)
		}
		if hex.EncodeToString(h.Sum(nil)) != p.SHA512 {
			return root, 0, &managed.StepError{What: "keep the packages", Detail: fmt.Sprintf("%s %s has a hash that is not locked", p.Name(), p.Version)}
		}
		name := strings.ReplaceAll(strings.TrimPrefix(p.Name(), "@"), "/", "+")
		tree = append(tree, cas.File{Path: fmt.Sprintf("%s-%s-%s.tgz", name, strings.ReplaceAll(p.Version, "/", "+"), p.SHA512[:12]), Digest: sum, Size: n})
		size += n
	}
	if root, err = t.Batch.PutTree(tree); err != nil {
		return root, 0, fmt.Errorf("keep the packages: %w", err)
	}
	return root, size, nil
}
