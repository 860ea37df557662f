package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/stages/kind"
)

func TestALinkThatLeadsElsewhereIsAChangedInput(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	relink := func(to, name string) {
		t.Helper()
		os.Remove(name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "a"), "one")
	write(filepath.Join(root, "b"), "two")
	inside, argument := filepath.Join(root, "data"), filepath.Join(outside, "argument")
	blobs, err := cas.Open(filepath.Join(t.TempDir(), "store"), vfs.OS{})
	if err != nil {
		t.Fatal(err)
	}
	store := &graph.Store{CAS: blobs}
	p := &Program{project: &kind.Project{Root: root, Store: store, Stat: cas.OpenStatCache(filepath.Join(outside, "stat"), vfs.OS{})}}
	for _, name := range []string{inside, argument} {
		relink(filepath.Join(root, "a"), inside)
		relink(filepath.Join(root, "a"), argument)
		files, err := p.hash([]string{"a", "b", "data"}, []string{argument})
		if err != nil {
			t.Fatal(err)
		}
		out := &Prepared{program: p, files: files}
		if got := out.changed(); got != "" {
			t.Fatalf("%s changed, and nothing did", got)
		}
		relink(filepath.Join(root, "b"), name)
		if got := out.changed(); got != name {
			t.Errorf("changed is %q; %s leads to another file", got, name)
		}
		os.Remove(name)
		if got := out.changed(); got != name {
			t.Errorf("changed is %q; %s is gone", got, name)
		}
	}
}
