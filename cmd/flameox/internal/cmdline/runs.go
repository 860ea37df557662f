package cmdline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/stages/workspace"
)

// FindRun is the run that s names: a run id, a unique prefix of one, or an address, which means its newest run. A stage that was never
// run under its address, because an equal one was or because it was renamed, is named by the result that stands for it.
func FindRun(c *cli.Context, w *workspace.Workspace, s string) (*cache.Record, error) {
	if s == "" {
		return nil, errors.New("the name of the run is empty; give a run or an address, `flameox runs` lists them")
	}
	if a, err := address.Parse(s); err == nil {
		if at := w.Store.At(a); len(at) > 0 {
			return at[len(at)-1].Record()
		}
	}
	sum, err := w.Store.Cache.Run(s)
	if err == nil {
		return sum.Record()
	}
	var ambiguous *cache.AmbiguousError
	if errors.As(err, &ambiguous) {
		return nil, err
	}
	if r := standsFor(c, w, s); r != nil {
		return r.Record()
	}
	matches, err := RunsAt(w.Store, s)
	if err != nil {
		return nil, err
	}
	// Another experiment of the repository may have the same addresses: its runs are not meant.
	matches = slices.DeleteFunc(slices.Clone(matches), func(r *cache.Summary) bool { return r.Experiment != w.Store.Experiment })
	var known, instances []string
	for _, r := range w.Store.Cache.All() {
		if a, err := address.Parse(r.Address); err == nil && r.Experiment == w.Store.Experiment && !slices.Contains(known, a.Block) {
			known = append(known, a.Block)
		}
	}
	for _, r := range matches {
		if !slices.Contains(instances, r.Address) {
			instances = append(instances, r.Address)
		}
	}
	switch {
	case len(instances) == 1:
		return matches[len(matches)-1].Record()
	case len(instances) > 1:
		text := ""
		for _, i := range instances[:min(5, len(instances))] {
			text += "\n  " + i
		}
		if more := len(instances) - 5; more > 0 {
			text += fmt.Sprintf("\n  (%d more)", more)
		}
		return nil, fmt.Errorf("%s has runs of %d instances; name one:%s", s, len(instances), text)
	}
	if best := suggest.Nearest(s, known); best != "" && best != s {
		return nil, fmt.Errorf("no run and no stage with runs is called %q. Did you mean %s?", s, best)
	}
	return nil, fmt.Errorf("no run and no stage with runs is called %q; `flameox runs` lists them", s)
}

// standsFor is the newest of the results that stand now for the stage at an address; nil where there is none, or where the configuration
// cannot be read, which readers do not depend on.
func standsFor(c *cli.Context, w *workspace.Workspace, s string) *cache.Summary {
	if _, err := address.Parse(s); err != nil {
		return nil
	}
	loaded, diags := w.Load()
	if diags.HasErrors() {
		return nil
	}
	n, err := loaded.Graph.Find(s)
	if err != nil || n.Stage == nil {
		return nil
	}
	planner, err := graph.NewPlanner(w.Store, loaded.Graph, graph.Selection{})
	if err != nil {
		return nil
	}
	x, err := planner.Why(c.Context, loaded.Graph, n, "")
	if err != nil || len(x.Decision.Records) == 0 {
		return nil
	}
	return x.Decision.Records[len(x.Decision.Records)-1]
}

// RunsAt are the runs of every instance that a pattern selects, oldest first; all runs for "".
func RunsAt(s *graph.Store, pattern string) ([]*cache.Summary, error) {
	all := s.Cache.All()
	if pattern == "" {
		return all, nil
	}
	p, err := address.ParsePattern(pattern)
	if err != nil {
		return nil, err
	}
	var out []*cache.Summary
	for _, r := range all {
		if a, err := address.Parse(r.Address); err == nil && p.Match(a) {
			out = append(out, r)
		}
	}
	return out, nil
}
