package coverage

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pyargv"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType is what a data file is registered as. It is not registered; this is ours.
const MediaType = "application/x-coverage-sqlite3"

// Role of an artifact that is a data file.
const Role = "execution_coverage"

// output is the data file of a run. In parallel mode each process puts something behind the name.
const output = ".coverage"

// launcher runs coverage with options that its command line has not.
//
//go:embed run.py
var launcher string

// Provider captures and reads coverage.py's data. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "coverage" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "coverage.py: which lines of a Python program ran, which steps between lines, and in which test"
}

// Options of a capture.
type Options struct {
	Branch         bool     `arg:"branch" default:"true" doc:"record steps from line to line, not only lines" facet:"definition"`
	DynamicContext string   `arg:"dynamic_context,optional" doc:"test_function: record which test was under way, by coverage's own rule for names of test functions" facet:"definition"`
	Parallel       bool     `arg:"parallel" default:"false" doc:"record the processes of Python too that the program forks or starts, each in a data file of its own; all are read together" facet:"definition"`
	Concurrency    []string `arg:"concurrency,optional" doc:"what the program runs beside each other with: thread, gevent, greenlet, eventlet; coverage's default is thread. Processes are recorded with parallel" facet:"definition"`
	Source         []string `arg:"source,optional" doc:"packages or folders that are measured, also where nothing of them ran; coverage's default is what is not installed" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a capture: which lines run does not depend on the class of machine, and it may run beside others.
func (Provider) Nature() providers.Nature { return providers.Shared }

var concurrencies = []string{"eventlet", "gevent", "greenlet", "thread"}

// Plan runs the program under coverage, in the interpreter that the workload names.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	var none providers.Invocation
	o, ok := options.(*Options)
	if !ok {
		return none, fmt.Errorf("coverage: options are a %T, not *coverage.Options", options)
	}
	c, err := pyargv.Parse("coverage", w.Argv)
	if err != nil {
		return none, err
	}
	if name, _, ok := c.Module(); ok && name == "coverage" {
		return none, fmt.Errorf("the workload's command runs coverage itself; write what it runs, such as [\"python\", \"-m\", \"pytest\"], and the capture puts coverage before it")
	}
	if c.Target[0] == "-c" {
		return none, fmt.Errorf("the workload's command runs code with -c, of which coverage records nothing; put it into a file")
	}
	args := []string{"run", "--data-file=" + token.Make("out.dir") + "/" + output}
	scope := providers.Scope{Mode: "lines", ProcessScope: "the process", Bounds: map[string]string{}, Filters: map[string]string{}}
	if o.Branch {
		args, scope.Mode = append(args, "--branch"), "branch"
	}
	configuration := map[string]any{}
	if o.Parallel {
		args, scope.ProcessScope = append(args, "--parallel-mode"), "the process and those of Python that it forks or starts"
		configuration["run:patch"] = []string{"_exit", "fork", "subprocess"}
	}
	if len(o.Concurrency) > 0 {
		for i, name := range o.Concurrency {
			if name == "multiprocessing" {
				return none, fmt.Errorf("concurrency has multiprocessing; write parallel = true in its place, which records every process")
			}
			if !slices.Contains(concurrencies, name) || slices.Contains(o.Concurrency[:i], name) {
				return none, fmt.Errorf("concurrency has %q, which coverage does not know or which stands there twice; write some of %s", name, strings.Join(concurrencies, ", "))
			}
		}
		args = append(args, "--concurrency="+strings.Join(o.Concurrency, ","))
	}
	if len(o.Source) > 0 {
		for _, s := range o.Source {
			if strings.TrimSpace(s) == "" || strings.ContainsRune(s, ',') {
				return none, fmt.Errorf("source has %q; write one package or folder in each", token.Display(s))
			}
		}
		list := strings.Join(o.Source, ",")
		args, scope.Filters["source"] = append(args, "--source="+list), list
	}
	switch o.DynamicContext {
	case "":
	case "test_function":
		configuration["run:dynamic_context"], scope.Bounds["dynamic_context"] = o.DynamicContext, o.DynamicContext
	default:
		return none, fmt.Errorf("dynamic_context = %q is not known; coverage knows \"test_function\"", o.DynamicContext)
	}
	inv := providers.Invocation{
		// What Python compiles would be new files of the project while it runs.
		Env: map[string]string{"PYTHONDONTWRITEBYTECODE": "1"},
		Outputs: []providers.DeclaredOutput{
			{Name: "coverage", Path: output, Role: Role, MediaType: MediaType, Required: !o.Parallel},
			{Name: "processes", Path: output + ".*", Role: Role, MediaType: MediaType, Required: o.Parallel},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope: scope,
	}
	if !o.Parallel {
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: "one_process", Text: "only the program's own process is recorded; parallel = true keeps what coverage records in others"})
	}
	if len(configuration) == 0 {
		inv.Argv = append(c.Interpreter(), "-m", "coverage")
	} else {
		text, err := json.Marshal(configuration)
		if err != nil {
			return none, err
		}
		inv.Argv = append(c.Interpreter(), "-c", launcher, string(text))
		inv.Collectors = []providers.Collector{{Name: "coverage_run.py", Content: []byte(launcher)}}
	}
	inv.Argv = slices.Concat(inv.Argv, args, c.Target)
	return inv, nil
}
