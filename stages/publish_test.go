package stages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/program"
)

// rotFS is a file system whose disk changes bytes and tells nobody: a file's stamps are those that it had when it was frozen.
type rotFS struct {
	vfs.FS
	frozen map[string]vfs.Stat
}

func (f *rotFS) Lstat(name string) (vfs.Stat, error) {
	if st, ok := f.frozen[name]; ok {
		return st, nil
	}
	return f.FS.Lstat(name)
}

// Now is an hour on, so that no stamp is so recent that it vouches for nothing.
func (f *rotFS) Now() time.Time { return f.FS.Now().Add(time.Hour) }

// shelf is a store with records that no engine made.
type shelf struct {
	t     *testing.T
	store *graph.Store
	fs    *rotFS
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, fs: &rotFS{FS: vfs.OS{}, frozen: map[string]vfs.Stat{}}}
	s.open(filepath.Join(t.TempDir(), ".flameox"))
	return s
}

func (s *shelf) open(dir string) {
	s.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	blobs, err := cas.Open(dir, s.fs)
	if err != nil {
		s.t.Fatal(err)
	}
	records, err := cache.Open(dir, vfs.OS{}, time.Now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = &graph.Store{Dir: dir, CAS: blobs, Cache: records, Now: time.Now}
}

// record commits a record with a part of measurements where a value is given, and links it as an extraction of another run.
func (s *shelf) record(address, kind string, state evidence.State, value int64, of string) *cache.Record {
	s.t.Helper()
	rec := &cache.Record{
		Run: s.store.Cache.NewRunID(), Revision: 1, Address: address, Block: address, Kind: kind, Nature: "pure",
		Key: digest.SumString(address), Attempt: 1, Execution: cache.ExecutionNotApplicable, Capture: cache.CaptureRegistered,
		Validation: cache.ValidationPassed, State: string(state), Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Version: "v0",
	}
	if state == evidence.Partial {
		rec.Limitations = []cache.Note{{Code: "cut", Text: "rows of " + address}}
	}
	batch := s.store.CAS.NewBatch()
	if value != 0 {
		sink := evidence.NewSink(s.t.TempDir(), evidence.FileMeta{Artifact: digest.SumString(address), Provider: "gobench", ProviderVersion: 1}, evidence.Budget{})
		err := sink.Measurements.Put(&evidence.Measurement{Name: address, ValueInt: &value, Unit: "ns", Aggregation: "sample", Scope: "workload"})
		if err != nil {
			s.t.Fatal(err)
		}
		parts, err := sink.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		if err := program.PutParts(&graph.Task{Batch: batch}, rec, parts); err != nil {
			s.t.Fatal(err)
		}
	}
	var links []cache.Link
	if of != "" {
		links = []cache.Link{{Run: of, Provider: strings.TrimPrefix(kind, "extract."), Extraction: rec.Run}}
	}
	if err := s.store.Cache.Commit(batch, []*cache.Record{rec}, links); err != nil {
		s.t.Fatal(err)
	}
	return rec
}

// imported is an import with its extraction.
func (s *shelf) imported(name string, value int64) (imp, ext *cache.Record) {
	imp = s.record("import.gobench."+name, "import.gobench", "", 0, "")
	return imp, s.record("extract.gobench."+name, "extract.gobench", evidence.Complete, value, imp.Run)
}

func (s *shelf) publish() publish.Report {
	s.t.Helper()
	r, err := Publish(context.Background(), s.store)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// visible is what a glob over a table shows.
func (s *shelf) visible(table string, cols ...string) (out []string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.store.Dir, "evidence", table, "*.parquet"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		err := evidence.Scan(f, evidence.ScanOptions{Columns: cols}, func(_ []evidence.Column, row []any) error {
			out = append(out, fmt.Sprint(row...))
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	slices.Sort(out)
	return out
}

// flip changes one byte of the one file below dir that holds text, at text.
func (s *shelf) flip(dir, text string) {
	s.t.Helper()
	found := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := bytes.Index(b, []byte(text))
		if at < 0 {
			return nil
		}
		found++
		b[at] ^= 1
		return os.WriteFile(path, b, 0o644)
	})
	if err != nil || found != 1 {
		s.t.Fatalf("%d files below %s hold %q: %v", found, dir, text, err)
	}
}

func TestAPartThatADiskChangedUnseenIsLostToThePlannerOnceItWasFound(t *testing.T) {
	s := newShelf(t)
	s.imported("good", 5)
	_, ext := s.imported("bad", 7)
	out := ext.Outputs[0]
	path := s.store.CAS.Path(out.Digest)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.store.CAS.Check(out.Digest) != cas.Present {
		t.Fatal("the part is not in the store")
	}
	if s.fs.frozen[path], err = s.fs.FS.Lstat(path); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if s.store.Lost(out) {
		t.Fatal("the store saw the change by itself: the test tests nothing")
	}
	r := s.publish()
	if len(r.LeftOut) != 1 || !r.LeftOut[0].Lost || r.LeftOut[0].Table != "measurements" || r.LeftOut[0].From != "extract.gobench.bad" {
		t.Fatalf("left out %v", r.LeftOut)
	}
	if got := s.visible("measurements", "name"); !slices.Equal(got, []string{"extract.gobench.good"}) {
		t.Errorf("measurements of %v", got)
	}
	if !s.store.Lost(out) {
		t.Error("the planner takes the part for whole")
	}
	if err := s.store.CAS.Save(); err != nil {
		t.Fatal(err)
	}
	s.open(s.store.Dir)
	if !s.store.Lost(out) {
		t.Error("the planner of the next process takes the part for whole")
	}
	// What the extraction that runs again does: it stores the same bytes.
	delete(s.fs.frozen, path)
	batch := s.store.CAS.NewBatch()
	if _, err := batch.PutBytes(whole); err != nil {
		t.Fatal(err)
	}
	if err := batch.Sync(); err != nil {
		t.Fatal(err)
	}
	if s.store.Lost(out) {
		t.Error("what was stored again is lost")
	}
	if r := s.publish(); r.Added != 1 || len(r.LeftOut) != 0 {
		t.Errorf("report after the repair %+v", r)
	}
	if got := s.visible("measurements", "name"); len(got) != 2 {
		t.Errorf("measurements of %v", got)
	}
}

func TestAnUnreadableRecordCostsItsOwnRowOnly(t *testing.T) {
	for _, damaged := range []string{"import.gobench.bad", "extract.gobench.bad"} {
		t.Run(damaged, func(t *testing.T) {
			s := newShelf(t)
			good, _ := s.imported("good", 5)
			bad, _ := s.imported("bad", 7)
			s.flip(filepath.Join(s.store.Dir, "runs"), `"address":"`+damaged)
			r := s.publish()
			if len(r.LeftOut) != 1 || r.LeftOut[0].Table != "runs" || r.LeftOut[0].Run != bad.Run || !strings.Contains(r.LeftOut[0].String(), "flameox fsck") {
				t.Fatalf("left out %v", r.LeftOut)
			}
			if got := s.visible("runs", "run"); !slices.Equal(got, []string{good.Run}) {
				t.Errorf("runs %v", got)
			}
			if got := s.visible("measurements", "run"); len(got) != 2 {
				t.Errorf("measurements of %v", got)
			}
			// The disk recovers.
			s.flip(filepath.Join(s.store.Dir, "runs"), `#address":"`+damaged)
			if r := s.publish(); r.Added != 1 || len(r.LeftOut) != 0 {
				t.Errorf("report %+v", r)
			}
			if got := s.visible("runs", "run"); len(got) != 2 {
				t.Errorf("runs %v", got)
			}
		})
	}
}

func TestTheStateOfARunIsTheWorstOfItsExtractions(t *testing.T) {
	for _, c := range []struct {
		states []evidence.State
		want   string
	}{
		{nil, "<nil>"},
		{[]evidence.State{evidence.Complete}, "complete"},
		{[]evidence.State{evidence.Complete, evidence.Empty}, "empty"},
		{[]evidence.State{evidence.Empty, evidence.Partial}, "partial"},
		{[]evidence.State{evidence.Complete, evidence.Partial, evidence.Complete}, "partial"},
		{[]evidence.State{evidence.Partial, evidence.Unavailable}, "unavailable"},
		{[]evidence.State{evidence.Unavailable, evidence.Incompatible}, "incompatible"},
		{[]evidence.State{evidence.Incompatible, "of a later version"}, "of a later version"},
	} {
		for _, reverse := range []bool{false, true} {
			s := newShelf(t)
			states := slices.Clone(c.states)
			if reverse {
				slices.Reverse(states)
			}
			run := s.record("capture.gobench.a", "capture.gobench", "", 0, "")
			for i, st := range states {
				s.record(fmt.Sprintf("extract.p%d.a", i), fmt.Sprintf("extract.p%d", i), st, 0, run.Run)
			}
			s.publish()
			if got := s.visible("runs", "state"); len(got) != 1 || got[0] != c.want {
				t.Errorf("%v: the state is %v, want %s", states, got, c.want)
			}
			if got := s.visible("runs", "limitations"); slices.Contains(states, evidence.Partial) != strings.Contains(got[0], "cut: rows of") {
				t.Errorf("%v: the limitations are %v", states, got)
			}
		}
	}
}

func TestANewExtractionChangesTheRowOfItsRun(t *testing.T) {
	s := newShelf(t)
	imp := s.record("import.gobench.a", "import.gobench", "", 0, "")
	s.record("extract.gobench.a", "extract.gobench", evidence.Partial, 5, imp.Run)
	s.publish()
	s.record("extract.gobench.a", "extract.gobench", evidence.Complete, 6, imp.Run)
	if r := s.publish(); r.Superseded != 2 {
		t.Errorf("report %+v", r)
	}
	if got := s.visible("runs", "state"); !slices.Equal(got, []string{"complete"}) {
		t.Errorf("the state is %v", got)
	}
	if got := s.visible("measurements", "value_int"); !slices.Equal(got, []string{"6"}) {
		t.Errorf("measurements %v", got)
	}
}
