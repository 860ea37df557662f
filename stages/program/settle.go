package program

import (
	"context"
	"path/filepath"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/stages/environment/managed"
)

// settle makes the tools and the environment stand that the program needs, and says what to start. place is nil where nothing has to stand. An environment
// that cannot be made leaves a record that is not valid.
func (p *Prepared) settle(ctx context.Context, t *graph.Task, rec *cache.Record) (place *managed.Place, start *broker.Executable, err error) {
	for _, f := range p.tools {
		notes, err := f.Ready(ctx, t)
		if err != nil {
			unsettled(ctx, rec, "tool", err)
			return nil, nil, nil
		}
		rec.Limitations = append(rec.Limitations, notes...)
	}
	if p.runtime == nil {
		return nil, p.start, nil
	}
	place, err = p.program.Host.Runtime.Ready(ctx, t, p.runtime)
	if err != nil {
		unsettled(ctx, rec, "environment", err)
		return nil, nil, nil
	}
	rec.Limitations = append(rec.Limitations, place.Notes...)
	if p.own == "" {
		return place, p.start, nil
	}
	// The key was made of the base interpreter; what starts is the environment's link to it.
	dir := filepath.Join(p.program.project.Root, filepath.FromSlash(p.program.Dir))
	start, err = broker.Resolve(broker.Env{Path: p.program.Host.Path, Dir: dir, Digest: p.program.digestFile}, place.Programs[p.own])
	if err != nil {
		rec.Fail("environment", err.Error())
		return nil, nil, nil
	}
	for i, link := range start.Chain {
		if i >= len(p.exe.Chain) || link.Digest != p.exe.Chain[i].Digest {
			return nil, nil, &graph.MovedError{What: link.Real}
		}
	}
	return place, start, nil
}

// unsettled makes the record invalid because what the program needs could not be had.
func unsettled(ctx context.Context, rec *cache.Record, what string, err error) {
	if ctx.Err() != nil {
		rec.Execution = cache.ExecutionCancelled
		rec.Fail("cancelled", "flameox was interrupted while the "+what+" was made ready")
		return
	}
	rec.Fail(what, err.Error())
}
