package memray_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/memray"
)

func TestTheInterpretersOptionsStayBeforeMemrayAndTheProgramsBehindIt(t *testing.T) {
	run := []string{"-m", "memray", "run", "--quiet", "--output", token.Make("out.dir") + "/memory.bin"}
	for _, c := range []struct{ argv, before, behind string }{
		{"python3 app.py --size 3", "python3", "app.py --size 3"},
		{"/opt/v/bin/python3.12 -m pytest -q", "/opt/v/bin/python3.12", "-m pytest -q"},
		{"python -c print(1) -x", "python", "-c print(1) -x"},
		{"python -OO -X utf8 -Wignore -W error -Xdev app.py -c x", "python -OO -X utf8 -Wignore -W error -Xdev", "app.py -c x"},
		{"python3.13t -Bsu --check-hash-based-pycs never app.py", "python3.13t -Bsu --check-hash-based-pycs never", "app.py"},
		{token.Make("build.x.dir") + "/bin/python app.py", token.Make("build.x.dir") + "/bin/python", "app.py"},
	} {
		argv := strings.Split(c.argv, " ")
		inv, err := p.Plan(providers.Workload{Argv: argv}, options())
		want := slices.Concat(strings.Split(c.before, " "), run, strings.Split(c.behind, " "))
		if err != nil || !slices.Equal(inv.Argv, want) {
			t.Errorf("%s becomes %q, want %q: %v", c.argv, inv.Argv, want, err)
			continue
		}
		probe, err := p.Probe(argv)
		if err != nil || !slices.Equal(probe[:len(strings.Split(c.before, " "))], strings.Split(c.before, " ")) || probe[len(probe)-1] != "probe" {
			t.Errorf("%s is asked with %q: %v", c.argv, probe[:1], err)
		}
		planned, err := p.Probe(inv.Argv)
		if err != nil || !slices.Equal(planned, probe) {
			t.Errorf("the planned command of %s is asked otherwise than its workload: %v", c.argv, err)
		}
	}
}

func TestCommandsThatMemrayCannotRunSayWhatToWrite(t *testing.T) {
	for argv, want := range map[string]string{
		"":                     "no command",
		"pytest -q":            `["python3", "-m", "module", …]`,
		"uv run python app.py": "starts with uv",
		"./app.py":             "starts with ./app.py",
		"python3":              "no program",
		"python3 -":            "standard input",
		"python3 -m":           "needs a module",
		"python3 -c":           "needs a program",
		"python3 -W":           "needs a value",
		"python3 --version":    "--version",
		"python3 -i app.py":    "-i cannot",
		"python3 -x app.py":    "-x cannot",
		"python3 -V":           "-V cannot",
	} {
		var list []string
		if argv != "" {
			list = strings.Split(argv, " ")
		}
		if _, err := p.Plan(providers.Workload{Argv: list}, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", argv, err, want)
		}
	}
}

func TestOptionsBecomeFlagsAndTheScope(t *testing.T) {
	o := &memray.Options{Native: true, FollowFork: true, Aggregate: true, PythonAllocators: true}
	inv, err := p.Plan(providers.Workload{Argv: []string{"python3", "x.py"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--native", "--follow-fork", "--aggregate", "--trace-python-allocators"} {
		if i := slices.Index(inv.Argv, flag); i < 0 || i > slices.Index(inv.Argv, "x.py") {
			t.Errorf("%s is not among %q", flag, inv.Argv)
		}
	}
	if len(inv.Outputs) != 3 || inv.Outputs[2].Path != "memory.bin.*" || inv.Outputs[2].Required || inv.Scope.Filters["allocators"] == "system" {
		t.Errorf("outputs %+v, scope %+v", inv.Outputs, inv.Scope)
	}
	plain, err := p.Plan(providers.Workload{Argv: []string{"python3", "x.py"}}, options())
	if err != nil || len(plain.Outputs) != 2 || len(plain.Limitations) != 1 {
		t.Errorf("%+v %v", plain, err)
	}
}

func TestThresholdsOutOfBoundsAreRefused(t *testing.T) {
	for threshold, ok := range map[int]bool{-1: false, 0: true, 1000: true, 1001: false} {
		o := lang.Defaults(p.ExtractOptions()).(*memray.ExtractOptions)
		o.Threshold = threshold
		if _, err := p.Argument(o); (err == nil) != ok {
			t.Errorf("%d: %v", threshold, err)
		}
	}
}

func TestTheInterpreterIsTheCapturesUnlessOneIsNamed(t *testing.T) {
	o := &memray.ExtractOptions{}
	if name, err := p.Interpreter([]string{"py", "-m", "memray"}, o); err != nil || name != "py" {
		t.Errorf("%q %v", name, err)
	}
	if _, err := p.Interpreter(nil, o); err == nil || !strings.Contains(err.Error(), "interpreter = ") {
		t.Errorf("of an import: %v", err)
	}
	o.Interpreter = "other"
	if name, err := p.Interpreter([]string{"py"}, o); err != nil || name != "other" {
		t.Errorf("%q %v", name, err)
	}
}
