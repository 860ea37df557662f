package kernelvalidation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers"
)

// Role of a kernel validation document.
const Role = "kernel_validation"

// MediaType of the document.
const MediaType = "application/vnd.flameox.kernel-validation+json"

// The codes of this provider's limitations and reasons.
const (
	EmptyFile      = "payload_empty"
	Truncated      = "payload_truncated"
	NotJSON        = "payload_not_json"
	UnknownSchema  = "schema_version_unknown"
	Invalid        = "document_invalid"
	Contradiction  = "document_contradicts_itself"
	InputBudget    = providers.InputBudget
	MemoryBudget   = providers.MemoryBudget
	RowBudget      = "row_budget"
	UnexpectedExit = "unexpected_exit"
	Declared       = "declared"         // a limitation that the document has
	Migrated       = "migrated_from_v1" // it was written in version 1
	CutShort       = "limitations_cut"  // more of them are in kernel_cases
)

// maxSummary is how many of a document's limitations the run's summary has.
const maxSummary = 100

// Provider reads kernel validations. The zero value is ready.
type Provider struct{}

// Name is what a configuration writes.
func (Provider) Name() string { return "kernelvalidation" }

// Version is raised whenever the rows of the same document change.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "documents that hold a kernel's outputs against those of a reference"
}

// Registers says what a document is to the run that it is registered with.
func (Provider) Registers() providers.Registered {
	return providers.Registered{Role: Role, MediaType: MediaType, About: kernelbuild.Role, Verdict: true}
}

// Validate accepts a document that is whole and agrees with itself, whatever it says of the kernel.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	doc, err := read(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	if errors.As(err, &bad) {
		return providers.Receipt{Reasons: []evidence.Limitation{bad.Limitation}}, nil
	}
	if err != nil {
		return providers.Receipt{}, err
	}
	r := providers.Receipt{Valid: in.ExitExpected(), Limitations: doc.summary(), Producer: doc.by()}
	if !r.Valid {
		r.Reasons = []evidence.Limitation{{Code: UnexpectedExit, Text: fmt.Sprintf("the command that left the document ended with status %d", in.Exit)}}
	}
	return r, nil
}

// ExtractOptions is nil: there is nothing to choose.
func (Provider) ExtractOptions() any { return nil }

// Extract fills kernel_cases and kernel_metrics. The rows have no weight, so a document with more of them than the budget is refused whole.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	doc, err := read(ctx, in, budget)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	outputs, metrics, failed := doc.count()
	if n := outputs + metrics; budget.Rows > 0 && n > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the document has %d outputs and metrics, and the extraction's budget is %d rows; none of them has a weight by which some could be left out, so nothing is extracted: write fewer cases in one document", n, budget.Rows)}}}, nil
	}
	for i := range doc.cases {
		if err := ctx.Err(); err != nil {
			return evidence.Outcome{}, err
		}
		if err := doc.put(&doc.cases[i], sink); err != nil {
			return evidence.Outcome{}, err
		}
	}
	return evidence.Outcome{State: evidence.Complete, Producer: doc.by(), Limitations: doc.summary(), Results: map[string]any{
		"verdict": string(doc.status), "producer": doc.producer, "cases": int64(len(doc.cases)), "outputs": outputs, "metrics": metrics, "failed": failed,
		"coverage_complete": doc.complete,
	}}, nil
}

// perByte is about the memory that a byte of a document takes once it is read, from above.
const perByte = 24

func read(ctx context.Context, in providers.Input, budget evidence.Budget) (*document, error) {
	a, err := in.Find(Role)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case a.Size > maxBytes:
		return nil, providers.Refuse(InputBudget, "the document has %d bytes and may have %d; write fewer cases in one", a.Size, int64(maxBytes))
	case budget.InputBytes > 0 && a.Size > budget.InputBytes:
		return nil, providers.Refuse(InputBudget, "the document has %d bytes and the extraction's budget is %d; raise it", a.Size, budget.InputBytes)
	case budget.Memory > 0 && a.Size > budget.Memory/perByte:
		return nil, providers.Refuse(MemoryBudget, "the document would take about %d bytes of memory and may take %d; raise the extraction's memory budget", a.Size*perByte, budget.Memory)
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// by is the producer with its version.
func (doc *document) by() string {
	if doc.producerVersion != nil && *doc.producerVersion != "" {
		return doc.producer + " " + *doc.producerVersion
	}
	return doc.producer
}

func (doc *document) count() (outputs, metrics, failed int64) {
	for i := range doc.cases {
		for j := range doc.cases[i].outputs {
			o := &doc.cases[i].outputs[j]
			outputs++
			metrics += int64(len(o.metrics))
			if o.status == Fail {
				failed++
			}
		}
	}
	return outputs, metrics, failed
}

// summary is what the document says that it does not say, each once, cut.
func (doc *document) summary() (out []evidence.Limitation) {
	if doc.version == SchemaV1 {
		out = append(out, evidence.Limitation{Code: Migrated, Text: "the document was written in version 1, whose psnr does not say what it is relative to"})
	}
	seen := map[string]bool{}
	more := 0
	add := func(list []string) {
		for _, text := range list {
			switch {
			case seen[text]:
			case len(out) < maxSummary-1:
				out = append(out, evidence.Limitation{Code: Declared, Text: text})
			default:
				more++
			}
			seen[text] = true
		}
	}
	add(doc.limitations)
	for i := range doc.cases {
		add(doc.cases[i].limitations)
		for j := range doc.cases[i].outputs {
			o := &doc.cases[i].outputs[j]
			add(o.limitations)
			for k := range o.metrics {
				if l := o.metrics[k].limitation; l != nil {
					add([]string{*l})
				}
			}
		}
	}
	if more > 0 {
		out = append(out, evidence.Limitation{Code: CutShort, Text: fmt.Sprintf("the document has %d more limitations; they are in kernel_cases and kernel_metrics", more)})
	}
	return out
}

func (doc *document) put(c *testCase, sink *evidence.Sink) error {
	dimensions := map[string]string{}
	canonical := map[string]string{}
	for _, d := range c.dimensions {
		dimensions[d.name], canonical[d.name] = d.text, d.json
	}
	inputs := "["
	for i, t := range c.inputs {
		if i > 0 {
			inputs += ","
		}
		members := map[string]string{"dtype": quote(t.dtype), "shape": integers(t.shape)}
		if t.role != nil {
			members["role"] = quote(*t.role)
		}
		inputs += object(members)
	}
	inputs += "]"
	for i := range c.outputs {
		o := &c.outputs[i]
		id := digest.SumString(object(map[string]string{"case": quote(c.id), "output": quote(o.name)})).String()
		row := evidence.KernelCase{
			Output: id, Case: c.id, Name: o.name, Status: string(o.status), CaseStatus: string(c.status), DocumentStatus: string(doc.status),
			CoverageComplete: doc.complete, Producer: doc.producer, ProducerVersion: doc.producerVersion,
			Reference: doc.reference.name, ReferenceVersion: doc.reference.version, ReferenceID: doc.reference.identity,
			Device: c.device, Seed: c.seed, Dimensions: dimensions, Inputs: inputs, DType: o.dtype, Shape: o.shape,
			Failures: "[" + join(o.failures) + "]", Limitations: slices.Concat(o.limitations, c.limitations, doc.limitations),
		}
		if err := sink.KernelCases.Put(&row); err != nil {
			return err
		}
		for j := range o.metrics {
			if err := sink.KernelMetrics.Put(o.metrics[j].row(id, c.id, o.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func join(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ","
		}
		out += s
	}
	return out
}

func (m *metric) row(id, caseID, name string) *evidence.KernelMetric {
	identity := map[string]string{"name": quote(m.name), "unit": quote(m.unit)}
	if m.profile != nil {
		identity["profile"] = *m.profile
	}
	row := &evidence.KernelMetric{
		Output: id, Case: caseID, Name: name, Metric: m.name, MetricID: digest.SumString(object(identity)).String(), Status: string(m.status),
		Value: m.value, Comparator: m.comparator, Threshold: m.threshold, Unit: m.unit, Profile: m.profile, Limitation: m.limitation,
	}
	text := func(s string) *string { return &s }
	switch {
	case m.infinite:
		row.ValueKind, row.Infinite = text("positive_infinity"), text(exactReason)
	case m.value != nil:
		row.ValueKind = text("finite")
	}
	return row
}
