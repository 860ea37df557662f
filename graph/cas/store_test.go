package cas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s *Store, contents ...string) []digest.Digest {
	t.Helper()
	b := s.NewBatch()
	var out []digest.Digest
	for _, c := range contents {
		d, err := b.PutBytes([]byte(c))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

// settle waits until stamps are older than the granularity of clocks, so that memory may answer.
func settle() { time.Sleep(60 * time.Millisecond) }

func TestPutGivesReadOnlyBlobsByDigest(t *testing.T) {
	s := open(t, t.TempDir())
	large := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB: the streaming way
	file := filepath.Join(t.TempDir(), "f")
	os.WriteFile(file, []byte(large+"!"), 0o644)
	b := s.NewBatch()
	put := map[digest.Digest]string{}
	for _, c := range []string{"", "small", large} {
		d, n, err := b.Put(strings.NewReader(c))
		if err != nil || n != int64(len(c)) || d != digest.SumString(c) {
			t.Fatalf("put %d bytes: %v, %d, %v", len(c), d, n, err)
		}
		put[d] = c
	}
	d, n, err := b.PutFile(file)
	if err != nil || n != int64(len(large)+1) {
		t.Fatal(n, err)
	}
	put[d] = large + "!"
	for d := range put {
		if p := s.Check(d); p != Absent {
			t.Fatalf("%s before Sync", p)
		}
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for d, c := range put {
		if p := s.Check(d); p != Present {
			t.Fatalf("blob of %d bytes is %s", len(c), p)
		}
		got, err := s.ReadAll(d)
		if err != nil || string(got) != c {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		st, _ := os.Lstat(s.Path(d))
		if st.Mode().Perm() != 0o444 {
			t.Fatalf("mode %v", st.Mode())
		}
		f, err := s.Open(d)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if list, _ := os.ReadDir(s.tmp()); len(list) != 0 {
		t.Fatalf("left in tmp: %v", list)
	}
}

func TestAnIntactBlobIsNotWrittenAgain(t *testing.T) {
	s := open(t, t.TempDir())
	large := strings.Repeat("x", 2<<20)
	ds := put(t, s, "a", large)
	var before []vfs.Stat
	for _, d := range ds {
		st, _ := vfs.OS{}.Lstat(s.Path(d))
		before = append(before, st)
	}
	s = open(t, s.Dir()) // a process that remembers nothing
	put(t, s, "a", large)
	b := s.NewBatch()
	b.Put(strings.NewReader(large))
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for i, d := range ds {
		if st, _ := (vfs.OS{}).Lstat(s.Path(d)); st.Identity != before[i].Identity {
			t.Fatalf("blob %d was written again", i)
		}
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.NewBatch()
	d, _ := b.PutBytes([]byte("a"))
	b.Put(strings.NewReader(strings.Repeat("y", 2<<20)))
	b.Discard()
	b.Discard()
	if s.Check(d) != Absent {
		t.Fatal("a discarded blob is there")
	}
	if list, _ := os.ReadDir(s.tmp()); len(list) != 0 {
		t.Fatalf("left %v", list)
	}
	if _, err := b.PutBytes([]byte("b")); err == nil {
		t.Fatal("put into a finished batch")
	}
}

func TestEveryKindOfDamageIsNoticed(t *testing.T) {
	damage := map[string]struct {
		do   func(path string) error
		want Presence
	}{
		"flipped in place": {func(p string) error {
			os.Chmod(p, 0o644)
			b, _ := os.ReadFile(p)
			b[1] ^= 1
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt(b, 0)
			return err
		}, Damaged},
		"flipped in place with the old times": {func(p string) error {
			st, _ := os.Stat(p)
			os.Chmod(p, 0o644)
			b, _ := os.ReadFile(p)
			b[0] ^= 1
			os.WriteFile(p, b, 0o644)
			return os.Chtimes(p, st.ModTime(), st.ModTime())
		}, Damaged},
		"truncated": {func(p string) error { return os.Truncate(p, 2) }, Damaged},
		"extended": {func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write([]byte("x"))
			return err
		}, Damaged},
		"deleted": {os.Remove, Absent},
		"replaced": {func(p string) error {
			os.WriteFile(p+".new", []byte("othe"), 0o444)
			return os.Rename(p+".new", p)
		}, Damaged},
		"replaced by a directory": {func(p string) error { os.Remove(p); return os.Mkdir(p, 0o755) }, Damaged},
		"replaced by a link to the same content": {func(p string) error {
			os.Rename(p, p+".moved")
			return os.Symlink(p+".moved", p)
		}, Damaged},
	}
	for name, d := range damage {
		for _, waited := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/waited=%v", name, waited), func(t *testing.T) {
				s := open(t, t.TempDir())
				blob := put(t, s, "good")[0]
				if waited {
					settle()
				}
				if s.Check(blob) != Present {
					t.Fatal("not present")
				}
				if err := s.Save(); err != nil {
					t.Fatal(err)
				}
				if err := d.do(s.Path(blob)); err != nil {
					t.Fatal(err)
				}
				if got := s.Check(blob); got != d.want {
					t.Errorf("the same process: %s, want %s", got, d.want)
				}
				again := open(t, s.Dir())
				if got := again.Check(blob); got != d.want {
					t.Errorf("another process: %s, want %s", got, d.want)
				}
				if _, err := again.ReadAll(blob); err == nil {
					if name != "replaced by a link to the same content" {
						t.Error("read without an error")
					}
				}
				if put(t, again, "good"); again.Check(blob) != Present {
					t.Error("putting the content again did not heal it")
				}
			})
		}
	}
}

// countingFS counts files opened for reading.
type countingFS struct {
	vfs.OS
	opens atomic.Int64 // several workers open
	skew  time.Duration
}

func (c *countingFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	c.opens.Add(1)
	return c.OS.OpenFile(name, flag, perm)
}

func (c *countingFS) Now() time.Time { return time.Now().Add(c.skew) }

func TestCheckOfAnUnmovedBlobReadsNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ds := put(t, s, "a", "b", "c")
	settle()
	for _, d := range ds {
		s.Check(d) // the first after settling hashes and remembers
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := &countingFS{}
	s, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	c.opens.Store(0)
	for i, p := range s.CheckAll(ds) {
		if p != Present {
			t.Fatalf("blob %d is %s", i, p)
		}
	}
	if c.opens.Load() != 0 {
		t.Fatalf("%d files were opened", c.opens.Load())
	}
	c.skew = -time.Hour // the clock was set back: memory vouches for nothing
	s.CheckAll(ds)
	if c.opens.Load() != int64(len(ds)) {
		t.Fatalf("%d files were opened after the clock was set back, want %d", c.opens.Load(), len(ds))
	}
}

func TestABrokenOrMissingIndexCostsOnlyHashing(t *testing.T) {
	s := open(t, t.TempDir())
	ds := put(t, s, "a", "b")
	settle()
	s.CheckAll(ds)
	s.Close()
	good, err := os.ReadFile(s.indexPath())
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"none": nil, "cut": good[:len(good)-9], "flipped": append([]byte("X"), good[1:]...)} {
		os.Remove(s.indexPath())
		if b != nil {
			os.WriteFile(s.indexPath(), b, 0o644)
		}
		again := open(t, s.Dir())
		for _, d := range ds {
			if again.Check(d) != Present {
				t.Errorf("%s: not present", name)
			}
		}
	}
}

func TestQuarantineMovesTheFileWithANote(t *testing.T) {
	s := open(t, t.TempDir())
	d := put(t, s, "bad")[0]
	to, err := s.Quarantine(d, "because")
	if err != nil {
		t.Fatal(err)
	}
	if s.Check(d) != Absent {
		t.Fatal("still there")
	}
	if b, _ := os.ReadFile(to); string(b) != "bad" {
		t.Fatalf("quarantined %q", b)
	}
	var n Note
	b, err := os.ReadFile(to + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &n); err != nil || n.Why != "because" || n.From != s.Path(d) || n.Size != 3 || n.Blob != d.String() || n.When.IsZero() {
		t.Fatalf("%+v, %v", n, err)
	}
}

func TestPutFileRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store"))
	os.WriteFile(dir+"/f", nil, 0o644)
	os.Symlink(dir+"/f", dir+"/link")
	syscall.Mkfifo(dir+"/fifo", 0o644)
	b := s.NewBatch()
	defer b.Discard()
	for _, name := range []string{"link", "fifo", "."} {
		if _, _, err := b.PutFile(filepath.Join(dir, name)); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v, want ErrNotRegular", name, err)
		}
	}
	if _, _, err := b.PutFile(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestWalkListsBlobsInOrderAndStrays(t *testing.T) {
	s := open(t, t.TempDir())
	ds := put(t, s, "a", "b", "c", "d")
	os.WriteFile(filepath.Join(filepath.Dir(s.Path(ds[0])), "note.txt"), nil, 0o644)
	var blobs, strays int
	var last digest.Digest
	if err := s.Walk(func(b Blob) error {
		if b.Digest.IsZero() {
			strays++
			return nil
		}
		if bytes.Compare(last[:], b.Digest[:]) >= 0 || b.Size != 1 {
			t.Errorf("%v after %v, size %d", b.Digest, last, b.Size)
		}
		last = b.Digest
		blobs++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if blobs != 4 || strays != 1 {
		t.Fatalf("%d blobs, %d strays", blobs, strays)
	}
}

func TestSweepAdoptsWhatIsCompleteAndRemovesTheRest(t *testing.T) {
	s := open(t, t.TempDir())
	whole := digest.SumString("whole")
	os.MkdirAll(s.tmp(), 0o755)
	os.MkdirAll(filepath.Join(s.dir, "trees", "half.tmp-X", "d"), 0o755)
	for name, c := range map[string]string{
		whole.String() + "-A": "whole", digest.SumString("cut short").String() + "-B": "cut", "stream-C": "data",
	} {
		os.WriteFile(filepath.Join(s.tmp(), name), []byte(c), 0o444)
	}
	b := s.NewBatch()
	b.PutBytes([]byte("live"))
	if sw, err := open(t, s.dir).Sweep(); err != nil || !sw.Busy || len(sw.Removed) != 0 {
		t.Fatalf("while a batch is open: %+v, %v", sw, err)
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	sw, err := s.Sweep()
	if err != nil || sw.Busy || len(sw.Adopted) != 1 || len(sw.Removed) != 3 {
		t.Fatalf("%+v, %v", sw, err)
	}
	if s.Check(whole) != Present {
		t.Fatal("the complete file was not adopted")
	}
	if list, _ := os.ReadDir(s.tmp()); len(list) != 0 {
		t.Fatalf("left %v", list)
	}
}

func TestParallelPutsOfTheSameContent(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.NewBatch()
	each(4, 64*8, lookRun, func(i int) {
		if _, err := b.PutBytes([]byte{byte(i % 7)}); err != nil {
			t.Error(err)
		}
		if i%64 == 0 {
			if _, _, err := b.Put(bytes.NewReader(make([]byte, small+10))); err != nil {
				t.Error(err)
			}
		}
	})
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	n := 0
	s.Walk(func(Blob) error { n++; return nil })
	if n != 8 {
		t.Fatalf("%d blobs, want 8", n)
	}
	if list, _ := os.ReadDir(s.tmp()); len(list) != 0 {
		t.Fatalf("left %v", list)
	}
}

func TestABatchThatFailedOrWasDiscardedNeverCountsAsDurable(t *testing.T) {
	root := t.TempDir()
	f, err := faultfs.New(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(root, "store"), f)
	if err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	d, err := b.PutBytes([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	f.Inject = faultfs.FailFrom(0, syscall.ENOSPC)
	for range 2 {
		if err := b.Sync(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("sync on a full disk: %v", err)
		}
	}
	if b.Has(d) {
		t.Fatal("the failed batch says that it has the blob")
	}
	f.Inject = nil
	b = s.NewBatch()
	b.PutBytes([]byte("a"))
	b.Discard()
	if err := b.Sync(); err == nil || b.Has(d) {
		t.Fatalf("sync of a discarded batch: %v", err)
	}
	if err := s.NewBatch().Sync(); err != nil {
		t.Fatalf("sync of an empty batch: %v", err)
	}
}
