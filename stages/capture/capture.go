// Package capture is the stage kind that runs a producer over a workload and keeps its artifact. What a producer is
// and how it is called belongs to its provider; when it runs and what the key is belong to the engine.
package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/host"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workload"
)

// version is raised whenever the record or the artifacts for the same input change; a provider has its own.
const version = 1

// Kind is the block `capture "<provider>" "<name>"`.
type Kind struct {
	providers map[string]providers.Capturer
	merged    map[string]kind.Merged
	extract   map[string]any // options of the implied extraction where the block has none
}

// New makes the kind for all providers that can capture.
func New(reg *providers.Registry) *Kind {
	k := &Kind{providers: map[string]providers.Capturer{}, merged: map[string]kind.Merged{}, extract: map[string]any{}}
	for _, p := range reg.All() {
		if c, ok := p.(providers.Capturer); ok {
			k.providers[p.Name()] = c
			k.merged[p.Name()] = kind.Merge(&Options{}, c.Options())
			if x, ok := p.(providers.Extractor); ok {
				k.extract[p.Name()] = lang.Defaults(x.ExtractOptions())
			}
		}
	}
	return k
}

// Options are the arguments of every capture; a provider adds its own.
type Options struct {
	Workload lang.Ref `arg:"workload" kinds:"workload" doc:"the program to run" facet:"command"`
	On       lang.Ref `arg:"on,optional" kinds:"host" doc:"a declared class of machine, which is in the key in place of this machine's; it runs on such machines only" facet:"host_class"`
	Extract  bool     `arg:"extract" default:"true" doc:"false, written literally, leaves the artifact without rows" facet:"exempt: decides about another stage"`
}

// BlockType describes the block with a schema for each provider that can capture.
func (k *Kind) BlockType() lang.BlockType {
	bt := lang.BlockType{
		Type: "capture", Labels: []string{"provider", "name"},
		Doc:     "Runs a producer over a workload and keeps its artifact unchanged.",
		Schemas: map[string]*lang.Schema{},
	}
	for name, p := range k.providers {
		s := &lang.Schema{
			Doc: p.Doc(), Options: k.merged[name].Options, Own: program.OutToken, Results: program.Results(),
			Stage: true, Measurement: true,
		}
		if x, ok := p.(providers.Extractor); ok {
			s.Nested = map[string]lang.Schema{"extract": {Doc: "options of the extraction that every capture implies", Options: x.ExtractOptions()}}
			if s.Nested["extract"].Options == nil {
				s.Nested = nil
			}
			s.Implies = []string{"extract"}
		}
		bt.Schemas[name] = s
	}
	return bt
}

type stage struct {
	provider   providers.Capturer
	options    any // the provider's
	invocation providers.Invocation
	workload   *workload.Workload
	definition string // address of the workload
	program    *program.Program
	on         *host.Declared // nil: this machine's class, whole
	project    *kind.Project
	inst       *lang.Instance
	twin       *twin // nil where profile_of names no stage
}

// Compile makes a measurement node and the extraction that goes with it. Whether there is one is the language's to
// say: it knows the argument extract.
func (k *Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	provider := k.providers[inst.Block.Labels[0]]
	parts := k.merged[provider.Name()].Split(inst.Options)
	o := parts[0].(*Options)
	w, err := kind.Value[*workload.Workload](c, o.Workload)
	if err != nil {
		return nil, err
	}
	on, err := kind.Value[*host.Declared](c, o.On)
	if err != nil {
		return nil, err
	}
	if on != nil && provider.Nature() == providers.Shared {
		return nil, fmt.Errorf("on names a class of machine, and what %s leaves does not depend on the machine; take it out", provider.Name())
	}
	inv, err := provider.Plan(providers.Workload{
		Argv: w.Program.Command, Dir: w.Program.Dir, Env: w.Program.Env, Protocol: w.Protocol, ExpectExit: w.Program.ExpectExit,
	}, parts[1])
	if err != nil {
		return nil, err
	}
	s := &stage{
		provider: provider, options: parts[1], invocation: inv, workload: w, definition: o.Workload.Instance.Address().String(), on: on, project: c.Project, inst: inst,
		program: w.Program.With(inv.Argv, inv.Env, c).Starting(inv.Programs),
	}
	s.program.ExpectExit = append(slices.Clone(s.program.ExpectExit), inv.Exits...)
	if p := inst.Meta.ProfileOf; p != nil {
		s.twin = &twin{address: p.Address()}
		if of, ok := c.Of(p).Value.(extract.Source); ok {
			s.twin.node, s.twin.paced = of.Node, of.Paced
		}
	}
	nature := graph.Measurement
	if provider.Nature() == providers.Shared {
		nature = graph.Shared
	}
	n := c.Node(inst, nature, s)
	if err := s.program.Session().Suits(n); err != nil {
		return nil, err
	}
	n.Command = s.program.Display()
	out := &kind.Compiled{Node: n, Session: s.program.Session(), Value: extract.Source{Node: n, Provider: provider.Name(), Paced: inv.Paced}, Results: program.ReadResults}
	if x, ok := provider.(providers.Extractor); ok {
		options := inst.Nested["extract"]
		if options == nil {
			options = k.extract[x.Name()]
		}
		out.Implied = append(out.Implied, extract.Implied(inst, n, x, options, c))
	}
	return out, nil
}

// Actions is one action: the producer over the workload.
func (s *stage) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	prepared, err := s.program.Prepare(ctx, in, s.invocation.Collectors)
	if err != nil {
		return nil, err
	}
	definition := kind.Definition("capture."+s.provider.Name(), 0, s.workload.Options, s.options)
	definition.Entries[1].Value = fmt.Sprintf("%d.%d", version, s.provider.Version())
	if d := s.inst.Meta.Distinct; d != "" {
		definition.Add("distinct", d)
	}
	definition.Entries = append(definition.Entries, s.program.Session().Facts()...)
	facets := append(prepared.Facets(), definition)
	library := &extract.Library{}
	if r, ok := s.provider.(providers.Reader); ok {
		i := slices.IndexFunc(facets, func(f facet.Facet) bool { return f.Name == facet.Executables })
		if library, err = extract.Require(ctx, s.project, r, s.program, s.invocation.Argv, &facets[i]); err != nil {
			return nil, err
		}
		facets[i].Entries = append(slices.Clip(facets[i].Entries), library.Facts...)
	}
	if pr, ok := s.provider.(providers.Printer); ok {
		if library.Version, err = extract.RequireProgram(ctx, s.project, pr, s.program, s.invocation.Argv); err != nil {
			return nil, err
		}
	}
	var blocked *graph.BlockedError
	switch {
	case s.on != nil:
		facets = append(facets, s.on.Facet())
		blocked = s.on.Blocked(s.project.HostClass)
	case s.provider.Nature() == providers.Measurement:
		facets = append(facets, program.HostClass(s.project))
	}
	if d := providers.Forbidden(s.provider, os.ReadFile); d != nil && blocked == nil {
		blocked = &graph.BlockedError{Why: d.Why, Do: d.Do} // what was captured before stands
	}
	manifest := facet.New(facets...)
	return []*graph.Action{{
		Manifest: manifest, Blocked: blocked,
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			rec, err := s.run(ctx, t, prepared, library.Version, &manifest)
			if err != nil || s.twin == nil {
				return rec, err
			}
			return rec, s.overhead(t, rec, &manifest, in)
		},
	}}, nil
}

// semantics is what the run covers: recorded, because the artifact alone cannot say it.
type semantics struct {
	Origin          string          `json:"origin"`
	Provider        string          `json:"provider"`
	ProviderVersion int             `json:"provider_version"`
	Options         any             `json:"options,omitempty"`
	Scope           providers.Scope `json:"scope"`
	Containment     string          `json:"containment"`
	ProfileOf       string          `json:"profile_of,omitempty"`
}

// library is the version of the library that the workload loads and that alone reads what it leaves; "" where that is the provider.
func (s *stage) run(ctx context.Context, t *graph.Task, prepared *program.Prepared, library string, manifest *facet.Manifest) (*cache.Record, error) {
	for _, f := range s.invocation.Folders {
		if err := os.MkdirAll(filepath.Join(t.Out(), filepath.FromSlash(f)), 0o700); err != nil {
			return nil, fmt.Errorf("make the folder %s that %s writes to: %w", f, s.provider.Name(), err)
		}
	}
	rec, err := prepared.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	sem := semantics{
		Origin: "capture", Provider: s.provider.Name(), ProviderVersion: s.provider.Version(),
		Options: kind.Arguments(s.options), Scope: s.invocation.Scope, Containment: "uncontained",
	}
	if p := s.inst.Meta.ProfileOf; p != nil {
		sem.ProfileOf = p.Address().String()
	}
	if rec.Semantics, err = json.Marshal(sem); err != nil {
		return nil, err
	}
	for _, l := range s.invocation.Limitations {
		rec.Limitations = append(rec.Limitations, cache.Note{Code: l.Code, Text: strings.TrimSpace(l.Text)})
	}
	if rec.Started.IsZero() { // nothing was started
		rec.Capture = cache.CaptureFailed
		return rec, nil
	}
	if err := s.keep(t, rec, manifest); err != nil {
		return nil, err
	}
	if err := prepared.PutPaths(t, rec); err != nil {
		return nil, err
	}
	rec.Producer = library
	if err := extract.Validate(ctx, t, s.project, s.provider, rec, s.workload.Program.ExpectExit); err != nil {
		return nil, err
	}
	if s.on != nil {
		s.on.Verify(rec, s.project.Observe())
	}
	return rec, nil
}
