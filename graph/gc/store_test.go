package gc_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

var errInjected = errors.New("injected")

// store is an opened store whose clock stands a year after its old runs.
type store struct {
	t    *testing.T
	dir  string
	cas  *cas.Store
	recs *cache.Records
}

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string, fsys vfs.FS) *store {
	t.Helper()
	blobs, err := cas.Open(dir, fsys)
	if err != nil {
		t.Fatal(err)
	}
	recs, err := cache.Open(dir, fsys, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return &store{t, dir, blobs, recs}
}

func newStore(t *testing.T) *store { return open(t, filepath.Join(t.TempDir(), "store"), vfs.OS{}) }

// run commits a run of an age, with one output for each content and a tree of all of them.
func (s *store) run(kind, nature string, age time.Duration, contents ...string) string {
	s.t.Helper()
	b := s.cas.NewBatch()
	defer b.Discard()
	m := facet.New(facet.Facet{Name: facet.Definition, Entries: []facet.Entry{{Name: "test", Value: kind + nature + contents[0]}}})
	rec := &cache.Record{
		Run: s.recs.NewRunID(), Revision: 1, Address: kind + ".x", Kind: kind, Nature: nature, Key: m.Key(), Attempt: 1, Action: facet.Attempt(m.Key(), 0, 1), Manifest: m,
		Execution: cache.ExecutionSucceeded, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, Started: now.Add(-age),
	}
	var files []cas.File
	for _, c := range contents {
		d, err := b.PutBytes([]byte(c))
		if err != nil {
			s.t.Fatal(err)
		}
		files = append(files, cas.File{Path: "d/" + c, Digest: d, Size: int64(len(c))})
		rec.Outputs = append(rec.Outputs, cache.Output{Name: c, Digest: d, Size: int64(len(c))})
	}
	root, err := b.PutTree(files)
	if err != nil {
		s.t.Fatal(err)
	}
	rec.Outputs = append(rec.Outputs, cache.Output{Name: "tree", Digest: root, Tree: true})
	if err := s.recs.Commit(b, []*cache.Record{rec}, nil); err != nil {
		s.t.Fatal(err)
	}
	return rec.Run
}

const (
	old   = 200 * 24 * time.Hour
	young = time.Hour
)

func options() gc.Options { return gc.Options{Now: now, Keep: 90 * 24 * time.Hour} }

// has says whether a blob of that content is in the store.
func (s *store) has(content string) bool {
	return s.cas.Check(digest.SumString(content)) == cas.Present
}

func (s *store) want(content string, there bool) {
	s.t.Helper()
	if s.has(content) != there {
		s.t.Errorf("that %q is in the store should be %v", content, there)
	}
}

func (s *store) apply(o gc.Options) *gc.Report {
	s.t.Helper()
	r, err := gc.Apply(s.cas, s.recs, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// clean holds that nothing is wrong with the store, read as a new process would.
func (s *store) clean() *fsck.Report {
	s.t.Helper()
	again := open(s.t, s.dir, vfs.OS{})
	r, err := fsck.Fsck(again.cas, again.recs, true)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range r.Problems {
		s.t.Errorf("fsck: %s", r.Problems[i].Line())
	}
	return r
}

// blobs are the digests of everything in the store.
func (s *store) blobs() (out []digest.Digest) {
	s.t.Helper()
	if err := s.cas.Walk(func(b cas.Blob) error { out = append(out, b.Digest); return nil }); err != nil {
		s.t.Fatal(err)
	}
	return out
}

func runsOf(r *gc.Report) (out []string) {
	for _, run := range r.Runs {
		out = append(out, run.Run)
	}
	slices.Sort(out)
	return out
}
