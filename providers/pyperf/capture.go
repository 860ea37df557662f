package pyperf

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType of pyperf's JSON, compressed or not. It is not registered; this is ours.
const MediaType = "application/x-pyperf+json"

// Role of the artifact that holds the results.
const Role = "benchmark"

// driver is the program of mode function. It is handed to the interpreter as an argument, so that nothing needs to be written before a run.
//
//go:embed bench_func.py
var driver string

// Provider runs and reads pyperf benchmarks. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "pyperf" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "Python benchmarks with pyperf: a script, functions of a file, or whole commands, one sample per value"
}

// Options of a capture.
type Options struct {
	Mode      string        `arg:"mode,optional" doc:"script: the workload is a script that uses pyperf, and gets its options; function: it is a Python file with functions to time; command: it is timed as a whole process. Known without it only for python -m pyperf" facet:"definition"`
	Processes int           `arg:"processes" default:"20" doc:"processes that measure, one after the other" facet:"definition"`
	Values    int           `arg:"values" default:"3" doc:"values that each process measures" facet:"definition"`
	Warmups   int           `arg:"warmups" default:"1" doc:"values that each process measures first, and that count for nothing" facet:"definition"`
	Loops     *int          `arg:"loops,optional" doc:"iterations of each value; without it pyperf finds out in a process of its own, so that one value takes min_time" facet:"definition"`
	MinTime   time.Duration `arg:"min_time" default:"\"100ms\"" doc:"how long one value takes at least, where loops are not given" facet:"definition"`
	Affinity  string        `arg:"affinity,optional" doc:"CPUs that the measuring processes are bound to, such as 2,4-5" facet:"definition"`
	Memory    bool          `arg:"memory" default:"false" doc:"measure the peak of each process's memory in place of time (pyperf's --track-memory)" facet:"definition"`
	Functions []string      `arg:"functions,optional" doc:"of mode function: names, or one case of a function with params such as \"f(10, 'a')\"; by default every bench_* and benchmark_* of the file" facet:"definition"`
	Name      string        `arg:"name" default:"\"workload\"" doc:"of mode command: what the benchmark is called" facet:"definition"`
	Python    string        `arg:"python,optional" doc:"of mode command: the interpreter that has pyperf; that of the command where it is Python, else python" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a benchmark run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// The codes of what a capture cannot leave out.
const (
	StartupIncluded = "startup_included"
)

// Plan makes pyperf run the workload.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("pyperf: options are a %T, not *pyperf.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to measure")
	}
	mode, err := o.mode(w)
	if err != nil {
		return providers.Invocation{}, err
	}
	flags, err := o.flags(mode)
	if err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{
		Outputs: []providers.DeclaredOutput{
			{Name: "benchmark", Path: "benchmark.json", Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope: providers.Scope{Mode: mode, ProcessScope: "worker processes", Bounds: o.bounds(), Filters: map[string]string{}},
		Paced: true, // it calibrates how often it loops
	}
	switch mode {
	case "script":
		inv.Argv, err = script(w.Argv, flags)
	case "function":
		inv.Argv, err = o.function(w.Argv, flags)
		inv.Collectors = []providers.Collector{{Name: "bench_func.py", Content: []byte(driver)}}
		if len(o.Functions) > 0 {
			inv.Scope.Filters["functions"] = strings.Join(o.Functions, "; ")
		}
	case "command":
		inv.Argv, err = o.command(w.Argv, flags)
		inv.Limitations = []evidence.Limitation{
			{Code: StartupIncluded, Text: "each sample is a whole process: the start of pyperf's launcher, and that of the command, are in it"},
		}
		if !token.Has(w.Argv[0]) { // the output of a build is an input
			inv.Programs = w.Argv[:1]
		}
	}
	return inv, err
}

// mode is how the workload is run: what is said, or what its command says by itself.
func (o *Options) mode(w providers.Workload) (string, error) {
	mode := o.Mode
	switch mode {
	case "script", "function", "command":
	case "":
		if _, ok := module(w.Argv); ok || w.Protocol == "pyperf" {
			mode = "script"
			break
		}
		return "", fmt.Errorf("the workload's command does not say whether it uses pyperf itself; write mode = \"script\" if it is a script with pyperf.Runner, mode = \"function\" if it is a Python file with functions to time, or mode = \"command\" to time it as a whole process")
	default:
		return "", fmt.Errorf("mode = %q is not known; write \"script\", \"function\" or \"command\"", mode)
	}
	if len(o.Functions) > 0 && mode != "function" {
		return "", fmt.Errorf("functions belong to mode = \"function\"; in mode %s the program says itself what is measured", mode)
	}
	if o.Python != "" && mode != "command" {
		return "", fmt.Errorf("python = %q belongs to mode = \"command\"; in mode %s the workload's command begins with the interpreter", token.Display(o.Python), mode)
	}
	return mode, nil
}

// flags are pyperf's own.
func (o *Options) flags(mode string) ([]string, error) {
	switch {
	case o.Processes < 1:
		return nil, fmt.Errorf("processes = %d: at least one has to measure", o.Processes)
	case o.Values < 1:
		return nil, fmt.Errorf("values = %d: each process measures at least one", o.Values)
	case o.Warmups < 0:
		return nil, fmt.Errorf("warmups = %d is negative; 0 is none", o.Warmups)
	case o.Loops != nil && *o.Loops < 1:
		return nil, fmt.Errorf("loops = %d: each value has at least one iteration", *o.Loops)
	case o.MinTime <= 0:
		return nil, fmt.Errorf("min_time = %q: it is longer than nothing", o.MinTime)
	}
	flags := []string{"--output", token.Make("out.dir") + "/benchmark.json", "--processes", strconv.Itoa(o.Processes), "--values", strconv.Itoa(o.Values), "--warmups", strconv.Itoa(o.Warmups)}
	if o.Loops != nil {
		flags = append(flags, "--loops", strconv.Itoa(*o.Loops))
	} else {
		flags = append(flags, "--min-time", strconv.FormatFloat(o.MinTime.Seconds(), 'g', -1, 64))
	}
	if o.Affinity != "" {
		if !cpus.MatchString(o.Affinity) {
			return nil, fmt.Errorf("affinity = %q is no list of CPUs; write numbers and ranges with commas, such as \"2,4-5\"", o.Affinity)
		}
		flags = append(flags, "--affinity", o.Affinity)
	}
	if o.Memory {
		flags = append(flags, "--track-memory")
	}
	if mode == "command" {
		if strings.TrimSpace(o.Name) == "" || strings.ContainsAny(o.Name, "\r\n") || token.Has(o.Name) {
			return nil, fmt.Errorf("name = %q is no name of a benchmark; write one line of text", token.Display(o.Name))
		}
		flags = append(flags, "--name="+o.Name)
	}
	return append(flags, "--copy-env"), nil
}

var cpus = pattern.Lazy{Expr: `^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$`}

func (o *Options) bounds() map[string]string {
	b := map[string]string{"processes": strconv.Itoa(o.Processes), "values": strconv.Itoa(o.Values), "warmups": strconv.Itoa(o.Warmups)}
	if o.Loops != nil {
		b["loops"] = strconv.Itoa(*o.Loops)
	} else {
		b["min_time"] = o.MinTime.String()
	}
	return b
}

// own are options that the capture writes, or that change what those say.
var own = pattern.Lazy{Expr: `^(-o.*|-[pnwl][0-9]*|--(output|append|processes|values|warmups|loops|min-time|affinity|track-memory|tracemalloc|worker|rigorous|fast|debug-single-value)(=.*)?)$`}

// script hands the flags to a script that uses pyperf: behind all its arguments, or behind the subcommand of `-m pyperf`, where those of the
// measured code follow.
func script(argv, flags []string) ([]string, error) {
	at, first := len(argv), 1
	if m, ok := module(argv); ok {
		if sub := argv[m:]; len(sub) == 0 || sub[0] != "timeit" && sub[0] != "command" {
			return nil, fmt.Errorf("the workload runs python -m pyperf without something to measure; write timeit or command behind it, or name a script")
		}
		at, first = m+1, m+1
	}
	for _, a := range argv[first:] {
		if own.MatchString(a) {
			return nil, fmt.Errorf("the workload's command has %s, which the capture writes itself from its own arguments; take it out", a)
		}
		if at < len(argv) && !strings.HasPrefix(a, "-") {
			break // the options of what is measured
		}
	}
	return slices.Concat(argv[:at], flags, argv[at:]), nil
}

// module is where the arguments of `python -m pyperf` begin.
func module(argv []string) (at int, ok bool) {
	for i := 1; i+1 < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
		if argv[i] == "-m" {
			return i + 2, argv[i+1] == "pyperf"
		}
	}
	return 0, false
}

var python = pattern.Lazy{Expr: `^(python|pypy)[0-9.]*(\.exe)?$`}

func interpreter(arg string) bool { return python.MatchString(path.Base(token.Display(arg))) }

// function runs the driver over the workload's file.
func (o *Options) function(argv, flags []string) ([]string, error) {
	if len(argv) != 2 || !interpreter(argv[0]) || strings.HasPrefix(argv[1], "-") {
		return nil, fmt.Errorf("in mode function the workload's command is an interpreter and a Python file with the functions, such as [\"python\", \"bench.py\"], and nothing else: pyperf starts its processes without options of the interpreter; write what they need as variables, such as PYTHONHASHSEED")
	}
	selection := o.Functions
	for i, f := range selection {
		if strings.TrimSpace(f) == "" || slices.Contains(selection[:i], f) {
			return nil, fmt.Errorf("functions has %q, which is empty or stands there twice", f)
		}
	}
	if selection == nil {
		selection = []string{}
	}
	list, err := json.Marshal(selection)
	if err != nil {
		return nil, err
	}
	return append([]string{argv[0], "-c", driver, argv[1], string(list)}, flags...), nil
}

// command times the workload's command as a whole.
func (o *Options) command(argv, flags []string) ([]string, error) {
	py := o.Python
	switch {
	case py != "":
	case interpreter(argv[0]):
		py = argv[0]
	default:
		py = "python"
	}
	return slices.Concat([]string{py, "-m", "pyperf", "command"}, flags, []string{"--"}, argv), nil
}

// Probe asks the interpreter for the pyperf that it has.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "-c", "import pyperf; print(pyperf.__version__)"}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		if v == "" {
			lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
			return "", fmt.Errorf("%s has no pyperf (%s)", argv[0], lines[len(lines)-1])
		}
		return v, checkVersion(v)
	}
}
