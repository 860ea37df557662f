package broker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// script writes an executable file.
func script(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// kinds are the chain's links as kind:base name of the file found.
func kinds(x *Executable) (out []string) {
	for _, l := range x.Chain {
		out = append(out, string(l.Kind)+":"+filepath.Base(l.Found))
	}
	return out
}

func realpath(t testing.TB, path string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestResolveFollowsLinksScriptsAndEnv(t *testing.T) {
	dir := realpath(t, t.TempDir())
	bin := filepath.Join(dir, "bin")
	os.Mkdir(bin, 0o755)
	if err := os.Symlink("/bin/sh", filepath.Join(bin, "mysh")); err != nil {
		t.Fatal(err)
	}
	script(t, filepath.Join(dir, "direct"), "#!/bin/sh -e\necho\n")
	script(t, filepath.Join(dir, "viaenv"), "#!/usr/bin/env mysh\n")
	script(t, filepath.Join(dir, "split"), "#!/usr/bin/env -S A=1 mysh -e\n")
	script(t, filepath.Join(dir, "vsplit"), "#! \t/usr/bin/env -vS mysh\n")
	script(t, filepath.Join(dir, "nested"), "#!"+filepath.Join(dir, "direct")+"\n")
	script(t, filepath.Join(dir, "other"), "#!/usr/bin/env -S PATH="+bin+" mysh\n")
	env := Env{Path: bin + ":/usr/bin:/bin", Dir: dir}
	for _, tt := range []struct {
		argv0 string
		args  []string
		want  []string
	}{
		{"mysh", nil, []string{"binary:mysh"}},
		{"./direct", nil, []string{"script:direct", "interpreter:sh"}},
		{filepath.Join(dir, "viaenv"), nil, []string{"script:viaenv", "interpreter:env", "interpreter:mysh"}},
		{"./split", nil, []string{"script:split", "interpreter:env", "interpreter:mysh"}},
		{"./vsplit", nil, []string{"script:vsplit", "interpreter:env", "interpreter:mysh"}},
		{"./nested", nil, []string{"script:nested", "script:direct", "interpreter:sh"}},
		{"./other", nil, []string{"script:other", "interpreter:env", "interpreter:mysh"}},
		{"env", []string{"-i", "-u", "X", "B=2", "./direct"}, []string{"binary:env", "script:direct", "interpreter:sh"}},
		{"env", nil, []string{"binary:env"}},
	} {
		x, err := Resolve(env, tt.argv0, tt.args...)
		if err != nil {
			t.Errorf("%s %v: %v", tt.argv0, tt.args, err)
			continue
		}
		if got := kinds(x); !slices.Equal(got, tt.want) {
			t.Errorf("%s %v: chain %v, want %v", tt.argv0, tt.args, got, tt.want)
		}
		for _, l := range x.Chain {
			if l.Digest.IsZero() || !filepath.IsAbs(l.Found) || l.Real != realpath(t, l.Found) {
				t.Errorf("%s: link %+v", tt.argv0, l)
			}
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Errorf("%s: verify: %v", tt.argv0, err)
		}
	}
	x, err := Resolve(env, "mysh")
	if err != nil {
		t.Fatal(err)
	}
	if x.Path != filepath.Join(bin, "mysh") || x.Chain[0].Real != realpath(t, "/bin/sh") {
		t.Errorf("executes %s, really %s: a program that looks at its own name must keep it", x.Path, x.Chain[0].Real)
	}
}

func TestResolveErrorsSayWhatWasSearchedAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	script(t, filepath.Join(dir, "benchmark"), "#!/bin/sh\n")
	script(t, filepath.Join(dir, "python3"), "#!/bin/sh\n")
	script(t, filepath.Join(dir, "loop"), "#!"+filepath.Join(dir, "loop")+"\n")
	script(t, filepath.Join(dir, "noprog"), "#!/usr/bin/env no-such-program\n")
	script(t, filepath.Join(dir, "spaces"), "#!/usr/bin/env python3 -u\n")
	script(t, filepath.Join(dir, "variable"), "#!/usr/bin/env -S ${X} a\n")
	script(t, filepath.Join(dir, "crlf"), "#!/bin/sh\r\necho\r\n")
	script(t, filepath.Join(dir, "bare"), "#!\n")
	script(t, filepath.Join(dir, "empty"), "")
	script(t, filepath.Join(dir, "text"), "echo hello\n")
	script(t, filepath.Join(dir, "gone"), "#!/no/such/interpreter\n")
	os.WriteFile(filepath.Join(dir, "plain"), []byte("#!/bin/sh\n"), 0o644)
	os.Symlink("nowhere", filepath.Join(dir, "dangling"))
	env := Env{Path: dir + "::/usr/bin", Dir: dir}
	for _, tt := range []struct {
		argv0 string
		kind  StartErrorKind
		says  []string
	}{
		{"benchmarc", NotFound, []string{"PATH=" + env.Path, "did you mean benchmark?", "install it"}},
		{"python", NotFound, []string{"python3"}},
		{"./benchmrk", NotFound, []string{"did you mean benchmark?"}},
		{"plain", NotFound, []string{"exists, but it is not executable"}},
		{"./plain", NotExecutable, []string{"chmod +x"}},
		{"./dangling", NotFound, []string{"does not exist"}},
		{"./loop", BadInterpreter, []string{"lead to each other"}},
		{"./noprog", NotFound, []string{"no-such-program", "PATH="}},
		{"./spaces", NotFound, []string{"python3 -u"}},
		{"./variable", BadInterpreter, []string{"uses a variable"}},
		{"./crlf", BadFormat, []string{"carriage return"}},
		{"./bare", BadFormat, []string{"names no interpreter"}},
		{"./empty", BadFormat, []string{"is empty"}},
		{"./text", BadFormat, []string{"without a #! line"}},
		{"./gone", BadInterpreter, []string{"/no/such/interpreter", "install it"}},
		{"", BadArgument, []string{"empty"}},
	} {
		if strings.Contains(tt.argv0, "spaces") {
			// env takes its one argument for a name with a space in it.
			env.Path = "/usr/bin"
		}
		_, err := Resolve(env, tt.argv0)
		var se *StartError
		if !errors.As(err, &se) || se.Kind != tt.kind {
			t.Errorf("%q: %v; want %s", tt.argv0, err, tt.kind)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q: %q does not say %q", tt.argv0, err, s)
			}
		}
	}
	if _, err := Resolve(Env{Dir: dir}, "sh"); err == nil || !strings.Contains(err.Error(), "PATH is empty") {
		t.Errorf("an empty PATH: %v", err)
	}
}

func TestTheGoLauncherIsFollowedToItsToolchain(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go launcher on this machine")
	}
	link := filepath.Join(t.TempDir(), "go")
	if err := os.Symlink(tool, link); err != nil {
		t.Fatal(err)
	}
	x, err := Resolve(Env{Path: filepath.Dir(link), Dir: "/"}, "go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"binary:go", "data:VERSION", "tool:compile", "tool:link", "tool:asm"}
	if got := kinds(x); !slices.Equal(got, want) || len(x.Limitations) != 1 {
		t.Errorf("chain %v, limitations %v; want %v", got, x.Limitations, want)
	}
}

// aged makes the times of a file so old that the clock's grain plays no part.
func settled() { time.Sleep(2 * clockGrain) }

func TestAnExecutableReplacedAfterResolveIsNotStarted(t *testing.T) {
	dir := realpath(t, t.TempDir())
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")
	os.Mkdir(early, 0o755)
	prog := script(t, filepath.Join(late, "prog"), "#!/bin/sh\necho one\n")
	env := Env{Path: early + ":" + late, Dir: dir}
	read := 0
	env.Digest = func(path string) (digest.Digest, error) {
		read++
		return Env{}.digest(path)
	}
	settled()
	resolve := func() *Executable {
		x, err := Resolve(env, "prog")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := resolve()
	read = 0
	if err := x.Verify(t.Context()); err != nil || read != 0 {
		t.Errorf("nothing moved: %v, %d files read again", err, read)
	}
	now := time.Now()
	os.Chtimes(prog, now, now)
	if err := x.Verify(t.Context()); err != nil || read != 1 {
		t.Errorf("touched, same content: %v, %d files read again", err, read)
	}

	changed := func(what, says string, x *Executable) {
		t.Helper()
		var ce *ExecutableChangedError
		if err := x.Verify(t.Context()); !errors.As(err, &ce) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want it to say %q", what, err, says)
		}
	}
	script(t, prog+".new", "#!/bin/sh\necho two\n")
	os.Rename(prog+".new", prog)
	changed("replaced by rename", "content of "+prog, x)

	b := testBroker(t)
	c := shell(t, "")
	c.Argv, c.Executable, c.Env = []string{"prog"}, x, testEnv()
	var ce *ExecutableChangedError
	if _, err := b.Run(t.Context(), c); !errors.As(err, &ce) || content(t, c.Stdout) != "" {
		t.Errorf("run of a replaced executable: %v; stdout %q", err, content(t, c.Stdout))
	}
	c.Executable = resolve()
	if res := must(t, b, c); res.Exit != 0 || content(t, c.Stdout) != "two\n" {
		t.Errorf("run of the new one: exit %d, stdout %q", res.Exit, content(t, c.Stdout))
	}

	x = resolve()
	os.WriteFile(prog, []byte("#!/bin/sh\necho six\n"), 0o755)
	changed("written in place right after it was resolved, same size", "content of", x)
	x = resolve()
	os.Chmod(prog, 0o644)
	changed("no longer executable", "gone from PATH", x)
	os.Chmod(prog, 0o755)
	x = resolve()
	script(t, filepath.Join(early, "prog"), "#!/bin/sh\n")
	changed("shadowed on PATH", "PATH now leads to", x)
	os.Remove(filepath.Join(early, "prog"))
	x = resolve()
	os.Remove(prog)
	changed("removed", "gone", x)
}

func TestARepointedLinkIsAChange(t *testing.T) {
	dir := realpath(t, t.TempDir())
	one := script(t, filepath.Join(dir, "one"), "#!/bin/sh\necho 1\n")
	two := script(t, filepath.Join(dir, "two"), "#!/bin/sh\necho 2\n")
	link := filepath.Join(dir, "link")
	os.Symlink(one, link)
	settled()
	x, err := Resolve(Env{Dir: dir}, link)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(link)
	os.Symlink(two, link)
	var ce *ExecutableChangedError
	if err := x.Verify(t.Context()); !errors.As(err, &ce) || ce.Real != two || ce.Digest.IsZero() {
		t.Errorf("%v", err)
	}
}

func TestSplitStringFollowsGnuEnv(t *testing.T) {
	for in, want := range map[string][]string{
		`python3 -u`:          {"python3", "-u"},
		`  a	b `:              {"a", "b"},
		`'a b' "c d"e`:        {"a b", "c de"},
		`a\_b "x\_y"`:         {"a", "b", "x y"},
		`a #comment`:          {"a"},
		`a\#b`:                {"a#b"},
		`a\cb`:                {"a"},
		`'a\b' 'it\'s'`:       {`a\b`, "it's"},
		`"a\tb"`:              {"a\tb"},
		`""`:                  {""},
		``:                    nil,
		`A=1 python3 "-c" ''`: {"A=1", "python3", "-c", ""},
	} {
		got, err := splitString(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{`a\`, `"a`, `'a`, `${X}`, `a\qb`} {
		if got, err := splitString(bad); err == nil {
			t.Errorf("%q was read as %q", bad, got)
		}
	}
}

func TestSplitStringAgreesWithTheRealEnv(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip("no env on this machine")
	}
	if exec.Command(env, "-S", "true").Run() != nil {
		t.Skip("this env has no -S")
	}
	for _, in := range []string{`a b`, `'a b' "c d"e`, `a\_b "x\_y"`, `'a\b' 'it\'s'`, `"a\tb"`, `x "" y`, `a #b`, `a\#b`, `a\cb`} {
		want, err := splitString(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		out, err := exec.Command(env, `-Sprintf [%s]\\n `+in).CombinedOutput()
		if err != nil {
			t.Errorf("env -S %q: %v %s", in, err, out)
			continue
		}
		if got := "[" + strings.Join(want, "]\n[") + "]\n"; got != string(out) {
			t.Errorf("%q: we cut %q, env %q", in, got, out)
		}
	}
}

func FuzzShebang(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env -S a 'b c' \"d\"\n"), "-S x\\_y")
	f.Add([]byte("#! /bin/sh -e"), "'")
	f.Fuzz(func(t *testing.T, b []byte, s string) {
		if len(b) >= 2 {
			if line, err := parseShebang(b); err == nil && (line.interpreter == "" || strings.ContainsAny(line.interpreter, " \t\n")) {
				t.Errorf("%q has the interpreter %q", b, line.interpreter)
			}
		}
		if _, err := splitString(s); err == nil {
			parseEnv([]string{"-S", s}, "/bin", "/")
		}
	})
}
