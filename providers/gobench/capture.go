package gobench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/formats/gotest"
	"github.com/flameox/flameox/providers"
)

// MediaType is the benchmark format's.
const MediaType = "text/x-go-benchfmt; charset=utf-8"

// Role of the artifact that holds the results.
const Role = "benchmark"

// Provider runs and reads Go benchmarks. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "gobench" }

// Version is that of the rows.
func (Provider) Version() int { return 2 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "Go benchmarks: `go test -bench` or a test binary, one sample per result line and unit"
}

// Options of a capture.
type Options struct {
	Bench     string        `arg:"bench" default:"\".\"" doc:"regular expression of the benchmarks to run, matched by each element of a sub-benchmark's name" facet:"definition"`
	Run       string        `arg:"run" default:"\"^$\"" doc:"regular expression of the tests to run first; none by default" facet:"definition"`
	Count     int           `arg:"count" default:"10" doc:"result lines of each benchmark: its samples; 10 are enough for the median's 95 % interval that benchstat prints" facet:"definition"`
	Benchtime string        `arg:"benchtime" default:"\"1s\"" doc:"how long each result line measures: a duration, or a number of iterations such as 100x" facet:"definition"`
	Benchmem  bool          `arg:"benchmem" default:"true" doc:"also measure bytes and allocations of one iteration" facet:"definition"`
	CPU       []int         `arg:"cpu,optional" doc:"values of GOMAXPROCS to run everything with, in this order" facet:"definition"`
	Short     bool          `arg:"short" default:"false" doc:"tell benchmarks to shorten their work" facet:"definition"`
	Timeout   time.Duration `arg:"timeout" default:"\"0s\"" doc:"when the test binary ends itself; 0s is never, the workload's own timeout holds either way" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a benchmark run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// Plan adds the benchmark flags to the workload's command.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("gobench: options are a %T, not *gobench.Options", options)
	}
	c, ok := gotest.Recognize(w.Argv)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("capture \"gobench\" adds flags to `go test` or to a compiled test binary whose name ends in .test, and the workload's command is neither; begin the command with one of them")
	}
	for _, f := range []string{"json", "c", "list"} {
		if c.Has(f) {
			return providers.Invocation{}, fmt.Errorf("the workload's command has -%s, which leaves no benchmark lines on standard output; take it out", f)
		}
	}
	flags, err := o.flags()
	if err != nil {
		return providers.Invocation{}, err
	}
	argv, err := c.With(flags...)
	if err != nil {
		return providers.Invocation{}, err
	}
	mode := "test_binary"
	if c.GoTest() {
		mode = "go_test"
	}
	return providers.Invocation{
		Argv: argv,
		Outputs: []providers.DeclaredOutput{
			{Name: "benchmarks", Stream: providers.Stdout, Role: Role, MediaType: MediaType, Required: true},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope: providers.Scope{
			Mode:         mode,
			ProcessScope: "test process",
			Bounds:       map[string]string{"count": strconv.Itoa(o.Count), "benchtime": o.Benchtime},
			Filters:      map[string]string{"bench": o.Bench, "run": o.Run},
		},
		Paced: !strings.HasSuffix(o.Benchtime, "x"),
	}, nil
}

func (o *Options) flags() ([]gotest.Flag, error) {
	if o.Bench == "" {
		return nil, fmt.Errorf("bench = \"\" selects no benchmark; write \".\" for all of them")
	}
	if o.Count < 1 {
		return nil, fmt.Errorf("count = %d: at least one result line of each benchmark is needed", o.Count)
	}
	if err := gotest.ValidBenchtime(o.Benchtime); err != nil {
		return nil, err
	}
	if o.Timeout < 0 {
		return nil, fmt.Errorf("timeout = %q is negative; 0s is no limit", o.Timeout)
	}
	flags := []gotest.Flag{
		{Name: "run", Value: o.Run},
		{Name: "bench", Value: o.Bench},
		{Name: "count", Value: strconv.Itoa(o.Count)},
		{Name: "benchtime", Value: o.Benchtime},
		{Name: "timeout", Value: o.Timeout.String()},
	}
	if o.Benchmem {
		flags = append(flags, gotest.Flag{Name: "benchmem", Bool: true})
	}
	if o.Short {
		flags = append(flags, gotest.Flag{Name: "short", Bool: true})
	}
	if len(o.CPU) > 0 {
		var list []string
		for _, n := range o.CPU {
			if n < 1 {
				return nil, fmt.Errorf("cpu has %d: GOMAXPROCS is at least 1", n)
			}
			list = append(list, strconv.Itoa(n))
		}
		flags = append(flags, gotest.Flag{Name: "cpu", Value: strings.Join(list, ",")})
	}
	return flags, nil
}
