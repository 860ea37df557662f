package runner

import (
	"context"
	"slices"

	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/facts"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/source"
)

// Warnings of a result's quality that the runner gives.
const (
	DirtySubject      = "dirty-subject-tree"
	DirtyBenchmark    = "dirty-benchmark-tree"
	CollectorFailed   = "collector-failed"
	CollectorMismatch = "collector-mismatch"
	StaleBuild        = "stale-build"
	NonzeroExit       = "nonzero-exit"
)

// surroundings are the facts that all cases of an order share.
type surroundings struct {
	identity, system, metadata map[string]any
	configuration              map[string]any // of the subject
	info                       map[string]any
	sources                    map[string]any // of facts, by their pointer in a result
	warnings                   []string
	collected                  []collected
}

// collected is what a collector printed.
type collected struct {
	name   string
	output []byte
}

func (s *surroundings) warn(w string) {
	if !slices.Contains(s.warnings, w) {
		s.warnings = append(s.warnings, w)
	}
}

// note keeps the text behind a warning about a collector.
func (s *surroundings) note(name, text string) {
	notes, _ := s.info["collectors"].(map[string]any)
	if notes == nil {
		notes = map[string]any{}
	}
	notes[name] = text
	s.info["collectors"] = notes
}

const systemAt = "/coordinates/environment/system/"

func (p *prepared) surround(ctx context.Context) error {
	s := &surroundings{info: map[string]any{}, sources: map[string]any{}}
	p.context = s
	s.identity, s.system, s.metadata = facts.Machine()
	for name := range s.identity {
		s.sources["/coordinates/environment/identity/"+name] = "detected"
	}
	for name := range s.system {
		s.sources[systemAt+name] = "detected"
	}
	if p.subject.State == source.Dirty {
		s.warn(DirtySubject)
	}
	if p.benchmark.State == source.Dirty {
		s.warn(DirtyBenchmark)
	}
	if p.about.TargetKind == "build" {
		if err := p.surroundBuild(ctx); err != nil {
			return err
		}
	}
	setup, err := facts.Setup(p.opts.environ(), p.place.Path, p.subject.Root)
	switch {
	case err != nil:
		s.warn(CollectorFailed)
		s.note("setup", err.Error())
	case setup != nil:
		s.system["setup"] = setup
		s.sources[systemAt+"setup"] = "declared"
	}
	for _, name := range document.Keys(p.collectors()) {
		c, _ := p.collectors()[name].(map[string]any)
		if err := p.collect(ctx, name, c); err != nil {
			return err
		}
	}
	return nil
}

func (p *prepared) surroundBuild(ctx context.Context) error {
	s := p.context
	// What such a program has is what it is given; the processes of other harnesses say themselves what they had.
	if set := facts.Environment(p.place.Env, p.recorded); len(set) > 0 {
		s.system["process.environment"] = set
		s.sources[systemAt+"process.environment"] = "runner"
	}
	c, err := facts.ReadCMake(p.place.Path)
	if err != nil {
		return harness.Refuse("target.path", "%v", err)
	}
	if s.configuration = c.Configuration; len(c.Configuration) > 0 {
		s.sources["/coordinates/subject/configuration"] = "cmake"
	}
	if newer := facts.Newer(ctx, p.subject.Root, p.runnable.Program); newer != "" {
		s.warn(StaleBuild)
		s.info["stale_build"] = map[string]any{"newer_source": newer}
	}
	return nil
}
