package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/outline"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/reads"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/lang"
)

// asked collects what the plans of a workspace are made from. Its log is nil where nothing is to be remembered.
type asked struct {
	log      *reads.Log
	began    time.Time
	options  Options
	location location
	store    string // .flameox, absolute

	forbidden []string // to providers, before anything was read
	kept      bool     // a plan was remembered

	mu    sync.Mutex
	blobs map[digest.Digest]struct{}
}

// begin is called before anything is read.
func (a *asked) begin(o Options) {
	a.options = o
	if o.FS == nil {
		return
	}
	a.log, a.began, a.blobs = reads.NewLog(), o.FS.Now(), map[digest.Digest]struct{}{}
	a.forbidden = forbidden(o.Providers)
	if o.Self != "" {
		a.log.Path(o.Self)
	}
}

// at says where the experiment is.
func (a *asked) at(l location, store string) {
	a.location, a.store = l, store
	a.log.Path(l.dir, l.root)
	if store != filepath.Join(l.home, StoreDir) {
		a.log.Refuse("the store is not in its usual place, and what is remembered lies there")
	}
}

// blob is told which blobs are looked at.
func (a *asked) blob(s *cas.Store) func(digest.Digest) {
	if a.log == nil {
		return nil
	}
	return func(d digest.Digest) {
		a.mu.Lock()
		a.blobs[d] = struct{}{}
		a.mu.Unlock()
	}
}

// started is told of every process: what one says can be known by asking it again only.
func (a *asked) started() { a.log.Refuse("a program was asked something") }

// journal notes the files of the journal before they are read.
func (a *asked) journal(dir string) {
	if a.log == nil {
		return
	}
	a.log.Path(dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		a.log.Refuse("the journal cannot be listed")
	}
	for _, e := range entries {
		a.log.Path(filepath.Join(dir, e.Name()))
	}
}

// recorded are the types of blocks whose stages tell the project's Reads of everything that they look at. A new type is added once they do: until
// then no plan of an experiment that has one is remembered.
var recorded = map[string]bool{
	"target": true, "environment": true, "workload": true, "build": true, "capture": true, "extract": true, "import": true, "server": true,
	"tool": true, "sample": true, "host": true,
}

// configuration notes what the configuration was made from.
func (a *asked) configuration(ctx context.Context, w *Workspace) error {
	for _, b := range w.Config.Blocks {
		if !recorded[b.Type] {
			a.log.Refuse("what a block of the type " + b.Type + " depends on is not recorded")
		}
	}
	for _, r := range w.Config.Reads {
		switch r.Kind {
		case lang.ReadEnv:
			a.log.Env(r.Name)
		case lang.ReadDir:
			a.log.Path(r.Name)
		case lang.ReadFile:
			p, err := filepath.Abs(r.Name) // a file of variables is named relative to where flameox was started
			if err != nil {
				return err
			}
			if info, err := os.Stat(p); err == nil && !info.Mode().IsRegular() {
				a.log.Refuse(p + " is no file, so it may give something else each time")
			}
			a.log.Path(p)
		case lang.ReadGit:
			if w.Repo == nil {
				a.log.Refuse("a revision was asked for outside of git")
				continue
			}
			more, err := w.Repo.RevisionReads(ctx, r.Name)
			if err != nil {
				return err
			}
			a.log.Path(more.Paths...)
			a.log.Env(more.Env...)
			if more.Unknown != "" {
				a.log.Refuse(more.Unknown)
			}
		default:
			a.log.Refuse("a read of an unknown kind: " + string(r.Kind))
		}
	}
	return nil
}

// project notes what the lists of sources were made from.
func (a *asked) project(ctx context.Context, w *Workspace) error {
	r := w.Project.Sources()
	dirs, links, _ := r.Reads()
	a.log.Below(r.Root(), dirs...)
	for _, l := range links {
		a.log.Path(filepath.Join(r.Root(), filepath.FromSlash(l)))
	}
	more, err := r.GitReads(ctx)
	if err != nil {
		return err
	}
	a.log.Path(more.Paths...)
	a.log.Env(more.Env...)
	if more.Unknown != "" {
		a.log.Refuse(more.Unknown)
	}
	return nil
}

// Remember keeps a plan that was made in the workspace, so that Recall finds it as long as nothing moves. It is a cache: an error says why the next plan is made
// anew, and means nothing else.
func (w *Workspace) Remember(ctx context.Context, q Question, planner *graph.Planner, plan *outline.Plan) error {
	a := &w.asked
	if a.log == nil {
		return &reads.DoubtError{Why: "nothing was noted"}
	}
	if why := a.log.Refused(); why != "" {
		return &reads.DoubtError{Why: why}
	}
	if _, err := os.Stat(a.store); err != nil {
		return &reads.DoubtError{Why: "nothing was ever applied here, so there is no folder to remember it in"}
	}
	if !slices.Equal(a.forbidden, forbidden(a.options.Providers)) {
		return &reads.DoubtError{Why: "what the kernel allows changed meanwhile"}
	}
	if err := a.configuration(ctx, w); err != nil {
		return fmt.Errorf("note what the configuration was made from: %w", err)
	}
	if err := a.project(ctx, w); err != nil {
		return fmt.Errorf("note what the sources were listed from: %w", err)
	}
	var names []string
	for d := range a.blobs {
		s := d.String()
		names = append(names, s[:2]+"/"+s[2:])
	}
	if len(names) > 0 {
		a.log.Below(filepath.Join(a.store, "cas"), names...)
	}
	shown, lazy, err := plan.Encode()
	if err != nil {
		return err
	}
	after, before := planner.Span()
	b, err := a.log.Seal(reads.Answer{
		Question: q.digest(a.options, a.location, machine{w.Project.HostClass, a.forbidden}), Environ: w.Project.Environ,
		Began: a.began, Now: a.options.FS.Now(), After: after, Before: before, Body: shown, Rest: lazy,
	})
	if err != nil {
		return err
	}
	file := q.file(a.location, a.store)
	if a.options.NoShortcut {
		a.forget() // what others were made from was not believed
	}
	if err := vfs.MkdirAll(a.options.FS, filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := vfs.WriteFile(a.options.FS, file, b, 0o644, false); err != nil {
		return err
	}
	a.kept = true
	return forgetOld(filepath.Dir(file))
}

// forget removes every remembered plan.
func (a *asked) forget() {
	if a.store != "" {
		os.RemoveAll(filepath.Join(a.store, "cache", plansDir))
	}
}

// mostRemembered is how many plans are remembered: one for each selection and working tree.
const mostRemembered = 16

// forgetOld removes the oldest plans beyond mostRemembered.
func forgetOld(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= mostRemembered {
		return err
	}
	var oldest os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && (oldest == nil || info.ModTime().Before(oldest.ModTime())) {
			oldest = info
		}
	}
	if oldest == nil {
		return nil
	}
	return os.Remove(filepath.Join(dir, oldest.Name()))
}
