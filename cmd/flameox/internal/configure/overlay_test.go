package configure

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write1(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, f fs.File, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(b)) || !info.Mode().IsRegular() {
		t.Errorf("the file is %v, %v", info, err)
	}
	return string(b)
}

func TestTheOverlayAddsOneFileAndOpensNothingOutside(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "project")
	write1(t, filepath.Join(root, "exp", "flameox.hcl"), "real")
	write1(t, filepath.Join(root, "exp", "console.flameox.hcl"), "taken")
	write1(t, filepath.Join(top, "secret"), "secret")
	for link, to := range map[string]string{"link": filepath.Join(top, "secret"), "inner": "exp/flameox.hcl", "up": top} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	o := newOverlay(root, filepath.Join(root, "exp"), nil)
	names := func() (list []string) {
		entries, err := o.readDir(filepath.Join(root, "exp"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if n := len(names()); n != 2 {
		t.Errorf("without an expression there are %d files", n)
	}
	if _, err := o.open(o.path); err == nil {
		t.Error("without an expression its file can be opened")
	}
	o.src = []byte("in memory")
	if got := names(); len(got) != 3 || got[0] != "_console.flameox.hcl" {
		t.Errorf("the files are %v", got)
	}
	f, err := o.open(o.path)
	if got := content(t, f, err); got != "in memory" {
		t.Errorf("the file holds %q", got)
	}
	f, err = o.open(filepath.Join(root, "inner"))
	if got := content(t, f, err); got != "real" {
		t.Errorf("a link in the project leads to %q", got)
	}
	for _, path := range []string{"link", "up/secret", "../secret", "exp", "none"} {
		if f, err := o.open(filepath.Join(root, path)); err == nil {
			t.Errorf("%s was opened: %q", path, content(t, f, nil))
		}
	}
	if _, err := o.readDir(filepath.Join(root, "up")); err == nil {
		t.Error("a folder outside was listed through a link")
	}
}

func TestAVariableFileIsReadOnceBecauseItMayBeAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "vars")
	write1(t, path, "n = 1\n")
	o := newOverlay(dir, dir, []string{path})
	for range 2 {
		f, err := o.open(path)
		if got := content(t, f, err); got != "n = 1\n" {
			t.Errorf("the variable file holds %q", got)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}
