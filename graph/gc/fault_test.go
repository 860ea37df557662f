package gc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

// deadFrom fails every change from the n-th on: to the disk that is a process killed at that instant.
func deadFrom(n int) func(faultfs.Op) error {
	return func(op faultfs.Op) error {
		if op.N >= n {
			return errInjected
		}
		return nil
	}
}

// filled is a store, on a file system that can fail, in which some runs can go and others cannot.
func filled(t *testing.T) (*store, *faultfs.FS) {
	t.Helper()
	root := t.TempDir()
	s := open(t, filepath.Join(root, "store"), vfs.OS{})
	for i := range 2 {
		s.run("build", "pure", old, fmt.Sprintf("old %d", i), "shared")
		s.run("build", "pure", young, fmt.Sprintf("young %d", i), "shared")
	}
	fsys, err := faultfs.New(root)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, s.dir, fsys), fsys
}

func TestKilledAtAnyInstantACollectionLosesNothing(t *testing.T) {
	n := 0
	for done := false; !done; n++ {
		s, fsys := filled(t)
		before := s.blobs()
		fsys.Inject = deadFrom(fsys.Ops() + n)
		_, err := gc.Apply(s.cas, s.recs, options())
		done = err == nil
		again := open(t, s.dir, vfs.OS{})
		for i := range 2 {
			again.want(fmt.Sprintf("young %d", i), true)
		}
		again.clean()
		if n%2 == 1 { // the next collection finishes it, into a trash of its own
			again.apply(options())
			again.clean()
		}
		out, err := gc.Restore(again.cas, nil)
		if err != nil || out.Lost() {
			t.Fatalf("killed at change %d: %+v, %v", n, out, err)
		}
		if after := again.blobs(); !slices.Equal(before, after) {
			t.Fatalf("killed at change %d: %d blobs before, %d after the restore", n, len(before), len(after))
		}
		if r := again.clean(); r.Collected != 0 {
			t.Fatalf("killed at change %d: %d runs still count as given up", n, r.Collected)
		}
	}
	if n < 20 {
		t.Errorf("a collection made %d changes; the test has not seen it", n)
	}
}

func TestKilledAtAnyInstantARestoreCanBeRepeated(t *testing.T) {
	n := 0
	for done := false; !done; n++ {
		s, fsys := filled(t)
		before := s.blobs()
		s.apply(options())
		fsys.Inject = deadFrom(fsys.Ops() + n)
		_, err := gc.Restore(s.cas, nil)
		done = err == nil
		again := open(t, s.dir, vfs.OS{})
		if out, err := gc.Restore(again.cas, nil); err != nil || out.Lost() {
			t.Fatalf("killed at change %d: %+v, %v", n, out, err)
		}
		if after := again.blobs(); !slices.Equal(before, after) {
			t.Fatalf("killed at change %d: %d blobs before, %d after", n, len(before), len(after))
		}
		again.clean()
	}
	if n < 10 {
		t.Errorf("a restore made %d changes; the test has not seen it", n)
	}
}

func TestKilledAtAnyInstantEmptyingIsFinishedByTheNext(t *testing.T) {
	n := 0
	for done := false; !done; n++ {
		s, fsys := filled(t)
		id := s.apply(options()).Trash
		fsys.Inject = deadFrom(fsys.Ops() + n)
		_, err := gc.Empty(s.cas, now, 0)
		done = err == nil
		again := open(t, s.dir, vfs.OS{})
		again.clean()
		if _, err := gc.Empty(again.cas, now, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "trash", id, "cas")); !os.IsNotExist(err) {
			t.Fatalf("killed at change %d, blobs are left: %v", n, err)
		}
		again.clean()
	}
	if n < 5 {
		t.Errorf("emptying made %d changes; the test has not seen it", n)
	}
}

func TestAPowerLossDuringACollectionTouchesNothingThatIsNeeded(t *testing.T) {
	s, fsys := filled(t)
	from := fsys.Ops()
	s.apply(options())
	for n := from; n <= fsys.Ops(); n++ {
		for seed := range uint64(3) {
			dst := filepath.Join(t.TempDir(), "image")
			if err := os.Mkdir(dst, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := fsys.Image(n, seed, dst); err != nil {
				t.Fatal(err)
			}
			image := open(t, filepath.Join(dst, "store"), vfs.OS{})
			for i := range 2 {
				if d := digest.SumString(fmt.Sprintf("young %d", i)); image.cas.Check(d) != cas.Present {
					t.Fatalf("after %d changes, seed %d: young %d is gone", n, seed, i)
				}
			}
			if _, err := gc.Trashes(vfs.OS{}, image.dir); err != nil {
				t.Fatalf("after %d changes, seed %d: %v", n, seed, err)
			}
		}
	}
}

func FuzzAJournalOfTheTrashIsReadOrRefused(f *testing.F) {
	f.Add([]byte(`{"format":"flameox trash 1","id":"x","created":"2026-01-01T00:00:00Z","runs":[],"blobs":[],"measurements":false}`))
	f.Add([]byte(`{"format":"flameox trash 1","id":"../x","blobs":[{"digest":"00","size":1}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "trash", "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "trash", "x", "journal.json"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		list, err := gc.Trashes(vfs.OS{}, dir)
		if err != nil {
			return
		}
		if len(list) != 1 || list[0].ID != "x" {
			t.Fatalf("read %+v", list)
		}
		blobs, err := cas.Open(dir, vfs.OS{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gc.Empty(blobs, time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
	})
}
