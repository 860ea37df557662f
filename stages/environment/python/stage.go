package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/environment/managed"
)

// What the stage leaves.
const (
	wheelsName = "wheels"
	logName    = "stdout"
	treeRole   = "tree"
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
	rec := &cache.Record{
		Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Dir: e.dir(),
		Producer: d.Value.(*description).python.Implementation + " " + d.Value.(*description).python.Version,
	}
	w, err := newWorkshop(t, e.search)
	if err != nil {
		return nil, err
	}
	wheels, err := e.fetch(ctx, w, d.Value.(*description), rec)
	if err == nil {
		_, err = e.place(ctx, t, d, w, wheels)
	}
	if sum, perr := t.Batch.PutBytes(w.written()); perr != nil {
		return nil, fmt.Errorf("keep what was said while the environment was built: %w", perr)
	} else if n := len(w.written()); n > 0 {
		rec.Outputs = append(rec.Outputs, cache.Output{Name: logName, Role: logName, MediaType: "text/plain; charset=utf-8", Digest: sum, Size: int64(n)})
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

// fetch brings the locked wheels into the store: the only step that may use a network.
func (e *Environment) fetch(ctx context.Context, w *workshop, d *description, rec *cache.Record) (digest.Digest, error) {
	var none digest.Digest
	if len(d.lock.Packages) == 0 {
		return none, nil
	}
	locked := filepath.Join(w.dir, "lock.txt")
	if err := os.WriteFile(locked, d.lock.Text(), 0o600); err != nil {
		return none, fmt.Errorf("write the lock for pip: %w", err)
	}
	out := filepath.Join(w.t.Out(), wheelsName)
	argv := []string{
		d.python.Path, "-I", "-m", "pip", "download", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off", "-r", locked, "-d", out,
	}
	for _, o := range d.lock.Options {
		argv = append(argv, o[0])
		if o[1] != "" {
			argv = append(argv, e.source(o[0], o[1]))
		}
	}
	vars := w.vars(e.reach())
	for _, v := range managed.Variables(vars) {
		rec.Env = append(rec.Env, redact(v))
	}
	for _, a := range argv {
		rec.Argv = append(rec.Argv, redact(a))
	}
	res, err := w.run(ctx, "fetch the wheels", argv, vars, 0)
	if res != nil && res.Signal == "" {
		rec.Exit = &res.Exit
	}
	if err != nil {
		return none, err
	}
	root, size, err := keep(w.t, out, d)
	if err != nil {
		return none, err
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: wheelsName, Role: treeRole, Digest: root, Size: size, Tree: true})
	// Building reads them from the store, as every later building will.
	return root, w.t.Flush()
}

// source makes the path of --find-links in a lock one that is relative to the lock.
func (e *Environment) source(option, value string) string {
	if (option == "--find-links" || option == "-f") && !strings.Contains(value, "://") && !filepath.IsAbs(value) {
		return filepath.Join(filepath.Dir(e.file(e.o.Requirements)), value)
	}
	return value
}

// reach is how the caller reaches an index: variables, and the configuration of pip that the caller's own pip would read.
func (e *Environment) reach() map[string]string {
	environ := e.project.Environ
	more := map[string]string{}
	for _, name := range network {
		if v, ok := environ[name]; ok {
			more[name] = v
		}
	}
	home := environ["HOME"]
	config := environ["XDG_CONFIG_HOME"]
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	more["PIP_CONFIG_FILE"] = "" // pip reads the machine's
	for _, f := range []string{environ["PIP_CONFIG_FILE"], filepath.Join(config, "pip", "pip.conf"), filepath.Join(home, ".pip", "pip.conf")} {
		if _, err := os.Stat(f); f != "" && err == nil {
			more["PIP_CONFIG_FILE"] = f
			break
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".netrc")); more["NETRC"] == "" && err == nil {
		more["NETRC"] = filepath.Join(home, ".netrc")
	}
	return more
}

// keep takes the wheels through the boundary into the store, and makes sure that each is one of those that are locked.
func keep(t *graph.Task, dir string, d *description) (root digest.Digest, size int64, err error) {
	files, refusals := broker.Snapshot(dir, []broker.Pattern{{Glob: "*", Required: true}}, broker.Limits{})
	for _, r := range refusals {
		return root, 0, &managed.StepError{What: "keep the wheels", Detail: r.Error()}
	}
	var tree []cas.File
	for i := range files {
		f := &files[i]
		if !strings.HasSuffix(f.Path, ".whl") {
			return root, 0, &managed.StepError{What: "keep the wheels", Detail: f.Path + " is no wheel"}
		}
		var sum digest.Digest
		var n int64
		if err := f.Read(func(r io.Reader) (err error) {
			sum, n, err = t.Batch.Put(r)
			return err
		}); err != nil {
			return root, 0, fmt.Errorf("keep the wheel %s: %w", f.Path, err)
		}
		if ok, known := d.lock.Allows(sum); known && !ok {
			return root, 0, &managed.StepError{What: "keep the wheels", Detail: fmt.Sprintf("%s has the hash sha256:%s, which is not locked", f.Path, sum)}
		}
		tree = append(tree, cas.File{Path: f.Path, Digest: sum, Size: n})
		size += n
	}
	if root, err = t.Batch.PutTree(tree); err != nil {
		return root, 0, fmt.Errorf("keep the wheels: %w", err)
	}
	return root, size, nil
}
