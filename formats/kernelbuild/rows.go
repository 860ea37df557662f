package kernelbuild

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// The codes of limitations.
const (
	NotKept          = "compiler_output_missing"   // the document lists a file that is not beside it
	Versions         = "producer_versions_differ"  // files say another version than the environment, or than each other
	CompileOnly      = "compiled_is_not_validated" // that a kernel compiled says nothing of its results
	NotListed        = "compiler_output_unlisted"  // a file is beside the document, which does not list it
	RowBudget        = "row_budget"
	NothingBuilt     = "no_compiler_output"
	mostNamedOfAKind = 5
)

// Kept opens a file by its digest; ok is false where it is not among what was kept.
type Kept func(sum digest.Digest) (r io.ReadCloser, ok bool, err error)

// Rows fills compiler_artifacts. A document with more stages than the budget has rows is refused whole, because none weighs more than another.
func (d *Document) Rows(ctx context.Context, kept Kept, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return evidence.Outcome{}, err
	}
	if n := int64(len(d.Stages)); budget.Rows > 0 && n > budget.Rows {
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{{Code: RowBudget, Text: fmt.Sprintf(
			"the build has %d files, and the extraction's budget is %d rows; no file weighs more than another, so nothing is extracted", n, budget.Rows)}}}, nil
	}
	out := evidence.Outcome{State: evidence.Complete, Limitations: slices.Clone(d.Limitations)}
	facts := make([]Facts, len(d.Stages))
	var missing []string
	versions := map[string]bool{}
	if d.Version != Unknown {
		versions[d.Version] = true
	}
	for i := range d.Stages {
		ok, err := d.Stages[i].facts(kept, &facts[i])
		if err != nil {
			return evidence.Outcome{}, err
		}
		if !ok {
			missing = append(missing, d.Stages[i].Name)
		}
		if v := facts[i].Producer; v != "" {
			versions[v] = true
		}
	}
	stated := ""
	for v := range versions {
		stated = v
	}
	for i := range d.Stages {
		if err := ctx.Err(); err != nil {
			return evidence.Outcome{}, err
		}
		if facts[i].Producer == "" && len(versions) == 1 {
			facts[i].Producer = stated
		}
		if err := sink.CompilerArtifacts.Put(d.row(&d.Stages[i], &facts[i])); err != nil {
			return evidence.Outcome{}, err
		}
	}
	switch len(versions) {
	case 0:
	case 1:
		out.Producer = stated
	default:
		list := make([]string, 0, len(versions))
		for v := range versions {
			list = append(list, v)
		}
		slices.Sort(list)
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: Versions, Text: fmt.Sprintf("the environment and the files say %d versions of %s: %s", len(list), d.Producer, names(list))})
	}
	if len(missing) > 0 {
		out.State = evidence.Partial
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: NotKept, Text: fmt.Sprintf("%d of %d files that the document lists are not among what was kept, so nothing is known of their targets: %s", len(missing), len(d.Stages), names(missing))})
	}
	if len(d.Stages) == 0 {
		out.State = evidence.Empty
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: NothingBuilt, Text: "the build left no file"})
		return out, nil
	}
	out.Limitations = append(out.Limitations, evidence.Limitation{Code: CompileOnly, Text: "that a kernel compiled does not say that it computes what it should; register \"kernelvalidation\" holds its outputs against a reference"})
	return out, nil
}

// facts reads what the file says. ok is false where it is not there.
func (s *Stage) facts(kept Kept, f *Facts) (ok bool, err error) {
	sum, err := digest.Parse(s.SHA256)
	if err != nil {
		return false, err
	}
	r, ok, err := kept(sum)
	if err != nil || !ok {
		return ok, err
	}
	defer r.Close()
	if s.Role == RoleReproducer {
		return true, nil
	}
	if *f, err = ReadFacts(s.Kind, r); err != nil {
		return false, fmt.Errorf("read %s: %w", s.Name, err)
	}
	return true, nil
}

func (d *Document) row(s *Stage, f *Facts) *evidence.CompilerArtifact {
	text := func(v string) *string {
		if v == "" {
			return nil
		}
		return &v
	}
	return &evidence.CompilerArtifact{
		Stage: s.Name, Ordinal: int64(s.Ordinal), Dump: s.Group, Kernel: s.Kernel, Kind: s.Kind, Predecessor: s.Predecessor, File: s.SHA256, Bytes: s.Bytes,
		Target: text(f.Target), PTXVersion: text(f.Language), DeclaredTarget: text(d.Target), Definition: d.Workload.Definition,
		Producer: d.Producer, ProducerVersion: text(f.Producer), Outcome: string(d.Outcome),
	}
}

// names are a few of a list, and how many more there are.
func names(list []string) string {
	more := ""
	if len(list) > mostNamedOfAKind {
		list, more = list[:mostNamedOfAKind], fmt.Sprintf(" and %d more", len(list)-mostNamedOfAKind)
	}
	text := ""
	for i, n := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", n)
	}
	return text + more
}
