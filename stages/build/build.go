// Package build is the stage kind that makes files from sources: a compiled program, a wheel. It is pure: the same
// sources, command and tools give the same output, so one result stands for all.
package build

import (
	"context"
	"fmt"
	"time"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
	"github.com/zclconf/go-cty/cty"
)

// version is raised whenever the output for the same input changes.
const version = 1

// Kind is the block `build "<name>"`.
type Kind struct{}

// Options of a build.
type Options struct {
	Target      lang.Ref          `arg:"target,optional" kinds:"target" doc:"what is built" facet:"identity"`
	Environment lang.Ref          `arg:"environment,optional" kinds:"environment" doc:"where the command runs" facet:"executables"`
	Command     []string          `arg:"command" doc:"the program and its arguments, which write below ${out.dir}; never a shell" facet:"command"`
	Cwd         string            `arg:"cwd" default:"\".\"" doc:"working directory, relative to the configuration" facet:"command"`
	Env         map[string]string `arg:"env,optional" doc:"environment variables" facet:"command"`
	Sources     []string          `arg:"sources,optional" doc:"the files it reads, as globs relative to the working directory, with ! to leave some out. Without it: what git lists below the working directory" facet:"inputs"`
	Outputs     []string          `arg:"outputs" doc:"the files it leaves below ${out.dir}, as globs; each must match" facet:"definition"`
	Native      bool              `arg:"native" default:"false" doc:"the output depends on the class of machine (-march=native), which then is part of the key" facet:"host_class"`
	Timeout     time.Duration     `arg:"timeout" default:"\"30m\"" doc:"after this the command is ended and the build has failed" facet:"exempt: ends a run, does not change what it computes"`
}

// BlockType describes the block.
func (Kind) BlockType() lang.BlockType {
	return lang.BlockType{
		Type: "build", Labels: []string{"name"},
		Doc: "Makes files from sources.",
		Schemas: map[string]*lang.Schema{"": {
			Doc:     "A command that makes files from sources. It runs again only when its command, its tools or a file it reads has changed.",
			Options: &Options{},
			Own:     program.OutToken,
			Tokens:  []lang.Attr{{Name: "dir", Type: cty.String, Doc: "the folder of the outputs, read-only, while a stage runs"}},
			Results: program.Results(),
			Stage:   true,
		}},
	}
}

type stage struct {
	o       *Options
	program *program.Program
	project *kind.Project
}

// Compile makes a pure node.
func (Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	o := inst.Options.(*Options)
	if len(o.Outputs) == 0 {
		return nil, fmt.Errorf("outputs is empty: name the files that the command writes below ${out.dir}")
	}
	p, err := program.New(program.Declared{
		Command: o.Command, Cwd: o.Cwd, Env: o.Env, Sources: o.Sources, Environment: o.Environment, Target: o.Target,
		Timeout: o.Timeout, Grace: 5 * time.Second, ExpectExit: []int{0}, OutputLimit: 64 << 20,
	}, c)
	if err != nil {
		return nil, err
	}
	n := c.Node(inst, graph.Pure, &stage{o: o, program: p, project: c.Project})
	n.Attempts = 1
	n.Command = p.Display()
	return &kind.Compiled{
		Node:    n,
		Tokens:  map[string]kind.Token{"dir": {Node: n}},
		Results: program.ReadResults,
	}, nil
}

// Actions is one action: the command over its sources.
func (s *stage) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	prepared, err := s.program.Prepare(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	facets := append(prepared.Facets(), kind.Definition("build", version, s.o))
	if s.o.Native {
		facets = append(facets, program.HostClass(s.project))
	}
	return []*graph.Action{{
		Manifest: facet.New(facets...),
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			return s.run(ctx, t, prepared)
		},
	}}, nil
}

func (s *stage) run(ctx context.Context, t *graph.Task, prepared *program.Prepared) (*cache.Record, error) {
	rec, err := prepared.Run(ctx, t)
	if err != nil || !rec.Valid() {
		return rec, err
	}
	patterns := make([]broker.Pattern, len(s.o.Outputs))
	for i, o := range s.o.Outputs {
		patterns[i] = broker.Pattern{Glob: o, Required: true}
	}
	tree, err := program.SnapshotTree(t, rec, patterns)
	if err != nil {
		return nil, err
	}
	if tree != nil {
		rec.Outputs = append(rec.Outputs, *tree)
	}
	return rec, nil
}
