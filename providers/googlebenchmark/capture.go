package googlebenchmark

import (
	"fmt"
	"github.com/flameox/flameox/internal/pattern"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType of the library's JSON. It is not registered; this is ours.
const MediaType = "application/x-google-benchmark+json"

// Role of the artifact that holds the results.
const Role = "benchmark"

// Provider runs and reads Google Benchmark programs. The zero value is ready.
type Provider struct{}

// Name is the library's.
func (Provider) Name() string { return "googlebenchmark" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "C++ benchmarks with Google Benchmark: one sample per repetition and quantity, with the program's counters"
}

// Options of a capture.
type Options struct {
	Filter      string        `arg:"filter,optional" doc:"regular expression of the benchmarks to run; one that begins with - selects all others; all by default" facet:"definition"`
	Repetitions int           `arg:"repetitions" default:"10" doc:"how often each benchmark is measured: its samples" facet:"definition"`
	MinTime     time.Duration `arg:"min_time" default:"\"500ms\"" doc:"how long one repetition takes at least, where iterations are not given" facet:"definition"`
	Iterations  *int          `arg:"iterations,optional" doc:"iterations of one repetition, in place of min_time; needs version 1.8 of the library" facet:"definition"`
	WarmUp      time.Duration `arg:"min_warmup_time" default:"\"0s\"" doc:"how long each benchmark runs first, without being measured; needs version 1.7 of the library" facet:"definition"`
	Interleave  bool          `arg:"random_interleaving" default:"false" doc:"mix the repetitions of all benchmarks in random order, so that a slow minute of the machine meets all of them; needs version 1.6 of the library" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a benchmark run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// own are flags that the capture writes, or that change what those say.
var own = pattern.Lazy{Expr: `^--benchmark_(out|out_format|repetitions|min_time|min_warmup_time|filter|enable_random_interleaving|list_tests|dry_run|report_aggregates_only)(=.*)?$`}

// Plan adds the library's flags to the workload's command.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("googlebenchmark: options are a %T, not *googlebenchmark.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to measure")
	}
	for _, a := range w.Argv[1:] {
		if own.MatchString(a) {
			return providers.Invocation{}, fmt.Errorf("the workload's command has %s, which the capture writes itself from its own arguments; take it out", token.Display(a))
		}
	}
	flags, bounds, err := o.flags()
	if err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{
		Argv: append(append([]string{}, w.Argv...), flags...),
		Outputs: []providers.DeclaredOutput{
			{Name: "benchmark", Path: "benchmark.json", Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope: providers.Scope{Mode: "repetitions", ProcessScope: "benchmark process", Bounds: bounds, Filters: map[string]string{}},
	}
	if o.Interleave {
		inv.Scope.Mode = "random_interleaving"
	}
	if o.Filter != "" {
		inv.Scope.Filters["filter"] = o.Filter
	}
	return inv, nil
}

func (o *Options) flags() (flags []string, bounds map[string]string, err error) {
	switch {
	case o.Repetitions < 1:
		return nil, nil, fmt.Errorf("repetitions = %d: each benchmark is measured at least once", o.Repetitions)
	case o.MinTime <= 0:
		return nil, nil, fmt.Errorf("min_time = %q: it is longer than nothing", o.MinTime)
	case o.Iterations != nil && *o.Iterations < 1:
		return nil, nil, fmt.Errorf("iterations = %d: each repetition has at least one", *o.Iterations)
	case o.WarmUp < 0:
		return nil, nil, fmt.Errorf("min_warmup_time = %q is negative; 0s is none", o.WarmUp)
	case strings.ContainsAny(o.Filter, "\r\n") || token.Has(o.Filter):
		return nil, nil, fmt.Errorf("filter = %q is no line of text", token.Display(o.Filter))
	}
	bounds = map[string]string{"repetitions": strconv.Itoa(o.Repetitions)}
	add := func(name, value string) { flags = append(flags, "--benchmark_"+name+"="+value) }
	add("out", token.Make("out.dir")+"/benchmark.json")
	add("out_format", "json")
	add("repetitions", strconv.Itoa(o.Repetitions))
	if o.Iterations != nil {
		add("min_time", strconv.Itoa(*o.Iterations)+"x")
		bounds["iterations"] = strconv.Itoa(*o.Iterations)
	} else {
		add("min_time", strconv.FormatFloat(o.MinTime.Seconds(), 'f', -1, 64))
		bounds["min_time"] = o.MinTime.String()
	}
	if o.WarmUp > 0 {
		add("min_warmup_time", strconv.FormatFloat(o.WarmUp.Seconds(), 'f', -1, 64))
		bounds["min_warmup_time"] = o.WarmUp.String()
	}
	if o.Interleave {
		add("enable_random_interleaving", "true")
	}
	if o.Filter != "" {
		add("filter", o.Filter)
	}
	return flags, bounds, nil
}
