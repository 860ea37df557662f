package publish

import (
	"fmt"

	"github.com/flameox/flameox/evidence"
)

// A segment is merged with what comes after it while it is at most mergeFactor times as heavy, or lighter
// than mergeFloor, where the cost of a file outweighs that of its rows; never beyond maxSegment bytes. Rows
// weigh beside bytes because rewriting costs time by the row, however well the bytes compress.
const (
	mergeFactor = 3
	mergeFloor  = 32 << 10
	rowWeight   = 32
	maxSegment  = 256 << 20
)

// slice is a range of rows of an existing segment: whole parts, in order.
type slice struct {
	from, to int64
	parts    []partEntry
}

// item is what becomes one segment, or part of one: an existing segment with what is kept of it, or new parts.
type item struct {
	segment *segment // nil of new parts
	keep    []slice  // of a segment that loses parts; nil where all of it stays
	entries []partEntry
	fresh   []source
	bytes   int64 // estimated
	rows    int64 // of new parts unknown, 0
}

func (i *item) weight() int64 { return i.bytes + rowWeight*i.rows }

// whole says that the item is an existing segment that may be linked as it is.
func (i *item) whole() bool { return i.segment != nil && i.keep == nil }

// tablePlan is what happens to one table.
type tablePlan struct {
	def    *evidence.Table
	stays  []item   // of the old generation
	fresh  []source // that the old generation has not; which of them can be read is not known yet
	gone   bool     // something of the old generation is no longer desired
	set    set      // what the identity of the view changes by, the fresh ones left aside
	report Report
}

// groups says what the table's segments are made of: each group becomes one.
func (p *tablePlan) groups(sizes func(source) int64) [][]item {
	items := p.stays
	if len(p.fresh) > 0 {
		fresh := item{fresh: p.fresh}
		for _, s := range p.fresh {
			fresh.bytes += sizes(s)
		}
		items = append(items, fresh)
	}
	return group(items)
}

// planTable compares the desired parts with a table of the old generation. scope is the runs that desired
// speaks of; nil is all of them.
func planTable(g *Generation, def *evidence.Table, desired []source, scope map[string]bool) (*tablePlan, error) {
	p := &tablePlan{def: def}
	want := make(map[key]source, len(desired))
	for _, s := range desired {
		want[s.key] = s
	}
	if g != nil && g.m.table(def.Name) != nil {
		for i := range g.m.table(def.Name).Segments {
			seg := &g.m.table(def.Name).Segments[i]
			it, err := p.keep(g, seg, want, scope)
			if err != nil {
				return nil, &viewError{err}
			}
			if it != nil {
				p.stays = append(p.stays, *it)
			}
		}
	}
	for _, s := range desired {
		if _, still := want[s.key]; !still {
			continue
		}
		p.fresh = append(p.fresh, s)
	}
	return p, nil
}

// keep decides what stays of a segment, and removes from want what is there already. It returns nil where
// nothing stays.
func (p *tablePlan) keep(g *Generation, seg *segment, want map[key]source, scope map[string]bool) (*item, error) {
	it := &item{segment: seg, bytes: seg.Bytes, rows: seg.Rows}
	if !touches(seg, scope) {
		return it, nil
	}
	entries, err := g.parts(p.def.Name, seg)
	if err != nil {
		return nil, err
	}
	var keep []slice
	var row, kept int64
	lost := false
	for _, e := range entries {
		k := key{e.Run, e.Provider}
		stays := true
		if scope == nil || scope[e.Run] {
			w, wanted := want[k]
			switch {
			case wanted && w.digest == e.Digest:
				delete(want, k)
			case wanted:
				stays = false
				p.report.Superseded++
			default:
				stays = false
				p.report.Removed++
			}
		}
		if !stays {
			lost = true
			p.set.remove(member(p.def.Name, k, e.Digest))
		} else {
			if n := len(keep); n > 0 && keep[n-1].to == row {
				keep[n-1].to += e.Rows
				keep[n-1].parts = append(keep[n-1].parts, e)
			} else {
				keep = append(keep, slice{row, row + e.Rows, []partEntry{e}})
			}
			kept += e.Rows
		}
		row += e.Rows
	}
	if !lost {
		it.entries = entries
		return it, nil
	}
	p.gone = true
	if len(keep) == 0 {
		return nil, nil
	}
	it.keep = keep
	if seg.Rows > 0 {
		it.bytes, it.rows = seg.Bytes*kept/seg.Rows, kept
	}
	return it, nil
}

// touches says whether one of the runs can be in the segment.
func touches(seg *segment, scope map[string]bool) bool {
	if scope == nil {
		return true
	}
	for run := range scope {
		if run >= seg.First && run <= seg.Last {
			return true
		}
	}
	return false
}

// group merges from the end, where segments are small: weights fall by more than mergeFactor from one group to
// the next, so there are logarithmically many, and a row is rewritten only when what follows it has grown to
// a share of what precedes it.
func group(items []item) [][]item {
	moved := false
	for i := range items {
		moved = moved || !items[i].whole()
	}
	if !moved {
		// Nothing to write: merging waits until something is.
		out := make([][]item, 0, len(items))
		for _, it := range items {
			out = append(out, []item{it})
		}
		return out
	}
	var out [][]item
	for end := len(items); end > 0; {
		start := end - 1
		weight, size := items[start].weight(), items[start].bytes
		for start > 0 {
			prev := &items[start-1]
			if prev.weight() > max(mergeFactor*weight, mergeFloor) || prev.bytes+size > maxSegment {
				break
			}
			weight, size = weight+prev.weight(), size+prev.bytes
			start--
		}
		out = append([][]item{items[start:end]}, out...)
		end = start
	}
	return out
}

// viewError says that the published view itself cannot be read: it is rebuilt.
type viewError struct{ err error }

func (e *viewError) Error() string { return fmt.Sprintf("the published view: %v", e.err) }
func (e *viewError) Unwrap() error { return e.err }
