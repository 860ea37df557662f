package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/stages/workspace"
)

// standing are the runs that stand for the stages of this configuration now, and what it may come back to: of a stage whose results are not known before
// another has run, and of every stage of another experiment, those under the newest key that was valid.
func standing(ctx context.Context, w *workspace.Workspace, g *graph.Graph) (map[string]bool, error) {
	planner, err := graph.NewPlanner(w.Store, g, graph.Selection{})
	if err != nil {
		return nil, err
	}
	plan, err := planner.Plan(ctx, g)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	keep := func(runs []*cache.Summary) {
		for _, r := range runs {
			out[r.Run] = true
		}
	}
	for _, d := range plan.Decisions {
		keep(d.Records)
		if d.State != graph.Cached {
			keep(lastKnown(w.Store.At(d.Node.Address)))
		}
	}
	type place struct{ experiment, address string }
	elsewhere := map[place][]*cache.Summary{}
	for _, r := range w.Store.Cache.All() {
		if r.Experiment != w.Store.Experiment {
			p := place{r.Experiment, r.Address}
			elsewhere[p] = append(elsewhere[p], r)
		}
	}
	for _, runs := range elsewhere {
		keep(lastKnown(runs))
	}
	return out, nil
}

// lastKnown are the valid runs with the key of the newest of them, oldest first.
func lastKnown(runs []*cache.Summary) (out []*cache.Summary) {
	var last *cache.Summary
	for _, r := range runs {
		if r.Valid() {
			last = r
		}
	}
	for _, r := range runs {
		if last != nil && r.Valid() && r.Key == last.Key {
			out = append(out, r)
		}
	}
	return out
}

// chosen are the runs that names mean: runs, beginnings of runs, or addresses, which mean what stands for each instance that they select.
// Where nothing stands because the stage is stale, they mean its newest valid run.
func chosen(ctx context.Context, w *workspace.Workspace, names []string) ([]*cache.Summary, error) {
	var out []*cache.Summary
	seen := map[string]bool{}
	add := func(runs []*cache.Summary) {
		for _, r := range runs {
			if !seen[r.Run] {
				seen[r.Run] = true
				out = append(out, r)
			}
		}
	}
	var plan *graph.Plan
	for _, name := range names {
		run, err := w.Store.Cache.Run(name)
		var ambiguous *cache.AmbiguousError
		switch {
		case err == nil:
			add([]*cache.Summary{run})
			continue
		case errors.As(err, &ambiguous):
			return nil, err
		}
		p, err := address.ParsePattern(name)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a run nor an address: %w; `flameox runs` lists both", name, err)
		}
		if plan == nil {
			plan = planned(ctx, w)
		}
		found := at(w, plan, p)
		if len(found) == 0 {
			return nil, fmt.Errorf("no run and no stage with a valid run is called %s; `flameox runs` lists them", name)
		}
		add(found)
	}
	return out, nil
}

// planned is the plan of the configuration, empty where it cannot be read: runs can be named all the same.
func planned(ctx context.Context, w *workspace.Workspace) *graph.Plan {
	loaded, diags := w.Load()
	if diags.HasErrors() {
		return &graph.Plan{}
	}
	planner, err := graph.NewPlanner(w.Store, loaded.Graph, graph.Selection{})
	if err != nil {
		return &graph.Plan{}
	}
	plan, err := planner.Plan(ctx, loaded.Graph)
	if err != nil {
		return &graph.Plan{}
	}
	return plan
}

func at(w *workspace.Workspace, plan *graph.Plan, p address.Pattern) (out []*cache.Summary) {
	decided := map[string]bool{}
	for _, d := range plan.Decisions {
		if p.Match(d.Node.Address) && len(d.Records) > 0 {
			decided[d.Node.Address.String()] = true
			out = append(out, d.Records...)
		}
	}
	byAddress := map[string][]*cache.Summary{}
	var order []string
	for _, r := range w.Store.Cache.All() {
		a, err := address.Parse(r.Address)
		if err != nil || r.Experiment != w.Store.Experiment || !r.Valid() || decided[a.String()] || !p.Match(a) {
			continue
		}
		if byAddress[r.Address] == nil {
			order = append(order, r.Address)
		}
		byAddress[r.Address] = append(byAddress[r.Address], r)
	}
	for _, a := range order {
		out = append(out, lastKnown(byAddress[a])...)
	}
	return out
}
