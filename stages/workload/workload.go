// Package workload is the stage kind that declares a program to measure. It runs nothing by itself: captures do.
package workload

import (
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// Kind is the block `workload "<name>"`.
type Kind struct{}

// Options of a workload.
type Options struct {
	Command     []string          `arg:"command" doc:"the program and its arguments; never a shell" facet:"command"`
	Environment lang.Ref          `arg:"environment,optional" kinds:"environment" doc:"where it runs; without it nothing but PATH is taken from the caller" facet:"executables"`
	Target      lang.Ref          `arg:"target,optional" kinds:"target" doc:"what is measured" facet:"identity"`
	Cwd         string            `arg:"cwd" default:"\".\"" doc:"working directory, relative to the configuration" facet:"command"`
	Env         map[string]string `arg:"env,optional" doc:"environment variables" facet:"command"`
	Sources     []string          `arg:"sources,optional" doc:"the files it reads, as globs relative to the working directory, with ! to leave some out; [] where it reads none. Without it: what git lists below the working directory, and every argument that is a file" facet:"inputs"`
	Timeout     time.Duration     `arg:"timeout" default:"\"5m\"" doc:"after this the program is ended and the attempt has failed" facet:"exempt: ends a run, does not change what it computes"`
	Grace       time.Duration     `arg:"grace" default:"\"5s\"" doc:"time between asking the program to end and killing it, at most 60s" facet:"exempt: ends a run, does not change what it computes"`
	ExpectExit  []int             `arg:"expect_exit" default:"[0]" doc:"exit statuses that count as success" facet:"definition"`
	Protocol    string            `arg:"execution_protocol,optional" doc:"the contract that the program keeps with a producer, such as gotest" facet:"definition"`
	OutputLimit lang.Bytes        `arg:"output_limit" default:"\"64MiB\"" doc:"of standard output and error together; beyond it the program is ended and the attempt has failed" facet:"exempt: ends a run, does not change what it computes"`
	MemoryLimit lang.Bytes        `arg:"memory_limit,optional" doc:"resident memory of all its processes; beyond it the program is ended and the attempt has failed" facet:"exempt: ends a run, does not change what it computes"`
}

// Workload is a declared program.
type Workload struct {
	Program  *program.Program
	Protocol string
	Options  *Options
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "workload", Labels: []string{"name"},
		Doc: "A program to measure.",
		Schemas: map[string]*lang.Schema{"": {
			Doc:     "A program to measure: what runs, where, on which files. Captures run it.",
			Options: &Options{},
			Own:     program.OutToken,
			Stage:   true,
		}},
	}
}

// Compile makes a definition node.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	p, err := program.New(program.Declared{
		Command: o.Command, Cwd: o.Cwd, Env: o.Env, Sources: o.Sources, Environment: o.Environment, Target: o.Target,
		Timeout: o.Timeout, Grace: o.Grace, ExpectExit: o.ExpectExit,
		OutputLimit: int64(o.OutputLimit), MemoryLimit: int64(o.MemoryLimit),
	}, c)
	if err != nil {
		return nil, err
	}
	return &kind.Compiled{Node: c.Node(inst, graph.Definition, nil), Value: &Workload{Program: p, Protocol: o.Protocol, Options: o}}, nil
}
