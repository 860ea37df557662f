package extract

import (
	"context"
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// Validate lets the provider look at the payloads that were just put into the store, never at the mutable files that they came
// from, and adds what it finds to the record. The provider runs in a worker process: whatever a payload does to its reader,
// the attempt is kept and says so. Of a Reader rec.Producer is the version of the library that the run had. A provider that is no Validator accepts everything. An error is flameox's own failure.
func Validate(ctx context.Context, t *graph.Task, project *kind.Project, p providers.Provider, rec *cache.Record, expectExit []int) error {
	return validate(ctx, t, project, p, rec, expectExit, evidence.DefaultBudget())
}

func validate(ctx context.Context, t *graph.Task, project *kind.Project, p providers.Provider, rec *cache.Record, expectExit []int, budget evidence.Budget) error {
	if _, ok := p.(providers.Validator); !ok || !rec.Valid() {
		return nil
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("keep the artifacts: %w", err)
	}
	req := request{Job: jobValidate, Provider: p.Name(), Version: p.Version(), Input: providers.Input{ExpectExit: expectExit}, Budget: budget}
	req.Input.Artifacts, _ = program.Artifacts(t.Store, rec.Outputs)
	if rec.Exit != nil {
		req.Input.Exit = *rec.Exit
	}
	var res *response
	fail, err := readAgain(ctx, t, project, p, rec, &req)
	if err == nil && fail == nil {
		res, fail, err = ask(ctx, t, project.Self, &req)
	}
	if err != nil { // what was measured is not thrown away for a process that did not start
		fail = &cache.Note{Code: "validator", Text: err.Error()}
	}
	if fail != nil {
		rec.Validation = cache.ValidationError
		rec.Invalid = append(rec.Invalid, *fail)
		return nil
	}
	if v := res.Receipt.Producer; v != "" || !prints(p) {
		rec.Producer = v
	}
	rec.Limitations = append(rec.Limitations, notes(res.Receipt.Limitations)...)
	if !res.Receipt.Valid {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = append(rec.Invalid, notes(res.Receipt.Reasons)...)
	}
	return nil
}

// readAgain lets the reader of a Reader's payloads run, in the interpreter that the run had, or the program of a Printer's. An import has none: its validator sees the outside.
func readAgain(ctx context.Context, t *graph.Task, project *kind.Project, p providers.Provider, rec *cache.Record, req *request) (*cache.Note, error) {
	if len(rec.Argv) == 0 {
		return nil, nil
	}
	if pr, ok := p.(providers.Printer); ok {
		return printAgain(ctx, t, project, pr, rec, req)
	}
	r, ok := p.(providers.Reader)
	if !ok {
		return nil, nil
	}
	name, err := r.Interpreter(rec.Argv, nil)
	if err != nil {
		return nil, err
	}
	return captured(rec, name).read(ctx, t, project, r, req.Job, nil, rec.Producer, &req.Input, req.Budget)
}

func notes(ls []evidence.Limitation) (out []cache.Note) {
	for _, l := range ls {
		out = append(out, cache.Note{Code: l.Code, Text: strings.TrimSpace(l.Text)})
	}
	return out
}
