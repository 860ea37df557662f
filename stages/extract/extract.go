// Package extract is the stage kind that normalizes artifacts into rows. It is pure and content-addressed: its key holds the
// artifact's digest and the options, never a run, so equal artifacts share one extraction, and a new version of an extractor
// reads stored artifacts again without measuring anything.
//
// Providers parse in a worker process of the same binary, bounded in memory and time, so that a hostile or damaged
// artifact cannot take flameox down. That holds for the validation of what was captured or imported too, which is why it
// is started from here.
package extract

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// version is raised whenever the rows' encoding changes for every provider.
const version = 1

// Kind is the block `extract "<provider>" "<name>"`.
type Kind struct {
	providers map[string]providers.Extractor
	merged    map[string]kind.Merged
}

// New makes the kind for all providers that can extract.
func New(reg *providers.Registry) *Kind {
	k := &Kind{providers: map[string]providers.Extractor{}, merged: map[string]kind.Merged{}}
	for _, p := range reg.All() {
		if x, ok := p.(providers.Extractor); ok {
			k.providers[p.Name()] = x
			k.merged[p.Name()] = kind.Merge(&Options{}, x.ExtractOptions())
		}
	}
	return k
}

// Options are the arguments of every standalone extraction; a provider adds its own.
type Options struct {
	From lang.Ref `arg:"from" kinds:"capture,import" doc:"the capture or import whose artifact is read" facet:"inputs"`
}

// Source is a stage whose artifacts can be extracted.
type Source struct {
	Node     *graph.Node
	Provider string
	Paced    bool // providers.Invocation has the meaning
}

// BlockType describes the block with a schema for each provider that can extract.
func (k *Kind) BlockType() lang.BlockType {
	bt := lang.BlockType{
		Type: "extract", Labels: []string{"provider", "name"},
		Doc:     "Normalizes artifacts into rows. Every capture implies one.",
		Schemas: map[string]*lang.Schema{},
	}
	for name, m := range k.merged {
		bt.Schemas[name] = &lang.Schema{Doc: "Rows from artifacts of " + name + ".", Options: m.Options, Results: results, Stage: true}
	}
	return bt
}

type stage struct {
	provider providers.Extractor
	options  any
	source   *graph.Node
	project  *kind.Project
}

// Compile makes the node of a standalone block.
func (k *Kind) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	x := k.providers[inst.Block.Labels[0]]
	parts := k.merged[x.Name()].Split(inst.Options)
	src, err := kind.Value[Source](c, parts[0].(*Options).From)
	if err != nil {
		return nil, err
	}
	n := c.Node(inst, graph.Pure, &stage{provider: x, options: parts[1], source: src.Node, project: c.Project})
	n.Level = graph.Stricter(n.Level, src.Node.Level) // what is derived is at least as sensitive
	return compiled(n, src.Node, x, c.Project), nil
}

// Implied is the extraction that goes with a capture: same labels, same axes.
func Implied(inst *lang.Instance, source *graph.Node, x providers.Extractor, options any, c *kind.Compiler) *kind.Compiled {
	n := &graph.Node{
		Address: address.Address{Block: "extract." + inst.Block.Labels[0] + "." + inst.Block.Name(), Axes: inst.Axes},
		Kind:    "extract." + x.Name(), Nature: graph.Pure, Attempts: 1, Deps: []*graph.Node{source},
		Stage: &stage{provider: x, options: options, source: source, project: c.Project},
		Level: source.Level, Labels: source.Labels, File: source.File, Line: source.Line,
	}
	return compiled(n, source, x, c.Project)
}

func compiled(n, source *graph.Node, x providers.Extractor, p *kind.Project) *kind.Compiled {
	read := func(records []*cache.Summary) (map[string]any, error) { return readResults(p.Store, records) }
	return &kind.Compiled{Node: n, Results: read, Rows: &kind.Rows{Source: source, Provider: x.Name()}}
}

// Actions is one action for each attempt of the source.
func (s *stage) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	recs := in.Of(s.source)
	out := make([]*graph.Action, 0, len(recs))
	definition := kind.Definition("extract."+s.provider.Name(), 0, s.options)
	definition.Entries[1].Value = fmt.Sprintf("%d.%d", version, s.provider.Version())
	for _, r := range recs {
		artifacts, paths := program.Artifacts(s.project.Store, r.Outputs)
		inputs := facet.Facet{Name: facet.Inputs}
		for _, a := range artifacts {
			inputs.Add("artifact "+a.Role+" "+a.Name, a.Digest.String())
		}
		if paths != nil {
			inputs.Add("paths", paths.Digest.String())
		}
		rd, err := s.reading(ctx, r, artifacts)
		if err != nil {
			return nil, err
		}
		out = append(out, &graph.Action{
			Manifest: facet.New(definition, inputs, rd.facet),
			For:      r.Run, Provider: s.provider.Name(),
			Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
				return s.run(ctx, t, artifacts, paths, rd)
			},
		})
	}
	return out, nil
}

// reading is how the payloads of a run of a Reader are read.
type reading struct {
	by      providers.Reader // nil where it is no script that reads
	printer *printing        // nil where it is no program that prints
	place   place
	version string      // of the library: the one that the run had
	facet   facet.Facet // for the key; rows follow from the version, wherever an interpreter has it
}

// reading finds out who reads the payloads of a run. A capture's record says which version wrote them, so nothing is started; of an import
// nothing is known, and the interpreter that the extraction names is asked.
func (s *stage) reading(ctx context.Context, r *cache.Summary, artifacts []providers.Artifact) (out reading, err error) {
	if pr, ok := s.provider.(providers.Printer); ok {
		if a := printed(pr, artifacts); a != nil {
			return s.printed(ctx, r, pr, a)
		}
		return out, nil
	}
	by, ok := s.provider.(providers.Reader)
	if !ok {
		return out, nil
	}
	rec, err := r.Record()
	if err != nil {
		return out, err
	}
	name, err := by.Interpreter(rec.Argv, s.options)
	if err != nil {
		return out, &graph.BlockedError{Why: err.Error()}
	}
	out = reading{by: by, version: rec.Producer, facet: facet.Facet{Name: facet.Executables}}
	if own, err := by.Interpreter(rec.Argv, nil); err == nil && own == name {
		out.place = captured(rec, name)
	} else {
		out.place = place{program: name, path: s.project.Environ["PATH"], dir: filepath.Join(s.project.Root, filepath.FromSlash(s.project.Dir))}
	}
	script := by.Script()
	if out.version == "" {
		who, err := out.place.isolated(ctx, s.project, by)
		if err != nil {
			return out, err
		}
		if out.version = who.Version; out.version == "" {
			return out, &graph.BlockedError{Why: fmt.Sprintf("%s has no %s, which alone reads what it wrote (%s)", who.exe, script.Library, who.Error), Do: by.Missing(who.exe, "")}
		}
	}
	out.facet.Add("collector "+script.Name, digest.Sum(script.Content).String())
	out.facet.Add("library "+script.Library, out.version)
	return out, nil
}

func (s *stage) run(ctx context.Context, t *graph.Task, artifacts []providers.Artifact, paths *cache.Output, rd reading) (*cache.Record, error) {
	req := request{
		Job: jobExtract, Provider: s.provider.Name(), Version: s.provider.Version(),
		Input: providers.Input{Artifacts: artifacts}, Budget: evidence.DefaultBudget(),
		Out: filepath.Join(t.Dir, "rows"),
	}
	if paths != nil {
		b, err := t.Store.CAS.ReadAll(paths.Digest)
		if err == nil {
			err = json.Unmarshal(b, &req.Input.Paths)
		}
		if err != nil {
			return nil, fmt.Errorf("read where the capture ran: %w", err)
		}
	}
	var err error
	if req.Options, err = json.Marshal(s.options); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(req.Out, 0o700); err != nil {
		return nil, err
	}
	rec := &cache.Record{Execution: cache.ExecutionNotApplicable, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed}
	var res *response
	var fail *cache.Note
	switch {
	case rd.by != nil:
		fail, err = rd.place.read(ctx, t, s.project, rd.by, req.Job, s.options, rd.version, &req.Input, req.Budget)
	case rd.printer != nil:
		fail, err = rd.place.print(ctx, t, s.project, rd.printer, s.options, rd.version, &req.Input, req.Budget)
	}
	if err == nil && fail == nil {
		res, fail, err = ask(ctx, t, s.project.Self, &req)
	}
	if err != nil {
		return nil, err
	}
	if fail != nil {
		rec.Validation, rec.State = cache.ValidationError, string(evidence.Unavailable)
		rec.Invalid = append(rec.Invalid, *fail)
		return rec, nil
	}
	rec.State, rec.Producer = string(res.Outcome.State), res.Outcome.Producer
	rec.Limitations = notes(res.Outcome.Limitations)
	if res.Outcome.State == evidence.Incompatible || res.Outcome.State == evidence.Unavailable {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = rec.Limitations
		return rec, nil
	}
	rec.Results = map[string]json.RawMessage{}
	for k, v := range res.Outcome.Results {
		if rec.Results[k], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return rec, program.PutParts(t, rec, res.Parts)
}
