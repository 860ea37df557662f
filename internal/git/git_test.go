package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is a repository made for one test, away from the person's own configuration.
type tree struct {
	t   *testing.T
	dir string
}

func newTree(t *testing.T) tree {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{t, filepath.Join(dir, "main")}
	tr.must(dir, "init", "-q", "-b", "trunk", "main")
	return tr
}

func (tr tree) must(dir string, args ...string) string {
	tr.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tr.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (tr tree) git(args ...string) string { tr.t.Helper(); return tr.must(tr.dir, args...) }

func (tr tree) write(name, content string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr tree) commit(msg string) string {
	tr.t.Helper()
	tr.git("add", "-A")
	tr.git("commit", "-q", "--allow-empty", "-m", msg)
	return tr.git("rev-parse", "HEAD")
}

func (tr tree) find(dir string) *Repo {
	tr.t.Helper()
	r, err := Find(dir)
	if err != nil {
		tr.t.Fatal(err)
	}
	return r
}

func TestHeadIsReadWithoutAProcessInEveryOrdinaryState(t *testing.T) {
	tr := newTree(t)
	r := tr.find(tr.dir)
	check := func(what, revision, branch string) {
		t.Helper()
		h, ok := r.headFromFiles()
		if !ok {
			t.Errorf("%s: not read from files", what)
		}
		if h.Revision != revision || h.Branch != branch {
			t.Errorf("%s: got %q on %q, want %q on %q", what, h.Revision, h.Branch, revision, branch)
		}
		g, err := r.headFromGit(context.Background())
		if err != nil || g.Revision != h.Revision || g.Branch != h.Branch {
			t.Errorf("%s: git says %+v (%v), the files %+v", what, g, err, h)
		}
		if len(h.Files) == 0 {
			t.Errorf("%s: no file is named that would change the answer", what)
		}
	}
	check("before the first commit", "", "trunk")
	tr.write("f", "1")
	first := tr.commit("one")
	check("loose", first, "trunk")
	tr.git("pack-refs", "--all")
	check("packed", first, "trunk")
	second := tr.commit("two")
	check("loose over packed", second, "trunk")
	tr.git("checkout", "-q", "-b", "feature/x")
	check("a branch with a slash", second, "feature/x")
	tr.git("checkout", "-q", first)
	check("detached", first, "")
	tr.git("symbolic-ref", "refs/heads/alias", "refs/heads/trunk")
	tr.git("symbolic-ref", "HEAD", "refs/heads/alias")
	check("a symbolic branch", second, "trunk")
}

func TestHeadFallsBackToGitWhereFilesDoNotSay(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	want := tr.commit("one")
	tr.git("tag", "v1")
	tr.git("symbolic-ref", "HEAD", "refs/tags/v1")
	r := tr.find(tr.dir)
	h, err := r.Head(context.Background())
	if err != nil || h.Revision != want || len(h.Files) != 0 {
		t.Errorf("Head = %+v, %v; want %s from git", h, err, want)
	}
}

func TestWorktreesShareOneHome(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	rev := tr.commit("one")
	other := filepath.Join(filepath.Dir(tr.dir), "other")
	tr.git("worktree", "add", "-q", "-b", "side", other)
	main, side := tr.find(tr.dir), tr.find(other)
	if side.Root != other || side.CommonDir != main.CommonDir || side.GitDir == main.GitDir {
		t.Errorf("worktree = %+v, main = %+v", side, main)
	}
	if main.Home() != tr.dir || side.Home() != tr.dir {
		t.Errorf("homes %q and %q, want both %q", main.Home(), side.Home(), tr.dir)
	}
	h, ok := side.headFromFiles()
	if !ok || h.Revision != rev || h.Branch != "side" {
		t.Errorf("head of the worktree = %+v, %v", h, ok)
	}
	os.RemoveAll(filepath.Join(tr.dir, ".git"))
	if _, err := Find(other); err == nil || !strings.Contains(err.Error(), "worktree repair") {
		t.Errorf("a worktree without its repository: %v", err)
	}
}

func TestBareRepositoryWithWorktrees(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	tr.commit("one")
	bare := filepath.Join(filepath.Dir(tr.dir), "bare.git")
	tr.must(filepath.Dir(tr.dir), "clone", "-q", "--bare", tr.dir, bare)
	wt := filepath.Join(filepath.Dir(tr.dir), "wt")
	tr.must(bare, "worktree", "add", "-q", wt, "trunk")
	if r := tr.find(wt); r.Home() != bare {
		t.Errorf("home = %q, want %q", r.Home(), bare)
	}
}

func TestFindGoesUpAndSaysWhereNothingIs(t *testing.T) {
	tr := newTree(t)
	tr.write("a/b/f", "1")
	if r := tr.find(filepath.Join(tr.dir, "a", "b")); r.Root != tr.dir {
		t.Errorf("root = %q", r.Root)
	}
	link := filepath.Join(filepath.Dir(tr.dir), "link")
	if err := os.Symlink(filepath.Join(tr.dir, "a"), link); err != nil {
		t.Fatal(err)
	}
	if r := tr.find(link); r.Root != tr.dir {
		t.Errorf("through a link: root = %q", r.Root)
	}
	// An empty .git is no repository, to git neither.
	os.Mkdir(filepath.Join(tr.dir, "a", ".git"), 0o777)
	if r := tr.find(filepath.Join(tr.dir, "a", "b")); r.Root != tr.dir {
		t.Errorf("with an empty .git on the way: root = %q", r.Root)
	}
	if _, err := Find(t.TempDir()); !errors.Is(err, ErrNotRepository) {
		t.Errorf("outside: %v", err)
	}
	if _, err := Find(filepath.Join(tr.dir, "missing")); err == nil || errors.Is(err, ErrNotRepository) {
		t.Errorf("a directory that is missing: %v", err)
	}
}

func TestListHasWhatExistsAndIsNotIgnored(t *testing.T) {
	tr := newTree(t)
	for _, f := range []string{"kept", "deleted", "sub/kept", "sub/deep/é ü\t\"x", "ignored-but-tracked", "Z", "tab\tname"} {
		tr.write(f, f)
	}
	tr.git("add", "-f", "-A")
	tr.write(".gitignore", "ignored*\nbuild/\n")
	tr.commit("one")
	tr.write("untracked\nline", "")
	tr.write("ignored", "")
	tr.write("build/out", "")
	tr.write(".flameox/cas/x", "")
	tr.write("nested/f", "")
	tr.must(filepath.Join(tr.dir, "nested"), "init", "-q")
	os.Remove(filepath.Join(tr.dir, "deleted"))
	if err := os.Symlink("kept", filepath.Join(tr.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := tr.find(tr.dir)
	l, err := r.List(context.Background(), tr.dir, ".flameox/")
	if err != nil {
		t.Fatal(err)
	}
	want := Listing{
		Files:      []string{".gitignore", "Z", "ignored-but-tracked", "kept", "link", "sub/deep/é ü\t\"x", "sub/kept", "tab\tname", "untracked\nline"},
		Submodules: []string{"nested"},
	}
	if d := cmp.Diff(want, l); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	l, err = r.List(context.Background(), filepath.Join(tr.dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"deep/é ü\t\"x", "kept"}, l.Files); d != "" {
		t.Errorf("below sub, -want +got:\n%s", d)
	}
}

func TestListNamesUnmergedFilesOnceAndSubmodulesApart(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "base")
	tr.commit("base")
	tr.must(tr.dir, "clone", "-q", tr.dir, filepath.Join(filepath.Dir(tr.dir), "lib"))
	tr.git("submodule", "--quiet", "add", filepath.Join(filepath.Dir(tr.dir), "lib"), "vendor/lib")
	tr.commit("with submodule")
	tr.git("checkout", "-q", "-b", "side")
	tr.write("f", "side")
	tr.commit("side")
	tr.git("checkout", "-q", "trunk")
	tr.write("f", "trunk")
	tr.commit("trunk")
	if out, err := exec.Command("git", "-C", tr.dir, "-c", "user.name=t", "-c", "user.email=t@t", "merge", "side").CombinedOutput(); err == nil {
		t.Fatalf("the merge has no conflict: %s", out)
	}
	r := tr.find(tr.dir)
	l, err := r.List(context.Background(), tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Listing{Files: []string{".gitmodules", "f"}, Submodules: []string{"vendor/lib"}}, l); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	sub := tr.find(filepath.Join(tr.dir, "vendor", "lib"))
	if sub.Root != filepath.Join(tr.dir, "vendor", "lib") || sub.Home() != sub.Root {
		t.Errorf("submodule = %+v with home %s", sub, sub.Home())
	}
	if h, ok := sub.headFromFiles(); !ok || len(h.Revision) != 40 {
		t.Errorf("head of the submodule = %+v, %v", h, ok)
	}
}

func TestSparseCheckoutListsOnlyWhatIsThere(t *testing.T) {
	tr := newTree(t)
	tr.write("in/f", "")
	tr.write("out/f", "")
	tr.commit("one")
	tr.git("sparse-checkout", "set", "in")
	l, err := tr.find(tr.dir).List(context.Background(), tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"in/f"}, l.Files); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestStatusTellsChangedFromUntrackedAndLeavesTheStoreOut(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	tr.write("g", "1")
	tr.commit("one")
	tr.write(".flameox/x", "")
	r := tr.find(tr.dir)
	status := func() Status {
		t.Helper()
		s, err := r.Status(context.Background(), ".flameox/**")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := status(); s.Dirty() {
		t.Errorf("clean tree: %+v", s)
	}
	tr.write("f", "22")
	tr.git("mv", "g", "h")
	tr.write("new/a b", "")
	if d := cmp.Diff(Status{Changed: []string{"f", "g", "h"}, Untracked: []string{"new/"}}, status()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestResolveNamesCommitsAndRefusesEverythingElse(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	first := tr.commit("one")
	tr.git("tag", "-a", "-m", "x", "v1")
	second := tr.commit("two")
	r := tr.find(tr.dir)
	for rev, want := range map[string]string{"HEAD": second, "trunk": second, "v1": first, "HEAD~1": first, first[:8]: first, first: first} {
		if got, err := r.Resolve(context.Background(), rev); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", rev, got, err, want)
		}
	}
	blob := tr.git("rev-parse", "HEAD:f")
	for _, rev := range []string{"nope", "--all", "-n", "", blob, strings.Repeat("0", 40)} {
		if got, err := r.Resolve(context.Background(), rev); err == nil || !strings.Contains(err.Error(), "names no commit") {
			t.Errorf("Resolve(%q) = %q, %v; want a refusal", rev, got, err)
		}
	}
	if r.Shallow() {
		t.Error("a full clone is called shallow")
	}
	clone := filepath.Join(filepath.Dir(tr.dir), "shallow")
	tr.must(tr.dir, "clone", "-q", "--depth=1", "file://"+tr.dir, clone)
	s := tr.find(clone)
	if !s.Shallow() {
		t.Error("a shallow clone is not recognized")
	}
	if _, err := s.Resolve(context.Background(), "HEAD~1"); err == nil || !strings.Contains(err.Error(), "unshallow") {
		t.Errorf("a revision beyond the shallow border: %v", err)
	}
}

func TestAnEnclosingGitCommandDoesNotPointElsewhere(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	tr.commit("one")
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(t.TempDir(), "index"))
	l, err := tr.find(tr.dir).List(context.Background(), tr.dir)
	if err != nil || len(l.Files) != 1 {
		t.Errorf("List = %+v, %v", l, err)
	}
}

func TestAMissingExecutableAndAFailureSaySo(t *testing.T) {
	tr := newTree(t)
	tr.write("f", "1")
	rev := tr.commit("one")
	r := tr.find(tr.dir)
	outside := &Repo{Root: t.TempDir()}
	_, err := outside.List(context.Background(), outside.Root)
	var failed *CommandError
	if !errors.As(err, &failed) || failed.Exit != 128 || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("outside: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.List(ctx, r.Root); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := r.List(context.Background(), r.Root); !errors.Is(err, ErrNoGit) {
		t.Errorf("without git: %v", err)
	}
	if h, err := r.Head(context.Background()); err != nil || h.Revision != rev {
		t.Errorf("Head without git = %+v, %v", h, err)
	}
}

func TestASlowGitIsStoppedWithItsChildren(t *testing.T) {
	tr := newTree(t)
	bin := t.TempDir()
	script := "#!/bin/sh\nsleep 30 & echo $! > " + filepath.Join(bin, "child") + "; wait\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := tr.find(tr.dir)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := r.List(ctx, r.Root); done <- err }()
	var pid int
	for pid == 0 {
		b, _ := os.ReadFile(filepath.Join(bin, "child"))
		fmt.Sscan(string(b), &pid)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("List = %v", err)
	}
	// The child is reparented and may stay a zombie for a moment; a running sleep would be in state S.
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(b), ") S ") {
		t.Errorf("the child %d of git still runs: %s", pid, b)
	}
}

func FuzzListOutput(f *testing.F) {
	f.Add([]byte("? a\x00H 100644 e69d 0\tb\x00R 100644 e69d 0\tb\x00"))
	f.Add([]byte("H 160000 e69d 0\tsub\x00? nested/\x00S 100644 e69d 0\tgone\x00"))
	f.Add([]byte("H 100644"))
	f.Fuzz(func(t *testing.T, out []byte) {
		l, err := parseList(out, func(string) bool { return false })
		if err != nil {
			return
		}
		for i := 1; i < len(l.Files); i++ {
			if l.Files[i-1] >= l.Files[i] {
				t.Fatalf("not sorted, or twice: %q %q", l.Files[i-1], l.Files[i])
			}
		}
	})
}

func BenchmarkFindAndHead(b *testing.B) {
	dir := b.TempDir()
	if err := exec.Command("git", "init", "-q", dir).Run(); err != nil {
		b.Skip("git is not on PATH")
	}
	for b.Loop() {
		r, err := Find(dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := r.headFromFiles(); !ok {
			b.Fatal("not read from files")
		}
	}
}
