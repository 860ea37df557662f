package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/outline"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/reads"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/providers"
)

// Question is which plan is asked for: the selection, as it is given on the command line.
type Question struct{ Target, Exclude, Replace []string }

// form is the version of what a remembered plan means. It is raised whenever the same reads may give another plan, or the bytes are others.
const form = 1

// plansDir is the folder of remembered plans in that of caches.
const plansDir = "plans"

// file is where the plan is remembered.
func (q Question) file(at location, store string) string {
	name := digest.SumString(lines(append([]string{at.dir}, q.lists()...)...))
	return filepath.Join(store, "cache", plansDir, name.String()[:32])
}

func (q Question) lists() (out []string) {
	for _, l := range [][]string{q.Target, q.Exclude, q.Replace} {
		out = append(append(out, strconv.Itoa(len(l))), l...)
	}
	return out
}

// digest is over everything that the plan depends on and that is known without looking at files. Values of variables are in it and nowhere else.
func (q Question) digest(o Options, at location, m machine) digest.Digest {
	parts := append([]string{strconv.Itoa(form), o.Version, o.Self, at.dir, at.root, at.home}, q.lists()...)
	if at.repo != nil {
		parts = append(parts, "git", at.repo.Root, at.repo.GitDir, at.repo.CommonDir)
	}
	parts = append(parts, strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid()))
	groups, _ := os.Getgroups()
	parts = append(parts, fmt.Sprint(groups), strconv.Itoa(len(o.Vars)))
	parts = append(append(parts, o.Vars...), o.VarFiles...)
	for _, name := range slices.Sorted(maps.Keys(m.class)) {
		parts = append(parts, name, m.class[name])
	}
	parts = append(parts, m.forbidden...)
	return digest.SumString(lines(parts...))
}

// machine is what a plan depends on of the machine: files of the kernel's, which have no stamps that tell whether they changed.
type machine struct {
	class     map[string]string
	forbidden []string // what the kernel keeps providers from
}

// forbidden says what keeps each provider from capturing here. Whether a plan has a capture of it is not known before the plan, so all are asked.
func forbidden(reg *providers.Registry) (out []string) {
	if reg == nil {
		return nil
	}
	for _, p := range reg.All() {
		if d := providers.Forbidden(p, os.ReadFile); d != nil {
			out = append(out, p.Name(), d.Why, d.Do)
		}
	}
	return out
}

// lines joins texts so that different lists are different texts.
func lines(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%d:%s\n", len(p), p)
	}
	return b.String()
}

// Recalled is a remembered plan of which nothing that it was made from has moved, or was decided again about what did.
type Recalled struct {
	Plan       *outline.Plan
	Experiment string
	HostClass  map[string]string
	Again      bool // some stages were decided again
}

// Recall looks for a remembered plan that still stands, without loading the configuration. It changes nothing; nil means that the plan has to be
// made, and why says in a few words for what reason.
func Recall(ctx context.Context, o Options, q Question) (out *Recalled, why string) {
	trace := selftrace.From(ctx)
	defer trace.Begin("recall", o.Dir).End()
	if o.NoShortcut {
		return nil, "nothing is to be believed that was remembered"
	}
	asked := make(chan machine, 1)
	go func() { asked <- machine{o.class(), forbidden(o.Providers)} }()
	at, err := locate(o.Dir)
	if err != nil {
		return nil, err.Error()
	}
	store := filepath.Join(at.home, StoreDir)
	read := trace.Begin("read record", "")
	rec, ok := reads.Open(q.file(at, store))
	read.End()
	if !ok {
		return nil, "no plan is remembered"
	}
	m := <-asked
	out = &Recalled{Experiment: at.experiment, HostClass: m.class}
	if !rec.Asked(q.digest(o, at, m), environ(o.Environ), o.Now()) {
		return nil, "the arguments, the environment, the machine or the program are others, or it is too late"
	}
	check := trace.Begin("stat what was read", "")
	moved, ok := rec.Check()
	check.End()
	if !ok {
		return nil, moved.String()
	}
	lazy := rec.Rest
	var sets []reads.Set
	if !moved.None() {
		var rest []byte
		if sets, rest, ok = rec.Sets(moved); !ok {
			return nil, moved.String()
		}
		lazy = func() ([]byte, bool) { return rest, true }
	}
	if out.Plan, err = outline.Decode(rec.Body(), lazy); err != nil || !out.Plan.Ready() {
		return nil, "the remembered plan cannot be read"
	}
	if moved.None() {
		return out, "it stands"
	}
	out.Again = true
	if err := again(ctx, o, at, store, out, sets); err != nil {
		return nil, "what follows cannot be known without the stages: " + err.Error() + ": " + moved.String()
	}
	return out, "decided again about what is made from files that moved: " + moved.String()
}

// again hashes the sets anew and decides about the stages that are made from them.
func again(ctx context.Context, o Options, at location, dir string, r *Recalled, sets []reads.Set) error {
	trace := selftrace.From(ctx)
	defer trace.Begin("decide again", "").End()
	blobs, err := cas.Open(dir, o.FS)
	if err != nil {
		return err
	}
	records, err := cache.Open(dir, o.FS, o.Now)
	if err != nil {
		return err
	}
	id := digest.SumString(dir).String()[:12]
	store := &graph.Store{
		Dir: dir, Experiment: at.experiment, CAS: blobs, Cache: records, ID: id, Broker: broker.New(broker.Options{Store: id}), Now: o.Now,
		HostClass: cache.ClassDigest(r.HostClass), Version: o.Version,
		Source: func() map[string]string { return nil }, Host: func() cache.Host { return cache.Host{} },
	}
	stat := cas.OpenStatCache(filepath.Join(dir, "cache", "stat"), o.FS)
	stat.Trace = trace
	roots := map[digest.Digest]digest.Digest{}
	for _, s := range sets {
		files, err := rehash(stat, s)
		if err != nil {
			return err
		}
		root, _, err := cas.BuildTree(files)
		if err != nil {
			return err
		}
		store.KnowTree(root, files)
		roots[s.Tree] = root
	}
	if err := r.Plan.Again(ctx, store, roots); err != nil {
		return err
	}
	if _, n := stat.Hashes(); n > dearToHash {
		stat.Save() // a failure costs time only
	}
	return nil
}

// dearToHash is how many bytes may be hashed again by the next plan rather than be written down.
const dearToHash = 1 << 20

// rehash hashes the files of a set that moved. An error says that one is no longer a plain file.
func rehash(stat *cas.StatCache, s reads.Set) ([]cas.File, error) {
	paths := make([]string, len(s.Files))
	for i, f := range s.Files {
		paths[i] = filepath.Join(s.Root, filepath.FromSlash(f))
	}
	files := make([]cas.File, len(paths))
	for i, h := range stat.DigestAll(paths) {
		if errors.Is(h.Err, cas.ErrNotRegular) { // where the link leads was recorded, and is the same
			var real string
			if real, h.Err = filepath.EvalSymlinks(paths[i]); h.Err == nil {
				h, h.Err = stat.Digest(real)
			}
		}
		if h.Err != nil {
			return nil, h.Err
		}
		files[i] = cas.File{Path: s.Files[i], Digest: h.Digest, Size: h.Size, Exec: h.Exec}
	}
	return files, nil
}
