package extract

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/program"
)

// printing is a payload that a program prints.
type printing struct {
	by   providers.Printer
	path string
}

// prints says whether a provider's version is that of a program that reads for it, and not what its validator found.
func prints(p providers.Provider) bool {
	_, ok := p.(providers.Printer)
	return ok
}

// printed is the payload that the program is needed for; nil where there is none.
func printed(pr providers.Printer, artifacts []providers.Artifact) *printing {
	for _, a := range artifacts {
		if pr.Prints(a) {
			return &printing{pr, a.Path}
		}
	}
	return nil
}

// RequireProgram makes sure that what a capture will leave can be read, before the capture costs anything: that the program which prints it is
// where the planned command argv is looked up, and says its version. The version is recorded with the capture, and is part of the keys of what is read
// from it, so those stand where the program is gone. Where it is not there the error is a *graph.BlockedError.
func RequireProgram(ctx context.Context, p *kind.Project, pr providers.Printer, prog *program.Program, argv []string) (version string, err error) {
	name, err := pr.Printing(argv, nil)
	if err != nil {
		return "", err
	}
	if token.Has(name) {
		return "", &graph.BlockedError{Why: token.Display(name) + " is made by another stage, so which version it has is not known before", Do: "name the program itself"}
	}
	at := place{program: name, path: prog.Host.Path, dir: filepath.Join(p.Root, filepath.FromSlash(prog.Dir))}
	return at.version(ctx, p, pr)
}

// version asks the program of a Printer which it is.
func (at place) version(ctx context.Context, p *kind.Project, pr providers.Printer) (string, error) {
	at.env = nil
	argv, read := pr.Asks(at.program)
	const question = "for its version"
	said, err := at.ask(ctx, p, question, argv)
	if err != nil {
		return "", err
	}
	version, err := read(said.stdout)
	if err != nil {
		return "", said.unusable(question, err)
	}
	return version, nil
}

// printed finds out which program prints the payload of a run. Of a capture the record says which version there was, so nothing is started, unless the
// extraction names another program; that and the program for an import are asked.
func (s *stage) printed(ctx context.Context, r *cache.Summary, pr providers.Printer, a *printing) (out reading, err error) {
	rec, err := r.Record()
	if err != nil {
		return out, err
	}
	name, err := pr.Printing(rec.Argv, s.options)
	if err != nil {
		return out, &graph.BlockedError{Why: err.Error()}
	}
	out = reading{printer: a, facet: facet.Facet{Name: facet.Executables}}
	if own, err := pr.Printing(rec.Argv, nil); err == nil && own == name && len(rec.Argv) > 0 {
		out.place, out.version = captured(rec, name), rec.Producer
	} else {
		out.place = place{program: name, path: s.project.Environ["PATH"], dir: filepath.Join(s.project.Root, filepath.FromSlash(s.project.Dir))}
	}
	if out.version == "" {
		if out.version, err = out.place.version(ctx, s.project, pr); err != nil {
			var blocked *graph.BlockedError
			if errors.As(err, &blocked) && blocked.Do == "" {
				blocked = &graph.BlockedError{Why: blocked.Why, Do: pr.Missing(name, "")}
				return out, blocked
			}
			return out, err
		}
	}
	out.facet.Add("program "+pr.Name(), out.version)
	return out, nil
}

// print lets the program run over a payload and sets in.Reading. version is the one that the key has. fail says why there is nothing to be read; err what
// flameox could not do.
func (at place) print(ctx context.Context, t *graph.Task, p *kind.Project, what *printing, options any, version string, in *providers.Input, budget evidence.Budget) (fail *cache.Note, err error) {
	for _, a := range in.Artifacts {
		if budget.InputBytes > 0 && a.Size > budget.InputBytes {
			return nil, nil // the provider refuses it, and says why
		}
	}
	pr := what.by
	now, err := at.version(ctx, p, pr)
	var blocked *graph.BlockedError
	if errors.As(err, &blocked) {
		return &cache.Note{Code: "reader_missing", Text: fmt.Sprintf("the program that reads for %s is not there (%s): %s", pr.Name(), blocked.Why, pr.Missing(at.program, version))}, nil
	}
	if err != nil {
		return nil, err
	}
	if version != "" && now != version {
		return &cache.Note{Code: "reader_version", Text: fmt.Sprintf("%s is of version %s now, and was of version %s when its payload was captured: %s", at.program, now, version, pr.Missing(at.program, version))}, nil
	}
	argv, err := pr.Print(at.program, options, what.path)
	if err != nil {
		return nil, err
	}
	exe, err := at.resolve(p)
	if err != nil {
		return nil, err
	}
	dir, err := readerFolder(t, pr)
	if err != nil {
		return nil, err
	}
	out, fail, err := at.spool(ctx, t, pr, exe, argv, dir, budget)
	if err != nil || fail != nil {
		return fail, err
	}
	out.Version = now
	in.Reading = out
	return nil, nil
}

// printAgain lets the program of a Printer run over what was just captured, in the place that the run had it from.
func printAgain(ctx context.Context, t *graph.Task, project *kind.Project, pr providers.Printer, rec *cache.Record, req *request) (*cache.Note, error) {
	what := printed(pr, req.Input.Artifacts)
	if what == nil {
		return nil, nil
	}
	name, err := pr.Printing(rec.Argv, nil)
	if err != nil {
		return nil, err
	}
	return captured(rec, name).print(ctx, t, project, what, nil, rec.Producer, &req.Input, req.Budget)
}
