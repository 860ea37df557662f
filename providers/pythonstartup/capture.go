package pythonstartup

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pyargv"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Roles of the two artifacts.
const (
	RoleSamples = "startup_wall"
	RoleTrace   = "import_trace"
)

// Media types of the two artifacts. They are not registered; these are ours.
const (
	SamplesMediaType = "application/x-pyperf+json"
	TraceMediaType   = "text/x-python-importtime"
)

const (
	samplesFile = "startup.json"
	traceFile   = "imports.txt"
)

// launcher is handed to the interpreter as an argument, so that nothing needs to be written before a run.
//
//go:embed startup.py
var launcher string

// Provider times starts of Python programs. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "pythonstartup" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "start of a Python program: five fresh processes timed by pyperf, and what each import took"
}

// Options of a capture. The profile is closed: nothing of what is measured can be chosen.
type Options struct {
	Timeout time.Duration `arg:"timeout" default:"\"60s\"" doc:"how long one start may take, in whole seconds; a fraction counts as one more" facet:"definition"`
	Python  string        `arg:"python,optional" doc:"the interpreter that has pyperf; that of the command where missing" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a benchmark.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// The codes of what a capture cannot leave out.
const (
	CacheUncontrolled = "os_cache_uncontrolled"
	TraceInstrumented = "imports_timed_apart"
)

// always are limitations of every capture and of every extraction.
var always = []evidence.Limitation{
	{Code: CacheUncontrolled, Text: "what the system has of the program in memory is not controlled: the first sample may read from disk what the later ones do not"},
	{Code: TraceInstrumented, Text: "imports are timed in a process of their own, which is slower for it; its times are no part of the samples"},
}

// Plan runs the launcher in the interpreter that has pyperf.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("pythonstartup: options are a %T, not *pythonstartup.Options", options)
	}
	c, err := pyargv.Parse("-X importtime", w.Argv)
	if err != nil {
		return providers.Invocation{}, err
	}
	if i := slices.IndexFunc(c.Flags, func(f string) bool { return strings.Contains(f, "importtime") }); i >= 0 {
		return providers.Invocation{}, fmt.Errorf("the workload's command has %s, which the capture writes itself; take it out", c.Flags[i])
	}
	if o.Timeout <= 0 {
		return providers.Invocation{}, fmt.Errorf("timeout = %q: it is longer than nothing", o.Timeout)
	}
	if len(w.ExpectExit) > 0 && !slices.Contains(w.ExpectExit, 0) {
		return providers.Invocation{}, fmt.Errorf("the workload's expect_exit is %v, and pyperf times no program that ends with another status than 0", w.ExpectExit)
	}
	inv := providers.Invocation{
		Outputs: []providers.DeclaredOutput{
			{Name: "samples", Path: samplesFile, Role: RoleSamples, MediaType: SamplesMediaType, Required: true},
			{Name: "imports", Path: traceFile, Role: RoleTrace, MediaType: TraceMediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Collectors:  []providers.Collector{{Name: "python_startup.py", Content: []byte(launcher)}},
		Scope:       providers.Scope{Mode: profile, ProcessScope: "the program's own process", Bounds: map[string]string{"processes": "5", "values": "1", "loops": "1", "warmups": "0"}},
		Limitations: slices.Clone(always),
	}
	python := c.Python
	if o.Python != "" {
		python = o.Python
		if !token.Has(c.Python) { // the output of a build is an input
			inv.Programs = []string{c.Python}
		}
	}
	out, seconds := token.Make("out.dir"), strconv.Itoa(int(math.Ceil(o.Timeout.Seconds())))
	inv.Argv = append([]string{python, "-c", launcher, out + "/" + samplesFile, out + "/" + traceFile, seconds, strconv.Itoa(1 + len(c.Flags))}, w.Argv...)
	return inv, nil
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
