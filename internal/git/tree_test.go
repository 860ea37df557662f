package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// id is the tree id as this package finds it.
func (tr tree) id(exclude ...string) string {
	tr.t.Helper()
	id, err := tr.find(tr.dir).Tree(context.Background(), exclude...)
	if err != nil {
		tr.t.Fatal(err)
	}
	return id
}

func (tr tree) dirty(exclude ...string) bool {
	tr.t.Helper()
	d, err := tr.find(tr.dir).Dirty(context.Background(), exclude...)
	if err != nil {
		tr.t.Fatal(err)
	}
	return d
}

func TestTreeOfACleanCheckoutIsTheCommittedOneAlsoWhereATrackedFileIsIgnored(t *testing.T) {
	tr := newTree(t)
	tr.write("a.txt", "hello\n")
	tr.commit("one file")
	if got := tr.id(); got != "2e81171448eb9f2ee3821e3d447aa6b2fe3ddba1" {
		t.Errorf("the tree of one file is %s", got)
	}
	tr.write(".gitignore", "*.log\nbuild/\n")
	tr.write("kept.log", "tracked although it is ignored")
	tr.write("build/junk", "ignored")
	tr.git("add", "-f", "kept.log")
	tr.commit("ignored and tracked")
	if got, want := tr.id(), tr.git("rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("a clean checkout has the tree %s, and %s is committed", got, want)
	}
	if tr.dirty() {
		t.Error("it is dirty")
	}
}

func TestTreeIsWhatCommittingEverythingRecords(t *testing.T) {
	for name, change := range map[string]func(tr tree){
		"edited":         func(tr tree) { tr.write("a", "two") },
		"staged, edited": func(tr tree) { tr.write("a", "two"); tr.git("add", "a"); tr.write("a", "three") },
		"untracked":      func(tr tree) { tr.write("sub/new", "x") },
		"removed":        func(tr tree) { os.Remove(filepath.Join(tr.dir, "a")) },
		"executable":     func(tr tree) { os.Chmod(filepath.Join(tr.dir, "a"), 0o777) },
		"a link":         func(tr tree) { os.Symlink("a", filepath.Join(tr.dir, "l")) },
		"staged and ignored": func(tr tree) {
			tr.write(".gitignore", "*.log\n")
			tr.write("x.log", "x")
			tr.git("add", "-f", "x.log")
		},
		"a name with a newline, a quote and no letters": func(tr tree) { tr.write("\n\"*[", "x") },
		"a file that git was told not to look at":       func(tr tree) { tr.git("update-index", "--assume-unchanged", "a"); tr.write("a", "unseen") },
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t)
			tr.write("a", "one")
			tr.write("b", "one")
			tr.commit("1")
			change(tr)
			got := tr.id()
			tr.git("update-index", "--no-assume-unchanged", "b")
			if name == "a file that git was told not to look at" {
				tr.git("update-index", "--no-assume-unchanged", "a")
			}
			tr.commit("2")
			if want := tr.git("rev-parse", "HEAD^{tree}"); got != want {
				t.Errorf("the tree is %s, and committing it records %s", got, want)
			}
			if got == tr.git("rev-parse", "HEAD~^{tree}") {
				t.Error("the change is not in it")
			}
		})
	}
}

func TestTreeSeesAChangeThatNeitherSizeNorTimeShows(t *testing.T) {
	tr := newTree(t)
	tr.write("a", "one")
	tr.commit("1")
	// In the moment in which the index is written a file may change without its time moving.
	index := filepath.Join(tr.dir, ".git", "index")
	info, err := os.Stat(filepath.Join(tr.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(index, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	before := tr.id()
	tr.write("a", "two")
	if err := os.Chtimes(filepath.Join(tr.dir, "a"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if tr.id() == before {
		t.Error("the changed file has the tree of the old one")
	}
}

func TestTreeTouchesNothingOfTheRepository(t *testing.T) {
	tr := newTree(t)
	tr.write("a", "one")
	tr.commit("1")
	tr.write("a", "two")
	tr.write("untracked", "x")
	state := func() string {
		var b strings.Builder
		err := filepath.Walk(filepath.Join(tr.dir, ".git"), func(path string, info os.FileInfo, err error) error {
			if err == nil {
				b.WriteString(path + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before := state()
	tr.id("results")
	tr.dirty("results")
	if after := state(); after != before {
		t.Errorf("the repository was\n%sand is\n%s", before, after)
	}
	if staged := tr.git("diff", "--cached", "--name-only"); staged != "" {
		t.Errorf("staged: %s", staged)
	}
}

func TestTreeOfARepositoryThatMayNotBeWrittenTo(t *testing.T) {
	tr := newTree(t)
	tr.write("a", "one")
	tr.commit("1")
	tr.write("a", "two")
	objects := filepath.Join(tr.dir, ".git", "objects")
	if err := os.Chmod(objects, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(objects, 0o700) })
	if tr.id() == tr.git("rev-parse", "HEAD^{tree}") {
		t.Error("the change is not in the tree")
	}
}

func TestWhatIsExcludedIsNoPartOfTheTree(t *testing.T) {
	tr := newTree(t)
	tr.write("a", "one")
	tr.write("results/tracked", "committed")
	tr.commit("1")
	clean := tr.id("results", "store.parquet")
	tr.write("results/tracked", "edited")
	tr.git("add", "results/tracked")
	tr.write("results/run/x.json", "{}")
	tr.write("store.parquet", "PAR1")
	if tr.dirty("results", "store.parquet") || tr.id("results", "store.parquet") != clean {
		t.Error("its own output makes the tree another one")
	}
	if !tr.dirty() || tr.id() == clean {
		t.Error("without excluding it nothing is there")
	}
	// A folder that holds nothing but what is excluded does not count either.
	other := newTree(t)
	other.write("a", "one")
	other.commit("1")
	other.write("out/results/x", "x")
	if other.dirty("out/results") {
		t.Error("the folder above the excluded one makes the tree dirty")
	}
	// A name is no pattern.
	other.write("out/resultsX/x", "x")
	if !other.dirty("out/results") || !other.dirty("*") {
		t.Error("what only looks like the excluded name is excluded")
	}
}

func TestTreeOfAWorktreeASubmoduleAndASparseCheckout(t *testing.T) {
	tr := newTree(t)
	tr.write("a/x", "one")
	tr.write("b/x", "one")
	tr.commit("1")
	tr.git("worktree", "add", "-q", "-b", "other", "../wt")
	wt := tree{t, filepath.Join(filepath.Dir(tr.dir), "wt")}
	if got, want := wt.id(), tr.git("rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("worktree: %s, committed %s", got, want)
	}
	tr.git("sparse-checkout", "set", "a")
	if got, want := tr.id(), tr.git("rev-parse", "HEAD^{tree}"); got != want || tr.dirty() {
		t.Errorf("sparse: %s, committed %s", got, want)
	}
	tr.git("sparse-checkout", "disable")
	// Of a repository in it only what is checked out counts; its own changes do not show.
	inner := newTree(t)
	inner.write("f", "1")
	inner.commit("1")
	tr.git("submodule", "--quiet", "add", inner.dir, "sub")
	tr.commit("sub")
	before := tr.id()
	if err := os.WriteFile(filepath.Join(tr.dir, "sub", "f"), []byte("2"), 0o666); err != nil {
		t.Fatal(err)
	}
	if tr.id() != before {
		t.Error("the submodule's change is in the tree")
	}
	tree{t, filepath.Join(tr.dir, "sub")}.commit("2")
	if tr.id() == before {
		t.Error("the submodule's commit is not in the tree")
	}
}

func TestOriginBlobAndChanged(t *testing.T) {
	ctx := context.Background()
	tr := newTree(t)
	tr.write("a.txt", "hello\n")
	tr.commit("1")
	r := tr.find(tr.dir)
	if o, err := r.Origin(ctx); err != nil || o != "" {
		t.Errorf("without a remote: %q, %v", o, err)
	}
	tr.git("remote", "add", "origin", "git@example.org:a/b.git")
	if o, err := r.Origin(ctx); err != nil || o != "git@example.org:a/b.git" {
		t.Errorf("%q, %v", o, err)
	}
	if id, err := r.Blob(ctx, "a.txt"); err != nil || id != "ce013625030ba8dba906f756967f9e9ca394464a" {
		t.Errorf("%q, %v", id, err)
	}
	for name, want := range map[string]bool{"a.txt": false, "new": true, "x.log": true} {
		if name != "a.txt" {
			tr.write(".gitignore", "*.log\n")
			tr.write(name, "x")
		}
		if got, err := r.Changed(ctx, name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
