package fsck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

// atOnce commits from several goroutines, of which each does so a few times. Every second content is one that others store, too.
func atOnce(dir string, f *faultfs.FS) ([]*ack, error) {
	w, err := openWorkspace(dir, f)
	if err != nil {
		return nil, err
	}
	const each = 2
	acks := make([]*ack, 4*each)
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range each {
				a := &ack{}
				acks[g*each+i] = a
				if err := w.commit(a, fmt.Appendf(nil, "own %d %d", g, i), fmt.Appendf(nil, "all %d", i)); err != nil {
					errs[g] = err
					continue
				}
				a.ops = f.Ops()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return acks, err
		}
	}
	return acks, w.close()
}

func TestAPowerLossDuringCommitsThatShareTheirSyncsLosesNothingAcknowledged(t *testing.T) {
	for _, noSyncFS := range []bool{false, true} {
		t.Run(fmt.Sprintf("syncfs=%v", !noSyncFS), func(t *testing.T) {
			root, f := newFault(t)
			f.NoSyncFS = noSyncFS
			acks, err := atOnce(filepath.Join(root, "store"), f)
			if err != nil {
				t.Fatal(err)
			}
			stride := 2
			if testing.Short() {
				stride = 14
			}
			for n := 0; n <= f.Ops(); n += stride {
				for _, seed := range []uint64{0, 1, uint64(n)*10 + 2} {
					at, err := os.MkdirTemp(root, "image")
					if err != nil {
						t.Fatal(err)
					}
					if err := f.Image(n, seed, at); err != nil {
						t.Fatal(err)
					}
					then := make([]*ack, len(acks))
					for i, a := range acks {
						then[i] = &ack{runs: a.runs, links: a.links, done: a.ops <= n}
					}
					if err := verify(filepath.Join(at, "store"), then); err != nil {
						t.Fatalf("after %d operations, seed %d: %v\nlast operations:\n%s", n, seed, err, strings.Join(f.Log()[max(0, n-12):n], "\n"))
					}
					vfs.RemoveAll(vfs.OS{}, at)
				}
			}
		})
	}
}

func TestAnOperationThatFailsDuringCommitsThatShareTheirSyncsLosesNothingAcknowledged(t *testing.T) {
	stride := 2
	if testing.Short() {
		stride = 14
	}
	failed := 0
	for n := 0; n < 150; n += stride {
		root, f := newFault(t)
		f.NoSyncFS = n%2 == 0
		f.Inject = faultfs.FailNth(n, os.ErrDeadlineExceeded)
		dir := filepath.Join(root, "store")
		acks, err := atOnce(dir, f)
		if err != nil {
			failed++
		}
		f.Inject = nil
		if err := verify(dir, acks); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		w, err := openWorkspace(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		a := &ack{}
		if err := w.commit(a, []byte("after"), []byte("all 1")); err != nil {
			t.Fatalf("operation %d: the store is not usable afterwards: %v", n, err)
		}
		if err := verify(dir, append(acks, a)); err != nil {
			t.Fatalf("operation %d, after another commit: %v", n, err)
		}
		vfs.RemoveAll(vfs.OS{}, root)
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}
