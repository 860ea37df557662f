package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

func file(path, content string) File {
	return File{Path: path, Digest: digest.SumString(content), Size: int64(len(content)), Exec: strings.HasSuffix(path, ".sh")}
}

func putTree(t testing.TB, s *Store, contents map[string]string) digest.Digest {
	t.Helper()
	b := s.NewBatch()
	var files []File
	for p, c := range contents {
		if _, err := b.PutBytes([]byte(c)); err != nil {
			t.Fatal(err)
		}
		files = append(files, file(p, c))
	}
	root, err := b.PutTree(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestATreeDoesNotDependOnTheOrderOfItsFiles(t *testing.T) {
	files := []File{file("a", "1"), file("a.b", "2"), file("d/x", "3"), file("d/e/y.sh", "4"), file("d-e", "5"), file("z", "1")}
	want, dirs, err := BuildTree(files)
	if err != nil || len(dirs) != 3 || dirs[2].Digest != want {
		t.Fatalf("%d directories, %v", len(dirs), err)
	}
	for range 20 {
		rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		if got, _, err := BuildTree(files); err != nil || got != want {
			t.Fatalf("%v, %v", got, err)
		}
	}
	files[0].Exec = !files[0].Exec
	if got, _, _ := BuildTree(files); got == want {
		t.Fatal("the executable bit is not part of the tree")
	}
}

func TestATreeOfKnownFilesHasAKnownDigest(t *testing.T) {
	// The format is for ever: keys of stored results depend on it.
	root, _, err := BuildTree([]File{file("a", "hello"), file("bin/run.sh", "#!/bin/sh\n")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "91922bc7900bacf20cda4782601b52468e904bec58ea10ae5acd5e44e3c2a57b"; root.String() != want {
		t.Fatalf("root %s, want %s", root, want)
	}
	empty, dirs, err := BuildTree(nil)
	if err != nil || len(dirs) != 1 || empty != digest.SumString(treeMagic) {
		t.Fatalf("the empty tree is %s, %v", empty, err)
	}
}

func TestBadPathsAreRefused(t *testing.T) {
	for _, paths := range [][]string{
		{""}, {"/a"}, {"a/"}, {"a//b"}, {"."}, {"a/./b"}, {".."}, {"a/../b"}, {"a\x00b"},
		{"a", "a"}, {"a", "a/b"}, {"a/b/c", "a/b"}, {"d/a", "d/a"},
	} {
		var files []File
		for _, p := range paths {
			files = append(files, file(p, "x"))
		}
		if _, _, err := BuildTree(files); err == nil {
			t.Errorf("%q were taken", paths)
		}
	}
	if _, _, err := BuildTree([]File{{Path: "a"}}); err == nil {
		t.Error("a file without a digest was taken")
	}
}

func TestReadTreeGivesBackTheFiles(t *testing.T) {
	s := open(t, t.TempDir())
	root := putTree(t, s, map[string]string{"a": "1", "a.b": "2", "d/x": "3", "d/e/y.sh": "4", "d-e": "5"})
	got, err := s.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{file("a", "1"), file("a.b", "2"), file("d/e/y.sh", "4"), file("d/x", "3"), file("d-e", "5")}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	if _, err := s.ReadTree(digest.SumString("4")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file as a tree: %v", err)
	}
	if _, err := s.ReadTree(digest.SumString("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tree that is not there: %v", err)
	}
}

func TestDiffTreesNamesWhatChangedAndSkipsEqualDirectories(t *testing.T) {
	s := open(t, t.TempDir())
	a := map[string]string{"same/f": "1", "same/g": "2", "d/x": "3", "d/gone": "4", "turns": "5", "run.sh": "6"}
	b := map[string]string{"same/f": "1", "same/g": "2", "d/x": "changed", "d/new": "7", "turns/into/dir": "5", "run.sh": "6"}
	ra, rb := putTree(t, s, a), putTree(t, s, b)
	// The equal directory need not be there at all.
	same, _, _ := BuildTree([]File{file("f", "1"), file("g", "2")})
	os.Remove(s.Path(same))
	got, err := s.DiffTrees(ra, rb)
	if err != nil {
		t.Fatal(err)
	}
	d := digest.SumString
	want := []TreeChange{
		{Path: "d/gone", Old: d("4")}, {Path: "d/new", New: d("7")}, {Path: "d/x", Old: d("3"), New: d("changed")},
		{Path: "turns", Old: d("5")}, {Path: "turns/into/dir", New: d("5")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if got, err := s.DiffTrees(ra, ra); err != nil || got != nil {
		t.Fatalf("equal trees: %v, %v", got, err)
	}
	if got, err := s.DiffTrees(digest.Digest{}, rb); err == nil {
		t.Fatalf("the directory that is gone had to be read: %v", got)
	}
}

func TestDiffTreesSeesTheExecutableBit(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.NewBatch()
	plain, _ := b.PutTree([]File{{Path: "f", Digest: digest.SumString("x"), Size: 1}})
	exec, _ := b.PutTree([]File{{Path: "f", Digest: digest.SumString("x"), Size: 1, Exec: true}})
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	got, err := s.DiffTrees(plain, exec)
	if err != nil || len(got) != 1 || got[0].Old != got[0].New || got[0].OldExec || !got[0].NewExec {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestATreeThatNamesItselfAgainAndAgainIsRefused(t *testing.T) {
	s := open(t, t.TempDir())
	b := s.NewBatch()
	bytes := encodeDir([]dirEntry{{kindFile, "f", digest.SumString("x"), 1}})
	for range 60 {
		d, err := b.PutBytes(bytes)
		if err != nil {
			t.Fatal(err)
		}
		bytes = encodeDir([]dirEntry{{kindDir, "a", d, 1}, {kindDir, "b", d, 1}})
	}
	root, _ := b.PutBytes(bytes)
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadTree(root); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Fatalf("2^60 files: %v", err)
	}
}

func TestMaterializeMakesReadOnlyCopies(t *testing.T) {
	s := open(t, t.TempDir())
	contents := map[string]string{"a": "1", "d/e/run.sh": "#!", "d/x": strings.Repeat("y", 100_000)}
	root := putTree(t, s, contents)
	dir, err := s.Materialize(root)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.RemoveAll(vfs.OS{}, dir)
	for p, c := range contents {
		st, err := os.Lstat(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(filepath.Join(dir, p))
		if string(b) != c || st.Mode().Perm()&0o222 != 0 || (st.Mode().Perm()&0o100 != 0) != strings.HasSuffix(p, ".sh") {
			t.Errorf("%s: %d bytes, %v", p, len(b), st.Mode())
		}
		blob, _ := os.Lstat(s.Path(digest.SumString(c)))
		if os.SameFile(st, blob) {
			t.Errorf("%s is a hard link to its blob", p)
		}
	}
	if st, _ := os.Lstat(filepath.Join(dir, "d")); st.Mode().Perm() != 0o555 {
		t.Errorf("directory has the mode %v", st.Mode())
	}
}

func TestMaterializeVerifiesAndRebuilds(t *testing.T) {
	damage := map[string]func(dir string) error{
		"a file changed": func(d string) error {
			os.Chmod(d+"/a", 0o644)
			return os.WriteFile(d+"/a", []byte("2"), 0o644)
		},
		"a file gone":       func(d string) error { os.Chmod(d, 0o755); return os.Remove(d + "/a") },
		"a file added":      func(d string) error { os.Chmod(d+"/d", 0o755); return os.WriteFile(d+"/d/new", nil, 0o644) },
		"a mode changed":    func(d string) error { return os.Chmod(d+"/a", 0o755) },
		"all of it gone":    func(d string) error { return vfs.RemoveAll(vfs.OS{}, d) },
		"a file in the way": func(d string) error { vfs.RemoveAll(vfs.OS{}, d); return os.WriteFile(d, nil, 0o644) },
	}
	for name, do := range damage {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			root := putTree(t, s, map[string]string{"a": "1", "d/x": "2"})
			dir, err := s.Materialize(root)
			if err != nil {
				t.Fatal(err)
			}
			settle()
			if _, err := s.Materialize(root); err != nil {
				t.Fatal(err)
			}
			if err := do(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Materialize(root); err != nil {
				t.Fatal(err)
			}
			defer vfs.RemoveAll(vfs.OS{}, dir)
			if b, _ := os.ReadFile(dir + "/a"); string(b) != "1" {
				t.Errorf("a is %q", b)
			}
			if list, _ := os.ReadDir(dir + "/d"); len(list) != 1 {
				t.Errorf("d has %v", list)
			}
			if list, _ := os.ReadDir(filepath.Dir(dir)); len(list) > 2 {
				t.Errorf("leftovers: %v", list)
			}
		})
	}
}

func TestASecondUseOfALaidOutTreeReadsNoFile(t *testing.T) {
	c := &countingFS{}
	s, err := Open(t.TempDir(), c)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for i := range 50 {
		contents[fmt.Sprintf("f%d", i)] = fmt.Sprint(i)
	}
	root := putTree(t, s, contents)
	dir, err := s.Materialize(root)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.RemoveAll(vfs.OS{}, dir)
	settle()
	if _, err := s.Materialize(root); err != nil { // reads once more, and remembers
		t.Fatal(err)
	}
	c.opens.Store(0)
	if _, err := s.Materialize(root); err != nil {
		t.Fatal(err)
	}
	if c.opens.Load() > 2 { // the directory's blob and the note
		t.Fatalf("%d files were opened", c.opens.Load())
	}
}

func TestMaterializeOfADamagedBlobFailsAndLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	root := putTree(t, s, map[string]string{"a": "1", "b": "2"})
	p := s.Path(digest.SumString("2"))
	os.Chmod(p, 0o644)
	os.WriteFile(p, []byte("3"), 0o644)
	var be *BlobError
	if _, err := s.Materialize(root); !errors.As(err, &be) || be.Presence != Damaged {
		t.Fatalf("%v", err)
	}
	if list, _ := os.ReadDir(filepath.Join(s.dir, "trees")); len(list) != 0 {
		t.Fatalf("left %v", list)
	}
}

func TestParallelCallersLayOutOneTree(t *testing.T) {
	dir := t.TempDir()
	root := putTree(t, open(t, dir), map[string]string{"a": "1", "d/x": "2", "d/y": "3"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := open(t, dir) // each as its own process would
			p, err := s.Materialize(root)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := os.ReadFile(p + "/d/y"); string(b) != "3" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	vfs.RemoveAll(vfs.OS{}, filepath.Join(dir, "trees"))
}

func FuzzParseDir(f *testing.F) {
	f.Add([]byte(treeMagic))
	f.Add(encodeDir([]dirEntry{{kindFile, "a", digest.SumString("1"), 1}, {kindDir, "b", digest.SumString("2"), 1 << 40}}))
	f.Add(encodeDir([]dirEntry{{kindExec, "..", digest.SumString("1"), 1}}))
	f.Add(append([]byte(treeMagic), 1, 0x81, 0x00, 'a'))
	f.Add([]byte("flameox tree 2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseDir(b)
		if err != nil {
			return
		}
		for _, e := range list {
			if e.name == "" || e.name == "." || e.name == ".." || strings.ContainsAny(e.name, "/\x00") {
				t.Fatalf("took the name %q", e.name)
			}
		}
		if again := encodeDir(slices.Clone(list)); !bytes.Equal(again, b) {
			t.Fatalf("two encodings of one directory: %q and %q", b, again)
		}
	})
}
