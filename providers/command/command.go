package command

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Role of a file that the workload left.
const Role = "output"

// Provider runs any command. The zero value is ready.
type Provider struct{}

// Name is what a configuration writes.
func (Provider) Name() string { return "command" }

// Version is that of the invocation, since there are no rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "any command as it is: its wall time, resources, output streams and files"
}

// Options of a capture.
type Options struct {
	Outputs []string `arg:"outputs,optional" doc:"files below out.dir to keep, as patterns with * and **; each must match at least one" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of the run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// Plan is the workload's command unchanged.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("command: options are a %T, not *command.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to run; give it command = [\"program\", \"argument\"]")
	}
	inv := providers.Invocation{
		Argv: w.Argv,
		Outputs: []providers.DeclaredOutput{
			{Name: "stdout", Stream: providers.Stdout, Role: "stdout", MediaType: "application/octet-stream"},
			{Name: "stderr", Stream: providers.Stderr, Role: "stderr", MediaType: "application/octet-stream"},
		},
		Scope: providers.Scope{Mode: "command", ProcessScope: "process tree"},
	}
	for i, p := range o.Outputs {
		switch {
		case token.Has(p):
			return providers.Invocation{}, fmt.Errorf("outputs has %q, which holds a runtime value; write patterns relative to out.dir, such as \"*.json\"", token.Display(p))
		case p == "" || path.IsAbs(p) || !doublestar.ValidatePattern(p) || slices.Contains(strings.Split(p, "/"), ".."):
			return providers.Invocation{}, fmt.Errorf("outputs has %q, which is no path or pattern below out.dir; write it relative, with slashes, without \"..\"", p)
		case slices.Contains(o.Outputs[:i], p):
			return providers.Invocation{}, fmt.Errorf("outputs has %q twice", p)
		}
		inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: p, Path: p, Role: Role, MediaType: "application/octet-stream", Required: true})
	}
	return inv, nil
}
