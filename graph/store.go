package graph

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
)

// Store is an opened workspace: where results are, what runs processes, and what is known of the machine.
type Store struct {
	Dir        string // .flameox, absolute
	Experiment string // folder of the configuration below the project root, "" for the root
	CAS        *cas.Store
	Cache      *cache.Records
	Broker     *broker.Broker
	ID         string                   // of the store: what the marks of its processes begin with
	Now        func() time.Time         // injected: a clock may be set back
	HostClass  digest.Digest            // cache.ClassDigest of this machine
	Host       func() cache.Host        // facts at this moment
	Source     func() map[string]string // what is checked out at this moment: revision, branch
	Version    string                   // of flameox

	mu    sync.Mutex
	known map[digest.Digest][]cas.File
}

// At are the records of this experiment at an address, oldest first.
func (s *Store) At(a address.Address) []*cache.Summary {
	all := s.Cache.At(a.String())
	out := all[:0:0]
	for _, r := range all {
		if r.Experiment == s.Experiment {
			out = append(out, r)
		}
	}
	return out
}

// KnowTree remembers the files of a tree that is not in the store yet: the sources as they are now.
func (s *Store) KnowTree(root digest.Digest, files []cas.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[digest.Digest][]cas.File{}
	}
	s.known[root] = files
}

// knowOld is KnowTree of what a saved plan says of a tree, unless it is known already.
func (s *Store) knowOld(root digest.Digest, files []cas.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[digest.Digest][]cas.File{}
	}
	if _, ok := s.known[root]; !ok {
		s.known[root] = files
	}
}

// tree is the files of a tree, sorted by path.
func (s *Store) tree(root digest.Digest) ([]cas.File, error) {
	s.mu.Lock()
	files, ok := s.known[root]
	s.mu.Unlock()
	if ok {
		return files, nil
	}
	return s.CAS.ReadTree(root)
}

// diffTrees lists the files that differ between two trees.
func (s *Store) diffTrees(a, b digest.Digest) (out []FileChange, err error) {
	x, err := s.tree(a)
	if err != nil {
		return nil, err
	}
	y, err := s.tree(b)
	if err != nil {
		return nil, err
	}
	byPath := func(a, b cas.File) int { return strings.Compare(a.Path, b.Path) }
	x, y = slices.SortedFunc(slices.Values(x), byPath), slices.SortedFunc(slices.Values(y), byPath)
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].Path < y[0].Path:
			out = append(out, FileChange{Path: x[0].Path, Old: x[0].Digest})
			x = x[1:]
		case len(x) == 0 || y[0].Path < x[0].Path:
			out = append(out, FileChange{Path: y[0].Path, New: y[0].Digest})
			y = y[1:]
		default:
			if x[0].Digest != y[0].Digest || x[0].Exec != y[0].Exec {
				out = append(out, FileChange{Path: x[0].Path, Old: x[0].Digest, New: y[0].Digest})
			}
			x, y = x[1:], y[1:]
		}
	}
	return out, nil
}

// LockPath is the file of one of the workspace's kernel locks.
func (s *Store) LockPath(name string) string { return filepath.Join(s.Dir, "lock", name) }

// Task is one attempt at one action while it runs.
type Task struct {
	Store   *Store
	Node    *Node
	Run     string     // id of the record to be
	Mark    string     // what every process of the attempt carries in its environment
	Dir     string     // private folder: out/, home/, tmp/ and the spooled streams; gone after the commit
	Batch   *cas.Batch // what is put here becomes durable with the record
	Attempt int
	Level   cache.Sensitivity // of what the attempt leaves, at least: where it is Sensitive, nothing that a program wrote is quoted
}

// Out is the folder that the token out.dir stands for.
func (t *Task) Out() string { return filepath.Join(t.Dir, "out") }

// newTask makes the private folder of an attempt.
func (s *Store) newTask(n *Node, attempt int) (*Task, error) {
	run := s.Cache.NewRunID()
	t := &Task{
		Store: s, Node: n, Run: run, Attempt: attempt,
		Mark:  s.Broker.Mark(run),
		Dir:   filepath.Join(s.Dir, "tmp", run),
		Batch: s.CAS.NewBatch(),
	}
	for _, d := range []string{"out", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(t.Dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the attempt's folder: %w", err)
		}
	}
	return t, nil
}

// Flush makes what was put into the batch durable before the record is, so that it can be read by its digest.
func (t *Task) Flush() error {
	err := t.Batch.Sync()
	t.Batch = t.Store.CAS.NewBatch()
	return err
}

func (t *Task) close() {
	t.Batch.Discard()
	removeAll(t.Dir)
}

// removeAll removes a folder of an attempt with everything in it, also folders that the program made read-only, as Go's module cache does.
// What cannot be removed is left: the next apply tries again.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil // go on: the folder can be read now, or nothing helps
	})
	os.RemoveAll(dir)
}
