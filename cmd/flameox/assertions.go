package main

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/urfave/cli/v2"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

// assertions are the outputs and checks of an experiment as they are after an apply.
type assertions struct {
	outputs []stages.OutputValue
	checks  []stages.CheckResult
}

func (a *assertions) failed() int {
	n := 0
	for _, c := range a.checks {
		if !c.Passed && !c.Left {
			n++
		}
	}
	return n
}

// evaluate evaluates outputs and checks on the results that the planner has found current. What cannot be evaluated has been printed when it fails.
func evaluate(c *cli.Context, w *workspace.Workspace, l *stages.Experiment, p *graph.Planner) (*assertions, error) {
	current := func(inst *lang.Instance) []*cache.Summary {
		return p.Current(l.Graph.Node(inst.Address()))
	}
	a := &assertions{}
	outputs, diags := l.Outputs(current)
	checks, more := l.Checks(current)
	for i := range checks {
		c := &checks[i]
		c.Left = len(c.Missing) > 0
		for _, address := range c.Missing {
			n, err := l.Graph.Find(address)
			c.Left = c.Left && err == nil && p.Excluded(n)
		}
	}
	a.outputs, a.checks = outputs, checks
	if diags = append(diags, more...); diags.HasErrors() {
		cmdline.Diagnostics(c, diags, w.Config.Files)
		return a, cmdline.Exit(cmdline.ExitFailure)
	}
	return a, nil
}

// outputText is an output's value as a person reads it.
func outputText(o stages.OutputValue) string {
	switch {
	case o.Sensitive:
		return "(sensitive)"
	case len(o.Missing) > 0:
		return "no valid result of " + o.Missing[0]
	}
	return string(hclwrite.Format(hclwrite.TokensForValue(o.Value).Bytes()))
}

// outputJSON is an output's value as data; null where it is sensitive or not known.
func outputJSON(o stages.OutputValue) (any, error) {
	if o.Sensitive || len(o.Missing) > 0 || !o.Value.IsWhollyKnown() {
		return nil, nil
	}
	b, err := ctyjson.Marshal(o.Value, o.Value.Type())
	return rawJSON(b), err
}
