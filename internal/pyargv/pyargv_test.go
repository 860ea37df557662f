package pyargv_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/pyargv"
	"github.com/flameox/flameox/internal/token"
)

func TestACommandIsTakenApart(t *testing.T) {
	for _, c := range []struct{ argv, flags, target []string }{
		{[]string{"python3", "a.py", "-x"}, nil, []string{"a.py", "-x"}},
		{[]string{"/opt/v/bin/python3.13t", "-X", "dev", "-Wd", "-m", "app", "-c"}, []string{"-X", "dev", "-Wd"}, []string{"-m", "app", "-c"}},
		{[]string{"python", "-uB", "-c", "pass"}, []string{"-uB"}, []string{"-c", "pass"}},
		{[]string{token.Make("build.py.dir") + "/bin/python", "a.py"}, nil, []string{"a.py"}},
		{[]string{"python", "--check-hash-based-pycs", "never", "a.py"}, []string{"--check-hash-based-pycs", "never"}, []string{"a.py"}},
	} {
		got, err := pyargv.Parse("x", c.argv)
		if err != nil || got.Python != c.argv[0] || !slices.Equal(got.Flags, c.flags) || !slices.Equal(got.Target, c.target) {
			t.Errorf("%q: %+v %v", c.argv, got, err)
		}
		if whole := slices.Concat(got.Interpreter(), got.Target); !slices.Equal(whole, c.argv) {
			t.Errorf("%q becomes %q", c.argv, whole)
		}
	}
	c, _ := pyargv.Parse("x", []string{"python", "-m", "app", "a"})
	if name, args, ok := c.Module(); !ok || name != "app" || !slices.Equal(args, []string{"a"}) {
		t.Errorf("%s %v %v", name, args, ok)
	}
}

func TestWhatRunsNoProgramIsRefusedWithWhatToWrite(t *testing.T) {
	for text, argv := range map[string][]string{
		"has no command": nil, "needs Python itself": {"pytest"}, "names no program": {"python"}, "needs a module": {"python", "-m"}, "needs a program": {"python", "-c", ""},
		"needs a value": {"python", "-X"}, "standard input": {"python", "-"}, "take it out": {"python", "--version"}, "-i cannot be kept": {"python", "-i", "a.py"},
	} {
		if _, err := pyargv.Parse("x", argv); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", argv, err)
		}
	}
}
