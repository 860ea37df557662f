package stages

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/adapter"
	"github.com/flameox/flameox/stages/build"
	"github.com/flameox/flameox/stages/capture"
	"github.com/flameox/flameox/stages/environment"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/fault"
	"github.com/flameox/flameox/stages/host"
	"github.com/flameox/flameox/stages/imports"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/reduce"
	"github.com/flameox/flameox/stages/register"
	"github.com/flameox/flameox/stages/sample"
	"github.com/flameox/flameox/stages/server"
	"github.com/flameox/flameox/stages/target"
	"github.com/flameox/flameox/stages/tool"
	"github.com/flameox/flameox/stages/workload"
)

// Kinds are all stage kinds.
func Kinds(reg *providers.Registry) []kind.Kind {
	return []kind.Kind{
		target.Kind{}, host.Kind{}, environment.Kind{}, tool.Kind{}, build.Kind{}, server.Kind{}, fault.Kind{}, workload.Kind{},
		adapter.Kind{}, adapter.Captures{Kind: capture.New(reg)}, sample.Kind{}, adapter.Extracts{Kind: extract.New(reg)}, imports.Kind{Providers: reg}, register.New(reg),
		reduce.Kind{},
	}
}

// Language is the language with every stage kind registered. A kind of which every schema is a provider's, and of which no provider is there, has
// nothing that a block could be: its type is as unknown as the providers are.
func Language(kinds []kind.Kind) *lang.Registry {
	r := lang.NewRegistry()
	for _, k := range kinds {
		if bt := k.BlockType(); len(bt.Schemas) > 0 {
			r.Register(bt)
		}
	}
	return r
}

// Experiment is a configuration compiled against a project.
type Experiment struct {
	Graph     *graph.Graph
	Expansion *lang.Expansion
	compiled  *kind.Compiler
}

// Compile turns an expanded configuration into a graph. What a stage kind objects to is a diagnostic at its block.
func Compile(x *lang.Expansion, kinds []kind.Kind, p *kind.Project) (*Experiment, hcl.Diagnostics) {
	byType := map[string]kind.Kind{}
	for _, k := range kinds {
		byType[k.BlockType().Type] = k
	}
	c := kind.NewCompiler(p)
	var diags hcl.Diagnostics
	var nodes []*graph.Node
	implied := map[*lang.Instance][]*kind.Compiled{}
	reported := map[string]bool{}
	failed := map[*lang.Instance]bool{}
	fail := func(inst *lang.Instance, err error) {
		failed[inst] = true
		d := diagnostic(inst, err)
		if key := d.Subject.String() + d.Detail; !reported[key] {
			reported[key] = true
			diags = append(diags, d)
		}
	}
	for _, inst := range x.Instances {
		if inst.ImpliedBy != nil {
			if failed[inst.ImpliedBy] {
				failed[inst] = true
				continue
			}
			for _, out := range implied[inst.ImpliedBy] {
				if out.Node.Address.Block == inst.Block.Address() {
					if err := c.Add(inst, out); err != nil {
						fail(inst, err)
					}
					nodes = append(nodes, out.Node)
				}
			}
			if c.Of(inst) == nil && !failed[inst] {
				panic("stages: " + inst.Address().String() + " is implied by the language and not by its stage kind")
			}
			continue
		}
		skip := false
		for _, d := range inst.Deps {
			skip = skip || failed[d]
		}
		if skip {
			failed[inst] = true
			continue
		}
		out, err := byType[inst.Block.Type].Compile(inst, c)
		if err == nil {
			err = c.Add(inst, out)
		}
		if err != nil {
			fail(inst, err)
			continue
		}
		nodes = append(nodes, out.Node)
		implied[inst] = out.Implied
	}
	if diags.HasErrors() {
		return nil, diags
	}
	g, err := graph.New(nodes)
	if err != nil {
		return nil, append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Invalid experiment", Detail: capitalize(err.Error()) + "."})
	}
	return &Experiment{Graph: g, Expansion: x, compiled: c}, diags
}

func diagnostic(inst *lang.Instance, err error) *hcl.Diagnostic {
	r := inst.Block.Range
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Invalid stage",
		Detail:   fmt.Sprintf("%s: %s.", inst.Block.Address(), strings.TrimSuffix(err.Error(), ".")),
		Subject:  &r,
	}
	var blocked *graph.BlockedError
	if errors.As(err, &blocked) {
		d.Detail = fmt.Sprintf("%s: %s.", inst.Block.Address(), blocked.Error())
	}
	return d
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
