package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
)

// attempt makes one attempt and commits its record, whatever became of it.
func (a *applier) attempt(ctx context.Context, n *Node, action *Action, s slot, attempt int) (*cache.Record, error) {
	t, err := a.store.newTask(n, attempt)
	if err != nil {
		return nil, err
	}
	defer t.close()
	host, source := a.store.Host(), a.store.Source()
	started := a.store.Now()
	begin := time.Now()
	rec, err := action.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	rec.Run, rec.Revision = t.Run, 1
	rec.Experiment = a.store.Experiment
	rec.Address, rec.Block, rec.Axes = n.Address.String(), n.Address.Block, n.Address.Axes
	rec.Kind, rec.Nature = n.Kind, string(n.Nature)
	rec.Key, rec.Generation, rec.Attempt = s.key, s.generation, attempt
	rec.Action = facet.Attempt(s.key, s.generation, attempt)
	rec.Manifest = action.Manifest
	rec.Host, rec.Source, rec.Version, rec.Labels = host, source, a.store.Version, n.Labels
	if rec.Started.IsZero() {
		rec.Started = started.UTC()
	}
	if rec.WallNS == 0 {
		rec.WallNS = time.Since(begin).Nanoseconds()
	}
	if n.Exclusive {
		rec.Limitations = append(rec.Limitations, a.store.overlaps(started)...)
	}
	for i := range rec.Outputs {
		rec.Outputs[i].Sensitivity = Stricter(rec.Outputs[i].Sensitivity, n.Level)
	}
	var links []cache.Link
	if action.For != "" && rec.Valid() {
		links = append(links, cache.Link{Run: action.For, Provider: action.Provider, Extraction: rec.Run})
	}
	if err := a.store.Cache.Commit(t.Batch, []*cache.Record{rec}, links); err != nil {
		return nil, fmt.Errorf("keep the result: %w", err)
	}
	return rec, nil
}

// Stricter is the higher of two levels; an empty one is internal.
func Stricter(a, b cache.Sensitivity) cache.Sensitivity {
	rank := map[cache.Sensitivity]int{cache.Public: 1, "": 2, cache.Internal: 2, cache.Sensitive: 3}
	if b != "" && rank[b] > rank[a] || a == "" {
		return b
	}
	return a
}
