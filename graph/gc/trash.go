package gc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

const (
	trashFormat = "flameox trash 1"
	maxJournal  = 1 << 30 // bytes
)

// Moved is one blob in the trash.
type Moved struct {
	Digest digest.Digest `json:"digest"`
	Size   int64         `json:"size"` // bytes
}

// Journal says what one collection moved. It is written before anything moves.
type Journal struct {
	Format  string    `json:"format"`
	ID      string    `json:"id"`               // name of its folder in trash/
	Created time.Time `json:"created"`          // UTC
	Emptied time.Time `json:"emptied,omitzero"` // UTC; when the blobs were deleted, zero where they were not
	Runs    []Run     `json:"runs"`             // that gave up artifacts
	Blobs   []Moved   `json:"blobs"`            // none where they were deleted
	Kept    string    `json:"keep,omitempty"`   // how old a run had to be
	Asked   bool      `json:"measurements"`     // measurements were collected, too
}

// Bytes is the size of its blobs.
func (j *Journal) Bytes() (n int64) {
	for _, b := range j.Blobs {
		n += b.Size
	}
	return n
}

// Run is a run that gives up artifacts.
type Run struct {
	Run     string    `json:"run"`
	Address string    `json:"address"`
	Kind    string    `json:"kind"`
	Started time.Time `json:"started"` // UTC
	Blobs   int       `json:"blobs"`   // of it that go
	Bytes   int64     `json:"bytes"`   // of them
	Why     string    `json:"why"`     // a clause: why nothing needs it
}

func trashDir(dir string) string { return filepath.Join(dir, "trash") }

// blobPath is where a blob lies in one trash.
func blobPath(trash string, d digest.Digest) string {
	hex := d.String()
	return filepath.Join(trash, "cas", hex[:2], hex[2:])
}

// Trashes are the journals of the trash of the store at dir, oldest first, emptied ones included. A journal that cannot be read is an
// error: without it what it moved cannot be told from what is lost.
func Trashes(fsys vfs.FS, dir string) ([]*Journal, error) {
	list, err := fsys.ReadDir(trashDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	var out []*Journal
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(trashDir(dir), e.Name(), "journal.json")
		b, err := vfs.ReadFile(fsys, path, maxJournal)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a collection that ended before it moved anything
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal of the trash: %w", err)
		}
		j := new(Journal)
		err = strict(b, j)
		switch {
		case err == nil && j.Format != trashFormat:
			err = fmt.Errorf("its format is %q, want %q", j.Format, trashFormat)
		case err == nil && j.ID != e.Name():
			err = fmt.Errorf("it is the journal of %q", j.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal of the trash %s: %w; the blobs are below its folder, named by their digests", path, err)
		}
		out = append(out, j)
	}
	slices.SortStableFunc(out, func(a, b *Journal) int { return a.Created.Compare(b.Created) })
	return out, nil
}

// Collected are the runs that gave up artifacts to a collection and did not get them back: what is missing of those is not lost by accident.
func Collected(fsys vfs.FS, dir string) (map[string]bool, error) {
	list, err := Trashes(fsys, dir)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, j := range list {
		for _, r := range j.Runs {
			out[r.Run] = true
		}
	}
	return out, nil
}

// write makes the journal durable.
func (j *Journal) write(fsys vfs.FS, dir string) error {
	b, err := json.Marshal(j)
	if err == nil {
		err = vfs.WriteFile(fsys, filepath.Join(trashDir(dir), j.ID, "journal.json"), append(b, '\n'), 0o644, true)
	}
	return cas.Explain("write the journal of the trash", err)
}

// newTrash makes a folder in the trash that is named after the time.
func newTrash(fsys vfs.FS, dir string, now time.Time) (string, error) {
	if err := vfs.MkdirAll(fsys, trashDir(dir), 0o755); err != nil {
		return "", cas.Explain("make a trash", err)
	}
	base := now.UTC().Format("20060102T150405Z")
	for i := 1; ; i++ {
		id := base
		if i > 1 {
			id = fmt.Sprintf("%s-%d", base, i)
		}
		err := fsys.Mkdir(filepath.Join(trashDir(dir), id), 0o755)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			continue
		}
		if err == nil {
			if err = vfs.SyncAbove(fsys, trashDir(dir)); err == nil {
				return id, nil
			}
		}
		return "", cas.Explain("make a trash", err)
	}
}

// mover renames blobs and makes the renames durable.
type mover struct {
	fs   vfs.FS
	made map[string]bool
	to   map[string]bool
	from map[string]bool
}

func newMover(fsys vfs.FS) *mover {
	return &mover{fs: fsys, made: map[string]bool{}, to: map[string]bool{}, from: map[string]bool{}}
}

func (m *mover) move(from, to string) error {
	parent := filepath.Dir(to)
	if !m.made[parent] {
		if err := vfs.MkdirAll(m.fs, parent, 0o755); err != nil {
			return err
		}
		m.made[parent] = true
	}
	if err := m.fs.Rename(from, to); err != nil {
		return err
	}
	m.to[parent], m.from[filepath.Dir(from)] = true, true
	return nil
}

// sync makes new names durable before old ones are gone for good.
func (m *mover) sync() error {
	above := map[string]bool{}
	for d := range m.to {
		above[filepath.Dir(d)] = true
	}
	for _, set := range []map[string]bool{above, m.to, m.from} {
		for d := range set {
			if err := m.fs.SyncDir(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockBlobs keeps every writer of blobs away until the function that it returns is called.
func lockBlobs(store *cas.Store) (func(), error) {
	lock := filepath.Join(store.Dir(), "lock")
	if err := vfs.MkdirAll(store.FS(), lock, 0o755); err != nil {
		return nil, cas.Explain("lock the store", err)
	}
	l, err := store.FS().Lock(filepath.Join(lock, "batch"), vfs.Exclusive, 0)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, errors.New("another flameox is writing artifacts to this store at the moment; wait for it and try again")
	}
	if err != nil {
		return nil, cas.Explain("lock the store", err)
	}
	return func() { l.Close() }, nil
}
