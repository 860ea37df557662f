package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/adapter/protocol"
	builtin "github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// Extracts is the block extract with one more first label, adapter.
type Extracts struct{ kind.Kind }

// ExtractOptions are the arguments of an extraction by an adapter that is written by itself.
type ExtractOptions struct {
	From lang.Ref `arg:"from" kinds:"capture" doc:"the capture by an adapter whose artifacts are read" facet:"inputs"`
}

var extracted = []lang.Attr{
	{Name: "state", Type: cty.String, Doc: "complete, empty or partial: the worst of the attempts"},
	{Name: "rows", Type: cty.Number, Doc: "rows in adapter_extractions, of all attempts"},
	{Name: "limitations", Type: cty.List(cty.String), Doc: "what the adapter did not find, as codes"},
}

// BlockType is that of extractions with the label of adapters.
func (k Extracts) BlockType() lang.BlockType {
	bt := k.Kind.BlockType()
	bt.Schemas[Label] = &lang.Schema{Doc: "What an adapter finds in the artifacts that it declared.", Options: &ExtractOptions{}, Results: extracted, Stage: true}
	return bt
}

// Compile makes the node of a block.
func (k Extracts) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	if inst.Block.Labels[0] != Label {
		return k.Kind.Compile(inst, c)
	}
	src, err := kind.Value[builtin.Source](c, inst.Options.(*ExtractOptions).From)
	if err != nil {
		return nil, err
	}
	of, ok := src.Node.Stage.(*capture)
	if !ok {
		return nil, fmt.Errorf("from is %s, which no adapter captures: give a capture \"adapter\"", src.Node.Address)
	}
	n := c.Node(inst, graph.Pure, &extraction{capture: of, source: src.Node})
	n.Level = graph.Stricter(n.Level, src.Node.Level)
	return compiled(n, src.Node), nil
}

// implied is the extraction that goes with a capture.
func implied(inst *lang.Instance, source *graph.Node, of *capture) *kind.Compiled {
	n := &graph.Node{
		Address: address.Address{Block: "extract." + Label + "." + inst.Block.Name(), Axes: inst.Axes},
		Kind:    "extract." + Label, Nature: graph.Pure, Attempts: 1, Deps: []*graph.Node{source},
		Stage: &extraction{capture: of, source: source},
		Level: source.Level, Labels: source.Labels, File: source.File, Line: source.Line,
	}
	return compiled(n, source)
}

func compiled(n, source *graph.Node) *kind.Compiled {
	return &kind.Compiled{Node: n, Results: readExtracted, Rows: &kind.Rows{Source: source, Provider: Label}}
}

type extraction struct {
	capture *capture
	source  *graph.Node
}

// Actions is one action for each attempt of the capture. Its key is known without the user's approval, so that rows which were made stand.
func (s *extraction) Actions(_ context.Context, in *graph.Results) ([]*graph.Action, error) {
	a := s.capture.adapter
	id, _, err := a.Identity()
	if err != nil {
		return nil, err
	}
	var blocked *graph.BlockedError
	if _, _, err := a.Approved(); err != nil && !errors.As(err, &blocked) {
		return nil, err
	}
	facts, err := a.facts(id)
	if err != nil {
		return nil, err
	}
	definition := kind.Definition("extract."+Label, version, s.capture.o)
	a.define(&definition)
	var out []*graph.Action
	for _, r := range in.Of(s.source) {
		inputs := facet.Facet{Name: facet.Inputs}
		list := payloads(a.project.Store, r.Outputs)
		for _, p := range list {
			inputs.Add("artifact "+p.Kind+" "+p.Name, p.SHA256)
		}
		out = append(out, &graph.Action{
			Manifest: facet.New(definition, inputs, facet.Facet{Name: facet.Executables, Entries: facts}),
			For:      r.Run, Provider: Label, Blocked: blocked,
			Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) { return s.run(ctx, t, r, list, id) },
		})
	}
	return out, nil
}

// validated are the receipts of a run.
func validated(r *cache.Summary) ([]Receipt, error) {
	rec, err := r.Record()
	if err != nil {
		return nil, err
	}
	var list []Receipt
	if b := rec.Results[receipts]; b != nil {
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("read the receipts of run %s: %w", r.Run, err)
		}
	}
	return list, nil
}

func (s *extraction) run(ctx context.Context, t *graph.Task, r *cache.Summary, list []protocol.Artifact, id approval.Identity) (*cache.Record, error) {
	rec := &cache.Record{Execution: cache.ExecutionNotApplicable, Capture: cache.CaptureRegistered, Validation: cache.ValidationPassed, State: string(evidence.Complete)}
	known, err := validated(r)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(t.Dir, "rows")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the rows of %s: %w", id.Name, err)
	}
	meta := evidence.FileMeta{Provider: Label, ProviderVersion: version}
	if len(list) == 1 {
		if meta.Artifact, err = digest.Parse(list[0].SHA256); err != nil {
			return nil, err
		}
	} else {
		var all []string
		for _, a := range list {
			all = append(all, a.SHA256)
		}
		slices.Sort(all)
		meta.Artifact = digest.SumString(strings.Join(slices.Compact(all), "\n")) // as of every extraction of several payloads
	}
	sink := evidence.NewSink(dir, meta, evidence.DefaultBudget())
	defer sink.Discard()
	for _, a := range list {
		sum, err := digest.Parse(a.SHA256)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(known, func(k Receipt) bool {
			return k.Name == a.Name && k.Artifact == sum && k.Bytes == a.Bytes && k.Package == id.SHA256
		}) {
			rec.State = string(evidence.Unavailable)
			return rec.Fail("receipt_missing", fmt.Sprintf("no receipt binds %s of run %s to the adapter %s as it is (sha256 %s): it was not validated by what would read it; run the capture again", a.Name, r.Run, id.Name, id.SHA256.Short())), nil
		}
		refused, err := s.one(ctx, t, rec, sink, a, sum, id)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			rec.Validation, rec.State = cache.ValidationError, string(evidence.Incompatible)
			rec.Invalid = append(rec.Invalid, *refused)
			return rec, nil
		}
	}
	if len(list) == 0 {
		rec.State = string(evidence.Empty)
	}
	parts, err := sink.Close()
	if err != nil {
		return nil, fmt.Errorf("keep what the adapter %s found: %w", id.Name, err)
	}
	return rec, program.PutParts(t, rec, parts)
}

// one extracts from one payload, or says why not.
func (s *extraction) one(ctx context.Context, t *graph.Task, rec *cache.Record, sink *evidence.Sink, a protocol.Artifact, sum digest.Digest, id approval.Identity) (*cache.Note, error) {
	bytes, err := s.capture.adapter.recheck(id, protocol.PhaseExtract)
	if err != nil {
		return nil, moved(s.capture.adapter, err)
	}
	answer, report, err := s.capture.adapter.call(ctx, t.Dir, t.Mark, bytes, protocol.Request{Phase: protocol.PhaseExtract, Options: s.capture.o.Settings, Artifact: &a})
	var found protocol.Extracted
	if err == nil {
		if found, err = protocol.ParseExtracted(answer); err != nil {
			err = &RefusedError{Adapter: id.Name, Phase: protocol.PhaseExtract, Code: "adapter_response", Why: err.Error()}
		}
	}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return &cache.Note{Code: refused.Code, Text: refused.Error()}, nil
	case ctx.Err() != nil:
		return &cache.Note{Code: "cancelled", Text: "flameox was interrupted"}, nil
	case err != nil:
		return nil, err
	}
	rec.Limitations = append(rec.Limitations, notes(found.Limitations)...)
	if rec.Semantics, err = json.Marshal(map[string]any{"adapter": id, "adapter_containment": report.String()}); err != nil {
		return nil, err
	}
	row := evidence.AdapterExtraction{
		Extraction: digest.SumString(fmt.Sprintf("%s\n%s\n%s\n%s", sum, id, found.ExtractorVersion, a.Name)).String(),
		Input:      sum.String(), Name: a.Name, Kind: a.Kind, Adapter: id.Name, AdapterVersion: id.Version, Package: id.SHA256.String(),
		ExtractorVersion: found.ExtractorVersion, Summary: string(found.Summary),
	}
	for _, n := range found.Limitations {
		row.Limitations = append(row.Limitations, n.Code+": "+n.Text)
	}
	return nil, sink.Adapters.Put(&row)
}

// readExtracted computes the result attributes from the records of all attempts.
func readExtracted(records []*cache.Summary) (map[string]any, error) {
	if len(records) == 0 {
		return nil, nil
	}
	state, rows, limitations := evidence.State(""), int64(0), []string{}
	for _, r := range records {
		rec, err := r.Record()
		if err != nil {
			return nil, err
		}
		state = evidence.Worse(state, evidence.State(rec.State))
		for _, o := range rec.Outputs {
			rows += o.Rows
		}
		for _, l := range rec.Limitations {
			limitations = append(limitations, l.Code)
		}
	}
	return map[string]any{"state": string(state), "rows": rows, "limitations": limitations}, nil
}
