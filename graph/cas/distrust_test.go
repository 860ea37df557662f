package cas

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// lie makes the file of remembered stats say that every row has the digest and the identity that the test gives.
func lie(t *testing.T, path, magic string, change func(*keyed)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := parseTable(magic, b)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]keyed, tab.n)
	for i := range rows {
		rows[i] = keyed{hash: tab.hash(i), path: string(tab.path(i)), row: tab.row(i)}
		change(&rows[i])
	}
	if err := os.WriteFile(path, encodeTable(magic, tab.saves, rows, nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAStatCacheThatLiesIsNotBelievedWhenItIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	file, cache := filepath.Join(dir, "f"), filepath.Join(dir, "stat")
	if err := os.WriteFile(file, []byte("true"), 0o644); err != nil {
		t.Fatal(err)
	}
	settle()
	c := OpenStatCache(cache, vfs.OS{})
	if _, err := c.Digest(file); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	wrong := digest.SumString("a lie")
	lie(t, cache, statMagic, func(k *keyed) { k.Digest, k.read = wrong, time.Now().UnixNano() })

	c = OpenStatCache(cache, vfs.OS{})
	if h, err := c.Digest(file); err != nil || h.Digest != wrong {
		t.Fatalf("the cache that lies is not even asked: %v, %v; the rest of the test means nothing", h.Digest, err)
	}
	c = OpenStatCache(cache, vfs.OS{})
	c.Distrust = true
	for range 2 {
		if h, err := c.Digest(file); err != nil || h.Digest != digest.SumString("true") {
			t.Errorf("digest %v, %v; want that of the content", h.Digest, err)
		}
	}
	if all := c.DigestAll([]string{file}); all[0].Digest != digest.SumString("true") {
		t.Errorf("DigestAll says %v", all[0].Digest)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	if h, _ := OpenStatCache(cache, vfs.OS{}).Digest(file); h.Digest != digest.SumString("true") {
		t.Error("what was read without trust is not remembered in place of the lie")
	}
}

func TestABlobThatTheIndexVouchesForIsReadWhenItIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	b := s.NewBatch()
	d, err := b.PutBytes([]byte("blob"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := b.PutTree([]File{{Path: "a/f", Digest: d, Size: 4}})
	if err == nil {
		err = b.Sync()
	}
	if err == nil {
		err = s.Save()
	}
	if err != nil {
		t.Fatal(err)
	}
	path := s.Path(d)
	os.Chmod(path, 0o644)
	if err := os.WriteFile(path, []byte("BLOB"), 0o444); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o444)
	settle()
	st, err := vfs.OS{}.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	lie(t, s.indexPath(), indexMagic, func(k *keyed) {
		k.read = time.Now().UnixNano()
		if k.Digest == d {
			k.Identity = st.Identity
		}
	})
	open := func(distrust bool) *Store {
		s, err := Open(dir, vfs.OS{})
		if err != nil {
			t.Fatal(err)
		}
		s.Distrust = distrust
		return s
	}
	if p := open(false).CheckTree(root); p != Present {
		t.Fatalf("the index that lies is not even asked: %v; the rest of the test means nothing", p)
	}
	if p := open(true).CheckTree(root); p != Damaged {
		t.Errorf("the tree with a changed blob is %v, want damaged", p)
	}
	if p := open(true).Check(d); p != Damaged {
		t.Errorf("the changed blob is %v, want damaged", p)
	}
	if p, _ := open(true).Held(d); p != Damaged {
		t.Errorf("a record may refer to the changed blob: %v", p)
	}
}
