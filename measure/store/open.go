package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/measure/identity"
)

// Store is a store at a path. Opening one makes nothing; the file comes with the first result that is accepted.
type Store struct {
	path   string // of the file, links resolved
	dir    string // of what lies beside it
	now    func() time.Time
	layout *layout
}

// Open opens the store of a file, which need not exist.
func Open(path string) (*Store, error) {
	l, err := columns()
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	// A link is followed: renaming over it would leave what it leads to as it was.
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open the store %s: it is a directory or a device, and a store is a file; name a file", path)
	}
	return &Store{path: path, dir: Beside(path), now: time.Now, layout: l}, nil
}

// Beside is the folder of what lies beside a store: pending segments, the index and the lock. Like the file it is no part of a measured tree.
func Beside(path string) string {
	return filepath.Join(filepath.Dir(path), ".benchx", filepath.Base(path))
}

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// lock makes the folder beside the store and takes its lock.
func (s *Store) lock(ctx context.Context) (*lock.Lock, error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the store's index: %w", err)
	}
	ignore := filepath.Join(s.dir, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o644); err != nil {
			return nil, fmt.Errorf("make the folder of the store's index: %w", err)
		}
	}
	l, err := lock.Acquire(ctx, filepath.Join(s.dir, "lock"), lock.Holder{Command: "flameox ingest"})
	if err != nil {
		return nil, fmt.Errorf("lock the store %s: %w", s.path, err)
	}
	return l, nil
}

// Changed is a file whose columns are not those of a store of this version. Nothing was written.
type Changed struct {
	Path string
	What string
}

func (e *Changed) Error() string {
	return fmt.Sprintf("read the store %s: %s; it is left as it is. Name another file with paths.store or BENCHX_HOME", e.Path, e.What)
}

// openFile opens the store's file; nil where there is none.
func (s *Store) openFile() (*shred.File, error) {
	f, err := shred.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; move it away, or name another file with paths.store or BENCHX_HOME", err)
	}
	d, _, err := f.Differs(s.layout.fields)
	if err == nil {
		switch {
		case slices.Contains(d.Missing, "document"):
			err = &Changed{s.path, "it is a Parquet file without a column document, so no store of results"}
		case len(d.Retyped) > 0:
			err = &Changed{s.path, "columns have another type: " + strings.Join(d.Retyped, ", ")}
		case len(d.Unknown) > 0:
			err = &Changed{s.path, "it has columns that this version does not know, so a newer one wrote it: " + strings.Join(d.Unknown, ", ")}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// complete says whether the file has every column as this version derives it, under any writer's spelling; same, whether its row groups can be copied.
func (s *Store) complete(f *shred.File) (complete, same bool, err error) {
	d, same, err := f.Differs(s.layout.fields)
	if err != nil {
		return false, false, err
	}
	policy := f.Meta(metaPolicy)
	complete = len(d.Missing) == 0 && policy == identity.Default().Name
	return complete, same && complete, nil
}

func segmentName(n int) string { return fmt.Sprintf("segment-%012d.parquet", n) }

// segments are the numbers of the segments that are there, in order.
func (s *Store) segments() ([]int, error) {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the store's segments: %w", err)
	}
	var out []int
	for _, e := range list {
		name, ok := strings.CutPrefix(e.Name(), "segment-")
		n, err := strconv.Atoi(strings.TrimSuffix(name, ".parquet"))
		if ok && err == nil && e.Name() == segmentName(n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

func folded(f *shred.File) int {
	if f == nil {
		return 0
	}
	n, err := strconv.Atoi(f.Meta(metaFolded))
	if err != nil {
		return 0
	}
	return n
}

// Snapshot is the store at one moment. It takes no lock: files are never changed.
type Snapshot struct {
	store    *Store
	base     *shred.File // nil where there is none
	pending  []int       // numbers of the segments that the file does not hold
	files    []*shred.File
	temps    []string // files to remove
	replaced []*shred.File
}

// Read opens what the store holds now.
func (s *Store) Read() (*Snapshot, error) {
	for try := 0; ; try++ {
		snap, err := s.snapshot()
		if err == nil {
			err = snap.completed()
		}
		if err == nil {
			return snap, nil
		}
		if snap != nil {
			snap.Close()
		}
		// A segment that was listed and is gone was folded in meanwhile.
		if !errors.Is(err, fs.ErrNotExist) || try > 100 {
			return nil, err
		}
	}
}

// snapshot opens the segments before the file: whoever folds them renames the file first and removes them last.
func (s *Store) snapshot() (snap *Snapshot, err error) {
	snap = &Snapshot{store: s}
	numbers, err := s.segments()
	if err != nil {
		return snap, err
	}
	open := map[int]*shred.File{}
	for _, n := range numbers {
		f, err := shred.Open(filepath.Join(s.dir, segmentName(n)))
		if err != nil {
			for _, f := range open {
				f.Close()
			}
			return snap, err
		}
		open[n] = f
	}
	if snap.base, err = s.openFile(); err != nil {
		for _, f := range open {
			f.Close()
		}
		return snap, err
	}
	if snap.base != nil {
		snap.files = append(snap.files, snap.base)
	}
	for _, n := range numbers {
		if n <= folded(snap.base) {
			open[n].Close()
			continue
		}
		snap.pending = append(snap.pending, n)
		snap.files = append(snap.files, open[n])
	}
	return snap, nil
}

// completed puts a file with all columns in the place of one that another program wrote without some.
func (p *Snapshot) completed() error {
	for i, f := range p.files {
		complete, _, err := p.store.complete(f)
		if err != nil {
			return err
		}
		if complete {
			continue
		}
		made, err := p.migrate(f, os.TempDir())
		if err != nil {
			return err
		}
		p.replaced = append(p.replaced, f)
		p.files[i] = made
	}
	return nil
}

// Rows is how many results there are.
func (p *Snapshot) Rows() (n int) {
	for _, f := range p.files {
		n += f.Rows()
	}
	return n
}

// Close closes the files.
func (p *Snapshot) Close() {
	for _, f := range append(p.files, p.replaced...) {
		f.Close()
	}
	for _, path := range p.temps {
		os.Remove(path)
	}
}

// state names what the snapshot holds.
func (p *Snapshot) state() string {
	var b strings.Builder
	if p.base != nil {
		b.WriteString(p.base.Footer)
	}
	for _, n := range p.pending {
		fmt.Fprintf(&b, " %d", n)
	}
	return b.String()
}

// Path is the file of the store that was read.
func (p *Snapshot) Path() string { return p.store.path }
