package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
)

// Options say what to collect.
type Options struct {
	Now          time.Time
	Keep         time.Duration   // runs younger than that keep everything
	Measurements bool            // also what cannot be made again
	Current      map[string]bool // runs that stand for a stage of a configuration
}

// Report is what a collection moves, or would move.
type Report struct {
	Format      int            `json:"format"`          // 1
	Applied     bool           `json:"applied"`         // it was moved
	Trash       string         `json:"trash,omitempty"` // name of the trash it was moved to
	Keep        string         `json:"keep"`            // how old a run has to be
	Runs        []Run          `json:"runs"`            // that give up artifacts
	Kept        map[Reason]int `json:"kept"`            // runs that keep theirs, by the first reason
	Blobs       int            `json:"blobs"`           // that go
	Bytes       int64          `json:"bytes"`           // of them
	Orphans     int            `json:"orphans"`         // of them, those that no record refers to
	OrphanBytes int64          `json:"orphan_bytes"`    // of those
	Left        string         `json:"left,omitempty"`  // why blobs without a record are left where they are
	Waiting     int            `json:"trash_blobs"`     // blobs in the trash, without those of this report
	WaitBytes   int64          `json:"trash_bytes"`     // of them
	Built       []Built        `json:"built"`           // environments, tools and parts of downloads that are deleted: they can be made again
	BuiltBytes  int64          `json:"built_bytes"`     // of them
	trees       []digest.Digest
	moves       []Moved
}

// Plan finds what nothing needs. It changes nothing, and takes no lock.
func Plan(store *cas.Store, recs *cache.Records, o Options) (*Report, error) {
	pins, err := Pins(store.FS(), store.Dir())
	if err != nil {
		return nil, err
	}
	trashes, err := Trashes(store.FS(), store.Dir())
	if err != nil {
		return nil, err
	}
	if err := recs.Refresh(); err != nil {
		return nil, err
	}
	r := &Report{Format: 1, Keep: o.Keep.String(), Runs: []Run{}, Kept: map[Reason]int{}}
	for _, j := range trashes {
		r.Waiting += len(j.Blobs)
		r.WaitBytes += j.Bytes()
	}
	if r.Left, err = journalDoubt(recs); err != nil {
		return nil, err
	}
	kept := keep(recs, &o, pins)
	if r.Built, err = built(store, recs, kept, &o); err != nil {
		return nil, err
	}
	if r.Built == nil {
		r.Built = []Built{}
	}
	for _, b := range r.Built {
		r.BuiltBytes += b.Bytes
	}
	m := &marker{store: store, trees: map[digest.Digest][]digest.Digest{}}
	needed := map[digest.Digest]bool{}
	var going []*cache.Summary
	for _, s := range recs.All() {
		if kept[s.Run] == "" {
			going = append(going, s)
			continue
		}
		r.Kept[kept[s.Run]]++
		list, err := m.blobs(s)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			needed[d] = true
		}
	}
	there := map[digest.Digest]int64{}
	err = store.Walk(func(b cas.Blob) error {
		if !b.Digest.IsZero() {
			there[b.Digest] = b.Size
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	owned := map[digest.Digest]bool{}
	for _, s := range going {
		if err := r.give(m, s, needed, there, owned); err != nil {
			return nil, err
		}
	}
	for d, size := range there {
		if owned[d] || needed[d] || r.Left != "" {
			continue
		}
		r.Orphans++
		r.OrphanBytes += size
		r.add(d, size)
	}
	slices.SortFunc(r.moves, func(a, b Moved) int { return slices.Compare(a.Digest[:], b.Digest[:]) })
	return r, nil
}

func (r *Report) add(d digest.Digest, size int64) {
	r.moves = append(r.moves, Moved{Digest: d, Size: size})
	r.Blobs++
	r.Bytes += size
}

// give is what one run gives up: the blobs that are there and that no run that is kept needs. A blob of several such runs counts for each of them,
// and once in the sum.
func (r *Report) give(m *marker, s *cache.Summary, needed map[digest.Digest]bool, there map[digest.Digest]int64, owned map[digest.Digest]bool) error {
	list, err := m.blobs(s)
	if err != nil {
		return err
	}
	run := Run{Run: s.Run, Address: s.Address, Kind: s.Kind, Started: s.Started, Why: "older than " + r.Keep + ", not pinned, and no configuration stands on it"}
	seen := map[digest.Digest]bool{}
	for _, d := range list {
		size, ok := there[d]
		if !ok || needed[d] || seen[d] {
			continue
		}
		seen[d] = true
		run.Blobs++
		run.Bytes += size
		if _, isTree := m.trees[d]; isTree {
			r.trees = append(r.trees, d)
		}
		if !owned[d] {
			owned[d] = true
			r.add(d, size)
		}
	}
	if run.Blobs > 0 {
		r.Runs = append(r.Runs, run)
	}
	return nil
}

// journalDoubt says why a blob without a record may still be evidence; "" where it may not.
func journalDoubt(recs *cache.Records) (string, error) {
	problems, err := recs.CheckJournal()
	if err != nil {
		return "", err
	}
	for _, p := range problems {
		switch p.Kind {
		case cache.CorruptFrame, cache.MissingSegment:
			return "the journal is damaged, and what was recorded there may be what they belong to", nil
		case cache.UnknownFrame:
			return "the journal has frames of a newer flameox, which may refer to them", nil
		}
	}
	return "", nil
}

// Apply moves what Plan finds to a new trash. The caller holds the apply lock of the workspace, so that no record is about to be
// committed; Apply itself keeps writers of blobs away. An error in between leaves a trash that Restore brings back.
func Apply(store *cas.Store, recs *cache.Records, o Options) (*Report, error) {
	unlock, err := lockBlobs(store)
	if err != nil {
		return nil, err
	}
	defer unlock()
	pins, err := LockPins(store.FS(), store.Dir()) // who pins a run now waits, and is told that its artifacts are gone
	if err != nil {
		return nil, err
	}
	defer pins.Close()
	r, err := Plan(store, recs, o)
	if err != nil {
		return r, err
	}
	gone, err := raze(store, r.Built)
	r.Built, r.BuiltBytes = append([]Built{}, gone...), 0
	for _, b := range gone {
		r.BuiltBytes += b.Bytes
	}
	if err != nil || r.Blobs == 0 {
		r.Applied = len(gone) > 0
		return r, err
	}
	fsys, dir := store.FS(), store.Dir()
	id, err := newTrash(fsys, dir, o.Now)
	if err != nil {
		return r, err
	}
	j := &Journal{Format: trashFormat, ID: id, Created: o.Now.UTC(), Runs: r.Runs, Blobs: r.moves, Kept: r.Keep, Asked: o.Measurements}
	if err := j.write(fsys, dir); err != nil {
		return r, err
	}
	r.Trash = id
	failed := func(err error) (*Report, error) {
		return r, fmt.Errorf("move artifacts to the trash: %w; `flameox restore %s` brings back what was moved", err, id)
	}
	// A laid-out copy of a tree whose blobs go would be a riddle.
	laid, err := store.LaidOut()
	if err != nil {
		return failed(err)
	}
	for _, root := range laid {
		if slices.Contains(r.trees, root) {
			if err := store.DropTree(root); err != nil {
				return failed(err)
			}
		}
	}
	to := filepath.Join(trashDir(dir), id)
	m := newMover(fsys)
	for _, b := range r.moves {
		if err := m.move(store.Path(b.Digest), blobPath(to, b.Digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(err)
		}
	}
	if err := m.sync(); err != nil {
		return failed(err)
	}
	r.Applied = true
	return r, nil
}
