package cache

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/vfs"
)

// gated is a file system whose first append waits until others wait behind it, and that counts syncs.
type gated struct {
	vfs.OS
	gate  func() // called by the first append, with its lock
	once  sync.Once
	syncs atomic.Int64
	write func() error // asked before each write, where it is not nil
}

func (g *gated) Lock(name string, how vfs.LockMode, wait time.Duration) (io.Closer, error) {
	l, err := g.OS.Lock(name, how, wait)
	if strings.HasSuffix(name, "append") {
		g.once.Do(g.gate)
	}
	return l, err
}

func (g *gated) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := g.OS.OpenFile(name, flag, perm)
	return &gatedFile{f, g}, err
}

type gatedFile struct {
	vfs.File
	g *gated
}

func (f *gatedFile) Datasync() error {
	f.g.syncs.Add(1)
	return f.File.Datasync()
}

func (f *gatedFile) Write(b []byte) (int, error) {
	if f.g.write != nil {
		if err := f.g.write(); err != nil {
			return 0, err
		}
	}
	return f.File.Write(b)
}

// together commits each of lists while the first holds up the others, and returns their errors.
func together(t *testing.T, g *gated, r *Records, lists ...[]*Record) []error {
	t.Helper()
	first := make(chan bool)
	g.gate = func() {
		close(first)
		for r.appending.Waiting() < len(lists)-1 {
			time.Sleep(time.Millisecond)
		}
	}
	errs := make([]error, len(lists))
	var wg sync.WaitGroup
	for i, recs := range lists {
		wg.Go(func() { errs[i] = r.Commit(nil, recs, nil) })
		if i == 0 {
			<-first
		}
	}
	wg.Wait()
	return errs
}

func openGated(t *testing.T) (*gated, *Records) {
	t.Helper()
	g := &gated{}
	r, err := Open(t.TempDir(), g, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return g, r
}

func TestCommitsAtTheSameMomentShareASync(t *testing.T) {
	g, r := openGated(t)
	var lists [][]*Record
	for range 20 {
		lists = append(lists, []*Record{record(r, "k"), record(r, "k")})
	}
	for _, err := range together(t, g, r, lists...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := g.syncs.Load(); n != 2 {
		t.Errorf("20 commits took %d syncs of the journal, want one for the first and one for all others", n)
	}
	for name, from := range map[string]*Records{"the same process": r, "another": open(t, r.dir)} {
		if n := len(from.All()); n != 40 {
			t.Errorf("%s: %d records, want 40", name, n)
		}
	}
	if problems, err := open(t, r.dir).CheckJournal(); err != nil || len(problems) > 0 {
		t.Errorf("the journal: %v, %v", problems, err)
	}
}

func TestOfCommitsThatShareASyncOnlyTheOneThatConflictsFails(t *testing.T) {
	g, r := openGated(t)
	old := record(r, "k")
	lists := [][]*Record{{old}, {record(r, "k")}, {nextOf(old)}, {record(r, "k"), nextOf(old)}, {record(r, "k")}}
	errs := together(t, g, r, lists...)
	conflicts := 0
	for i, err := range errs {
		var conflict *ConflictError
		switch {
		case errors.As(err, &conflict) && (i == 2 || i == 3):
			conflicts++
		case err != nil:
			t.Errorf("commit %d: %v", i, err)
		}
	}
	if conflicts != 1 {
		t.Fatalf("of two commits of one revision %d failed: %v", conflicts, errs)
	}
	want := 3 // runs of the first, the second and the last commit
	if errs[3] == nil {
		want = 4
	}
	again := open(t, r.dir)
	if len(again.All()) != want {
		t.Errorf("%d runs are in the journal, want %d: %v", len(again.All()), want, errs)
	}
	if s, err := again.Run(old.Run); err != nil || s.Revision != 2 {
		t.Errorf("the run is at revision %v, want 2: %v", s, err)
	}
}

func nextOf(r *Record) *Record {
	next := *r
	next.Revision++
	return &next
}

func TestWhereASharedWriteFailsNothingOfAnyCommitIsThere(t *testing.T) {
	g, r := openGated(t)
	broken := errors.New("the disk is broken")
	writes := 0
	g.write = func() error {
		if writes++; writes == 2 {
			return broken
		}
		return nil
	}
	errs := together(t, g, r, []*Record{record(r, "k")}, []*Record{record(r, "k")}, []*Record{record(r, "k")})
	if errs[0] != nil || !errors.Is(errs[1], broken) || !errors.Is(errs[2], broken) {
		t.Fatalf("%v", errs)
	}
	if again := open(t, r.dir); len(again.All()) != 1 {
		t.Errorf("%d records are in the journal, want the first", len(again.All()))
	}
	if err := r.Commit(nil, []*Record{record(r, "k")}, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

var _ vfs.FS = (*gated)(nil)
