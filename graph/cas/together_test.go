package cas

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// slowSync is a file system whose first two syncs of everything wait until others wait behind them.
type slowSync struct {
	vfs.OS
	gates  atomic.Int64
	gate   func() // called by the first two syncs
	syncs  atomic.Int64
	rename func(to string) error
}

func (f *slowSync) SyncFS(dir string) error {
	f.syncs.Add(1)
	if f.gates.Add(1) <= 2 {
		f.gate()
	}
	return f.OS.SyncFS(dir)
}

func (f *slowSync) SyncDir(dir string) error {
	f.syncs.Add(1)
	return f.OS.SyncDir(dir)
}

func (f *slowSync) Rename(from, to string) error {
	if f.rename != nil {
		if err := f.rename(to); err != nil {
			return err
		}
	}
	return f.OS.Rename(from, to)
}

// syncAtOnce syncs n batches of some blobs each while the first two hold up the others.
func syncAtOnce(t *testing.T, f *slowSync, n int) (s *Store, blobs [][]digest.Digest, errs []error) {
	t.Helper()
	s, err := Open(t.TempDir(), f)
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan bool, 2)
	f.gate = func() {
		began <- true
		for s.syncing.Waiting() < n-2 {
			time.Sleep(time.Millisecond)
		}
	}
	blobs, errs = make([][]digest.Digest, n), make([]error, n)
	batches := make([]*Batch, n)
	for i := range batches {
		batches[i] = s.NewBatch()
		for k := range 5 {
			d, err := batches[i].PutBytes(fmt.Appendf(nil, "%d of %d", k, i))
			if err != nil {
				t.Fatal(err)
			}
			blobs[i] = append(blobs[i], d)
		}
		d, err := batches[i].PutBytes([]byte("everybody's"))
		if err != nil {
			t.Fatal(err)
		}
		blobs[i] = append(blobs[i], d)
	}
	var wg sync.WaitGroup
	for i, b := range batches {
		wg.Go(func() { errs[i] = b.Sync() })
		if i < 2 {
			<-began
		}
	}
	wg.Wait()
	return s, blobs, errs
}

func TestBatchesAtTheSameMomentShareTheirSyncs(t *testing.T) {
	f := &slowSync{}
	s, blobs, errs := syncAtOnce(t, f, 10)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, list := range blobs {
		for _, d := range list {
			if p := s.Verify(d); p != Present {
				t.Errorf("%s is %s", d, p)
			}
			if r, ok := s.known(d); !ok || !r.durable {
				t.Errorf("%s is not known to be durable", d)
			}
		}
	}
	// Content and names of the first and of the second, the directories above, content and names of all others.
	if n := f.syncs.Load(); n > 12 {
		t.Errorf("10 batches took %d syncs", n)
	}
}

func TestOfBatchesThatShareTheirSyncsOnlyTheOneThatCannotBePlacedFails(t *testing.T) {
	broken := errors.New("no room")
	bad := digest.SumString("3 of 4")
	f := &slowSync{rename: func(to string) error {
		if strings.HasSuffix(to, bad.String()[2:]) {
			return broken
		}
		return nil
	}}
	s, blobs, errs := syncAtOnce(t, f, 8)
	for i, err := range errs {
		if (i == 4) != errors.Is(err, broken) {
			t.Errorf("batch %d: %v", i, err)
		}
		for _, d := range blobs[i] {
			if p := s.Verify(d); p != Present && i != 4 {
				t.Errorf("batch %d: %s is %s", i, d, p)
			}
		}
	}
}
