package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/adapter/approval"
	"github.com/flameox/flameox/stages/adapter/contain"
	"github.com/flameox/flameox/stages/adapter/protocol"
	"github.com/flameox/flameox/stages/extract"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workload"
)

// version is raised whenever the record or the rows for the same input change.
const version = 1

// rolePrefix begins the roles of artifacts that an adapter declared; the kind follows.
const rolePrefix = "adapter."

// Captures is the block capture with one more first label, adapter.
type Captures struct{ kind.Kind }

// CaptureOptions are the arguments of a capture by an adapter.
type CaptureOptions struct {
	Workload  lang.Ref          `arg:"workload" kinds:"workload" doc:"the program to run" facet:"command"`
	Adapter   lang.Ref          `arg:"adapter" kinds:"adapter" doc:"the program that plans the capture and reads what it leaves" facet:"executables"`
	Settings  map[string]string `arg:"options,optional" doc:"what the adapter is told; it knows their names" facet:"definition"`
	MaxOutput lang.Bytes        `arg:"max_output" default:"\"1GiB\"" doc:"bytes of all its artifacts together; what is over it is refused" facet:"exempt: bounds what is kept"`
	Extract   bool              `arg:"extract" default:"true" doc:"false, written literally, leaves the artifact without rows" facet:"exempt: decides about another stage"`
}

// BlockType is that of captures with the label of adapters.
func (k Captures) BlockType() lang.BlockType {
	bt := k.Kind.BlockType()
	bt.Schemas[Label] = &lang.Schema{
		Doc: "Runs a workload as a third party's adapter plans it, and keeps what that declared.", Options: &CaptureOptions{}, Own: program.OutToken,
		Results: program.Results(), Stage: true, Measurement: true, Implies: []string{"extract"},
	}
	return bt
}

// Compile makes a measurement and the extraction that goes with it.
func (k Captures) Compile(inst *lang.Instance, c *kind.Compiler) (*kind.Compiled, error) {
	if inst.Block.Labels[0] != Label {
		return k.Kind.Compile(inst, c)
	}
	o := inst.Options.(*CaptureOptions)
	w, err := kind.Value[*workload.Workload](c, o.Workload)
	if err != nil {
		return nil, err
	}
	a, err := kind.Value[*Adapter](c, o.Adapter)
	if err != nil {
		return nil, err
	}
	if o.MaxOutput <= 0 {
		return nil, fmt.Errorf("max_output is %d: give more than 0 bytes", o.MaxOutput)
	}
	s := &capture{adapter: a, o: o, workload: w, program: w.Program.With(w.Program.Command, nil, c), compiler: c, inst: inst}
	n := c.Node(inst, graph.Measurement, s)
	n.Command = s.program.Display()
	out := &kind.Compiled{Node: n, Session: s.program.Session(), Value: extract.Source{Node: n, Provider: Label}, Results: program.ReadResults}
	out.Implied = append(out.Implied, implied(inst, n, s))
	return out, nil
}

type capture struct {
	adapter  *Adapter
	o        *CaptureOptions
	workload *workload.Workload
	program  *program.Program // without what the adapter puts in front
	compiler *kind.Compiler
	inst     *lang.Instance
}

// planned is the answer of the phase plan.
type planned struct {
	protocol.Plan
	report *contain.Report
}

// plan asks the adapter, once for one look at the project.
func (s *capture) plan(ctx context.Context, id approval.Identity, program []byte) (*planned, error) {
	req := protocol.Request{Phase: protocol.PhasePlan, Options: s.o.Settings}
	for _, a := range s.program.Command {
		req.Command = append(req.Command, token.Display(a))
	}
	question, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	s.adapter.project.Reads.Refuse("an adapter is asked what it plans")
	type memoKey struct{ adapter, program, question string }
	return kind.Remember(s.adapter.project.Memo, memoKey{s.adapter.program, id.String(), string(question)}, func() (*planned, error) {
		answer, report, err := s.adapter.call(ctx, "", "", program, req)
		if err == nil {
			out := &planned{report: report}
			if out.Plan, err = protocol.ParsePlan(answer); err == nil {
				return out, nil
			}
			err = &RefusedError{Adapter: s.adapter.Name, Phase: req.Phase, Code: "adapter_response", Why: err.Error()}
		}
		var refused *RefusedError
		if errors.As(err, &refused) {
			return nil, &graph.BlockedError{Why: refused.Error(), Do: "correct the options of the capture, or see what the adapter says for itself"}
		}
		return nil, err
	})
}

// command is the workload's with the adapter's prefix.
func (s *capture) command(p *planned) *program.Program {
	var prefix []string
	for _, arg := range p.Prefix {
		arg = strings.ReplaceAll(arg, protocol.OutDir, token.Make("out.dir"))
		prefix = append(prefix, strings.ReplaceAll(arg, protocol.Self, token.Make("adapter."+s.adapter.Name+".program")))
	}
	if len(prefix) == 0 {
		return s.program
	}
	out := s.program.Behind(append(prefix, "--"), s.compiler)
	if own := s.program.Command[0]; !token.Has(own) && s.program.Host.Runtime == nil {
		out = out.Starting([]string{own}) // what the prefix will start is in the key as if it were started alone
	}
	return out
}

// Actions is one action: the workload as the adapter plans it.
func (s *capture) Actions(ctx context.Context, in *graph.Results) ([]*graph.Action, error) {
	id, bytes, err := s.adapter.Approved()
	if err != nil {
		return nil, err
	}
	plan, err := s.plan(ctx, id, bytes)
	if err != nil {
		return nil, err
	}
	prepared, err := s.command(plan).Prepare(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	definition := kind.Definition("capture."+Label, version, s.workload.Options, s.o)
	s.adapter.define(&definition)
	for _, o := range plan.Outputs {
		definition.Add("output "+o.Path, fmt.Sprintf("%s %s %v %v", o.Kind, o.MediaType, o.Required, o.Sensitive))
	}
	if d := s.inst.Meta.Distinct; d != "" {
		definition.Add("distinct", d)
	}
	definition.Entries = append(definition.Entries, s.program.Session().Facts()...)
	facets := append(prepared.Facets(), definition, program.HostClass(s.adapter.project))
	facts, err := s.adapter.facts(id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(facets, func(f facet.Facet) bool { return f.Name == facet.Executables })
	facets[i].Entries = append(slices.Clip(facets[i].Entries), facts...)
	return []*graph.Action{{
		Manifest: facet.New(facets...),
		Run: func(ctx context.Context, t *graph.Task) (*cache.Record, error) {
			return s.run(ctx, t, prepared, id, plan)
		},
	}}, nil
}

// semantics is what the run covers.
type semantics struct {
	Origin           string            `json:"origin"`
	Provider         string            `json:"provider"`
	Adapter          approval.Identity `json:"adapter"`
	ExtractorVersion string            `json:"extractor_version"`
	Options          map[string]string `json:"options,omitempty"`
	Permissions      []string          `json:"permissions,omitempty"` // as the adapter says
	Overhead         string            `json:"overhead,omitempty"`    // as the adapter says
	Containment      string            `json:"containment"`           // of the workload
	AdapterContained string            `json:"adapter_containment"`
	ProfileOf        string            `json:"profile_of,omitempty"`
}

// Receipt binds a validation to the payload and to the program that validated it.
type Receipt struct {
	Name             string        `json:"name"` // of the artifact
	Artifact         digest.Digest `json:"artifact"`
	Bytes            int64         `json:"bytes"`
	Package          digest.Digest `json:"package"` // SHA-256 of the adapter's program
	ValidatorVersion string        `json:"validator_version"`
}

// receipts is the result under which a record has its receipts.
const receipts = "receipts"

func (s *capture) run(ctx context.Context, t *graph.Task, prepared *program.Prepared, id approval.Identity, plan *planned) (*cache.Record, error) {
	if _, err := s.adapter.recheck(id, "execute"); err != nil {
		return nil, moved(s.adapter, err)
	}
	rec, err := prepared.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	sem := semantics{
		Origin: "capture", Provider: Label, Adapter: id, ExtractorVersion: plan.ExtractorVersion, Options: s.o.Settings,
		Permissions: plan.Permissions, Overhead: plan.Overhead, Containment: "uncontained", AdapterContained: plan.report.String(),
	}
	if p := s.inst.Meta.ProfileOf; p != nil {
		sem.ProfileOf = p.Address().String()
	}
	if rec.Semantics, err = json.Marshal(sem); err != nil {
		return nil, err
	}
	rec.Limitations = append(rec.Limitations, notes(plan.Limitations)...)
	rec.Limitations = append(rec.Limitations, cache.Note{Code: "third_party_adapter", Text: fmt.Sprintf("planned and read by the adapter %s %s, which you approved and nobody qualified", id.Name, id.Version)})
	if rec.Started.IsZero() { // nothing was started
		rec.Capture = cache.CaptureFailed
		return rec, nil
	}
	var declared []providers.DeclaredOutput
	for _, o := range plan.Outputs {
		declared = append(declared, providers.DeclaredOutput{
			Name: o.Path, Path: escape(o.Path), Role: rolePrefix + o.Kind, MediaType: o.MediaType, Required: o.Required, Sensitive: o.Sensitive,
		})
	}
	limits := broker.Limits{FileBytes: int64(s.o.MaxOutput), Bytes: int64(s.o.MaxOutput)}
	if err := program.PutBounded(t, rec, declared, limits); err != nil {
		return nil, err
	}
	return rec, s.validate(ctx, t, rec, id)
}

// moved lets the engine decide anew where the program is another one than the plan was about, or not trusted any more.
func moved(a *Adapter, err error) error {
	var changed *ChangedError
	var blocked *graph.BlockedError
	if errors.As(err, &changed) || errors.As(err, &blocked) {
		return &graph.MovedError{What: a.rel}
	}
	return err
}

// validate lets the adapter look at the payloads in the store, one after the other. What was measured is kept whatever it says.
func (s *capture) validate(ctx context.Context, t *graph.Task, rec *cache.Record, id approval.Identity) error {
	if !rec.Valid() {
		return nil
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("keep the artifacts: %w", err)
	}
	unsaid := func(code, text string) error {
		rec.Validation = cache.ValidationError
		rec.Invalid = append(rec.Invalid, cache.Note{Code: code, Text: text})
		return nil
	}
	var list []Receipt
	for _, a := range payloads(t.Store, rec.Outputs) {
		program, err := s.adapter.recheck(id, protocol.PhaseValidate)
		if err != nil {
			return unsaid("adapter_changed", err.Error())
		}
		answer, _, err := s.adapter.call(ctx, t.Dir, t.Mark, program, protocol.Request{Phase: protocol.PhaseValidate, Options: s.o.Settings, Artifact: &a, Exit: rec.Exit})
		var said protocol.Validated
		if err == nil {
			if said, err = protocol.ParseValidated(answer); err != nil {
				err = &RefusedError{Adapter: id.Name, Phase: protocol.PhaseValidate, Code: "adapter_response", Why: err.Error()}
			}
		}
		var refused *RefusedError
		switch {
		case errors.As(err, &refused):
			return unsaid(refused.Code, refused.Error())
		case ctx.Err() != nil:
			return unsaid("cancelled", "flameox was interrupted")
		case err != nil: // what was measured is not thrown away for a process that did not start
			return unsaid("adapter_failed", err.Error())
		}
		rec.Limitations = append(rec.Limitations, notes(said.Limitations)...)
		if said.Producer != "" {
			rec.Producer = said.Producer
		}
		if !said.Valid {
			rec.Validation = cache.ValidationFailed
			rec.Invalid = append(rec.Invalid, notes(said.Reasons)...)
			continue
		}
		sum, err := digest.Parse(a.SHA256)
		if err != nil {
			return err
		}
		list = append(list, Receipt{Name: a.Name, Artifact: sum, Bytes: a.Bytes, Package: id.SHA256, ValidatorVersion: said.ValidatorVersion})
	}
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	rec.Results = map[string]json.RawMessage{receipts: b}
	return nil
}

// payloads are the artifacts that an adapter declared, as it is told of them.
func payloads(s *graph.Store, outputs []cache.Output) (out []protocol.Artifact) {
	for _, o := range outputs {
		if k, ok := strings.CutPrefix(o.Role, rolePrefix); ok && !o.Tree {
			out = append(out, protocol.Artifact{Name: o.Name, Kind: k, MediaType: o.MediaType, SHA256: o.Digest.String(), Bytes: o.Size, Path: s.CAS.Path(o.Digest)})
		}
	}
	return out
}

func notes(list []protocol.Note) (out []cache.Note) {
	for _, n := range list {
		out = append(out, cache.Note{Code: n.Code, Text: n.Text})
	}
	return out
}

// escape makes a glob that matches exactly the name.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(name)
}
