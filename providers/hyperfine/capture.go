package hyperfine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType of hyperfine's export. It is not registered; this is ours.
const MediaType = "application/x-hyperfine+json"

// Role of the artifact that holds the results.
const Role = "benchmark"

// Provider runs and reads hyperfine. The zero value is ready.
type Provider struct{}

// Name is the program's.
func (Provider) Name() string { return "hyperfine" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "whole commands timed with hyperfine: one sample per run"
}

// Options of a capture.
type Options struct {
	Runs    *int   `arg:"runs,optional" doc:"exactly so many runs, in place of min_runs and max_runs" facet:"definition"`
	MinRuns int    `arg:"min_runs" default:"10" doc:"runs at least; hyperfine adds some where they take less than three seconds together" facet:"definition"`
	MaxRuns *int   `arg:"max_runs,optional" doc:"runs at most" facet:"definition"`
	WarmUp  int    `arg:"warmup" default:"1" doc:"runs before those that are measured" facet:"definition"`
	Prepare string `arg:"prepare,optional" doc:"command of a shell that runs before every run, unmeasured: to drop a cache" facet:"definition"`
	Setup   string `arg:"setup,optional" doc:"command of a shell that runs once before everything" facet:"definition"`
	Cleanup string `arg:"cleanup,optional" doc:"command of a shell that runs once after everything" facet:"definition"`
	Shell   string `arg:"shell" default:"\"none\"" doc:"none: the command is started itself; default, or a shell's name: through a shell, whose own time hyperfine takes off" facet:"definition"`
	Name    string `arg:"name,optional" doc:"what the command is called in the results; the command itself without it" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a benchmark run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// The codes of what a capture cannot leave out.
const (
	StartupIncluded = "startup_included"
	ShellSubtracted = "shell_time_subtracted"
)

// Plan makes hyperfine run the workload.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("hyperfine: options are a %T, not *hyperfine.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to measure")
	}
	argv, bounds, err := o.flags()
	if err != nil {
		return providers.Invocation{}, err
	}
	if e := w.ExpectExit; len(e) > 0 && !slices.Contains(e, 0) {
		return providers.Invocation{}, fmt.Errorf("the workload has expect_exit = %v, and hyperfine itself ends with 0 whatever its runs end with; add 0 to the list", e)
	} else if len(e) > 1 { // hyperfine knows no list of statuses; the validator holds each run against it
		argv = append(argv, "--ignore-failure")
	}
	inv := providers.Invocation{
		Argv: append(argv, "--", commandLine(w.Argv)),
		Outputs: []providers.DeclaredOutput{
			{Name: "benchmark", Path: "hyperfine.json", Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope:       providers.Scope{Mode: "command", ProcessScope: "whole processes", Bounds: bounds, Filters: map[string]string{}},
		Limitations: []evidence.Limitation{{Code: StartupIncluded, Text: "each sample is a whole process: the start of the command is in it"}},
	}
	if o.Shell != "none" {
		inv.Scope.Mode = "shell"
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: ShellSubtracted, Text: "the command is started through a shell, whose mean time alone is taken off every sample; what would be negative is 0"})
	}
	if !token.Has(w.Argv[0]) { // the output of a build is an input
		inv.Programs = w.Argv[:1]
	}
	return inv, nil
}

func (o *Options) flags() (argv []string, bounds map[string]string, err error) {
	switch {
	case o.Runs != nil && *o.Runs < 1:
		return nil, nil, fmt.Errorf("runs = %d: at least one has to be measured", *o.Runs)
	case o.Runs != nil && o.MaxRuns != nil:
		return nil, nil, fmt.Errorf("runs says exactly how many there are, and max_runs how many at most; write one of them")
	case o.MinRuns < 1:
		return nil, nil, fmt.Errorf("min_runs = %d: at least one has to be measured", o.MinRuns)
	case o.Runs == nil && o.MaxRuns != nil && *o.MaxRuns < o.MinRuns:
		return nil, nil, fmt.Errorf("max_runs = %d is less than min_runs = %d", *o.MaxRuns, o.MinRuns)
	case o.WarmUp < 0:
		return nil, nil, fmt.Errorf("warmup = %d is negative; 0 is none", o.WarmUp)
	case o.Shell == "" || token.Has(o.Shell):
		return nil, nil, fmt.Errorf("shell = %q is no name of a shell; write none, default, or a shell such as bash", token.Display(o.Shell))
	}
	argv = []string{"hyperfine", "--export-json", token.Make("out.dir") + "/hyperfine.json", "--style", "basic", "--warmup", strconv.Itoa(o.WarmUp), "--shell", o.Shell}
	bounds = map[string]string{"warmup": strconv.Itoa(o.WarmUp)}
	if o.Runs != nil {
		argv = append(argv, "--runs", strconv.Itoa(*o.Runs))
		bounds["runs"] = strconv.Itoa(*o.Runs)
	} else {
		argv = append(argv, "--min-runs", strconv.Itoa(o.MinRuns))
		bounds["min_runs"] = strconv.Itoa(o.MinRuns)
		if o.MaxRuns != nil {
			argv = append(argv, "--max-runs", strconv.Itoa(*o.MaxRuns))
			bounds["max_runs"] = strconv.Itoa(*o.MaxRuns)
		}
	}
	for _, f := range []struct{ flag, value string }{{"--prepare", o.Prepare}, {"--setup", o.Setup}, {"--cleanup", o.Cleanup}, {"--command-name", o.Name}} {
		if f.value != "" {
			argv = append(argv, f.flag+"="+f.value)
		}
	}
	return argv, bounds, nil
}

// plainWord is an argument that no shell changes.
var plainWord = pattern.Lazy{Expr: `^[A-Za-z0-9_@%+=:,./-]+$`}

// commandLine writes an argument vector as a shell reads it, and as hyperfine itself takes it apart. A runtime value stands in quotes, since what it will be is not known.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		if words[i] = a; !plainWord.MatchString(a) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Probe asks hyperfine for its version.
func (Provider) Probe([]string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{"hyperfine", "--version"}, func(stdout, _ []byte) (string, error) {
		m := version.FindSubmatch(stdout)
		if m == nil {
			return "", fmt.Errorf("hyperfine does not say its version; it says %.60q", stdout)
		}
		v := string(m[1])
		if string(m[2]) == "0" || string(m[2]) == "1" && tooOld.MatchString(v) {
			return v, fmt.Errorf("hyperfine %s is known from 1.13 on, which brought runs without a shell", v)
		}
		return v, nil
	}
}

var (
	version = pattern.Lazy{Expr: `^hyperfine ((\d+)\.\d+\.\d+)`}
	tooOld  = pattern.Lazy{Expr: `^1\.([0-9]|1[012])\.`}
)
