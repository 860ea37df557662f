// Package workspace opens an experiment: it finds the project and its store, loads and compiles the configuration, and holds
// what every command needs. Opening takes no lock and starts no process but git.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/kind"
)

// StoreDir is the folder of the store in the project.
const StoreDir = ".flameox"

// Options say which experiment to open.
type Options struct {
	Dir       string // of the configuration
	Environ   []string
	Vars      []string // name=value
	VarFiles  []string
	Version   string
	Self      string // this binary
	Now       func() time.Time
	FS        vfs.FS
	Providers *providers.Registry
	// Class is the class of the machine, by the names of package host; nil for that of this one.
	Class func() map[string]string
	// NoShortcut bypasses everything that makes a command fast by believing what an earlier one saw: files and blobs are hashed again.
	// The answer is to be the same; where it is not, something lied about a file's stamps.
	NoShortcut bool
}

func (o *Options) class() map[string]string {
	if o.Class == nil {
		return host.Class()
	}
	return o.Class()
}

// Workspace is an opened project with its store. The configuration is loaded by Load.
type Workspace struct {
	Project *kind.Project
	Store   *graph.Store
	Repo    *git.Repo // nil outside git
	Config  *lang.Config
	diags   hcl.Diagnostics // of loading it
	kinds   []kind.Kind
	asked   asked // what a remembered plan depends on
	trace   *selftrace.Recorder
}

// Open finds the project, reads the configuration and opens the store, without changing anything. The configuration may be
// missing or wrong: that is Load's to report, and commands that only read results do not need it.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	w := &Workspace{kinds: stages.Kinds(o.Providers), trace: selftrace.From(ctx)}
	defer w.trace.Begin("open", o.Dir).End()
	w.asked.begin(o)
	at, err := locate(o.Dir)
	if err != nil {
		return nil, err
	}
	w.Repo = at.repo
	dir, root, home, experiment := at.dir, at.root, at.home, at.experiment
	load := w.trace.Begin("load", dir)
	w.Config, w.diags = lang.Load(dir, stages.Language(w.kinds), lang.Input{
		Root: root, Version: o.Version, GitRevision: w.gitRevision(ctx),
		Values: lang.Values{Environ: o.Environ, Vars: o.Vars, VarFiles: o.VarFiles},
	})
	load.End()
	storeDir := filepath.Join(home, StoreDir)
	if err := w.knowsStore(storeDir); err != nil {
		return nil, err
	}
	if p := w.Config.Settings.StorePath; p != "" {
		if storeDir = p; !filepath.IsAbs(p) {
			storeDir = filepath.Join(dir, p)
		}
	}
	w.asked.at(at, storeDir)
	w.Project = &kind.Project{
		Root: root, Dir: experiment, HostClass: o.class(), Observe: o.class, Environ: environ(o.Environ), Self: o.Self, Memo: kind.NewMemo(),
		Secret: w.Config.Secret, Reads: w.asked.log, Trace: w.trace,
	}
	if err := w.openStore(ctx, o, storeDir, experiment); err != nil {
		return nil, err
	}
	w.Project.Store = w.Store
	w.Project.Stat = cas.OpenStatCache(filepath.Join(storeDir, "cache", "stat"), o.FS)
	w.Project.Stat.Distrust, w.Project.Stat.Trace = o.NoShortcut, w.trace
	return w, w.Project.Refresh()
}

// location is where an experiment is.
type location struct {
	dir        string // of the configuration, absolute, links followed
	root       string // of the project
	home       string // of the store's folder
	experiment string // dir below root
	repo       *git.Repo
}

func locate(dir string) (at location, err error) {
	at.dir, err = filepath.Abs(dir)
	if err == nil {
		at.dir, err = filepath.EvalSymlinks(at.dir)
	}
	if err != nil {
		return at, fmt.Errorf("open the experiment: %w", err)
	}
	at.root, at.home = at.dir, at.dir
	repo, err := git.Find(at.dir)
	switch {
	case err == nil:
		at.repo = repo
		at.root, at.home = repo.Root, repo.Home()
	case !errors.Is(err, git.ErrNotRepository):
		return at, err
	}
	rel, err := filepath.Rel(at.root, at.dir)
	if err != nil {
		return at, err
	}
	if at.experiment = filepath.ToSlash(rel); at.experiment == "." {
		at.experiment = ""
	}
	return at, nil
}

// knowsStore is an error where the block that may move the store cannot be read: looking into the usual place instead could show another
// store, or none.
func (w *Workspace) knowsStore(usual string) error {
	if w.Config.Settings.StorePath != "" {
		return nil
	}
	block := w.Config.Settings.Range
	_, err := os.Stat(usual)
	missing := errors.Is(err, os.ErrNotExist)
	var bad hcl.Diagnostics
	for _, d := range w.diags {
		if d.Severity != hcl.DiagError || d.Subject == nil {
			continue
		}
		// Without the block's end a syntax error anywhere may be in it.
		if !block.Empty() && block.Overlaps(*d.Subject) || block.Empty() && missing && d.Summary == lang.SyntaxError {
			bad = append(bad, d)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &ConfigError{Diags: bad, Files: w.Config.Files}
}

// ConfigError is a configuration that cannot be used for what was asked.
type ConfigError struct {
	Diags hcl.Diagnostics
	Files map[string]*hcl.File
}

func (e *ConfigError) Error() string { return "the flameox block cannot be read: " + e.Diags.Error() }

func (w *Workspace) openStore(ctx context.Context, o Options, dir, experiment string) error {
	defer w.trace.Begin("open store", dir).End()
	blobs, err := cas.Open(dir, o.FS)
	if err != nil {
		return err
	}
	blobs.Distrust = o.NoShortcut
	blobs.Asked = w.asked.blob(blobs)
	w.asked.journal(filepath.Join(dir, "runs"))
	records, err := cache.Open(dir, o.FS, o.Now)
	if err != nil {
		return err
	}
	name := host.Name()
	id := digest.SumString(dir).String()[:12]
	w.Store = &graph.Store{
		Dir: dir, Experiment: experiment, CAS: blobs, Cache: records,
		ID: id, Broker: broker.New(broker.Options{Store: id, Started: w.asked.started}), Now: o.Now, HostClass: cache.ClassDigest(w.Project.HostClass), Version: o.Version,
		Source: func() map[string]string { return w.source(ctx) },
		Host: func() cache.Host {
			return cache.Host{Name: name, Class: w.Project.HostClass, Covariates: host.Covariates(), Volatile: host.Volatile()}
		},
	}
	return nil
}

// Load expands and compiles the configuration that Open has read.
func (w *Workspace) Load() (*stages.Experiment, hcl.Diagnostics) {
	expand := w.trace.Begin("expand", "")
	x, diags := w.Config.Expand()
	expand.End()
	diags = append(slices.Clone(w.diags), diags...)
	if diags.HasErrors() {
		return nil, diags
	}
	defer w.trace.Begin("compile", "").End()
	e, more := stages.Compile(x, w.kinds, w.Project)
	diags = append(diags, more...)
	if len(diags) > 0 {
		w.asked.log.Refuse("the configuration has warnings, which are printed each time")
	}
	return e, diags
}

func (w *Workspace) gitRevision(ctx context.Context) func(string) (string, error) {
	return func(revision string) (string, error) {
		if w.Repo == nil {
			return "", git.ErrNotRepository
		}
		return w.Repo.Resolve(ctx, revision)
	}
}

// source is what is checked out. Not being able to say it is no reason not to measure.
func (w *Workspace) source(ctx context.Context) map[string]string {
	if w.Repo == nil {
		return nil
	}
	head, err := w.Repo.Head(ctx)
	if err != nil || head.Revision == "" {
		return nil
	}
	out := map[string]string{"revision": head.Revision}
	if head.Branch != "" {
		out["branch"] = head.Branch
	}
	return out
}

// Save writes what was learned of the project's files, so that the next command need not read them again. It is a cache:
// an error costs time only.
func (w *Workspace) Save() {
	defer w.trace.Begin("save", w.Store.Dir).End()
	if _, err := os.Stat(w.Store.Dir); err != nil {
		return // nothing was ever applied here: leave no folder behind
	}
	if w.asked.options.NoShortcut && !w.asked.kept {
		w.asked.forget()
	}
	w.Project.Stat.Save()
	w.Store.CAS.Save()
	w.Store.Cache.Close()
}

// Init makes the store's folder, which git is told to ignore.
func (w *Workspace) Init() error {
	if err := os.MkdirAll(filepath.Join(w.Store.Dir, "lock"), 0o755); err != nil {
		return fmt.Errorf("make the store: %w", err)
	}
	ignore := filepath.Join(w.Store.Dir, ".gitignore")
	if _, err := os.Stat(ignore); err == nil {
		return nil
	}
	if err := os.WriteFile(ignore, []byte("# Everything here belongs to flameox and can be large. Share evidence with flameox, not with git.\n*\n"), 0o644); err != nil {
		return fmt.Errorf("make the store: %w", err)
	}
	return nil
}

// Close ends what the broker started, shared servers first.
func (w *Workspace) Close() error {
	return errors.Join(w.Project.Shared.Keep(), w.Store.Broker.Close())
}

func environ(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, e := range list {
		if name, value, ok := strings.Cut(e, "="); ok {
			m[name] = value
		}
	}
	return m
}
