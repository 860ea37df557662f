package graph

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

// failing is a bench on a file system that refuses to open or read what is below one path.
type failing struct {
	*bench
	path string
	err  error
	kind faultfs.Kind
}

func newFailing(t *testing.T, kind faultfs.Kind) *failing {
	f := &failing{kind: kind}
	f.bench = newBenchOn(t, func(dir string) vfs.FS {
		fsys, err := faultfs.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		fsys.Inject = func(op faultfs.Op) error {
			if f.err != nil && op.Kind == f.kind && strings.HasPrefix(op.Path, f.path) {
				return f.err
			}
			return nil
		}
		return fsys
	})
	return f
}

// forgetAll opens the store anew without what it remembers, so that every blob is read again.
func (f *failing) forgetAll() {
	f.t.Helper()
	if err := f.store.CAS.Close(); err != nil {
		f.t.Fatal(err)
	}
	index := filepath.Join(f.store.Dir, "cas", "index")
	if err := os.Remove(index); err != nil {
		f.t.Fatal(err)
	}
	fsys := f.store.CAS.FS()
	blobs, err := cas.Open(f.store.Dir, fsys)
	if err != nil {
		f.t.Fatal(err)
	}
	f.store.CAS = blobs
}

func TestWhatCannotBeReadBlocksAndIsNeitherLostNorRunAgain(t *testing.T) {
	for _, c := range []struct {
		kind faultfs.Kind
		err  syscall.Errno
	}{{faultfs.Read, syscall.EIO}, {faultfs.Open, syscall.EACCES}, {faultfs.Open, syscall.EMFILE}} {
		t.Run(string(c.kind)+" "+c.err.Error(), func(t *testing.T) {
			f := newFailing(t, c.kind)
			text, other := "x", "y"
			m := f.node("m", Measurement, &fakeStage{input: &text})
			x := f.node("x", Pure, &fakeStage{}, m)
			free := f.node("free", Pure, &fakeStage{input: &other})
			g := f.graph(m, x, free)
			f.apply(g, Selection{})
			out := f.plan(g, Selection{}).Of(m).Records[0].Outputs[0]
			f.forgetAll()
			f.path, f.err = f.store.CAS.Path(out.Digest), c.err

			p := f.plan(g, Selection{})
			wantState(t, p, m, Blocked)
			wantState(t, p, x, Blocked)
			wantState(t, p, free, Cached)
			if why := p.Of(m).Block.Error(); !strings.Contains(why, c.err.Error()) || !strings.Contains(why, f.path) || !strings.Contains(why, "-replace=m") {
				t.Errorf("the block does not say what failed, where, and what to do: %s", why)
			}
			if f.store.Lost(out) {
				t.Error("an artifact that cannot be read counts as lost")
			}
			ran, report := f.apply(g, Selection{})
			wantRuns(t, ran)
			if report.Blocked != 2 || report.Cached != 1 || report.Done != 0 {
				t.Errorf("report is %+v", report)
			}
			wantState(t, f.plan(g, Selection{Replace: patterns(t, "m")}), m, Run, Replaced)
			p = f.plan(g, Selection{Exclude: patterns(t, "m")})
			wantState(t, p, m, Excluded)
			if d := p.Of(x); d.State != Blocked || !strings.Contains(d.Block.Error(), c.err.Error()) {
				t.Errorf("what stands on the excluded node is %s: %v", d.State, d.Block)
			}

			f.err = nil
			for _, n := range []*Node{m, x, free} {
				wantState(t, f.plan(g, Selection{}), n, Cached)
			}
			ran, _ = f.apply(g, Selection{})
			wantRuns(t, ran)
		})
	}
}

func TestAFileOfATreeThatCannotBeReadBlocks(t *testing.T) {
	f := newFailing(t, faultfs.Open)
	var leaf digest.Digest
	a := f.node("a", Measurement, &fakeStage{do: func(tk *Task, rec *cache.Record) error {
		d, err := tk.Batch.PutBytes([]byte("leaf"))
		if err != nil {
			return err
		}
		root, err := tk.Batch.PutTree([]cas.File{{Path: "sub/leaf", Digest: d, Size: 4}})
		leaf = d
		rec.Outputs = []cache.Output{{Name: "dir", Digest: root, Tree: true}}
		return err
	}})
	g := f.graph(a)
	f.apply(g, Selection{})
	root := f.plan(g, Selection{}).Of(a).Records[0].Outputs[0].Digest
	dirs, err := f.store.CAS.TreeDirs(root)
	if err != nil || len(dirs) != 2 {
		t.Fatalf("directories %v, %v", dirs, err)
	}
	for _, d := range append(dirs, leaf) {
		f.forgetAll()
		f.path, f.err = f.store.CAS.Path(d), syscall.EMFILE
		wantState(t, f.plan(g, Selection{}), a, Blocked)
		f.err = nil
		wantState(t, f.plan(g, Selection{}), a, Cached)
	}
	if err := os.Remove(f.store.CAS.Path(leaf)); err != nil {
		t.Fatal(err)
	}
	wantState(t, f.plan(g, Selection{}), a, Run, EvidenceLost)
}

func TestAnAttemptThatIsNotNeededMayBeUnreadable(t *testing.T) {
	f := newFailing(t, faultfs.Open)
	n := 0
	m := f.node("m", Measurement, &fakeStage{do: func(tk *Task, rec *cache.Record) error {
		n++
		d, err := tk.Batch.PutBytes([]byte{byte(n)})
		rec.Outputs = []cache.Output{{Name: "out", Digest: d, Size: 1}}
		return err
	}})
	m.Attempts = 3
	g := f.graph(m)
	f.apply(g, Selection{})
	oldest := f.plan(g, Selection{}).Of(m).Records[0].Outputs[0].Digest
	f.forgetAll()
	f.path, f.err = f.store.CAS.Path(oldest), syscall.EIO
	wantState(t, f.plan(g, Selection{}), m, Blocked)
	m.Attempts = 2
	p := f.plan(g, Selection{})
	wantState(t, p, m, Cached)
	if r := p.Of(m).Records; len(r) != 2 || r[0].Attempt != 2 || r[1].Attempt != 3 {
		t.Errorf("records are %v, want attempts 2 and 3 in this order", r)
	}
}

func TestAResultThatCannotBeReadRightAfterItWasMadeBlocksWhatStandsOnIt(t *testing.T) {
	f := newFailing(t, faultfs.Open)
	m := f.node("m", Measurement, &fakeStage{do: func(tk *Task, rec *cache.Record) error {
		d, err := tk.Batch.PutBytes([]byte("fresh"))
		rec.Outputs = []cache.Output{{Name: "out", Digest: d, Size: 5}}
		f.path, f.err = f.store.CAS.Path(d), syscall.EMFILE
		return err
	}})
	x := f.node("x", Pure, &fakeStage{}, m)
	g := f.graph(m, x)
	p, err := NewPlanner(f.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var blocked []string
	report, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 1, Observe: func(e Event) {
		if e.Kind == EventBlocked {
			blocked = append(blocked, e.Node.Address.String())
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, f.runs, "m/1")
	wantRuns(t, blocked, "m", "x")
	if report.Blocked != 2 || report.Done != 0 || report.Failed != 0 {
		t.Errorf("report is %+v", report)
	}
	f.err = nil
	ran, _ := f.apply(g, Selection{})
	wantRuns(t, ran, "x/1")
}

func TestABlobThatIsNoFileIsLost(t *testing.T) {
	b := newBench(t)
	text := "x"
	a := b.node("a", Pure, &fakeStage{input: &text})
	g := b.graph(a)
	b.apply(g, Selection{})
	path := b.store.CAS.Path(b.plan(g, Selection{}).Of(a).Records[0].Outputs[0].Digest)
	if err := errors.Join(os.Remove(path), os.Symlink("elsewhere", path)); err != nil {
		t.Fatal(err)
	}
	wantState(t, b.plan(g, Selection{}), a, Run, EvidenceLost)
}

func TestBytesThatWereLostAndCameOutAgainStandForTheRestOfTheApply(t *testing.T) {
	b := newBench(t)
	text := "x"
	m := b.node("m", Measurement, &fakeStage{input: &text})
	c := b.node("c", Pure, &fakeStage{}, m)
	g := b.graph(m, c)
	b.apply(g, Selection{})
	lost := b.store.Cache.All()[0].Outputs[0].Digest
	if err := os.Remove(b.store.CAS.Path(lost)); err != nil {
		t.Fatal(err)
	}
	p, err := NewPlanner(b.store, g, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	b.runs = nil
	report, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	wantRuns(t, b.runs, "m/2")
	if report.Done != 1 || report.Cached != 1 || report.Blocked != 0 {
		t.Errorf("report %+v, want one done and the other as it was", report)
	}
	for _, n := range []*Node{m, c} {
		if len(p.Current(n)) != 1 {
			t.Errorf("%d results stand for %s at the end, want 1", len(p.Current(n)), n.Address)
		}
	}
}
