package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func writeFiles(t testing.TB, n int) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		p := filepath.Join(dir, fmt.Sprintf("f%05d", i))
		if err := os.WriteFile(p, fmt.Appendf(nil, "content %d", i), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return dir, paths
}

func hashes(c *StatCache) int { n, _ := c.Hashes(); return int(n) }

func TestTheStatCacheHashesAFileOnce(t *testing.T) {
	dir, paths := writeFiles(t, 300)
	settle()
	name := filepath.Join(dir, "cache", "stat")
	c := OpenStatCache(name, vfs.OS{})
	for range 2 {
		for i, h := range c.DigestAll(paths) {
			if h.Err != nil || h.Digest != digest.SumString(fmt.Sprintf("content %d", i)) || h.Size == 0 || h.Ino == 0 {
				t.Fatalf("%s: %+v", paths[i], h)
			}
		}
	}
	if n := hashes(c); n != 300 {
		t.Fatalf("%d hashes of 300 files", n)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	c = OpenStatCache(name, vfs.OS{})
	os.WriteFile(paths[7], []byte("content X"), 0o644)
	got := c.DigestAll(paths)
	if n := hashes(c); n != 1 || got[7].Digest != digest.SumString("content X") {
		t.Fatalf("%d hashes after one file of 300 changed", n)
	}
}

// togetherFS makes the first reader of any file wait until another file is being read too.
type togetherFS struct {
	vfs.OS
	mu   sync.Mutex
	open int
	two  chan struct{}
}

func (f *togetherFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f.mu.Lock()
	if f.open++; f.open == 2 {
		close(f.two)
	}
	f.mu.Unlock()
	select {
	case <-f.two:
	case <-time.After(10 * time.Second):
		return nil, errors.New("no other file was read meanwhile")
	}
	return f.OS.OpenFile(name, flag, perm)
}

func TestAFewFilesAreHashedSideBySide(t *testing.T) {
	_, paths := writeFiles(t, 2)
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	c.fs = &togetherFS{two: make(chan struct{})}
	for i, h := range c.DigestAll(paths) {
		if h.Err != nil || h.Digest.IsZero() {
			t.Errorf("file %d: %v", i, h.Err)
		}
	}
}

func TestAFileChangedInTheTickInWhichItWasHashedIsHashedAgain(t *testing.T) {
	_, paths := writeFiles(t, 1)
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	for i := range 200 {
		want := fmt.Sprintf("%09d", i) // the same size, as fast as it goes
		os.WriteFile(paths[0], []byte(want), 0o644)
		h, err := c.Digest(paths[0])
		if err != nil || h.Digest != digest.SumString(want) {
			t.Fatalf("change %d was missed: %v", i, err)
		}
	}
}

func TestAClockSetBackCausesHashingAndNeverAStaleAnswer(t *testing.T) {
	_, paths := writeFiles(t, 3)
	settle()
	f := &countingFS{}
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), f)
	c.DigestAll(paths)
	f.skew = -time.Hour
	c.DigestAll(paths)
	if n := hashes(c); n != 6 {
		t.Fatalf("%d hashes, want all 3 files again", n)
	}
	os.WriteFile(paths[0], []byte("content 9"), 0o644)
	if h, _ := c.Digest(paths[0]); h.Digest != digest.SumString("content 9") {
		t.Fatal("a stale answer")
	}
	f.skew = time.Hour // and forward again: what was hashed under the wrong clock does not count as old
	c.DigestAll(paths)
	if h, _ := c.Digest(paths[0]); h.Digest != digest.SumString("content 9") {
		t.Fatal("a stale answer")
	}
}

func TestRestoredTimesDoNotFoolTheStatCache(t *testing.T) {
	_, paths := writeFiles(t, 1)
	settle()
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	c.Digest(paths[0])
	st, _ := os.Stat(paths[0])
	os.WriteFile(paths[0], []byte("CONTENT 0"), 0o644)
	os.Chtimes(paths[0], st.ModTime(), st.ModTime())
	if h, _ := c.Digest(paths[0]); h.Digest != digest.SumString("CONTENT 0") {
		t.Fatal("a stale answer")
	}
}

func TestTheExecutableBitIsReadEachTime(t *testing.T) {
	_, paths := writeFiles(t, 1)
	settle()
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	if h, _ := c.Digest(paths[0]); h.Exec {
		t.Fatal("executable")
	}
	os.Chmod(paths[0], 0o755)
	if h, _ := c.Digest(paths[0]); !h.Exec {
		t.Fatal("not executable")
	}
}

func TestWhatIsNoRegularFileIsAnErrorOfItsPathAlone(t *testing.T) {
	dir, paths := writeFiles(t, 1)
	os.Symlink(paths[0], dir+"/link")
	c := OpenStatCache(dir+"/stat", vfs.OS{})
	got := c.DigestAll([]string{paths[0], dir, dir + "/link", dir + "/none", "relative"})
	if got[0].Err != nil || !errors.Is(got[1].Err, ErrNotRegular) || !errors.Is(got[2].Err, ErrNotRegular) || !errors.Is(got[3].Err, os.ErrNotExist) || got[4].Err == nil {
		t.Fatalf("%+v", got)
	}
}

func TestABrokenStatCacheIsAnEmptyOne(t *testing.T) {
	dir, paths := writeFiles(t, 20)
	settle()
	name := dir + "/stat"
	c := OpenStatCache(name, vfs.OS{})
	c.DigestAll(paths)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(name)
	for i := range good {
		b := append([]byte(nil), good...)
		b[i] ^= 0x10
		if _, err := parseTable(statMagic, b); err == nil {
			t.Fatalf("byte %d of %d was flipped and nobody noticed", i, len(good))
		}
	}
	os.WriteFile(name, good[:len(good)/2], 0o644)
	c = OpenStatCache(name, vfs.OS{})
	c.DigestAll(paths)
	if hashes(c) != 20 {
		t.Fatalf("%d hashes", hashes(c))
	}
}

func TestEntriesNobodyAsksForAreDroppedAfterManySaves(t *testing.T) {
	dir, paths := writeFiles(t, 2)
	settle()
	name := filepath.Join(t.TempDir(), "stat")
	c := OpenStatCache(name, vfs.OS{})
	c.DigestAll(paths)
	c.Save()
	fresh := dir + "/changing"
	for i := range keepSaves + 2 {
		os.WriteFile(fresh, fmt.Append(nil, i), 0o644)
		c.Digest(fresh)
		c.Digest(paths[0])
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	c = OpenStatCache(name, vfs.OS{})
	c.DigestAll(paths)
	if n := hashes(c); n != 1 {
		t.Fatalf("%d hashes, want 1: the file asked for was kept, the other dropped", n)
	}
}

func TestIdentityTellsWhetherAnInputChanged(t *testing.T) {
	_, paths := writeFiles(t, 1)
	c := OpenStatCache(filepath.Join(t.TempDir(), "stat"), vfs.OS{})
	h, _ := c.Digest(paths[0])
	if same, err := Same(vfs.OS{}, paths[0], h.Identity); !same || err != nil {
		t.Fatal(same, err)
	}
	settle()
	os.WriteFile(paths[0], []byte("content 1"), 0o644)
	if same, _ := Same(vfs.OS{}, paths[0], h.Identity); same {
		t.Fatal("a change went unnoticed")
	}
	os.Remove(paths[0])
	if same, err := Same(vfs.OS{}, paths[0], h.Identity); same || err != nil {
		t.Fatal(same, err)
	}
}

func bigTable(n int) []byte {
	rows := make([]keyed, n)
	for i := range rows {
		p := fmt.Sprintf("/home/somebody/project/src/package%04d/%s/file%06d.go", i/50, strings.Repeat("x", i%30), i)
		rows[i] = keyed{hash: pathHash(p), path: p, row: row{Identity: Identity{Size: int64(i), Ino: uint64(i)}, Digest: digest.SumString(p), used: 1}}
	}
	return encodeTable(statMagic, 1, nil, rows)
}

func TestATableFindsEveryPathAndNoOther(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		tab, err := parseTable(statMagic, bigTable(n))
		if err != nil {
			t.Fatal(n, err)
		}
		found := 0
		for i := range tab.n {
			p := string(tab.path(i))
			for j := range tab.bucket(pathHash(p)) {
				if string(tab.path(j)) == p {
					found++
				}
			}
		}
		for range tab.bucket(pathHash("/none")) {
			found++
		}
		if tab.n != n || found != n {
			t.Fatalf("%d rows, %d found, want %d", tab.n, found, n)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		f.Add(bigTable(n))
	}
	f.Add([]byte(statMagic))
	f.Add([]byte(strings.Repeat("\xff", 200)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if tab, err := parseTable(statMagic, b); err == nil {
			for i := range tab.n {
				r := tab.row(i)
				_ = tab.path(i)
				for range tab.bucket(pathHash(string(tab.path(i)))) {
					_ = r
				}
			}
		}
		// The checksum keeps a fuzzer out; behind it everything must hold too.
		if len(b) > 4 {
			if tab, err := parseTable(statMagic, reseal(b)); err == nil {
				for i := range tab.n {
					_, _ = tab.row(i), tab.path(i)
				}
				for h := uint64(0); h < 1<<32; h += 1 << 28 {
					for range tab.bucket(uint32(h)) {
						continue
					}
				}
			}
		}
	})
}

func BenchmarkOpenStatCache100k(b *testing.B) {
	name := filepath.Join(b.TempDir(), "stat")
	os.WriteFile(name, bigTable(100_000), 0o644)
	for b.Loop() {
		if c := OpenStatCache(name, vfs.OS{}); c.base.n != 100_000 {
			b.Fatal("not loaded")
		}
	}
}

func BenchmarkDigestAll10k(b *testing.B) {
	dir, paths := writeFiles(b, 10_000)
	settle()
	c := OpenStatCache(dir+"/stat", vfs.OS{})
	c.DigestAll(paths)
	c.Save()
	for b.Loop() {
		c.DigestAll(paths)
	}
	if hashes(c) != 10_000 {
		b.Fatal("files were hashed again")
	}
}

func BenchmarkCheck10k(b *testing.B) {
	s := open(b, b.TempDir())
	batch := s.NewBatch()
	var ds []digest.Digest
	for i := range 10_000 {
		d, err := batch.PutBytes(fmt.Append(nil, i))
		if err != nil {
			b.Fatal(err)
		}
		ds = append(ds, d)
	}
	if err := batch.Sync(); err != nil {
		b.Fatal(err)
	}
	settle()
	s.CheckAll(ds)
	s.Save()
	for b.Loop() {
		for _, p := range s.CheckAll(ds) {
			if p != Present {
				b.Fatal(p)
			}
		}
	}
}

func BenchmarkPutBatch1000(b *testing.B) {
	s := open(b, b.TempDir())
	i := 0
	for b.Loop() {
		batch := s.NewBatch()
		for range 1000 {
			i++
			if _, err := batch.PutBytes(fmt.Append(nil, i)); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
