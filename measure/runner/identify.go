package runner

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/source"
)

// identify says what is measured.
func (p *prepared) identify(ctx context.Context) error {
	dir, _ := document.At(p.order, "target", "source_dir").(string)
	if dir == "" {
		dir = p.place.Path
		if p.about.TargetKind == "build" {
			c, err := facts.ReadCMake(p.place.Path)
			if err != nil {
				return harness.Refuse("target.source_dir", "%v", err)
			}
			if dir = c.Home; dir == "" {
				return harness.Refuse("target.source_dir", "the build directory %s does not say which checkout it was built from (no CMakeCache.txt names one), and a result must say its revision; name the checkout", p.place.Path)
			}
		}
	}
	id, err := source.Identify(ctx, dir, p.opts.Exclude...)
	switch {
	case errors.Is(err, source.ErrNoCommit):
		return harness.Refuse("target.source_dir", "%v", err)
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return harness.Refuse("target.source_dir", "the checkout %s cannot be identified: %v", dir, err)
	case id.Type != "git" && p.about.TargetKind == "build":
		return harness.Refuse("target.source_dir", "the sources %s of the build are in no git repository, so the result would have no revision", dir)
	}
	p.subject = id
	p.uri, _ = document.At(p.order, "target", "source", "uri").(string)
	p.uri = document.SourceURI(p.uri, id.Root)
	return p.identifyBenchmark(ctx)
}

// identifyBenchmark says whose the benchmarks are: the subject's, unless they are a file outside of its checkout.
func (p *prepared) identifyBenchmark(ctx context.Context) error {
	p.benchmark = suiteOf{Identity: p.subject}
	declared, there := p.order["benchmark"].(map[string]any)
	if !p.about.SuiteIsFile {
		return nil
	}
	file, err := filepath.EvalSymlinks(p.runnable.Program)
	if err != nil {
		return harness.Refuse("suites.suite", "the suite %s cannot be read: %v", p.runnable.Program, plain(err))
	}
	if rel, err := filepath.Rel(p.subject.Root, file); err == nil && filepath.IsLocal(rel) {
		if there {
			return harness.Refuse("benchmark", "the suite %s is part of the measured checkout %s, and the order says that it comes from elsewhere; leave benchmark out", p.place.Suite, p.subject.Root)
		}
		return nil
	}
	id, err := source.File(ctx, file)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return harness.Refuse("suites.suite", "%v", err)
	}
	p.benchmark = suiteOf{Identity: id, apart: true}
	if !there {
		return nil
	}
	if revision, _ := declared["revision"].(string); revision != id.Revision {
		found := "at " + id.Revision
		if id.Revision == "" {
			found = "in no repository"
		}
		return harness.Refuse("benchmark.revision", "the order wants the suite %s at %s, and it is %s", p.place.Suite, revision, found)
	}
	uri, _ := document.At(declared, "source", "uri").(string)
	p.benchmark.URI = document.SourceURI(uri, id.Root)
	p.benchmark.Type, _ = document.At(declared, "source", "type").(string)
	return nil
}
