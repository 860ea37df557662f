package memray

import (
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType is what a capture is registered as, compressed or not.
const MediaType = "application/x-memray"

// Role of an artifact that is a capture.
const Role = "memray"

// output is the capture of the workload's own process. A forked one has its number behind the name.
const output = "memory.bin"

// Provider captures and reads memray's captures. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "memray" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "memray: what a Python program allocates, holds at its peak, and never frees"
}

// Options of a capture.
type Options struct {
	Native           bool `arg:"native" default:"false" doc:"record frames of C, C++ and Rust too, which costs time at every allocation" facet:"definition"`
	FollowFork       bool `arg:"follow_fork" default:"false" doc:"record processes that the program forks, each in a capture of its own" facet:"definition"`
	Aggregate        bool `arg:"aggregate" default:"false" doc:"sum up while the program runs: a small capture without history, so without memory.allocated and memory.temporary, and nothing where the program is killed" facet:"definition"`
	PythonAllocators bool `arg:"trace_python_allocators" default:"false" doc:"record what Python's own allocator hands out, not only what it asks the system for; several times as many records" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a capture.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// Plan runs the program under memray, in the interpreter that the workload names.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("memray: options are a %T, not *memray.Options", options)
	}
	c, err := parse(w.Argv)
	if err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{
		Outputs: []providers.DeclaredOutput{
			{Name: "memory", Path: output, Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
		Scope: providers.Scope{Mode: "whole_entrypoint", ProcessScope: "the process", Filters: map[string]string{"allocators": "system"}},
	}
	// Quiet, so that what the workload prints is all that is printed.
	argv := append(c.interpreter(), "-m", "memray", "run", "--quiet", "--output", token.Make("out.dir")+"/"+output)
	for _, f := range []struct {
		on   bool
		flag string
	}{
		{o.Native, "--native"}, {o.FollowFork, "--follow-fork"}, {o.Aggregate, "--aggregate"}, {o.PythonAllocators, "--trace-python-allocators"},
	} {
		if f.on {
			argv = append(argv, f.flag)
		}
	}
	if o.FollowFork {
		inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: "forks", Path: output + ".*", Role: Role, MediaType: MediaType})
		inv.Scope.ProcessScope = "the process and those that it forks"
	} else {
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: "forks_not_followed", Text: "only the program's own process is recorded; follow_fork = true records what it forks, and nothing records other programs that it starts"})
	}
	if o.PythonAllocators {
		inv.Scope.Filters["allocators"] = "system and Python"
	}
	inv.Argv = append(argv, c.target...)
	return inv, nil
}
