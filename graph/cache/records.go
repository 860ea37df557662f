package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Records are the runs of one store. Methods may be called from several goroutines, and several processes may have the
// same store open; what others append shows after Refresh.
type Records struct {
	dir   string // .flameox
	fs    vfs.FS
	clock func() time.Time

	mu     sync.RWMutex
	segs   []segment
	all    []*Summary // every revision, in the order of the journal
	byRun  map[string]*entry
	byKey  map[digest.Digest][]*entry
	byAddr map[string][]*entry
	order  []*entry // runs in the order in which they first appeared
	links  map[linkKey]int
	linked []Link // newest of each run and provider, in the order in which the pair first appeared
	lastID runID
	sorted []string // names of runs, for prefixes; nil when it must be made again
	behind int      // frames that the state file does not have
	rooted bool     // this process synced the directories above the journal

	appending cas.Together[*pending]
}

// entry is a run.
type entry struct {
	newest *Summary
}

type linkKey struct{ run, provider string }

// segment is a file of the journal, as far as it was read.
type segment struct {
	number    uint32
	covered   int64 // committed frames up to here are in the index
	anchorOff int64 // of the last of them, 0 for none
	anchor    [frameHeader]byte
}

// Open opens the records of the store below dir, which is the directory .flameox and need not exist. It takes no lock and
// writes nothing. The clock names new runs.
func Open(dir string, fsys vfs.FS, clock func() time.Time) (*Records, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the records in %s: %w", dir, err)
	}
	r := &Records{dir: abs, fs: fsys, clock: clock}
	r.reset()
	if err := r.loadState(); err != nil {
		r.reset() // a cache that does not fit; the journal is the truth
	}
	if err := r.refresh(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Records) reset() {
	r.segs, r.all, r.order, r.linked, r.sorted = nil, nil, nil, nil, nil
	r.byRun, r.byKey, r.byAddr = map[string]*entry{}, map[digest.Digest][]*entry{}, map[string][]*entry{}
	r.links = map[linkKey]int{}
	r.behind = 0
}

func (r *Records) runsDir() string { return filepath.Join(r.dir, "runs") }

func (r *Records) segmentPath(n uint32) string {
	return filepath.Join(r.runsDir(), fmt.Sprintf("%08d.journal", n))
}

// Refresh reads what this and other processes appended since the last look.
func (r *Records) Refresh() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refresh()
}

func (r *Records) refresh() error {
	numbers, err := r.listSegments()
	if err != nil {
		return err
	}
	if !r.stillFits(numbers) {
		r.reset()
	}
	for _, n := range numbers {
		i, found := slices.BinarySearchFunc(r.segs, n, func(s segment, n uint32) int { return int(s.number) - int(n) })
		if !found {
			r.segs = append(r.segs, segment{number: n})
			i = len(r.segs) - 1
		}
		if err := r.readTail(&r.segs[i]); err != nil {
			return err
		}
	}
	return nil
}

// listSegments are the numbers of the segments, rising.
func (r *Records) listSegments() ([]uint32, error) {
	list, err := r.fs.ReadDir(r.runsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	var numbers []uint32
	for _, e := range list {
		var n uint32
		if _, err := fmt.Sscanf(e.Name(), "%08d.journal", &n); err == nil && n > 0 && fmt.Sprintf("%08d.journal", n) == e.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// stillFits says whether the journal only grew since it was read: the same segments in front, and the frames at which the
// index ends are where they were. A writer that failed cuts off what it appended, and others append there.
func (r *Records) stillFits(numbers []uint32) bool {
	if len(r.segs) > len(numbers) {
		return false
	}
	for i := range r.segs {
		s := &r.segs[i]
		if numbers[i] != s.number {
			return false
		}
		st, err := r.fs.Lstat(r.segmentPath(s.number))
		if err != nil || st.Size < s.covered || !r.anchored(s) {
			return false
		}
	}
	return true
}

func (r *Records) anchored(s *segment) bool {
	if s.anchorOff == 0 {
		return true
	}
	f, err := r.fs.OpenFile(r.segmentPath(s.number), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [frameHeader]byte
	_, err = f.ReadAt(head[:], s.anchorOff)
	return err == nil && head == s.anchor
}

// readTail reads a segment from where the index ends.
func (r *Records) readTail(s *segment) error {
	path := r.segmentPath(s.number)
	st, err := r.fs.Lstat(path)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if st.Size == s.covered {
		return nil
	}
	b, err := r.readFrom(path, s.covered, st.Size)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	from := s.covered
	if from == 0 {
		if _, err := checkSegment(path, b[:min(len(b), len(segmentMagic))]); err != nil {
			return err
		}
		if int64(len(b)) <= segmentHeader {
			return nil // its first append did not come to its end
		}
		b, from = b[segmentHeader:], segmentHeader
	}
	r.absorb(s, b, from)
	return nil
}

func (r *Records) readFrom(path string, from, to int64) ([]byte, error) {
	f, err := r.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, to-from)
	n, err := f.ReadAt(b, from)
	if n < len(b) && errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// absorb puts the committed frames of b, which begins at the offset from, into the index.
func (r *Records) absorb(s *segment, b []byte, from int64) {
	frames, _, end := scan(b, from)
	if end == from && len(frames) == 0 {
		return
	}
	for i := range frames {
		f := &frames[i]
		s.anchorOff, s.anchor = f.off, f.head
		r.behind++
		switch f.kind {
		case kindRecord:
			rec, err := decodeRecord(f.payload)
			if err != nil {
				continue // reported by CheckJournal
			}
			sum := summarize(rec)
			sum.segment, sum.offset, sum.size = s.number, f.off, len(f.payload)
			r.add(sum)
		case kindLink:
			if l, err := decodeLink(f.payload); err == nil {
				r.addLink(l)
			}
		}
	}
	s.covered = end
}

// add puts one more revision, or run, into the index.
func (r *Records) add(s *Summary) {
	s.owner = r
	r.all = append(r.all, s)
	e := r.byRun[s.Run]
	if e == nil {
		e = &entry{newest: s}
		r.byRun[s.Run] = e
		r.order = append(r.order, e)
		r.sorted = nil
		if id, err := parseRunID(s.Run); err == nil && id.ms() < maxMS && r.lastID.less(id) {
			r.lastID = id
		}
		r.byKey[s.Key] = append(r.byKey[s.Key], e)
		r.byAddr[s.Address] = append(r.byAddr[s.Address], e)
		return
	}
	old := e.newest
	if s.Revision <= old.Revision {
		return
	}
	e.newest = s
	move(r.byKey, old.Key, s.Key, e)
	move(r.byAddr, old.Address, s.Address, e)
}

func move[K comparable](m map[K][]*entry, from, to K, e *entry) {
	if from == to {
		return
	}
	m[from] = slices.DeleteFunc(slices.Clone(m[from]), func(x *entry) bool { return x == e })
	m[to] = append(m[to], e)
}

func (r *Records) addLink(l Link) {
	k := linkKey{l.Run, l.Provider}
	if i, ok := r.links[k]; ok {
		r.linked[i] = l
		return
	}
	r.links[k] = len(r.linked)
	r.linked = append(r.linked, l)
}

// read decodes the record of a summary.
func (r *Records) read(s *Summary) (*Record, error) {
	path := r.segmentPath(s.segment)
	fail := func(err error) (*Record, error) {
		return nil, fmt.Errorf("read the record of run %s at byte %d of %s: %w; `flameox fsck` says what else is affected", s.Run, s.offset, path, err)
	}
	b, err := r.readFrom(path, s.offset, s.offset+frameHeader+int64(s.size))
	if err != nil {
		return fail(err)
	}
	f, ok := parseFrame(b, s.offset)
	if !ok || f.kind != kindRecord || f.payload == nil {
		return fail(errors.New("the frame is damaged"))
	}
	rec, err := decodeRecord(f.payload)
	if err != nil {
		return fail(err)
	}
	if rec.Run != s.Run || rec.Revision != s.Revision {
		return fail(fmt.Errorf("it is the record of run %s, revision %d: the journal was replaced", rec.Run, rec.Revision))
	}
	return rec, nil
}
