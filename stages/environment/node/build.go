package node

import (
	"bytes"
	"context"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/environment/managed"
)

// preload and hooks let import find what require finds through NODE_PATH, where nothing nearer has it.
var (
	//go:embed flameox-preload.mjs
	preload string
	//go:embed flameox-hooks.mjs
	hooks string
)

// The names of the two in the environment.
const (
	preloadName = "flameox-preload.mjs"
	hooksName   = "flameox-hooks.mjs"
)

// Ready makes sure that the environment stands: its manifest is compared once in the life of this process. What is missing is built from the
// tarballs in the store, without a network.
func (e *Environment) Ready(ctx context.Context, t *graph.Task, d *managed.Description) (*managed.Place, error) {
	what := d.Value.(*description)
	w, err := e.workshop(t, what.node)
	if err != nil {
		return nil, err
	}
	var root digest.Digest
	if len(what.lock.Packages) > 0 {
		if root, err = e.packages(t, d); err != nil {
			return nil, err
		}
	}
	return e.place(ctx, t, d, w, root)
}

// packages is the tree that the newest valid run of the stage left.
func (e *Environment) packages(t *graph.Task, d *managed.Description) (none digest.Digest, err error) {
	if d, ok := managed.Kept(t, d.Manifest.Key(), packagesName); ok {
		return d, nil
	}
	return none, &managed.StepError{What: "build " + e.Address, Detail: "its packages are not in the store; run it first: flameox apply -target=" + e.Address}
}

// place makes the environment stand and says where.
func (e *Environment) place(ctx context.Context, t *graph.Task, d *managed.Description, w *workshop, root digest.Digest) (*managed.Place, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := d.Manifest.Key()
	if p := e.ready[key]; p != nil {
		return p, nil
	}
	site := &managed.Site{Store: t.Store, Kind: language, Key: key}
	what := d.Value.(*description)
	damaged, err := site.Ensure(ctx, func(dir string) error { return e.build(ctx, t, w, what, root, dir) })
	if err != nil {
		return nil, err
	}
	dir := site.Dir()
	p := &managed.Place{Dir: dir, Bin: filepath.Join(dir, "bin"), Programs: map[string]string{}, Scripts: map[string]string{}}
	p.Env = map[string]string{"NODE_PATH": filepath.Join(dir, "node_modules")}
	if e.o.ESM {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, preloadName))}
		p.Env["NODE_OPTIONS"] = "--import=" + u.String()
	}
	p.Programs["node"] = filepath.Join(p.Bin, "node")
	for name, file := range what.lock.Programs() {
		if name == "node" {
			continue
		}
		script := filepath.Join(dir, filepath.FromSlash(file))
		p.Programs[name] = p.Programs["node"]
		if p.Scripts[name] = script; !isScript(script) {
			delete(p.Scripts, name)
			p.Programs[name] = script + " (which is no program of Node)" // no such file: who starts it is told
		}
	}
	if near := e.nearer(); near != "" {
		p.Notes = append(p.Notes, cache.Note{Code: "node_modules_nearer", Text: fmt.Sprintf("%s is searched before the packages of %s, and what it has is no part of the key", near, e.Address)})
	}
	settled := *p
	e.ready[key] = &settled // the note below belongs to the first user
	if damaged != "" {
		p.Notes = append([]cache.Note{{Code: "environment_rebuilt", Text: fmt.Sprintf("the environment %s was damaged (%s) and was built again from the store before this run", e.Address, damaged)}}, p.Notes...)
	}
	return p, nil
}

// nearer is a node_modules folder that Node searches before NODE_PATH for the project's own files, or "".
func (e *Environment) nearer() string {
	for dir := e.dir(); ; dir = filepath.Dir(dir) {
		if found, err := os.ReadDir(filepath.Join(dir, "node_modules")); err == nil && len(found) > 0 {
			return filepath.Join(dir, "node_modules")
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// isScript says whether Node runs the file: it says so itself, or says nothing and is no binary.
func isScript(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 128)
	n, _ := io.ReadFull(f, head)
	head, _, _ = bytes.Cut(head[:n], []byte("\n"))
	if bytes.HasPrefix(head, []byte("#!")) {
		return bytes.Contains(head, []byte("node"))
	}
	return !bytes.ContainsRune(head, 0)
}

// build fills an empty folder, offline.
func (e *Environment) build(ctx context.Context, t *graph.Task, w *workshop, d *description, root digest.Digest, dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return fmt.Errorf("make the folder of programs: %w", err)
	}
	if err := os.Symlink(d.node.Path, filepath.Join(dir, "bin", "node")); err != nil {
		return fmt.Errorf("link the interpreter: %w", err)
	}
	if e.o.ESM {
		for name, text := range map[string]string{preloadName: preload, hooksName: hooks} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return fmt.Errorf("write the hook of import: %w", err)
			}
		}
	}
	if len(d.lock.Packages) == 0 {
		return nil
	}
	store := filepath.Join(w.dir, "cache")
	if err := fill(t, root, store); err != nil {
		return err
	}
	if err := write(dir, d.lock); err != nil {
		return err
	}
	args := []string{"ci", "--offline", "--cache", store}
	if !e.o.Scripts {
		args = append(args, "--ignore-scripts")
	}
	_, err := w.run(ctx, "install the packages", dir, args, nil)
	return err
}

// fill makes a cache of npm that has the tarballs of the tree under their hashes, and nothing else.
func fill(t *graph.Task, root digest.Digest, store string) error {
	files, err := t.Store.CAS.ReadTree(root)
	if err != nil {
		return fmt.Errorf("read the list of packages: %w", err)
	}
	for _, f := range files {
		b, err := t.Store.CAS.ReadAll(f.Digest)
		if err != nil {
			return fmt.Errorf("read the package %s: %w", f.Path, err)
		}
		sum := sha512.Sum512(b)
		to := content(store, hex.EncodeToString(sum[:]))
		if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
			err = os.WriteFile(to, b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("lay out the package %s: %w", f.Path, err)
		}
	}
	return nil
}
