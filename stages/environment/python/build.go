package python

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/pylock"
	"github.com/flameox/flameox/stages/environment/managed"
)

// Ready makes sure that the environment stands: its manifest is compared once in the life of this process. What is missing is built from the
// wheels in the store, without a network.
func (e *Environment) Ready(ctx context.Context, t *graph.Task, d *managed.Description) (*managed.Place, error) {
	w, err := newWorkshop(t, e.search)
	if err != nil {
		return nil, err
	}
	var wheels digest.Digest
	if len(d.Value.(*description).lock.Packages) > 0 {
		if wheels, err = e.wheels(t, d); err != nil {
			return nil, err
		}
	}
	return e.place(ctx, t, d, w, wheels)
}

// wheels is the tree that the newest valid run of the stage left.
func (e *Environment) wheels(t *graph.Task, d *managed.Description) (none digest.Digest, err error) {
	if d, ok := managed.Kept(t, d.Manifest.Key(), wheelsName); ok {
		return d, nil
	}
	return none, &managed.StepError{What: "build " + e.Address, Detail: "its wheels are not in the store; run it first: flameox apply -target=" + e.Address}
}

// place makes the environment stand and says where.
func (e *Environment) place(ctx context.Context, t *graph.Task, d *managed.Description, w *workshop, wheels digest.Digest) (*managed.Place, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := d.Manifest.Key()
	if p := e.ready[key]; p != nil {
		return p, nil
	}
	site := &managed.Site{Store: t.Store, Kind: language, Key: key}
	what := d.Value.(*description)
	damaged, err := site.Ensure(ctx, func(dir string) error { return e.build(ctx, t, w, what, wheels, dir) })
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(site.Dir(), "bin")
	p := &managed.Place{Dir: site.Dir(), Bin: bin, Programs: map[string]string{}, Env: map[string]string{"VIRTUAL_ENV": site.Dir()}}
	for name := range d.Programs {
		p.Programs[name] = filepath.Join(bin, "python")
	}
	settled := *p
	e.ready[key] = &settled // the note below belongs to the first user
	if damaged != "" {
		p.Notes = append(p.Notes, cache.Note{Code: "environment_rebuilt", Text: fmt.Sprintf("the environment %s was damaged (%s) and was built again from the store before this run", e.Address, damaged)})
	}
	return p, nil
}

// build fills an empty folder, offline.
func (e *Environment) build(ctx context.Context, t *graph.Task, w *workshop, d *description, wheels digest.Digest, dir string) error {
	vars := w.vars(map[string]string{"PIP_NO_INDEX": "1"})
	python := d.python.Path
	if _, err := w.run(ctx, "make the virtual environment", []string{python, "-I", "-m", "venv", "--without-pip", "--symlinks", dir}, vars, 0); err != nil {
		return err
	}
	list, err := requirements(t, wheels, d.trees)
	if err != nil {
		return err
	}
	inside := filepath.Join(dir, "bin", "python")
	if len(list) > 0 {
		file := filepath.Join(w.dir, "wheels.txt")
		if err := os.WriteFile(file, []byte(strings.Join(list, "\n")+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the list of wheels for pip: %w", err)
		}
		argv := []string{
			python, "-I", "-m", "pip", "--python", inside, "install", "--no-index", "--no-deps", "--require-hashes", "--no-compile",
			"--no-warn-script-location", "--progress-bar", "off", "-r", file,
		}
		if _, err := w.run(ctx, "install the wheels", argv, vars, 0); err != nil {
			return err
		}
	}
	// Exit status 1 says that a file is no Python: templates and files for other versions are in many packages.
	argv := []string{inside, "-I", "-m", "compileall", "-q", "-q", "--invalidation-mode", "unchecked-hash", filepath.Join(dir, "lib")}
	_, err = w.run(ctx, "compile the packages", argv, vars, 1)
	return err
}

// requirements are the wheels of the trees, as pip takes files with hashes. The hash is the name of the blob, so pip checks that it
// installs what the store has. What a build made takes the place of what is locked under the same name: a project is often a dependency
// of the very tools that measure it, and pip refuses two wheels of one package.
func requirements(t *graph.Task, locked digest.Digest, built []digest.Digest) (list []string, err error) {
	var wheels []wheel
	for i, root := range append([]digest.Digest{locked}, built...) {
		if root.IsZero() {
			continue
		}
		more, err := wheelsOf(t, root)
		if err != nil {
			return nil, err
		}
		if i > 0 && len(more) == 0 {
			return nil, &managed.StepError{What: "install the wheels", Detail: "a build that install names left no *.whl file"}
		}
		if wheels, err = take(wheels, more, i > 0); err != nil {
			return nil, err
		}
	}
	for _, w := range wheels {
		list = append(list, w.line)
	}
	return list, nil
}

// wheel is one file to install.
type wheel struct {
	name  string // of the package, normalized
	line  string // as pip takes it
	built bool   // by a build, not locked
}

// take adds wheels, and replaces what is locked under their names.
func take(wheels, more []wheel, built bool) ([]wheel, error) {
	for _, w := range more {
		w.built = built
		i := slices.IndexFunc(wheels, func(x wheel) bool { return x.name == w.name })
		switch {
		case i < 0 || !built:
			wheels = append(wheels, w)
		case wheels[i].built:
			return nil, &managed.StepError{What: "install the wheels", Detail: "the builds that install names leave two wheels of " + w.name + "; let one of them leave it"}
		default:
			wheels[i] = w
		}
	}
	return wheels, nil
}

func wheelsOf(t *graph.Task, root digest.Digest) (out []wheel, err error) {
	files, err := t.Store.CAS.ReadTree(root)
	if err != nil {
		return nil, fmt.Errorf("read the list of wheels: %w", err)
	}
	dir, err := t.Store.CAS.Materialize(root)
	if err != nil {
		return nil, fmt.Errorf("lay out the wheels: %w", err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".whl") {
			u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(f.Path)))}
			name, _, _ := strings.Cut(path.Base(f.Path), "-")
			out = append(out, wheel{name: pylock.Normalize(name), line: fmt.Sprintf("%s --hash=sha256:%s", u.String(), f.Digest)})
		}
	}
	return out, nil
}
