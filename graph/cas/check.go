package cas

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

const indexMagic = "flameox index 1\n"

func blobHash(d digest.Digest) uint32 { return binary.BigEndian.Uint32(d[:4]) }

// known is what is remembered of a blob.
func (s *Store) known(d digest.Digest) (row, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r, ok := s.fresh[d]; ok {
		return r, true
	}
	if s.gone[d] {
		return row{}, false
	}
	for i := range s.index.bucket(blobHash(d)) {
		if s.index.digest(i) == d {
			return s.index.row(i), true
		}
	}
	return row{}, false
}

// believes says whether what is known of the blob may stand for its content.
func (s *Store) believes(d digest.Digest) bool {
	if !s.Distrust {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.fresh[d]
	return ok
}

func (s *Store) remember(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh[r.Digest] = r
	delete(s.gone, r.Digest)
}

func (s *Store) forget(d digest.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fresh, d)
	s.gone[d] = true
}

// Check says whether the blob is there and whole. It costs one lstat where nothing moved since the content was last hashed, and
// a reading of the whole file otherwise.
func (s *Store) Check(d digest.Digest) Presence {
	p, _ := s.check(d)
	return p
}

// Look is Check that tells a blob which is missing or wrong from one that could not be read: then err says why, and nothing is
// known of the content. A file of another kind, which can be no blob, is Damaged without an error.
func (s *Store) Look(d digest.Digest) (Presence, error) { return known(s.check(d)) }

// known takes away the error that leaves no doubt about the content.
func known(p Presence, err error) (Presence, error) {
	if errors.Is(err, ErrNotRegular) {
		err = nil
	}
	return p, err
}

func (s *Store) check(d digest.Digest) (Presence, error) {
	if d.IsZero() {
		return Absent, nil
	}
	if s.Asked != nil {
		s.Asked(d)
	}
	st, err := s.fs.Lstat(s.Path(d))
	old, remembered := s.known(d)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if remembered {
			s.forget(d)
		}
		return Absent, nil
	case err != nil:
		return Damaged, err
	case !st.Mode.IsRegular():
		return Damaged, nil
	case remembered && st.Identity == old.Identity && !st.Racy(old.read, s.fs.Now().UnixNano()) && s.believes(d):
		return Present, nil
	}
	return s.rehash(d, remembered && old.durable && st.Ino == old.Ino && st.Dev == old.Dev)
}

// Held says whether the blob is in the store, for the one question whether a record may refer to it: what this store
// made durable counts as long as its identity has not moved, however recent it is. Anything else is left to Look.
func (s *Store) Held(d digest.Digest) (Presence, error) {
	if old, ok := s.known(d); ok && old.durable && s.believes(d) {
		if st, err := s.fs.Lstat(s.Path(d)); err == nil && st.Identity == old.Identity {
			return Present, nil
		}
	}
	return s.Look(d)
}

// Verify is Check without trust: it hashes the content.
func (s *Store) Verify(d digest.Digest) Presence {
	old, ok := s.known(d)
	p, _ := s.rehash(d, ok && old.durable)
	return p
}

func (s *Store) rehash(d digest.Digest, durable bool) (Presence, error) {
	h, err := hashFile(s.fs, s.Path(d))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.forget(d)
		return Absent, nil
	case err != nil:
		return Damaged, err
	case h.Digest != d:
		s.forget(d)
		return Damaged, nil
	}
	s.remember(row{Identity: h.Identity, read: h.read, Digest: d, durable: durable})
	return Present, nil
}

// Examine is Look without trust: it hashes the content.
func (s *Store) Examine(d digest.Digest) (Presence, error) {
	old, ok := s.known(d)
	return known(s.rehash(d, ok && old.durable))
}

// CheckAll checks blobs with two workers; the answers are in the order of ds.
func (s *Store) CheckAll(ds []digest.Digest) []Presence {
	out := make([]Presence, len(ds))
	each(2, len(ds), lookRun, func(i int) { out[i] = s.Check(ds[i]) })
	return out
}

// lookRun is how many files a worker looks at before it takes the next: names that lie together on disk are looked up together.
const lookRun = 64

// each calls fn for 0 … n-1 from so many goroutines, in runs of neighbours.
func each(workers, n, run int, fn func(int)) {
	if workers > (n+run-1)/run {
		workers = (n + run - 1) / run
	}
	if workers <= 1 {
		for i := range n {
			fn(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				from := int(next.Add(int64(run))) - run
				if from >= n {
					return
				}
				for i := from; i < min(from+run, n); i++ {
					fn(i)
				}
			}
		})
	}
	wg.Wait()
}

// hashed is a file's content identity, and when it was read.
type hashed struct {
	vfs.Stat
	Digest digest.Digest
	read   int64 // nanoseconds since 1970, before the first byte was read
}

// hashFile hashes a regular file whose identity is the same before and after.
func hashFile(fsys vfs.FS, path string) (hashed, error) {
	for try := 0; ; try++ {
		h, after, err := hashOnce(fsys, path)
		if err != nil || h.Identity == after {
			return h, err
		}
		if try == 2 {
			return h, &fs.PathError{Op: "hash", Path: path, Err: ErrChanging}
		}
	}
}

// ErrChanging says that a file was written to each time it was read.
var ErrChanging = errors.New("it changes while it is read; wait until what writes it is done")

func hashOnce(fsys vfs.FS, path string) (h hashed, after Identity, err error) {
	f, err := openRegular(fsys, path)
	if err != nil {
		return h, after, err
	}
	defer f.Close()
	h.read = fsys.Now().UnixNano()
	if h.Stat, err = f.Stat(); err != nil {
		return h, after, err
	}
	if h.Digest, _, err = hashReader(f, h.Size); err != nil {
		return h, after, err
	}
	st, err := f.Stat()
	return h, st.Identity, err
}

// openRegular never blocks on a FIFO and never follows a link.
func openRegular(fsys vfs.FS, path string) (vfs.File, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode.IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ErrNotRegular says that a path is a directory, a symbolic link, a device, a socket or a FIFO.
var ErrNotRegular = errors.New("it is not a regular file; only the content of regular files has a digest")

var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// hashReader hashes with a large buffer where the file is large.
func hashReader(r io.Reader, size int64) (digest.Digest, int64, error) {
	if size < 32<<10 {
		return digest.SumReader(r)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return copyHash(io.Discard, r, *buf)
}
