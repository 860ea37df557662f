package graph

import (
	"context"
	"fmt"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/lock"
)

// NotReproducible is the code of the note on a run that an audit made and that differs from the result it checked.
const NotReproducible = "not_reproducible"

// Audited is one pure result that was made again to see whether the same bytes come out.
type Audited struct {
	Was     *cache.Summary // the result that stands
	Again   *cache.Record  // the same made again; it is kept only where it differs or failed, and is never reused
	Changes []OutputChange // empty where the bytes are the same
}

// NoResultError says that a stage has no current result that an audit could check.
type NoResultError struct{ text string }

func (e *NoResultError) Error() string { return e.text }

// Same says that the same bytes came out.
func (a *Audited) Same() bool { return len(a.Changes) == 0 && a.Again.Valid() }

// OutputChange is an artifact of which the bytes differ. A zero digest says that one of the two has none of the name.
type OutputChange struct {
	Name string        `json:"name" doc:"of the artifact"`
	Was  digest.Digest `json:"was" doc:"its digest in the result that stands"`
	Now  digest.Digest `json:"now" doc:"its digest now"`
	tree bool          // both are trees
}

// Audit runs the actions of a pure node again, after Plan has found its results, and compares what they leave; ignore says which artifacts do not
// count, as logs do not. The results that stand stay. A run with other bytes is kept as one that is not valid. The caller holds the apply lock.
func (p *Planner) Audit(ctx context.Context, n *Node, ignore func(cache.Output) bool) ([]Audited, error) {
	d := p.by[n]
	switch {
	case n.Stage == nil:
		return nil, fmt.Errorf("%s only declares what others use: it has no result to audit", n.Address)
	case n.Nature != Pure:
		return nil, fmt.Errorf("%s measures: each run is a new observation, and equal bytes are not expected. Audit what is pure: builds, imports, extractions", n.Address)
	case d == nil || d.State == Excluded || !d.keyed && d.State != Blocked:
		return nil, &NoResultError{n.Address.String() + " has no current result to audit: something it stands on is stale. Run `flameox apply` first"}
	case d.State == Blocked:
		return nil, &NoResultError{fmt.Sprintf("%s has no current result to audit: %v", n.Address, d.Block)}
	case d.State != Cached:
		return nil, &NoResultError{n.Address.String() + " has no current result to audit. Run `flameox apply` first"}
	}
	l, err := lock.ShareMeasure(ctx, lock.Holder{Command: "flameox audit: " + n.Address.String()})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	var out []Audited
	for i, action := range d.actions {
		for _, was := range d.slots[i].records {
			a, err := p.auditOne(ctx, n, action, d.slots[i], was, ignore)
			if err != nil {
				return out, fmt.Errorf("audit %s: %w", n.Address, err)
			}
			out = append(out, *a)
		}
	}
	return out, nil
}

func (p *Planner) auditOne(ctx context.Context, n *Node, action *Action, s slot, was *cache.Summary, ignore func(cache.Output) bool) (*Audited, error) {
	t, err := p.store.newTask(n, s.next)
	if err != nil {
		return nil, err
	}
	defer t.close()
	rec, err := t.perform(ctx, action, s)
	if err != nil {
		return nil, err
	}
	a := &Audited{Was: was, Again: rec}
	if err := ctx.Err(); err != nil {
		return nil, err // we ended it: what it left says nothing
	}
	if rec.Valid() {
		a.Changes = outputChanges(was.Outputs, rec.Outputs, ignore)
	}
	if a.Same() {
		return a, nil
	}
	if rec.Valid() {
		rec.Validation = cache.ValidationFailed
		rec.Invalid = append(rec.Invalid, cache.Note{Code: NotReproducible, Text: fmt.Sprintf("an audit of run %s left other bytes from the same inputs", was.Run)})
	}
	if err := t.commit(rec, nil); err != nil {
		return nil, err
	}
	a.Changes, err = p.store.expand(a.Changes)
	return a, err
}

// expand says which files of a tree differ instead of naming the tree.
func (s *Store) expand(changes []OutputChange) (out []OutputChange, err error) {
	for _, ch := range changes {
		if !ch.tree {
			out = append(out, ch)
			continue
		}
		files, err := s.diffTrees(ch.Was, ch.Now)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			out = append(out, OutputChange{Name: f.Path, Was: f.Old, Now: f.New})
		}
	}
	return out, nil
}

// outputChanges are the artifacts that differ, in the order of the old ones, then what is new.
func outputChanges(old, now []cache.Output, ignore func(cache.Output) bool) (out []OutputChange) {
	later := map[string]cache.Output{}
	for _, o := range now {
		later[o.Name] = o
	}
	for _, o := range old {
		n := later[o.Name]
		delete(later, o.Name)
		if !ignore(o) && o.Digest != n.Digest {
			out = append(out, OutputChange{Name: o.Name, Was: o.Digest, Now: n.Digest, tree: o.Tree && n.Tree})
		}
	}
	for _, o := range now {
		if _, added := later[o.Name]; added && !ignore(o) {
			out = append(out, OutputChange{Name: o.Name, Now: o.Digest})
		}
	}
	return out
}
