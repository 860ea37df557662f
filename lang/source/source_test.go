package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func project(t *testing.T, files map[string]string) *Reader {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Reader{Root: root, Dir: filepath.Join(root, "bench")}
}

func TestPathsStayBelowTheRoot(t *testing.T) {
	r := project(t, map[string]string{"bench/a.txt": "a", "top.txt": "top"})
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(r.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if b, err := r.ReadFile("a.txt"); err != nil || string(b) != "a" {
		t.Errorf("a.txt: %q, %v", b, err)
	}
	if b, err := r.ReadFile("../top.txt"); err != nil || string(b) != "top" {
		t.Errorf("../top.txt, which is inside the root: %q, %v", b, err)
	}
	for p, want := range map[string]string{
		"../../etc/passwd": "leaves the project root", "/etc/passwd": "absolute", "link": "leaves the project root",
		"missing": "no such file", ".": "directory", "a\x00b": "NUL",
	} {
		if _, err := r.ReadFile(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFile(%q): %v, want an error about %q", p, err, want)
		}
	}
	if _, err := r.ReadFile("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is not fs.ErrNotExist: %v", err)
	}
}

func TestReadsAreRecordedOnceEvenWhereTheyFail(t *testing.T) {
	r := project(t, map[string]string{"bench/a.txt": "a", "bench/sub/b.txt": "b"})
	r.Environ = map[string]string{"SET": "1"}
	r.ReadFile("a.txt")
	r.ReadFile("a.txt")
	r.ReadFile("missing")
	r.Getenv("SET")
	r.Getenv("UNSET")
	if _, err := r.Glob(".", "**/*.txt"); err != nil {
		t.Fatal(err)
	}
	want := []Read{
		{File, filepath.Join(r.Dir, "a.txt")}, {File, filepath.Join(r.Dir, "missing")}, {Env, "SET"}, {Env, "UNSET"},
		{Dir, r.Dir}, {Dir, filepath.Join(r.Dir, "sub")},
	}
	if got := r.Reads(); !slices.Equal(got, want) {
		t.Errorf("reads\n got %v\nwant %v", got, want)
	}
}

func TestGlobFindsFilesAndSkipsTreesThatCannotMatch(t *testing.T) {
	r := project(t, map[string]string{"bench/a.go": "", "bench/sub/b.go": "", "bench/sub/deep/c.go": "", "bench/other/d.txt": ""})
	for pattern, want := range map[string]string{
		"*.go": "a.go", "**/*.go": "a.go sub/b.go sub/deep/c.go", "sub/*.go": "sub/b.go", "{sub,other}/*": "other/d.txt sub/b.go", "nothing*": "",
	} {
		got, err := r.Glob(".", pattern)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Glob(%q) = %v, %v; want %q", pattern, got, err, want)
		}
	}
	before := len(r.Reads())
	r2 := &Reader{Root: r.Root, Dir: r.Dir}
	r2.Glob(".", "*.go")
	if n := len(r2.Reads()); n != 1 || before < 4 {
		t.Errorf("*.go listed %d directories, want only its own", n)
	}
	for _, bad := range []string{"[", "../*", "/etc/*"} {
		if _, err := r.Glob(".", bad); err == nil {
			t.Errorf("Glob(%q) succeeded", bad)
		}
	}
}

func TestALargeFileIsRefusedWithoutReadingIt(t *testing.T) {
	r := project(t, map[string]string{"bench/a": ""})
	if err := os.Truncate(filepath.Join(r.Dir, "a"), 50<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadFile("a"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("50 MiB file: %v", err)
	}
}

func TestWhatIsNotATextIsLocated(t *testing.T) {
	for src, want := range map[string]string{
		"a = 1\nb = \"\xff\"": "2:6 byte 0xFF", "\xef\xbb\xbfa = 1": "1:1 byte order mark", "\xff\xfea\x00": "1:1 UTF-16", "ä\x00": "1:2 NUL",
	} {
		p := CheckText([]byte(src), "f")
		where, why, _ := strings.Cut(want, " ")
		if p == nil || !strings.Contains(p.Why, why) || where != strings.TrimSpace(pos(p)) {
			t.Errorf("%q: %+v, want %q", src, p, want)
		}
	}
	if p := CheckText([]byte("a = \"ä€😀\"\n"), "f"); p != nil {
		t.Errorf("valid text is refused: %+v", p)
	}
}

func pos(p *Problem) string {
	s := p.Range.String() // f:line,col-col
	s = strings.TrimPrefix(s, "f:")
	s, _, _ = strings.Cut(s, "-")
	return strings.Replace(s, ",", ":", 1)
}

func TestWhatWouldExhaustTheParserIsFound(t *testing.T) {
	n := 10_000
	deep := map[string]string{
		"brackets":     "a = " + strings.Repeat("[", n),
		"parens":       "a = " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"blocks":       strings.Repeat("a {\n", n),
		"not":          "a = " + strings.Repeat("!", n) + "true",
		"sum":          "a = 1" + strings.Repeat(" + 1", n),
		"conditionals": "a = " + strings.Repeat("x ? y : ", n) + "z",
		"templates":    "a = " + strings.Repeat(`"${`, n),
		"directives":   "a = \"" + strings.Repeat("%{ if x }", n) + "\"",
		"indexes":      "a = b" + strings.Repeat("[0]", n),
		"over lines":   "a = (1" + strings.Repeat("\n+ 1", n) + ")",
	}
	for name, src := range deep {
		if got := CheckConfig([]byte(src), "f"); len(got) != 1 || got[0].Fault != TooDeep {
			t.Errorf("%s: %v, want one TooDeep", name, got)
		}
	}
	wide := map[string]string{
		"list":     "a = [" + strings.Repeat("-1, ", n) + "]",
		"lines":    strings.Repeat("a = 1 + 2\n", n),
		"template": "a = \"" + strings.Repeat("${b}", n) + "\"",
		"object":   "a = {\n" + strings.Repeat("b = -1\n", n) + "}",
		"nested":   "a = [" + strings.Repeat("[1], ", n) + "]",
		"blocks":   strings.Repeat("a \"b\" {\n  c = d.e.f\n}\n", n),
	}
	for name, src := range wide {
		if got := CheckConfig([]byte(src), "f"); len(got) != 0 {
			t.Errorf("%s: %v, want nothing", name, got)
		}
	}
}

func TestNumbersThatNobodyMeansAreFound(t *testing.T) {
	for _, s := range []string{"1e999999999", "1E-999999999", "1e99999999999999999999", strings.Repeat("9", 1000)} {
		if got := CheckConfig([]byte("a = "+s), "f"); len(got) != 1 || got[0].Fault != BadNumber {
			t.Errorf("%.20s: %v", s, got)
		}
	}
	if got := CheckConfig([]byte("a = [1e300, 0.000001, 123456789012345678901234567890]"), "f"); len(got) != 0 {
		t.Errorf("ordinary numbers: %v", got)
	}
}
