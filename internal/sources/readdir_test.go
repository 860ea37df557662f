package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAListingSaysWhatReadDirSays(t *testing.T) {
	dir := t.TempDir()
	for i := range 3000 { // several buffers full
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d-%s", 7*i%3000, strings.Repeat("n", i%200))), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".hidden", "..two", " ", "a\nb", "ü", "\xff\xfe"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(dir, "s")); err == nil {
		defer l.Close()
	}
	want, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var l listing
	for range 2 { // the second time in a used buffer
		got, err := l.read(dir)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d entries and %v, want %d", len(got), err, len(want))
		}
		for i, e := range want {
			kind := func(m fs.FileMode) string {
				switch {
				case m.IsRegular(), m.IsDir(), m&fs.ModeSymlink != 0:
					return m.Type().String()
				}
				return "other"
			}
			if got[i].name != e.Name() || kind(got[i].mode) != kind(e.Type()) {
				t.Errorf("entry %d is %q %v, want %q %v", i, got[i].name, got[i].mode, e.Name(), e.Type())
			}
		}
	}
}

func TestAListingOfWhatIsNoDirectoryHasTheSystemsError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var l listing
	if _, err := l.read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := l.read(file); !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
	if list, err := l.read(t.TempDir()); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}
