package fsck_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// newStore has three commits of two records each.
func newStore(t *testing.T) (string, *workspace, []*ack) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	w, err := openWorkspace(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	var acks []*ack
	for i := range 3 {
		a := &ack{}
		if err := w.commit(a, fmt.Appendf(nil, "x%d", i), fmt.Appendf(nil, "y%d", i)); err != nil {
			t.Fatal(err)
		}
		acks = append(acks, a)
	}
	return dir, w, acks
}

func check(t *testing.T, w *workspace, full bool) *fsck.Report {
	t.Helper()
	rep, err := fsck.Fsck(w.store, w.recs, full)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func codes(rep *fsck.Report) (out []fsck.Code) {
	for i := range rep.Problems {
		p := &rep.Problems[i]
		if strings.Contains(p.Line(), "\n") || p.Meaning == "" || p.Text == "" {
			panic("a problem is not one full line: " + p.Line())
		}
		out = append(out, p.Code)
	}
	return out
}

func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	os.Chmod(path, 0o644)
	if err := os.WriteFile(path, b, 0o444); err != nil {
		t.Fatal(err)
	}
}

func TestAGoodStoreHasNoProblems(t *testing.T) {
	_, w, _ := newStore(t)
	for _, full := range []bool{false, true} {
		rep := check(t, w, full)
		if !rep.OK() || rep.Lost() || rep.Runs != 6 || rep.Links != 3 || rep.Orphans != 0 {
			t.Fatalf("full=%v: %+v", full, rep)
		}
		if want := 6 + 3*3; rep.Blobs != want { // and the directories of three trees
			t.Fatalf("%d blobs, want %d", rep.Blobs, want)
		}
	}
	empty, err := openWorkspace(filepath.Join(t.TempDir(), "none"), vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	if rep := check(t, empty, true); !rep.OK() {
		t.Fatalf("a store that is not there: %+v", rep)
	}
}

func TestADamagedBlobIsQuarantinedAndItsRunsAreNamed(t *testing.T) {
	for _, full := range []bool{false, true} {
		_, w, acks := newStore(t)
		flip(t, w.store.Path(digest.SumString("x1")))
		os.Remove(w.store.Path(digest.SumString("y2")))
		rep := check(t, w, full)
		if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.BlobAbsent, fsck.BlobDamaged}) || !rep.Lost() {
			t.Fatalf("full=%v: %v", full, got)
		}
		damaged := rep.Problems[1]
		// The second run has it in its tree.
		if !slices.Equal(damaged.Runs, acks[1].runs) || !strings.Contains(damaged.Line(), acks[1].runs[0]) {
			t.Fatalf("runs %v, want %v: %s", damaged.Runs, acks[1].runs, damaged.Line())
		}
		if list, _ := filepath.Glob(filepath.Join(w.store.Dir(), "quarantine", "blob-*")); len(list) != 2 {
			t.Fatalf("quarantine: %v", list)
		}
		rep = check(t, w, full)
		if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.BlobAbsent, fsck.BlobAbsent}) {
			t.Fatalf("full=%v, again: %v", full, got)
		}
	}
}

// busyFS cannot open one file so many times, as a process with too many open files.
type busyFS struct {
	vfs.FS
	path  string
	times int
}

func (f *busyFS) OpenFile(path string, flag int, perm fs.FileMode) (vfs.File, error) {
	if path == f.path && f.times > 0 {
		f.times--
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}
	}
	return f.FS.OpenFile(path, flag, perm)
}

func TestABlobThatCannotBeReadIsNotMovedAway(t *testing.T) {
	for _, times := range []int{1, 1000} {
		_, w, acks := newStore(t)
		blob := w.store.Path(digest.SumString("x1"))
		busy := &busyFS{FS: vfs.OS{}, path: blob, times: times}
		again, err := openWorkspace(w.store.Dir(), busy)
		if err != nil {
			t.Fatal(err)
		}
		rep := check(t, again, true)
		if _, err := os.Stat(blob); err != nil {
			t.Fatalf("the whole blob was moved away: %v, %+v", err, rep.Problems)
		}
		if times == 1 {
			if !rep.OK() {
				t.Errorf("it can be read by now: %+v", rep.Problems)
			}
			continue
		}
		if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.BlobUnreadable}) || !rep.Lost() {
			t.Fatalf("%v", got)
		}
		if p := rep.Problems[0]; !slices.Equal(p.Runs, acks[1].runs) || !strings.Contains(p.Line(), "too many open files") {
			t.Errorf("runs %v: %s", p.Runs, p.Line())
		}
		busy.times = 0
		if rep := check(t, again, true); !rep.OK() {
			t.Errorf("when it can be read: %+v", rep.Problems)
		}
	}
}

func TestATreeWithoutADirectoryCannotBeRead(t *testing.T) {
	_, w, acks := newStore(t)
	s, err := w.recs.Run(acks[0].runs[1])
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := w.store.TreeDirs(s.Outputs[1].Digest)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, w.store.Path(dirs[1]))
	rep := check(t, w, false)
	if got := codes(rep); !slices.Contains(got, fsck.TreeUnreadable) || !slices.Contains(got, fsck.BlobDamaged) || !rep.Lost() {
		t.Fatalf("%v", got)
	}
}

func TestOrphansAndLeftoversAreCountedAndNoProblem(t *testing.T) {
	_, w, _ := newStore(t)
	b := w.store.NewBatch()
	b.PutBytes([]byte("never committed"))
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(w.store.Dir(), "cas", "tmp", "stream-X"), []byte("half"), 0o444)
	os.WriteFile(filepath.Join(w.store.Dir(), "state.tmp-X"), []byte("half"), 0o444)
	rep := check(t, w, true)
	if !rep.OK() || rep.Orphans != 1 || rep.OrphanBytes != 15 || rep.Removed != 2 {
		t.Fatalf("%+v", rep)
	}
}

func TestAJournalThatLostAFrameIsReportedAndTheRestIsRead(t *testing.T) {
	dir, w, acks := newStore(t)
	if err := w.recs.Rebuild(); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, "runs", "00000001.journal")
	b, _ := os.ReadFile(p)
	i := bytes.Index(b, []byte(acks[1].runs[0]))
	b[i] ^= 1
	os.WriteFile(p, b, 0o644)
	again, err := openWorkspace(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	rep := check(t, again, false)
	if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.JournalCorrupt, fsck.StateStale}) {
		t.Fatalf("%v", got)
	}
	if rep.Runs != 5 {
		t.Fatalf("%d runs", rep.Runs)
	}
	rep = check(t, again, false) // the state file was made again
	if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.JournalCorrupt}) {
		t.Fatalf("again: %v", got)
	}
}

func TestCopiesAndCachesThatAreBrokenCostNoEvidence(t *testing.T) {
	dir, w, acks := newStore(t)
	s, _ := w.recs.Run(acks[0].runs[1])
	root := s.Outputs[1].Digest
	laid, err := w.store.Materialize(root)
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(filepath.Join(laid, "d0", "f0"), 0o644)
	os.WriteFile(filepath.Join(laid, "d0", "f0"), []byte("zz"), 0o644)
	os.MkdirAll(filepath.Join(dir, "cache"), 0o755)
	os.WriteFile(filepath.Join(dir, "cache", "stat"), []byte("rubbish"), 0o644)
	os.WriteFile(filepath.Join(filepath.Dir(w.store.Path(root)), "README"), nil, 0o644)
	rep := check(t, w, true)
	if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.CacheBroken, fsck.CopyDamaged, fsck.StrayFile}) || rep.Lost() {
		t.Fatalf("%v", got)
	}
	if _, err := os.Lstat(laid); !os.IsNotExist(err) {
		t.Fatal("the damaged copy is still there")
	}
}

func TestAListOfInputsThatIsGoneIsNoLostEvidence(t *testing.T) {
	_, w, _ := newStore(t)
	f := facet.Facet{Name: facet.Inputs}
	f.AddTree("sources", digest.SumString("gone"))
	rec := &cache.Record{
		Run: w.recs.NewRunID(), Revision: 1, Key: digest.SumString("k"), Manifest: facet.New(f),
		Validation: cache.ValidationPassed, Started: time.Now(),
	}
	if err := w.recs.Commit(nil, []*cache.Record{rec}, nil); err != nil {
		t.Fatal(err)
	}
	rep := check(t, w, false)
	if got := codes(rep); !slices.Equal(got, []fsck.Code{fsck.InputsAbsent}) || rep.Lost() {
		t.Fatalf("%v", got)
	}
}

func TestARegularCheckHashesOnlyWhatMoved(t *testing.T) {
	dir, w, _ := newStore(t)
	time.Sleep(60 * time.Millisecond)
	check(t, w, false)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	c := &opens{}
	again, err := openWorkspace(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	check(t, again, false)
	blobs := 0
	for _, name := range c.names {
		if strings.Contains(name, "/cas/") && !strings.HasPrefix(filepath.Base(name), "index") {
			blobs++
		}
	}
	// Directories of trees are read, to know what belongs to them: as such, and to list them.
	if blobs > 3*3*2 {
		t.Fatalf("%d blobs were opened", blobs)
	}
	if got := again.store.Check(digest.SumString("x0")); got != cas.Present {
		t.Fatal(got)
	}
}

// opens notes what is opened.
type opens struct {
	vfs.OS
	names []string
}

func (o *opens) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	o.names = append(o.names, name)
	return o.OS.OpenFile(name, flag, perm)
}
