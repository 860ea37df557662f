package cas

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

var smallTree = map[string]string{"a": "good", "d/b": "fine", "d/e/c": "well"}

func TestEveryLossInATreeIsNoticedWhetherItsListIsRememberedOrNot(t *testing.T) {
	damage := map[string]func(path string) error{
		"deleted":   os.Remove,
		"truncated": func(p string) error { return os.Truncate(p, 2) },
		"flipped in place with the old times": func(p string) error {
			st, err := os.Stat(p)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b[len(b)-1] ^= 1
			os.Chmod(p, 0o644)
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.WriteAt(b, 0); err != nil {
				return err
			}
			return os.Chtimes(p, st.ModTime(), st.ModTime())
		},
		"replaced": func(p string) error {
			if err := os.WriteFile(p+".new", []byte("othe"), 0o444); err != nil {
				return err
			}
			return os.Rename(p+".new", p)
		},
	}
	// Which blob of the tree, by what the tree says of it; a directory by its name and a slash.
	for _, victim := range []string{"/", "d/", "d/e/", "a", "d/b", "d/e/c"} {
		for name, do := range damage {
			for _, remembered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s/remembered=%v", victim, name, remembered), func(t *testing.T) {
					t.Parallel()
					s := open(t, t.TempDir())
					root := putTree(t, s, smallTree)
					list, err := s.nodes(root)
					if err != nil {
						t.Fatal(err)
					}
					var blob digest.Digest
					for _, n := range list {
						if p := n.Path; p == victim || n.dir && p+"/" == victim {
							blob = n.Digest
						}
					}
					if blob.IsZero() {
						t.Fatalf("the tree has no %s", victim)
					}
					if remembered {
						settle()
						if p := s.CheckTree(root); p != Present {
							t.Fatal(p)
						}
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						s = open(t, s.Dir())
						if m, ok := s.members(root); !ok || len(m) != 5 {
							t.Fatalf("remembered %d blobs (%v), want 5", len(m), ok)
						}
					} else {
						os.Remove(s.indexPath())
						s = open(t, s.Dir())
					}
					if err := do(s.Path(blob)); err != nil {
						t.Fatal(err)
					}
					if p := s.CheckTree(root); p == Present {
						t.Error("not noticed")
					}
					if p := open(t, s.Dir()).CheckTree(root); p == Present {
						t.Error("not noticed by the next process")
					}
					putTree(t, s, smallTree)
					if p := s.CheckTree(root); p != Present {
						t.Errorf("%s after the tree was stored again", p)
					}
				})
			}
		}
	}
}

func TestCheckOfAnUnmovedTreeReadsNothing(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("index without lists=%v", old), func(t *testing.T) {
			s := open(t, t.TempDir())
			root := putTree(t, s, smallTree)
			settle()
			if old { // an index that was written before lists were remembered
				clear(s.trees)
			}
			for range 2 {
				if p := s.CheckTree(root); p != Present {
					t.Fatal(p)
				}
				if err := s.Save(); err != nil {
					t.Fatal(err)
				}
			}
			c := &countingFS{}
			again, err := Open(s.Dir(), c)
			if err != nil {
				t.Fatal(err)
			}
			c.opens.Store(0)
			if p := again.CheckTree(root); p != Present || c.opens.Load() != 0 {
				t.Errorf("%s after %d files were opened, want present after none", p, c.opens.Load())
			}
		})
	}
}

func TestAListSurvivesSavesThatLearnOtherThings(t *testing.T) {
	s := open(t, t.TempDir())
	root := putTree(t, s, smallTree)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.Dir())
	put(t, s, "something else")
	s.Verify(root) // makes the root's row anew
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(t, s.Dir()).members(root); !ok {
		t.Error("the list is gone")
	}
}

func TestATreeTooLargeToRememberIsStillChecked(t *testing.T) {
	s := open(t, t.TempDir())
	contents := map[string]string{}
	for i := range maxMembers + 1 {
		contents[strconv.Itoa(i)] = strconv.Itoa(i)
	}
	root := putTree(t, s, contents)
	if _, ok := s.members(root); ok {
		t.Error("its list is remembered")
	}
	if p := s.CheckTree(root); p != Present {
		t.Fatal(p)
	}
	if err := os.Remove(s.Path(digest.SumString("200"))); err != nil {
		t.Fatal(err)
	}
	if p := s.CheckTree(root); p == Present {
		t.Error("a lost file was not noticed")
	}
}

func TestAListThatIsNoListIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	root := putTree(t, s, smallTree)
	r, _ := s.known(root)
	r.Digest = root
	b := encodeTable(indexMagic, 0, nil, []keyed{{hash: blobHash(root), path: "33 bytes are no list of digests..", row: r}})
	if err := vfs.WriteFile(vfs.OS{}, filepath.Join(dir, "cas", "index"), b, 0o644, false); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if p := again.CheckTree(root); p != Present {
		t.Error(p)
	}
	if m, ok := again.members(root); !ok || len(m) != 5 {
		t.Errorf("%d blobs were learned, want 5", len(m))
	}
}
