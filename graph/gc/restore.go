package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Restored is what came back from the trash.
type Restored struct {
	Format  int             `json:"format"`  // 1
	Trashes []string        `json:"trashes"` // that are gone, because all of theirs is back
	Runs    []string        `json:"runs"`    // that have their artifacts again
	Blobs   int             `json:"blobs"`   // that came back
	Bytes   int64           `json:"bytes"`   // of them
	Missing []digest.Digest `json:"missing"` // that are neither in the trash nor in the store
	Damaged []digest.Digest `json:"damaged"` // that do not hold what their name says; they stay in the trash
}

// Lost says whether anything could not be brought back.
func (r *Restored) Lost() bool { return len(r.Missing)+len(r.Damaged) > 0 }

func newRestored() *Restored {
	return &Restored{Format: 1, Trashes: []string{}, Runs: []string{}, Missing: []digest.Digest{}, Damaged: []digest.Digest{}}
}

// Restore brings back everything that is in the trashes with the given names, all of them for nil. The caller holds the apply lock.
func Restore(store *cas.Store, ids []string) (*Restored, error) {
	unlock, err := lockBlobs(store)
	if err != nil {
		return nil, err
	}
	defer unlock()
	fsys, dir := store.FS(), store.Dir()
	list, err := Trashes(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(list, func(j *Journal) bool { return j.ID == id })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no trash called %s; `flameox gc` says what there is", id)
		case !list[i].Emptied.IsZero():
			return nil, fmt.Errorf("the trash %s was emptied on %s: what was in it is gone", id, list[i].Emptied.Format(time.DateTime))
		}
	}
	out := newRestored()
	for _, j := range list {
		if ids != nil && !slices.Contains(ids, j.ID) || !j.Emptied.IsZero() {
			continue
		}
		b := newBringer(store, out, j, list)
		for _, moved := range j.Blobs {
			if err := b.bring(moved.Digest); err != nil {
				return out, fmt.Errorf("bring back the trash %s: %w; repeat the command when that is repaired", j.ID, err)
			}
		}
		if err := b.m.sync(); err != nil {
			return out, cas.Explain("bring back the trash "+j.ID, err)
		}
		if b.left > 0 {
			continue
		}
		for _, r := range j.Runs {
			out.Runs = append(out.Runs, r.Run)
		}
		if err := vfs.RemoveAll(fsys, filepath.Join(trashDir(dir), j.ID)); err != nil {
			return out, cas.Explain("remove the empty trash "+j.ID, err)
		}
		out.Trashes = append(out.Trashes, j.ID)
	}
	return out, nil
}

// RestoreRuns brings back what the given runs gave up, and leaves the rest of the trash alone. The caller holds the apply lock.
func RestoreRuns(store *cas.Store, runs []*cache.Summary) (*Restored, error) {
	unlock, err := lockBlobs(store)
	if err != nil {
		return nil, err
	}
	defer unlock()
	fsys, dir := store.FS(), store.Dir()
	list, err := Trashes(fsys, dir)
	if err != nil {
		return nil, err
	}
	out := newRestored()
	lies := map[digest.Digest]*bringer{}
	var bringers []*bringer
	for _, j := range list {
		b := newBringer(store, out, j, list)
		bringers = append(bringers, b)
		for _, moved := range j.Blobs {
			lies[moved.Digest] = b
		}
	}
	fetch := func(d digest.Digest) error {
		if b := lies[d]; b != nil {
			return b.bring(d)
		}
		if store.Check(d) != cas.Present && !slices.Contains(out.Missing, d) {
			out.Missing = append(out.Missing, d)
		}
		return nil
	}
	want := map[string]bool{}
	for _, s := range runs {
		want[s.Run] = true
		// The directories of a tree say what else there is of it, so they come first.
		m := &marker{store: store, trees: map[digest.Digest][]digest.Digest{}}
		for {
			before := out.Blobs
			all, err := m.blobs(s)
			if err != nil {
				return out, err
			}
			for _, d := range all {
				if lies[d] != nil || slices.ContainsFunc(s.Outputs, func(o cache.Output) bool { return o.Digest == d }) {
					if err := fetch(d); err != nil {
						return out, fmt.Errorf("bring back run %s: %w", s.Run, err)
					}
				}
			}
			if out.Blobs == before {
				break
			}
			clear(m.trees)
		}
	}
	for _, b := range bringers {
		if err := b.m.sync(); err != nil {
			return out, cas.Explain("bring back runs", err)
		}
	}
	if out.Lost() {
		return out, nil
	}
	// A run counts as given up until its artifacts are back for sure.
	for _, b := range bringers {
		n := len(b.j.Runs)
		b.j.Runs = slices.DeleteFunc(b.j.Runs, func(r Run) bool { return want[r.Run] })
		b.j.Blobs = slices.DeleteFunc(b.j.Blobs, func(m Moved) bool { return b.back[m.Digest] })
		if len(b.j.Runs) == n && len(b.back) == 0 {
			continue
		}
		if err := b.j.write(fsys, dir); err != nil {
			return out, err
		}
	}
	for _, s := range runs {
		out.Runs = append(out.Runs, s.Run)
	}
	return out, nil
}

// bringer moves blobs of one trash back.
type bringer struct {
	store *cas.Store
	out   *Restored
	j     *Journal
	all   []*Journal // of the store
	m     *mover
	back  map[digest.Digest]bool
	left  int // blobs that stay in the trash, or are nowhere
}

func newBringer(store *cas.Store, out *Restored, j *Journal, all []*Journal) *bringer {
	return &bringer{store: store, out: out, j: j, all: all, m: newMover(store.FS()), back: map[digest.Digest]bool{}}
}

// elsewhere looks for a blob in the other trashes.
func (b *bringer) elsewhere(d digest.Digest, from string, missing error) (string, vfs.Stat, error) {
	for _, j := range b.all {
		other := blobPath(filepath.Join(trashDir(b.store.Dir()), j.ID), d)
		if st, err := b.store.FS().Lstat(other); err == nil {
			return other, st, nil
		}
	}
	return from, vfs.Stat{}, missing
}

// bring moves one blob back, unless the store has it. A blob that is in neither place is only noted.
func (b *bringer) bring(d digest.Digest) error {
	if b.back[d] {
		return nil
	}
	fsys := b.store.FS()
	from := blobPath(filepath.Join(trashDir(b.store.Dir()), b.j.ID), d)
	st, err := fsys.Lstat(from)
	here := b.store.Check(d)
	if errors.Is(err, fs.ErrNotExist) && here != cas.Present {
		// A collection that was stopped leaves blobs in the store, which the next one moves to its own trash.
		from, st, err = b.elsewhere(d, from, err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if here != cas.Present {
			b.left++
			b.out.Missing = append(b.out.Missing, d)
			return nil
		}
		b.back[d] = true // it was made again, or an earlier restore was stopped
		return nil
	case err != nil:
		return err
	case here == cas.Present:
		if err := fsys.Remove(from); err != nil {
			return err
		}
		b.back[d] = true
		return nil
	case here == cas.Damaged:
		if _, err := b.store.Quarantine(d, "a blob from the trash takes its place"); err != nil {
			return err
		}
	}
	sum, err := hashOf(fsys, from)
	if err != nil {
		return err
	}
	if sum != d {
		b.left++
		b.out.Damaged = append(b.out.Damaged, d)
		return nil
	}
	if err := b.m.move(from, b.store.Path(d)); err != nil {
		return err
	}
	b.back[d] = true
	b.out.Blobs++
	b.out.Bytes += st.Size
	return nil
}

// Empty deletes what has lain in the trash for longer than age, for good, and says how much that was. Journals stay, without their blobs. The caller
// holds the apply lock.
func Empty(store *cas.Store, now time.Time, age time.Duration) (*Emptied, error) {
	fsys, dir := store.FS(), store.Dir()
	list, err := Trashes(fsys, dir)
	if err != nil {
		return nil, err
	}
	out := &Emptied{Format: 1, Trashes: []string{}}
	for _, j := range list {
		// What an interrupted emptying left is finished whatever its age.
		if j.Emptied.IsZero() {
			if now.Sub(j.Created) < age {
				out.Kept++
				continue
			}
			out.Blobs += len(j.Blobs)
			out.Bytes += j.Bytes()
			out.Trashes = append(out.Trashes, j.ID)
			j.Emptied, j.Blobs = now.UTC(), []Moved{}
			if err := j.write(fsys, dir); err != nil {
				return out, err
			}
		}
		if err := vfs.RemoveAll(fsys, filepath.Join(trashDir(dir), j.ID, "cas")); err != nil {
			return out, cas.Explain("empty the trash "+j.ID, err)
		}
	}
	return out, nil
}

// Emptied is what was deleted from the trash.
type Emptied struct {
	Format  int      `json:"format"`  // 1
	Trashes []string `json:"trashes"` // that were emptied
	Kept    int      `json:"kept"`    // trashes that are not old enough
	Blobs   int      `json:"blobs"`   // that were deleted
	Bytes   int64    `json:"bytes"`   // of them
}

func hashOf(fsys vfs.FS, path string) (digest.Digest, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return digest.Digest{}, err
	}
	defer f.Close()
	d, _, err := digest.SumReader(f)
	return d, err
}
