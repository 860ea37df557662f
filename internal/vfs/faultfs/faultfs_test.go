package faultfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flameox/flameox/internal/vfs"
)

func newFS(t *testing.T) (*FS, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func write(t *testing.T, f vfs.FS, name, s string, sync bool) {
	t.Helper()
	h, err := f.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := h.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

// image is the files of one image, "path=content" joined by spaces.
func image(t *testing.T, f *FS, n int, seed uint64) string {
	t.Helper()
	dst := t.TempDir()
	if err := f.Image(n, seed, dst); err != nil {
		t.Fatal(err)
	}
	var out []string
	filepath.WalkDir(dst, func(p string, d os.DirEntry, err error) error {
		if p == dst {
			return nil
		}
		rel, _ := filepath.Rel(dst, p)
		if d.IsDir() {
			out = append(out, rel+"/")
			return nil
		}
		b, _ := os.ReadFile(p)
		out = append(out, rel+"="+string(b))
		return nil
	})
	return strings.Join(out, " ")
}

func TestNothingSurvivesWithoutItsSync(t *testing.T) {
	f, dir := newFS(t)
	write(t, f, dir+"/a", "data", false)
	if got := image(t, f, f.Ops(), 0); got != "" {
		t.Fatalf("nothing synced: %q", got)
	}
	f.SyncDir(dir)
	if got := image(t, f, f.Ops(), 0); got != "a=" {
		t.Fatalf("only the name synced: %q", got)
	}
	write(t, f, dir+"/a", "+more", true)
	if got := image(t, f, f.Ops(), 0); got != "a=data+more" {
		t.Fatalf("both synced: %q", got)
	}
	if got := image(t, f, f.Ops()-1, 0); got != "a=" {
		t.Fatalf("before the sync of the data: %q", got)
	}
	if got := image(t, f, f.Ops()-1, 1); got != "a=data+more" {
		t.Fatalf("kept by chance: %q", got)
	}
}

func TestARenameWithinADirectoryIsAtomicAndOneAcrossIsNot(t *testing.T) {
	f, dir := newFS(t)
	f.Mkdir(dir+"/d", 0o755)
	write(t, f, dir+"/old", "old", true)
	write(t, f, dir+"/new", "new", true)
	f.SyncDir(dir)
	f.Rename(dir+"/new", dir+"/old")
	seen := map[string]bool{}
	for seed := range uint64(40) {
		seen[image(t, f, f.Ops(), seed)] = true
	}
	if len(seen) != 2 || !seen["d/ old=old new=new"] && !seen["d/ new=new old=old"] || !seen["d/ old=new"] {
		t.Fatalf("images of a rename: %v", seen)
	}
	f.SyncDir(dir)
	f.Rename(dir+"/old", dir+"/d/x")
	seen = map[string]bool{}
	for seed := range uint64(60) {
		seen[image(t, f, f.Ops(), seed)] = true
	}
	if len(seen) != 4 {
		t.Fatalf("images of a rename between directories: %v, want both, either and none", seen)
	}
	f.SyncFS(dir)
	if got := image(t, f, f.Ops(), 0); got != "d/ d/x=new" {
		t.Fatalf("after SyncFS: %q", got)
	}
}

func TestUnsyncedWritesAreCutShort(t *testing.T) {
	f, dir := newFS(t)
	write(t, f, dir+"/a", "", true)
	f.SyncDir(dir)
	write(t, f, dir+"/a", "0123456789", false)
	lengths := map[int]bool{}
	for seed := range uint64(100) {
		lengths[len(image(t, f, f.Ops(), seed))] = true
	}
	if len(lengths) < 8 {
		t.Fatalf("lengths %v of 100 images, want many", lengths)
	}
}

func TestTruncateAndRemoveCountOnlyWhenSynced(t *testing.T) {
	f, dir := newFS(t)
	write(t, f, dir+"/a", "0123456789", true)
	write(t, f, dir+"/b", "b", true)
	f.SyncDir(dir)
	h, _ := f.OpenFile(dir+"/a", os.O_RDWR, 0)
	defer h.Close()
	h.Truncate(3)
	f.Remove(dir + "/b")
	if got := image(t, f, f.Ops(), 0); got != "a=0123456789 b=b" {
		t.Fatalf("unsynced: %q", got)
	}
	h.Sync()
	f.SyncDir(dir)
	if got := image(t, f, f.Ops(), 0); got != "a=012" {
		t.Fatalf("synced: %q", got)
	}
}

func TestWhatWasThereAtNewIsDurable(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(dir+"/d", 0o755)
	os.WriteFile(dir+"/d/f", []byte("x"), 0o644)
	f, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, dir+"/d/f", "y", false)
	if got := image(t, f, f.Ops(), 0); got != "d/ d/f=x" {
		t.Fatalf("%q", got)
	}
}

func TestTheNthOperationFailsAndAFailedWriteIsHalfDone(t *testing.T) {
	f, dir := newFS(t)
	f.Inject = FailNth(1, syscall.ENOSPC)
	h, err := f.OpenFile(dir+"/a", os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	n, err := h.Write([]byte("0123456789"))
	if n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %d, %v", n, err)
	}
	if n, err := h.Write([]byte("rest")); n != 4 || err != nil {
		t.Fatalf("write after the failure: %d, %v", n, err)
	}
	if got := image(t, f, f.Ops(), 1); got != "a=01234rest" {
		t.Fatalf("%q", got)
	}
	f.Inject = FailFrom(0, syscall.ENOSPC)
	if err := f.Mkdir(dir+"/d", 0o755); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("mkdir on a full disk: %v", err)
	}
	if err := f.Remove(dir + "/a"); err != nil {
		t.Fatalf("remove on a full disk: %v", err)
	}
}
