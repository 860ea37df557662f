package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/flameox/flameox/internal/git"
)

// project makes files (names; "a -> b" is a link) in a new directory and returns it and a resolver.
func project(t testing.TB, names ...string) (string, *Resolver) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "p")
	for _, n := range names {
		name, target, isLink := strings.Cut(n, " -> ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, nil, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestGlobsMatchWhatTheySay(t *testing.T) {
	_, r := project(t,
		"bench.py", "flameox.hcl", "more.flameox.hcl", "flameox.lock.hcl", ".flameox/cas/x.py", ".git/hooks/x.py", ".hidden/h.py",
		"lib/a.py", "lib/b.c", "lib/deep/er/c.py", "lib/deep/__pycache__/c.cpython-311.pyc", "lib/flameox.hcl", "lib/[x].py", "lib/{y}.py",
		"docs/a.md", "link.py -> lib/a.py", "linked -> lib/deep", "loop -> .", "lib/deep/up -> ../..", "gone -> nowhere", "out -> /usr",
	)
	for globs, want := range map[string]string{
		"bench.py":                   "bench.py",
		"./bench.py":                 "bench.py",
		"lib/*.py":                   "lib/[x].py lib/a.py lib/{y}.py",
		"lib/**/*.py":                "lib/[x].py lib/a.py lib/deep/er/c.py lib/{y}.py",
		"lib/**":                     "lib/[x].py lib/a.py lib/b.c lib/deep/er/c.py lib/{y}.py",
		"**/c.py":                    "lib/deep/er/c.py linked/er/c.py",
		"**/*.md":                    "docs/a.md",
		"lib/{a.py,b.c}":             "lib/a.py lib/b.c",
		"{lib/deep,docs}/**":         "docs/a.md lib/deep/er/c.py",
		"lib{,/deep/er}/*.{c,py}":    "lib/[x].py lib/a.py lib/b.c lib/deep/er/c.py lib/{y}.py",
		`lib/\[x\].py`:               "lib/[x].py",
		"lib/?.c":                    "lib/b.c",
		"lib/[a-b].*":                "lib/a.py lib/b.c",
		"link.py":                    "link.py",
		"linked/**":                  "linked/er/c.py",
		"linked/er/c.py":             "linked/er/c.py",
		"bench.py|lib/*.py|!**/[[]*": "bench.py lib/a.py lib/{y}.py",
		"!lib/deep|lib/**|!**/*.c":   "lib/[x].py lib/a.py lib/{y}.py",
		"lib/**|!lib/deep/**":        "lib/[x].py lib/a.py lib/b.c lib/{y}.py",
		"lib/a.py|lib/*.py|lib/a.*":  "lib/[x].py lib/a.py lib/{y}.py",
		"flameox.hcl":                "flameox.hcl",
		"**|!out|!lib|!linked":       ".hidden/h.py bench.py docs/a.md link.py",
		"**/a.*":                     "docs/a.md lib/a.py",
	} {
		got, err := r.Resolve(strings.Split(globs, "|"))
		if err != nil {
			t.Errorf("%s: %v", globs, err)
			continue
		}
		if d := cmp.Diff(strings.Fields(want), got); d != "" {
			t.Errorf("%s: -want +got:\n%s", globs, d)
		}
	}
}

func TestGlobsThatCannotBeMeantSayWhatToDo(t *testing.T) {
	dir, r := project(t, "a.py", "lib/b.py", "out -> /usr", "lib/passwd -> /etc/passwd", "lib/up -> ../../elsewhere", "gone -> nowhere", ".flameox/x", "via/out -> ../out")
	if err := os.MkdirAll(filepath.Join(filepath.Dir(dir), "elsewhere"), 0o777); err != nil {
		t.Fatal(err)
	}
	for globs, want := range map[string]string{
		"x.py":               "matches no file",
		"lib/*.c":            "matches no file",
		"src/**/*.py":        "there is no src in " + dir,
		"src/x.py":           "there is no src in " + dir,
		"gone":               "matches no file",
		"lib":                `write "lib/**"`,
		"lib/":               `write "lib/**"`,
		"l*":                 `write "l*/**"`,
		"":                   "is empty",
		"/etc/passwd":        "is absolute",
		"../x":               "leaves the directory",
		"lib/../../x":        "leaves the directory",
		"*/../../x":          "leaves the directory",
		"lib/[":              "unclosed",
		"a\x00b\x00":         "exists only when the stage runs",
		"!a.py":              "says no file to begin with",
		"a.py|!a.*":          "take away every file",
		"*.py|!a.*":          "takes away",
		"out":                "link out leaves",
		"out/bin/env":        "link out leaves",
		"out/b*/env":         "link out leaves",
		"lib/passwd":         "link lib/passwd leaves",
		"lib/*":              "leaves the directory",
		"**":                 "leaves the directory",
		".flameox/x":         "never a source",
		".flameox/*":         "matches no file",
		"a.py|lib/b.py|nope": "matches no file",
	} {
		list := strings.Split(globs, "|")
		files, err := r.Resolve(list)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, %v; want an *Error", globs, files, err)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q in it", globs, err, want)
		}
		if list[len(list)-1] == "nope" && e.Index != 2 {
			t.Errorf("%q: index %d, want 2", globs, e.Index)
		}
	}
	if got, err := r.Resolve([]string{"lib/**", "!lib/passwd", "!lib/up"}); err != nil || len(got) != 1 {
		t.Errorf("with the leaving links excluded: %v, %v", got, err)
	}
	if _, err := r.Resolve([]string{"**/b.py"}); err != nil {
		t.Errorf("a leaving link that is not matched: %v", err)
	}
}

func TestNoGlobsMeanNoSources(t *testing.T) {
	_, r := project(t, "a.py")
	if files, err := r.Resolve([]string{}); err != nil || len(files) != 0 {
		t.Errorf("Resolve = %v, %v", files, err)
	}
}

func TestLinksBetweenDirectoriesEnd(t *testing.T) {
	_, r := project(t, "a/f", "b/g", "a/to-b -> ../b", "b/to-a -> ../a", "c -> a")
	got, err := r.Resolve([]string{"**/[fg]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a/f", "b/g", "c/f", "a/to-b/g"} {
		if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+f+" ") {
			t.Errorf("%s is missing in %v", f, got)
		}
	}
}

func TestPartByPartMatchingAgreesWithWholePaths(t *testing.T) {
	var names []string
	for _, d := range []string{"", "a/", "a/b/", "a/b/c/", "b/", "b/a/", "c/a/b/"} {
		for _, f := range []string{"a", "b.x", "c.y", "ab.x"} {
			names = append(names, d+"f"+f)
		}
	}
	_, r := project(t, names...)
	for _, p := range []string{"**", "*", "**/*.x", "a/**", "a/**/b/**", "**/b/*", "{a,b}/**/f*", "{a/b,c}/**/*.{x,y}", "**/a/**/fa", "?/fa", "**/**/fa", "a*/**", "[ab]/*.x", "*/*/fa*", "**/{b,a/b}/fa"} {
		var want []string
		for _, n := range names {
			if ok, err := doublestar.Match(p, n); err != nil {
				t.Fatal(err)
			} else if ok {
				want = append(want, n)
			}
		}
		got, err := r.Resolve([]string{p})
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if d := cmp.Diff(sorted(want), got); d != "" {
			t.Errorf("%s: -doublestar +got:\n%s", p, d)
		}
	}
}

func sorted(s []string) []string {
	out := append([]string{}, s...)
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func gitInit(t testing.TB, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	for _, a := range [][]string{{"init", "-q"}, append([]string{"add", "-A"}, args...)} {
		cmd := exec.Command("git", a...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", a, err, out)
		}
	}
}

func TestTheDefaultIsGitsListBelowTheWorkingDirectory(t *testing.T) {
	dir, r := project(t, "flameox.hcl", "x.flameox.hcl", "flameox.lock.hcl", ".gitignore", "root.py",
		"bench/run.py", "bench/flameox.hcl", "bench/data -> ../shared/data", "shared/data/d.csv", "shared/not.csv", "bench2/no.py", "bench/gone -> nowhere", "bench/self -> .")
	os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.pyc\n"), 0o666)
	gitInit(t, dir)
	for _, n := range []string{"bench/untracked.py", "bench/x.pyc", "bench/__pycache__/untracked.txt", ".flameox/cas/y", "bench/nested/lib.py"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, n)), 0o777)
		os.WriteFile(filepath.Join(dir, n), nil, 0o666)
	}
	gitInit(t, filepath.Join(dir, "bench/nested"))
	got, err := r.Default(context.Background(), "bench")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"bench/data/d.csv", "bench/nested/lib.py", "bench/run.py", "bench/untracked.py"}, got); d != "" {
		t.Errorf("below bench, -want +got:\n%s", d)
	}
	got, err = r.Default(context.Background(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{".gitignore", "bench/data/d.csv", "bench/nested/lib.py", "bench/run.py", "bench/untracked.py", "bench2/no.py", "root.py", "shared/data/d.csv", "shared/not.csv"}, got); d != "" {
		t.Errorf("at the root, -want +got:\n%s", d)
	}
	dirs, links, asked := r.Reads()
	if !asked || !strings.Contains(strings.Join(dirs, " "), "bench/nested") || !strings.Contains(strings.Join(links, " "), "bench/data") {
		t.Errorf("Reads = %v, %v, %v", dirs, links, asked)
	}
	if _, err := r.Default(context.Background(), "../x"); err == nil {
		t.Error("a working directory outside the root was accepted")
	}
}

func TestTheDefaultRefusesALinkThatLeaves(t *testing.T) {
	dir, r := project(t, "a.py", "passwd -> /etc/passwd")
	gitInit(t, dir)
	_, err := r.Default(context.Background(), ".")
	if err == nil || !strings.Contains(err.Error(), "passwd is a source because git lists it") {
		t.Errorf("Default = %v", err)
	}
}

func TestOutsideGitSourcesIsRequired(t *testing.T) {
	_, r := project(t, "a.py")
	if _, err := r.Default(context.Background(), "."); !errors.Is(err, ErrRequired) {
		t.Errorf("Default = %v, want ErrRequired", err)
	}
	t.Setenv("PATH", t.TempDir())
	dir, r := project(t, "a.py", ".git/HEAD")
	if _, err := r.Default(context.Background(), "."); !errors.Is(err, git.ErrNoGit) {
		t.Errorf("without git in %s: %v", dir, err)
	}
}

func TestAnUnreadableDirectoryIsAnErrorUnlessExcluded(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every directory")
	}
	dir, r := project(t, "a.py", "closed/b.py")
	os.Chmod(filepath.Join(dir, "closed"), 0)
	defer os.Chmod(filepath.Join(dir, "closed"), 0o777)
	if _, err := r.Resolve([]string{"**"}); err == nil {
		t.Error("no error")
	}
	if _, err := r.Resolve([]string{"**", "!closed"}); err != nil {
		t.Error(err)
	}
}

// manyFiles is 10,000 files in 100 directories.
func manyFiles(t testing.TB) string {
	dir := t.TempDir()
	for d := range 100 {
		sub := filepath.Join(dir, fmt.Sprintf("case_%02d", d))
		if err := os.Mkdir(sub, 0o777); err != nil {
			t.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%02d.py", f)), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestTenThousandFilesTakeFarLessThanATenthOfASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 10,000 files")
	}
	dir := manyFiles(t)
	best := time.Hour
	for try := 0; try < 8 && best > 100*time.Millisecond; try++ { // others may use the machine meanwhile
		start := time.Now()
		r, err := New(dir)
		if err != nil {
			t.Fatal(err)
		}
		for d := range 100 {
			if files, err := r.Resolve([]string{fmt.Sprintf("case_%02d/**", d), "**/f00.py"}); err != nil || len(files) != 199 {
				t.Fatalf("%d files, %v", len(files), err)
			}
		}
		if files, err := r.Resolve([]string{"**/*.py"}); err != nil || len(files) != 10000 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		best = min(best, time.Since(start))
	}
	t.Logf("102 globs over 10,000 files: %v", best)
	if best > 100*time.Millisecond {
		t.Errorf("took %v, want under 100 ms", best)
	}
}

func BenchmarkDefaultTenThousandFiles(b *testing.B) {
	dir := manyFiles(b)
	gitInit(b, dir)
	for b.Loop() {
		r, err := New(dir)
		if err != nil {
			b.Fatal(err)
		}
		if files, err := r.Default(context.Background(), "."); err != nil || len(files) != 10000 {
			b.Fatal(len(files), err)
		}
	}
}

func FuzzPatternsNeverEscapeOrHang(f *testing.F) {
	for _, p := range []string{"**", "a/{b,c/d}/*", "../x", "a/../../etc/*", "{..,a}/**", "[!a]*", `\..\/x`, "**/**/**/*"} {
		f.Add(p)
	}
	_, r := project(f, "a/b/c", "a/d.x", "e", "up -> ..", "a/loop -> ../a")
	f.Fuzz(func(t *testing.T, p string) {
		fresh, err := New(r.root)
		if err != nil {
			t.Fatal(err)
		}
		files, err := fresh.Resolve([]string{p})
		if err != nil {
			return
		}
		for _, name := range files {
			if !filepath.IsLocal(name) {
				t.Fatalf("%q gives %q", p, name)
			}
			if end, err := filepath.EvalSymlinks(filepath.Join(r.root, name)); err != nil || !strings.HasPrefix(end, r.root+"/") {
				t.Fatalf("%q gives %q, which is %q, %v", p, name, end, err)
			}
		}
	})
}
