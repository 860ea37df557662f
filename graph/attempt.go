package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/selftrace"
)

// attempt makes one attempt and commits its record, whatever became of it. The last one of a node gives up the node's slot before it is committed: syncs
// wait for the disk, and what the next node does meanwhile is then committed together with others. A node that has the machine for
// itself keeps it until all is written.
func (a *applier) attempt(ctx context.Context, n *Node, action *Action, s slot, attempt int, last bool) (*cache.Record, error) {
	trace := selftrace.From(ctx)
	defer selftrace.About(trace, "attempt", n.Address).End()
	t, err := a.store.newTask(n, attempt)
	if err != nil {
		return nil, err
	}
	defer t.close()
	rec, err := t.perform(ctx, action, s)
	if err != nil {
		return nil, err
	}
	var links []cache.Link
	if action.For != "" && rec.Valid() {
		links = append(links, cache.Link{Run: action.For, Provider: action.Provider, Extraction: rec.Run})
	}
	if last && !n.Exclusive {
		a.done <- &outcome{node: n, keeps: true}
	}
	defer trace.Begin("commit", "").End()
	return rec, t.commit(rec, links)
}

// perform runs an action and returns the whole record of what came of it.
func (t *Task) perform(ctx context.Context, action *Action, s slot) (*cache.Record, error) {
	n := t.Node
	t.Level = s.level
	host, source := t.Store.Host(), t.Store.Source()
	started := t.Store.Now()
	begin := time.Now()
	var beside *lock.Watch
	if n.Exclusive {
		beside = lock.WatchReaders()
	}
	rec, err := action.Run(ctx, t)
	readers := overlaps(beside.End())
	if err != nil {
		return nil, err
	}
	rec.Run, rec.Revision = t.Run, 1
	rec.Experiment = t.Store.Experiment
	rec.Address, rec.Block, rec.Axes = n.Address.String(), n.Address.Block, n.Address.Axes
	rec.Kind, rec.Nature = n.Kind, string(n.Nature)
	rec.Key, rec.Generation, rec.Attempt = s.key, s.generation, t.Attempt
	rec.Action = facet.Attempt(s.key, s.generation, t.Attempt)
	rec.Manifest = action.Manifest
	rec.Host, rec.Source, rec.Version, rec.Labels = host, source, t.Store.Version, n.Labels
	if rec.Started.IsZero() {
		rec.Started = started.UTC()
	}
	if rec.WallNS == 0 {
		rec.WallNS = time.Since(begin).Nanoseconds()
	}
	rec.Limitations = append(rec.Limitations, readers...)
	return rec, t.mark(rec)
}

// commit keeps a record with the blobs of the attempt.
func (t *Task) commit(rec *cache.Record, links []cache.Link) error {
	if err := t.Store.Cache.Commit(t.Batch, []*cache.Record{rec}, links); err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	return nil
}
