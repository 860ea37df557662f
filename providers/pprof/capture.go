package pprof

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/flameox/flameox/formats/gotest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType is what a profile is registered as, compressed or not.
const MediaType = "application/x-pprof"

// Role of an artifact that is a profile.
const Role = "profile"

// Provider captures and reads pprof profiles. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "pprof" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "pprof profiles: CPU, memory, blocking and mutexes of Go tests and benchmarks, or a file that the workload writes"
}

// Options of a capture.
type Options struct {
	Mode                 string   `arg:"mode,optional" doc:"gotest: the workload is go test or a test binary, and gets profile flags; file: it writes the profile itself. Detected for go test and for *.test" facet:"definition"`
	Profiles             []string `arg:"profiles" default:"[\"cpu\"]" doc:"of mode gotest: cpu, mem, block, mutex; each one costs the others accuracy" facet:"definition"`
	Path                 string   `arg:"path,optional" doc:"of mode file: where below out.dir the workload writes its profile; * and ** may match several" facet:"definition"`
	Bench                string   `arg:"bench" default:"\".\"" doc:"of mode gotest: regular expression of the benchmarks to run; empty for none" facet:"definition"`
	Run                  string   `arg:"run" default:"\"^$\"" doc:"of mode gotest: regular expression of the tests to run; none by default" facet:"definition"`
	Count                int      `arg:"count" default:"1" doc:"of mode gotest: how often each benchmark or test runs" facet:"definition"`
	Benchtime            string   `arg:"benchtime" default:"\"1s\"" doc:"of mode gotest: how long each benchmark runs: a duration, or a number of iterations such as 100x" facet:"definition"`
	MemProfileRate       *int     `arg:"memprofilerate,optional" doc:"bytes allocated per sample of the mem profile; 1 records every allocation; Go's own default is 524288" facet:"definition"`
	BlockProfileRate     *int     `arg:"blockprofilerate,optional" doc:"nanoseconds blocked per sample of the block profile; Go tests record every event" facet:"definition"`
	MutexProfileFraction *int     `arg:"mutexprofilefraction,optional" doc:"one of so many contention events is in the mutex profile; Go tests record every event" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a profiled run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

var kinds = []string{"cpu", "mem", "block", "mutex"}

// Plan adds profile flags to the workload's command, or declares the file that it writes.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("pprof: options are a %T, not *pprof.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to profile")
	}
	c, found := gotest.Recognize(w.Argv)
	switch o.Mode {
	case "":
		if !found {
			return providers.Invocation{}, fmt.Errorf("the workload's command is neither `go test` nor a test binary whose name ends in .test, so the capture cannot tell how it is profiled; write mode = \"gotest\" if it is a test binary of another name, or mode = \"file\" with path if it writes a profile itself")
		}
	case "gotest":
		if !found {
			c = gotest.Binary(w.Argv)
		}
	case "file":
		return o.file(w)
	default:
		return providers.Invocation{}, fmt.Errorf("mode = %q is not known; write \"gotest\" or \"file\"", o.Mode)
	}
	if o.Path != "" {
		return providers.Invocation{}, fmt.Errorf("path = %q belongs to mode = \"file\"; in mode gotest the capture chooses the files", o.Path)
	}
	return o.goTest(c)
}

func (o *Options) goTest(c gotest.Command) (providers.Invocation, error) {
	flags, err := o.flags(c)
	if err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{Scope: providers.Scope{
		Mode:         "test_binary",
		ProcessScope: "test process",
		Bounds:       map[string]string{"count": strconv.Itoa(o.Count), "benchtime": o.Benchtime},
		Filters:      map[string]string{"bench": o.Bench, "run": o.Run},
	}, Paced: o.Bench != "" && !strings.HasSuffix(o.Benchtime, "x")}
	if c.GoTest() {
		inv.Scope.Mode = "go_test"
	}
	for _, k := range o.Profiles {
		flags = append(flags, gotest.Flag{Name: k + "profile", Value: token.Make("out.dir") + "/" + k + ".pprof"})
		inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: k, Path: k + ".pprof", Role: Role, MediaType: MediaType, Required: true})
	}
	if c.GoTest() && !c.Has("o") {
		// A profiled `go test` leaves its binary behind, in the directory that it measures unless it is told otherwise.
		flags = append(flags, gotest.Flag{Name: "o", Value: token.Make("out.dir") + "/profiled.test"})
	}
	inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"})
	inv.Argv, err = c.With(flags...)
	return inv, err
}

func (o *Options) flags(c gotest.Command) ([]gotest.Flag, error) {
	for _, f := range []string{"c", "list"} {
		if c.Has(f) {
			return nil, fmt.Errorf("the workload's command has -%s, with which nothing runs that could be profiled; take it out", f)
		}
	}
	if c.GoTest() && c.ManyPackages() {
		return nil, fmt.Errorf("the workload's command tests several packages (...), and `go test` writes a profile of one; name one package, or compile its test binary in a build")
	}
	if len(o.Profiles) == 0 {
		return nil, fmt.Errorf("profiles = [] asks for no profile; write at least one of %s", strings.Join(kinds, ", "))
	}
	for i, k := range o.Profiles {
		if !slices.Contains(kinds, k) {
			return nil, fmt.Errorf("profiles has %q, which Go's tests do not write; known are %s", k, strings.Join(kinds, ", "))
		}
		if slices.Contains(o.Profiles[:i], k) {
			return nil, fmt.Errorf("profiles has %q twice", k)
		}
	}
	if o.Count < 1 {
		return nil, fmt.Errorf("count = %d: the workload has to run at least once", o.Count)
	}
	if err := gotest.ValidBenchtime(o.Benchtime); err != nil {
		return nil, err
	}
	flags := []gotest.Flag{{Name: "run", Value: o.Run}, {Name: "count", Value: strconv.Itoa(o.Count)}}
	if o.Bench != "" {
		flags = append(flags, gotest.Flag{Name: "bench", Value: o.Bench}, gotest.Flag{Name: "benchtime", Value: o.Benchtime})
	}
	for _, r := range []struct {
		kind, name string
		value      *int
	}{
		{"mem", "memprofilerate", o.MemProfileRate},
		{"block", "blockprofilerate", o.BlockProfileRate},
		{"mutex", "mutexprofilefraction", o.MutexProfileFraction},
	} {
		if r.value == nil {
			continue
		}
		if !slices.Contains(o.Profiles, r.kind) {
			return nil, fmt.Errorf("%s = %d without %q among profiles has no effect; add it or take the rate out", r.name, *r.value, r.kind)
		}
		if *r.value < 1 {
			return nil, fmt.Errorf("%s = %d turns the %s profile off; it is 1 or more", r.name, *r.value, r.kind)
		}
		flags = append(flags, gotest.Flag{Name: r.name, Value: strconv.Itoa(*r.value)})
	}
	return flags, nil
}

// file is a workload that writes its own profile.
func (o *Options) file(w providers.Workload) (providers.Invocation, error) {
	switch {
	case o.Path == "":
		return providers.Invocation{}, fmt.Errorf("mode = \"file\" needs path: where below out.dir the workload writes its profile")
	case path.IsAbs(o.Path) || !doublestar.ValidatePattern(o.Path) || slices.Contains(strings.Split(o.Path, "/"), ".."):
		return providers.Invocation{}, fmt.Errorf("path = %q is no path or pattern below out.dir; write it relative, with slashes, without \"..\"", token.Display(o.Path))
	case token.Has(o.Path):
		return providers.Invocation{}, fmt.Errorf("path = %q holds a runtime value; write it relative to out.dir", token.Display(o.Path))
	}
	return providers.Invocation{
		Argv:    w.Argv,
		Outputs: []providers.DeclaredOutput{{Name: "profile", Path: o.Path, Role: Role, MediaType: MediaType, Required: true}},
		Scope:   providers.Scope{Mode: "file"},
	}, nil
}
