package providers

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
)

// What captures of compilers share: they describe, validate and extract builds alike, and differ in how their compiler is told to keep what it makes.

// unexpectedExit is the reason of a build whose program ended otherwise than its workload declares.
const unexpectedExit = "unexpected_exit"

// Compiler is one of them.
type Compiler struct {
	Producer string // as documents name it: triton.compiler
	Library  string // the distribution that it is, normalized
	Kinds    []kernelbuild.Kind
}

// DescribeBuild makes the document of a run. target is what its user declares, "" where nothing is.
func DescribeBuild(run Left, c Compiler, target string, more []evidence.Limitation) (Document, error) {
	b := kernelbuild.Build{
		Producer: c.Producer, Version: run.Packages[c.Library], Target: target, Succeeded: run.Succeeded, Exit: run.Exit, Kinds: c.Kinds,
		Workload:    kernelbuild.Workload{Definition: run.Workload, Command: run.Command, Facets: run.Facets, Device: run.Device},
		Environment: map[string]string{},
	}
	for name, value := range run.Invocation.Env {
		b.Environment[name] = token.Display(value)
	}
	for _, a := range run.Outputs {
		if a.Role == kernelbuild.RoleOutput || a.Role == kernelbuild.RoleReproducer {
			b.Files = append(b.Files, kernelbuild.File{Name: a.Name, Role: a.Role, MediaType: a.MediaType, SHA256: a.Digest.String(), Bytes: a.Size})
		}
	}
	b.Limitations = append(append(b.Limitations, run.LeftOut...), more...)
	content, err := b.Document().Encode()
	if err != nil {
		return Document{}, err
	}
	return Document{Name: kernelbuild.Name, Role: kernelbuild.Role, MediaType: kernelbuild.MediaType, Content: content}, nil
}

// ValidateBuild accepts a build that succeeded. nothing says why one that left nothing may have, and what to do.
func ValidateBuild(ctx context.Context, in Input, nothing string) (Receipt, error) {
	var r Receipt
	doc, err := readBuild(ctx, in, evidence.DefaultBudget())
	var bad *Refusal
	if errors.As(err, &bad) {
		return Receipt{Reasons: []evidence.Limitation{bad.Limitation}}, nil
	}
	if err != nil {
		return r, err
	}
	if doc.Version != kernelbuild.Unknown {
		r.Producer = doc.Version
	}
	switch {
	case !in.ExitExpected():
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: unexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	case doc.Outcome == kernelbuild.Inconclusive:
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: kernelbuild.NothingBuilt, Text: "the build is inconclusive: the command ended as it should and left no file of the compiler's. " + nothing})
	case doc.Outcome == kernelbuild.Failed:
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: unexpectedExit, Text: "the document says that the build failed"})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// ExtractBuild fills compiler_artifacts.
func ExtractBuild(ctx context.Context, in Input, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	doc, err := readBuild(ctx, in, budget)
	if refused, ok := Refused(err, sink); ok {
		return refused, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	return doc.Rows(ctx, in.keptBy, budget, sink)
}

// keptBy opens what is kept under a digest.
func (in Input) keptBy(sum digest.Digest) (io.ReadCloser, bool, error) {
	for _, a := range in.Artifacts {
		if a.Digest == sum && a.Role != kernelbuild.Role {
			r, err := a.Open()
			return r, err == nil, err
		}
	}
	return nil, false, nil
}

// readBuild reads the document, and holds what is beside it against it.
func readBuild(ctx context.Context, in Input, budget evidence.Budget) (*kernelbuild.Document, error) {
	a, err := in.Find(kernelbuild.Role)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := ReadWhole(a, budget, 8)
	if err != nil {
		return nil, err
	}
	doc, err := kernelbuild.Parse(data)
	var wrong *kernelbuild.Error
	if errors.As(err, &wrong) {
		return nil, Refuse(wrong.Code, "%s", wrong.Text)
	}
	if err != nil {
		return nil, err
	}
	listed := map[string]string{}
	for _, s := range doc.Stages {
		listed[s.Name] = s.SHA256
	}
	for _, a := range in.Artifacts {
		if a.Role != kernelbuild.RoleOutput && a.Role != kernelbuild.RoleReproducer {
			continue
		}
		if sum, ok := listed[a.Name]; !ok || sum != a.Digest.String() {
			return nil, Refuse(kernelbuild.NotListed, "%s is beside the document, which does not list it with these bytes", a.Name)
		}
	}
	return doc, nil
}
