package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRacyTrustsOnlyStampsOlderThanATickBeforeReading(t *testing.T) {
	const s, ms = int64(time.Second), int64(time.Millisecond)
	base := 1000*s + 7 // odd nanoseconds: a fine clock
	tests := []struct {
		name         string
		mtime, ctime int64
		read, now    int64
		racy         bool
	}{
		{"long ago", base, base, base + s, base + 2*s, false},
		{"changed in the tick of the reading", base, base, base + 5*ms, base + s, true},
		{"touched to look old, but the inode changed just now", base - 100*s, base, base + 5*ms, base + s, true},
		{"stamp in the future", base + 10*s, base, base, base + s, true},
		{"the clock was set back after the reading", base, base, base + 100*s, base + 50*s, true},
		{"a clock of whole seconds within two of them", 1000 * s, 1000 * s, 1001 * s, 1010 * s, true},
		{"a clock of whole seconds long ago", 1000 * s, 1000 * s, 1003 * s, 1010 * s, false},
	}
	for _, tt := range tests {
		id := Identity{MtimeNS: tt.mtime, CtimeNS: tt.ctime}
		if got := id.Racy(tt.read, tt.now); got != tt.racy {
			t.Errorf("%s: racy = %v, want %v", tt.name, got, tt.racy)
		}
	}
}

func TestLockExcludesAndIsGivenBackByClose(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	a, err := OS{}.Lock(name, Exclusive, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (OS{}).Lock(name, Shared, 5*time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Fatalf("second lock: %v, want ErrLocked", err)
	}
	a.Close()
	b, err := OS{}.Lock(name, Shared, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c, err := OS{}.Lock(name, Shared, 0)
	if err != nil {
		t.Fatalf("two shared locks: %v", err)
	}
	c.Close()
}

func TestWriteFileReplacesAndLeavesNoTemporary(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for _, s := range []string{"one", "two, longer", ""} {
		if err := WriteFile(OS{}, name, []byte(s), 0o644, true); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(name); string(b) != s {
			t.Fatalf("read %q, want %q", b, s)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Fatalf("left %v", list)
	}
}

func TestReadFileRefusesWhatIsLargerThanTheLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	os.WriteFile(name, make([]byte, 100), 0o644)
	if _, err := ReadFile(OS{}, name, 99); err == nil {
		t.Fatal("read 100 bytes with a limit of 99")
	}
	if b, err := ReadFile(OS{}, name, 100); err != nil || len(b) != 100 {
		t.Fatalf("read %d bytes, %v", len(b), err)
	}
}

func TestRemoveAllRemovesReadOnlyDirectoriesAndNotWhatLinksLeadTo(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	os.WriteFile(outside, []byte("x"), 0o644)
	tree := filepath.Join(dir, "tree")
	os.MkdirAll(filepath.Join(tree, "a", "b"), 0o755)
	os.WriteFile(filepath.Join(tree, "a", "b", "f"), nil, 0o444)
	os.Symlink(outside, filepath.Join(tree, "a", "link"))
	for _, d := range []string{"a/b", "a", "."} {
		os.Chmod(filepath.Join(tree, d), 0o555)
	}
	if err := RemoveAll(OS{}, tree); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(tree); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("tree: %v", err)
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(OS{}, tree); err != nil {
		t.Fatalf("what is gone: %v", err)
	}
}

func TestMkdirAllSaysWhatIsInTheWay(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
	if err := MkdirAll(OS{}, filepath.Join(dir, "f", "x"), 0o755); err == nil {
		t.Fatal("made a directory below a file")
	}
	for range 2 {
		if err := MkdirAll(OS{}, filepath.Join(dir, "a/b/c"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLstatAgreesWithTheStandardLibrary(t *testing.T) {
	dir := t.TempDir()
	f := filepath.Join(dir, "f")
	os.WriteFile(f, []byte("abc"), 0o754)
	link := filepath.Join(dir, "l")
	os.Symlink(f, link)
	for _, p := range []string{dir, f, link} {
		want, err := os.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := OS{}.Lstat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got.Mode.Type() != want.Mode().Type() || got.Mode.Perm() != want.Mode().Perm() || got.Size != want.Size() || got.MtimeNS != want.ModTime().UnixNano() {
			t.Errorf("%s: %+v, want %v %d %v", p, got, want.Mode(), want.Size(), want.ModTime())
		}
	}
}
