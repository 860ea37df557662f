package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
)

// Stricter is the higher of two levels; an empty one is internal.
func Stricter(a, b cache.Sensitivity) cache.Sensitivity {
	rank := map[cache.Sensitivity]int{cache.Public: 1, "": 2, cache.Internal: 2, cache.Sensitive: 3}
	if b != "" && rank[b] > rank[a] || a == "" {
		return b
	}
	return a
}

// inherit makes what stands on something sensitive sensitive. The other levels are each stage's own to say.
func (n *Node) inherit() {
	for _, d := range n.Upstream() {
		if d.Level == cache.Sensitive {
			n.Level = cache.Sensitive
		}
	}
}

// level is that of what n leaves now: a provider may have declared an artifact that n reads to be sensitive.
func (p *Planner) level(n *Node) cache.Sensitivity {
	for _, u := range n.needs {
		for _, r := range p.results.Of(u) {
			if IsSensitive(r.Outputs) {
				return cache.Sensitive
			}
		}
	}
	return n.Level
}

// roleNotes is the role of the notes of a sensitive run that left nothing else.
const roleNotes = "notes"

// mark gives what an attempt left its level. A run is as sensitive as its artifacts; one that is sensitive and left none gets its notes as an artifact,
// because they may quote what it read.
func (t *Task) mark(rec *cache.Record) error {
	if t.Level == cache.Sensitive {
		if err := keepNotes(t.Batch, rec); err != nil {
			return err
		}
	}
	for i := range rec.Outputs {
		rec.Outputs[i].Sensitivity = Stricter(rec.Outputs[i].Sensitivity, t.Level)
	}
	return nil
}

// keepNotes gives a record without artifacts its notes as one.
func keepNotes(b *cas.Batch, rec *cache.Record) error {
	if len(rec.Outputs) > 0 {
		return nil
	}
	var text strings.Builder
	for _, n := range slices.Concat(rec.Invalid, rec.Limitations) {
		fmt.Fprintf(&text, "%s: %s\n", n.Code, n.Text)
	}
	d, err := b.PutBytes([]byte(text.String()))
	if err != nil {
		return fmt.Errorf("keep the notes of a sensitive run: %w", err)
	}
	rec.Outputs = []cache.Output{{Name: "notes.txt", Role: roleNotes, MediaType: "text/plain; charset=utf-8", Digest: d, Size: int64(text.Len())}}
	return nil
}

// classify raises the level of what was kept at the addresses of nodes that have become sensitive since.
func (a *applier) classify() error {
	for _, n := range a.g.Nodes {
		if n.Level == cache.Sensitive && n.Stage != nil {
			if err := a.store.raise(a.store.At(n.Address)); err != nil {
				return err
			}
		}
	}
	return nil
}

// raise makes runs sensitive. No level is ever lowered: what has left the machine cannot be taken back, so what is sensitive stays so until it is deleted.
func (s *Store) raise(runs []*cache.Summary) error {
	var raised []*cache.Record
	b := s.CAS.NewBatch()
	defer b.Discard()
	for _, r := range runs {
		if IsSensitive(r.Outputs) {
			continue
		}
		rec, err := r.Record()
		if err != nil {
			return fmt.Errorf("mark run %s as sensitive: %w", r.Run, err)
		}
		if err := keepNotes(b, rec); err != nil {
			return err
		}
		for i := range rec.Outputs {
			rec.Outputs[i].Sensitivity = cache.Sensitive
		}
		rec.Revision++
		raised = append(raised, rec)
	}
	if len(raised) == 0 {
		return nil
	}
	if err := b.Sync(); err != nil {
		return fmt.Errorf("mark runs as sensitive: %w", err)
	}
	// Without the batch: what is lost of a run is no reason not to mark it.
	if err := s.Cache.Commit(nil, raised, nil); err != nil {
		return fmt.Errorf("mark runs as sensitive: %w", err)
	}
	return nil
}

// IsSensitive says whether any of the artifacts is sensitive. Then none of them is shown: they are of one run and say the same.
func IsSensitive(outputs []cache.Output) bool {
	for _, o := range outputs {
		if o.Sensitivity == cache.Sensitive {
			return true
		}
	}
	return false
}
