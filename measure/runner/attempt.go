package runner

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/source"
)

// attempt is one case that was run.
type attempt struct {
	p              *prepared
	index          int
	raw            harness.Raw
	started, ended time.Time
	artifacts      []any
	load           loadAverage
}

// documents are the results of the attempt: one for each quantity, and the load before it. Each is valid, whatever the harness left.
func (a attempt) documents() ([]map[string]any, error) {
	t := a.p.harness.Translate(a.raw)
	var out []map[string]any
	for _, name := range a.raw.Quantities {
		d, err := a.result(name, t)
		if err != nil {
			return nil, err
		}
		if err := valid(d); err != nil {
			if d, err = a.result(name, a.unmapped(t, err)); err != nil {
				return nil, err
			}
			if err := valid(d); err != nil {
				return nil, fmt.Errorf("the result of %s cannot be written: %w", a.raw.Case.Text(), err)
			}
		}
		out = append(out, d)
	}
	if a.load.ok {
		d, err := a.condition(t)
		if err != nil {
			return nil, err
		}
		if valid(d) == nil { // what a harness said that no document can hold is in the other results' error
			out = append(out, d)
		}
	}
	return out, nil
}

// valid holds a document against everything that ingest will hold it against.
func valid(d map[string]any) error {
	text, err := ijson.Canonical(d)
	if err != nil {
		return err
	}
	_, rejections := document.ReadResult(text)
	if len(rejections) == 0 {
		return nil
	}
	var problems []string
	for _, r := range rejections {
		problems = append(problems, r.Problem.String())
	}
	return errors.New(strings.Join(problems, "; "))
}

// unmapped is what is left of a translation that makes no valid document: that it failed, and why.
func (a attempt) unmapped(t harness.Translation, why error) harness.Translation {
	return harness.Translation{
		Measured: a.raw.All(harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping}), HarnessVersion: t.HarnessVersion, Environment: t.Environment, Unknown: t.Unknown,
		Info: map[string]any{"mapping_error": why.Error()},
	}
}

func (a attempt) result(name string, t harness.Translation) (map[string]any, error) {
	quantity, _ := a.p.about.Quantity(name)
	m, ok := t.Measured[name]
	if !ok {
		m = harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: "the adapter said nothing of " + name}
	}
	d, err := a.base(quantity, t)
	if err != nil {
		return nil, err
	}
	measurement := map[string]any{"status": m.Status}
	if m.Reason != "" {
		measurement["reason"] = m.Reason
	}
	if len(m.Observations) > 0 {
		measurement["observations"] = m.Observations
	}
	if len(m.Summaries) > 0 {
		measurement["summaries"] = m.Summaries
	}
	d["measurement"] = measurement
	provenance := d["provenance"].(map[string]any)
	if m.OriginalUnit != "" && m.OriginalUnit != quantity.Unit {
		provenance["original_unit"] = m.OriginalUnit
	}
	if m.Message != "" {
		provenance["info"].(map[string]any)["message"] = m.Message
	}
	procedure := d["procedure"].(map[string]any)
	maps.Copy(procedure, t.Procedure)
	if m.Reason == harness.ReasonTimeout {
		procedure["timeout_seconds"] = a.p.limit.Seconds()
	}
	return d, nil
}

// condition is the load of the machine before the case: a sibling of its results, which nobody compares.
func (a attempt) condition(t harness.Translation) (map[string]any, error) {
	d, err := a.base(harness.Quantity{Name: "load-average", Unit: "1"}, t)
	if err != nil {
		return nil, err
	}
	comparison := d["coordinates"].(map[string]any)["comparison_context"].(map[string]any)
	comparison["protocol"] = map[string]any{"probe": map[string]any{"name": a.load.probe}}
	d["measurement"] = map[string]any{"kind": "condition", "status": harness.Success, "observations": []any{a.load.value}}
	return d, nil
}

// base is a document without its measurement. Everything in it that may be changed is its own.
func (a attempt) base(quantity harness.Quantity, t harness.Translation) (map[string]any, error) {
	p := a.p
	parameters := a.parameters()
	slot := -1
	if f, ok := p.order["slot"].(float64); ok {
		slot = int(f)
	}
	runKey, _ := p.order["run_key"].(string)
	workload := document.Token(a.raw.Case.Name)
	key, err := document.IngestKey(runKey, a.raw.Case.Name, parameters, quantity.Name, slot)
	if err != nil {
		return nil, err
	}
	w := map[string]any{"name": workload}
	if len(parameters) > 0 {
		w["parameters"] = parameters
	}
	q := map[string]any{"name": quantity.Name, "unit": quantity.Unit}
	if quantity.Direction != "" {
		q["direction"] = quantity.Direction
	}
	d := map[string]any{
		"schema_version": 5.0,
		"producer":       map[string]any{"name": p.about.Producer, "version": p.opts.version(), "mapping_version": p.about.Mapping},
		"ingest_key":     key, "attempt_key": document.AttemptKey(p.hash, a.index),
		"source": p.sourceRef(), "revision": map[string]any{"key": p.subject.Revision},
		"benchmark": p.benchmarkRef(),
		"coordinates": map[string]any{
			"workload": w, "subject": p.subjectOf(), "quantity": q, "comparison_context": a.comparison(t), "environment": a.environment(t),
		},
		"provenance": a.provenance(runKey, t),
		"procedure":  a.procedure(),
	}
	if project, ok := p.order["project"]; ok {
		d["project"] = project
	}
	if w := a.warnings(t); len(w) > 0 {
		d["quality"] = map[string]any{"warnings": w}
	}
	return d, nil
}

func (o Options) version() string {
	if o.Version == "" {
		return "unknown"
	}
	return document.Token(o.Version)
}

// parameters of the workload: the case's own, and the variables that the order sets.
func (a attempt) parameters() map[string]any {
	out := map[string]any{}
	for name, v := range a.p.variables() {
		out[name] = v
	}
	for _, c := range a.raw.Case.Parameters {
		out[c.Name] = c.Value
	}
	return out
}

func (p *prepared) sourceRef() map[string]any {
	kind, _ := document.At(p.order, "target", "source", "type").(string)
	return map[string]any{"uri": p.uri, "type": kind}
}

func (p *prepared) benchmarkRef() map[string]any {
	ref := p.sourceRef()
	if p.benchmark.apart {
		ref = map[string]any{"uri": p.benchmark.URI, "type": p.benchmark.Type}
	}
	out := map[string]any{"source": ref}
	if p.benchmark.Revision != "" {
		out["revision"] = map[string]any{"key": p.benchmark.Revision}
	}
	return out
}

// subjectOf is what is measured. Its name is the source's.
func (p *prepared) subjectOf() map[string]any {
	name := strings.TrimSuffix(strings.TrimRight(p.uri, "/"), ".git")
	name = document.Token(name[strings.LastIndexAny(name, "/:")+1:])
	if name == "" {
		name = "subject"
	}
	s := map[string]any{"name": name, "components": []any{map[string]any{"role": "primary"}}}
	if len(p.context.configuration) > 0 {
		s["configuration"] = p.context.configuration
	}
	return s
}

func (a attempt) comparison(t harness.Translation) map[string]any {
	about := a.p.about
	h := map[string]any{"name": about.Name}
	if t.HarnessVersion != "" {
		h["version"] = t.HarnessVersion
	}
	protocol := a.raw.Precision.Document()
	maps.Copy(protocol, about.Protocol)
	return map[string]any{"harness": h, "protocol": protocol}
}

func (a attempt) environment(t harness.Translation) map[string]any {
	s := a.p.context
	system := maps.Clone(s.system)
	own := map[string]any{}
	for name, v := range t.System {
		// A harness has a few names of its own; what else it says stands below its name.
		if slices.Contains(facts.Reserved, name) {
			system[name] = v
		} else {
			own[name] = v
		}
	}
	if len(own) > 0 {
		system[strings.ReplaceAll(a.p.about.Name, "-", "_")] = own
	}
	switch {
	case t.Unknown:
		system["process.environment"] = nil // matches nothing
	case t.Environment != nil:
		system["process.environment"] = t.Environment
	}
	out := map[string]any{"schema": facts.Schema, "identity": s.identity}
	if len(system) > 0 {
		out["system"] = system
	}
	if len(s.metadata) > 0 {
		out["metadata"] = s.metadata
	}
	return out
}

// stamp is a time as documents have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (a attempt) provenance(runKey string, t harness.Translation) map[string]any {
	p := a.p
	out := map[string]any{
		"run_key": runKey, "native_id": a.raw.Case.Text(), "started_at": stamp(a.started), "ended_at": stamp(later(a.started, a.ended)),
		"subject_dirty": p.subject.State, "benchmark_dirty": p.benchmark.State,
		"runner":    map[string]any{"name": "flameox", "version": p.opts.version()},
		"artifacts": slices.Clone(a.artifacts), "info": a.info(t),
	}
	if p.subject.State != source.Unknown {
		out["subject_tree"] = p.subject.Tree
	}
	if p.benchmark.State != source.Unknown {
		out["benchmark_tree"] = p.benchmark.Tree
	}
	if labels, ok := p.order["labels"].(map[string]any); ok {
		out["labels"] = labels
	}
	return out
}

// later is the end of what began at start: a clock that was set back in between does not make it earlier.
func later(start, end time.Time) time.Time {
	if end.Before(start) {
		return start
	}
	return end
}

func (a attempt) info(t harness.Translation) map[string]any {
	p := a.p
	info := maps.Clone(p.context.info)
	maps.Copy(info, t.Info)
	info["workorder_ref"] = p.hash
	info["requester"] = p.order["requester"]
	if reason, ok := p.order["reason"]; ok {
		info["reason"] = reason
	}
	target, _ := p.order["target"].(map[string]any)
	for from, to := range map[string]string{"how_built": "how_built", "activation": "activation", "shell": "shell", "provider": "target_provider"} {
		if v, ok := target[from]; ok {
			info[to] = v
		}
	}
	if e := a.raw.Exit; e.Signal != "" {
		info["exit_signal"] = e.Signal
	} else if e.Status != 0 {
		info["exit_status"] = float64(e.Status)
	}
	sources := maps.Clone(p.context.sources)
	for name := range t.System {
		if slices.Contains(facts.Reserved, name) {
			sources[systemAt+name] = "harness"
		} else {
			sources[systemAt+strings.ReplaceAll(p.about.Name, "-", "_")] = "harness"
		}
	}
	if t.Environment != nil {
		sources[systemAt+"process.environment"] = "harness"
	}
	info["fact_sources"] = sources
	return info
}

func (a attempt) procedure() map[string]any {
	out := map[string]any{}
	for _, name := range []string{"round", "slot"} {
		if v, ok := a.p.order[name]; ok {
			out[name] = v
		}
	}
	if e := a.raw.Exit; !e.Started.IsZero() {
		out["duration_seconds"] = math.Max(0, e.Ended.Sub(e.Started).Seconds())
	}
	return out
}

func (a attempt) warnings(t harness.Translation) []any {
	list := append(slices.Clone(a.p.context.warnings), t.Warnings...)
	if e := a.raw.Exit; e.How() != "" && !e.TimedOut && len(a.raw.Native) > 0 {
		for _, m := range t.Measured {
			if len(m.Observations) > 0 {
				list = append(list, NonzeroExit)
				break
			}
		}
	}
	var out []any
	for _, w := range list {
		if !slices.Contains(out, any(w)) {
			out = append(out, w)
		}
	}
	return out
}
