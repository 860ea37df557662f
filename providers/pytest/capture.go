package pytest

import (
	_ "embed"
	"fmt"
	"path"
	"strings"

	"github.com/flameox/flameox/internal/pyargv"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType of a log. It is not registered; this is ours.
const MediaType = "application/x-pytest-reportlog+jsonl"

// Role of an artifact that is a log.
const Role = "test_execution"

const output = "pytest-reportlog.jsonl"

// launcher and plugin are handed to the interpreter as arguments, so that nothing needs to be written before a run.
var (
	//go:embed launcher.py
	launcher string
	//go:embed plugin.py
	plugin string
)

// Provider runs pytest and reads what pytest-reportlog writes. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "pytest" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "tests of pytest: what became of each, how long its phases and fixtures took, and what was not run"
}

// Options of a capture.
type Options struct {
	Python string `arg:"python,optional" doc:"the interpreter that has pytest and pytest-reportlog; that of the command where it is Python, else the python beside the command pytest" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a run of tests: whether they pass does not depend on the class of machine, and they may run beside others.
func (Provider) Nature() providers.Nature { return providers.Shared }

// Plan runs pytest through the launcher, with the arguments that the workload has.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("pytest: options are a %T, not *pytest.Options", options)
	}
	head, style, args, err := command(w.Argv, o.Python)
	if err != nil {
		return providers.Invocation{}, err
	}
	for _, a := range args {
		if a == "--" {
			break
		}
		if a == "--report-log" || strings.HasPrefix(a, "--report-log=") {
			return providers.Invocation{}, fmt.Errorf("the workload's command has --report-log, which the capture writes itself; take it out")
		}
	}
	argv := append(head, "-c", launcher, plugin, token.Make("out.dir")+"/"+output, style)
	return providers.Invocation{
		Argv:  append(argv, args...),
		Exits: []int{0, exitFailed, exitInterrupted},
		// What pytest compiles would be new files of the project while its tests run.
		Env: map[string]string{"PYTHONDONTWRITEBYTECODE": "1"},
		Outputs: []providers.DeclaredOutput{
			{Name: "log", Path: output, Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Collectors: []providers.Collector{{Name: "pytest_launcher.py", Content: []byte(launcher)}, {Name: "pytest_plugin.py", Content: []byte(plugin)}},
		Scope:      providers.Scope{Mode: "session", ProcessScope: "pytest and the workers of pytest-xdist"},
	}, nil
}

// command takes the workload's command apart: what runs the launcher, how pytest was named, and pytest's arguments.
func command(argv []string, python string) (head []string, style string, args []string, err error) {
	if len(argv) == 0 {
		return nil, "", nil, fmt.Errorf("the workload has no command; write [\"python\", \"-m\", \"pytest\", …]")
	}
	if dir, name := path.Split(argv[0]); name == "pytest" || name == "py.test" {
		if python == "" {
			python = dir + "python"
		}
		return []string{python}, "script", argv[1:], nil
	}
	if !pyargv.Is(argv[0]) {
		return nil, "", nil, fmt.Errorf("the workload's command starts with %s, and pytest is run as [\"python\", \"-m\", \"pytest\", …] or [\"pytest\", …]", token.Display(argv[0]))
	}
	c, err := pyargv.Parse("pytest", argv)
	if err != nil {
		return nil, "", nil, err
	}
	name, args, ok := c.Module()
	if !ok || name != "pytest" {
		return nil, "", nil, fmt.Errorf("the workload's command runs %s, and not pytest; write [%q, \"-m\", \"pytest\", …]", token.Display(strings.Join(c.Target[:min(2, len(c.Target))], " ")), token.Display(argv[0]))
	}
	if python != "" {
		c.Python = python
	}
	return c.Interpreter(), "module", args, nil
}

// Probe asks the interpreter for the pytest-reportlog that it has.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	question := "import pytest, pytest_reportlog, importlib.metadata as m; print(m.version('pytest-reportlog'))"
	return []string{argv[0], "-c", question}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		if v == "" {
			lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
			return "", fmt.Errorf("%s has no pytest with pytest-reportlog (%s)", argv[0], lines[len(lines)-1])
		}
		if major, _, _ := strings.Cut(v, "."); major != "1" {
			return v, fmt.Errorf("%s has pytest-reportlog %s, and versions from 1 up to 2 are known", argv[0], v)
		}
		return v, nil
	}
}
