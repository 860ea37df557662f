package source_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/measure/source"
)

// checkout is a folder for one test, away from the person's own configuration of git.
type checkout struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) checkout {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return checkout{t, dir}
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	c := newFolder(t)
	c.git("init", "-q", "-b", "trunk")
	return c
}

func (c checkout) git(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c checkout) write(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c checkout) commit() { c.t.Helper(); c.git("add", "-A"); c.git("commit", "-q", "-m", "x") }

func (c checkout) identify(exclude ...string) source.Identity {
	c.t.Helper()
	id, err := source.Identify(context.Background(), c.dir, exclude...)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

func TestACheckoutIsCleanOrDirtyAndHasTheTreeThatItShows(t *testing.T) {
	c := newCheckout(t)
	c.write("a", "one")
	c.write(".gitignore", "*.o\n")
	c.commit()
	clean := c.identify()
	if clean.State != source.Clean || clean.Revision != c.git("rev-parse", "HEAD") || clean.Tree != c.git("rev-parse", "HEAD^{tree}") || clean.Type != "git" || clean.Root != c.dir {
		t.Errorf("clean: %+v", clean)
	}
	c.write("x.o", "ignored")
	if got := c.identify(); got != clean {
		t.Errorf("an ignored file makes it %+v", got)
	}
	c.write("a", "two")
	edited := c.identify()
	if edited.State != source.Dirty || edited.Revision != clean.Revision || edited.Tree == clean.Tree {
		t.Errorf("edited: %+v", edited)
	}
	c.write("a", "one")
	c.write("sub/new", "x")
	if got := c.identify(); got.State != source.Dirty || got.Tree == clean.Tree {
		t.Errorf("with an untracked file: %+v", got)
	}
}

func TestAFileThatGitWasToldNotToLookAtMakesACheckoutDirty(t *testing.T) {
	c := newCheckout(t)
	c.write("a", "one")
	c.commit()
	c.git("update-index", "--assume-unchanged", "a")
	c.write("a", "two, which git status does not see")
	if got := c.identify(); got.State != source.Dirty || got.Tree == c.git("rev-parse", "HEAD^{tree}") {
		t.Errorf("%+v", got)
	}
}

func TestItsOwnOutputIsNoPartOfAMeasuredTree(t *testing.T) {
	c := newCheckout(t)
	c.write("a", "one")
	c.commit()
	clean := c.identify()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(c.dir, link); err != nil {
		t.Fatal(err)
	}
	c.write("out/results/r.json", "{}")
	c.write("store.parquet", "PAR1")
	if got := c.identify(filepath.Join(link, "out/results"), filepath.Join(c.dir, "store.parquet"), "/elsewhere"); got != clean {
		t.Errorf("%+v", got)
	}
	if got := c.identify(); got.State != source.Dirty {
		t.Errorf("what is not excluded does not count: %+v", got)
	}
}

func TestARepositoryWithoutACommitHasNoRevision(t *testing.T) {
	c := newCheckout(t)
	if _, err := source.Identify(context.Background(), c.dir); !errors.Is(err, source.ErrNoCommit) {
		t.Errorf("%v", err)
	}
}

func TestWhatGitRefusesToReadIsUnknownAndNeverClean(t *testing.T) {
	c := newCheckout(t)
	c.write("a", "one")
	c.commit()
	// An index of no known form: git reads nothing of the tree any more.
	if err := os.WriteFile(filepath.Join(c.dir, ".git", "index"), []byte("DIRC\x00\x00\x00\x63 none"), 0o666); err != nil {
		t.Fatal(err)
	}
	got := c.identify()
	if got.State != source.Unknown || got.Tree != "" || got.Revision == "" {
		t.Errorf("%+v", got)
	}
}

func TestAFolderWithoutGitIsItsFiles(t *testing.T) {
	c := newFolder(t)
	c.write("m.py", "x = 1")
	first := c.identify()
	if first.Type != "directory" || first.State != source.Dirty || first.Revision != "directory-"+first.Tree || len(first.Tree) != 40 || first.URI != "file://"+c.dir {
		t.Errorf("%+v", first)
	}
	// 4:m.py:5:x = 1
	if first.Tree != "c23c90418eb51806254affec8b4f0dbb3235e239" || first != c.identify() {
		t.Error("the same folder has another id")
	}
	c.write("__pycache__/m.pyc", "x")
	c.write(".benchx/setup.json", "{}")
	c.write("results/r.json", "{}")
	if got := c.identify(filepath.Join(c.dir, "results")); got != first {
		t.Errorf("caches, declared facts and results count: %+v", got)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "results")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(c.dir, "m.py"), filepath.Join(c.dir, "n.py")); err != nil {
		t.Fatal(err)
	}
	if c.identify().Tree == first.Tree {
		t.Error("another name is the same folder")
	}
}

func TestWorktreesOfOneRepositoryHaveOneSource(t *testing.T) {
	c := newCheckout(t)
	c.write("a", "one")
	c.commit()
	other := filepath.Join(filepath.Dir(c.dir), "wt")
	c.git("worktree", "add", "-q", "-b", "other", other)
	id, err := source.Identify(context.Background(), other)
	if err != nil || id.URI != c.identify().URI || id.URI != "file://"+c.dir {
		t.Errorf("%+v, %v; the main one is %s", id, err, c.identify().URI)
	}
	c.git("remote", "add", "origin", "https://token:secret@example.org/a.git")
	if got := source.URI(context.Background(), other); got != "https://example.org/a.git" {
		t.Errorf("with an origin: %s", got)
	}
}

func TestAFileOutsideHasItsOwnIdentity(t *testing.T) {
	ctx := context.Background()
	c := newCheckout(t)
	path := c.write("bench.py", "hello\n")
	c.commit()
	id, err := source.File(ctx, path)
	if err != nil || id.State != source.Clean || id.Tree != "ce013625030ba8dba906f756967f9e9ca394464a" || id.Revision != c.git("rev-parse", "HEAD") {
		t.Errorf("%+v, %v", id, err)
	}
	c.write("other", "does not count")
	if id, err = source.File(ctx, path); err != nil || id.State != source.Clean {
		t.Errorf("%+v, %v", id, err)
	}
	c.write("bench.py", "changed\n")
	if id, err = source.File(ctx, path); err != nil || id.State != source.Dirty {
		t.Errorf("%+v, %v", id, err)
	}
	alone := newFolder(t).write("bench.py", "hello\n")
	id, err = source.File(ctx, alone)
	if err != nil || id.Revision != "" || id.State != source.Dirty || id.Tree != "ce013625030ba8dba906f756967f9e9ca394464a" || id.URI != "file://"+alone {
		t.Errorf("without git: %+v, %v", id, err)
	}
}
