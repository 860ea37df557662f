package cas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs/faultfs"
)

func TestLookTellsWhatIsWrongFromWhatCannotBeRead(t *testing.T) {
	fsys, err := faultfs.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var fail map[faultfs.Kind]error
	fsys.Inject = func(op faultfs.Op) error {
		if strings.Contains(op.Path, "cas") {
			return fail[op.Kind]
		}
		return nil
	}
	s, err := Open(filepath.Join(t.TempDir(), "store"), fsys)
	if err != nil {
		t.Fatal(err)
	}
	blobs := put(t, s, "good", "wrong", "link")
	good, wrong, link := blobs[0], blobs[1], blobs[2]
	root := putTree(t, s, map[string]string{"a/b": "in a tree"})
	for path, make := range map[string]func(string) error{
		s.Path(wrong): func(p string) error { return os.WriteFile(p, []byte("other"), 0o644) },
		s.Path(link):  func(p string) error { return os.Symlink("nowhere", p) },
	} {
		if err := errors.Join(os.Remove(path), make(path)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name string, d digest.Digest, look func(digest.Digest) (Presence, error), p Presence, e error) {
		t.Helper()
		if got, err := look(d); got != p || !errors.Is(err, e) || (e == nil) != (err == nil) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, p, e)
		}
	}
	for kind, e := range map[faultfs.Kind]error{faultfs.Open: syscall.EMFILE, faultfs.Read: syscall.EIO} {
		fail = map[faultfs.Kind]error{kind: e}
		want("absent", digest.SumString("never"), s.Look, Absent, nil)
		want("good", good, s.Examine, Damaged, e)
		want("wrong", wrong, s.Look, Damaged, e)
		again, err := Open(s.Dir(), fsys) // knows of no tree
		if err != nil {
			t.Fatal(err)
		}
		want("a tree", root, again.LookTree, Damaged, e)
		want("a link", link, s.Look, Damaged, nil)
		fail = nil
		want("good, later", good, s.Examine, Present, nil)
		want("a tree, later", root, again.LookTree, Present, nil)
	}
	want("wrong", wrong, s.Look, Damaged, nil)
	want("a link", link, s.Look, Damaged, nil)
	want("no tree", good, s.LookTree, Damaged, nil)
}

func TestSweepKeepsWhatItCannotRead(t *testing.T) {
	fsys, err := faultfs.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	var temp string
	fsys.Inject = func(op faultfs.Op) error {
		if failed && op.Kind == faultfs.Read && op.Path == temp {
			return syscall.EIO
		}
		return nil
	}
	fsys.Clock = time.Now
	s, err := Open(filepath.Join(t.TempDir(), "store"), fsys)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "first")
	d := digest.SumString("whole")
	temp = filepath.Join(s.tmp(), d.String()+"-X")
	if err := os.WriteFile(temp, []byte("whole"), 0o444); err != nil {
		t.Fatal(err)
	}
	failed = true
	if out, err := s.Sweep(); err != nil || len(out.Removed) != 0 || len(out.Adopted) != 0 {
		t.Errorf("it did %+v, %v; want nothing", out, err)
	}
	failed = false
	if out, err := s.Sweep(); err != nil || len(out.Adopted) != 1 || s.Check(d) != Present {
		t.Errorf("it did %+v, %v; want the blob adopted", out, err)
	}
}
