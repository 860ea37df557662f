package cas

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Identity is what lstat knows of a file without reading it.
type Identity = vfs.Identity

// Presence is what Check found.
type Presence int

// The states of a blob.
const (
	Absent  Presence = iota // no file of that name
	Damaged                 // a file of that name with other content, or one that cannot be read
	Present                 // the content fits
)

// String is the state in lower case.
func (p Presence) String() string {
	switch p {
	case Present:
		return "present"
	case Damaged:
		return "damaged"
	}
	return "absent"
}

// Store holds blobs and trees below one directory. Its methods may be called from several goroutines, and several processes
// may have the same directory open.
type Store struct {
	// Distrust says not to believe what an earlier process remembered of blobs: each is read once. It is set before the first use.
	Distrust bool
	// Asked is told of every blob whose presence or content an answer depends on, also where memory answers; nil where nobody listens. It may be
	// called from several goroutines, and is set before the first use.
	Asked func(digest.Digest)

	dir string // .flameox
	cas string // .flameox/cas
	fs  vfs.FS

	mu      sync.RWMutex
	index   *table // as loaded
	fresh   map[digest.Digest]row
	gone    map[digest.Digest]bool            // in index, but no more on disk
	trees   map[digest.Digest][]digest.Digest // members of trees that were listed since
	made    [256]bool                         // shard directories known to exist
	rooted  bool                              // this process synced the directories above the shards
	writers int                               // open batches
	lock    io.Closer                         // shared while writers > 0
	syncing Together[*Batch]
}

// Open opens the store below dir, which is the directory .flameox and need not exist: the first write creates it.
func Open(dir string, fsys vfs.FS) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", dir, err)
	}
	if st, err := fsys.Lstat(abs); err == nil && !st.Mode.IsDir() && st.Mode&fs.ModeSymlink == 0 {
		return nil, fmt.Errorf("open the store %s: it is not a directory; move the file away or set store.path", dir)
	}
	s := &Store{dir: abs, cas: filepath.Join(abs, "cas"), fs: fsys, fresh: map[digest.Digest]row{}, gone: map[digest.Digest]bool{}, trees: map[digest.Digest][]digest.Digest{}}
	s.syncing.Workers = 2
	s.index = loadTable(fsys, s.indexPath(), indexMagic)
	return s, nil
}

// Dir is the directory of the store, absolute.
func (s *Store) Dir() string { return s.dir }

// FS is the file system below the store.
func (s *Store) FS() vfs.FS { return s.fs }

// Path is where the blob is, or would be. The file is read-only and must stay as it is.
func (s *Store) Path(d digest.Digest) string {
	if d.IsZero() {
		return filepath.Join(s.cas, "none")
	}
	// Every look at a blob begins here, so it is one allocation.
	var name strings.Builder
	name.Grow(len(s.cas) + len("/ab/") + 2*len(d) - 2)
	var hexed [2 * len(d)]byte
	hex.Encode(hexed[:], d[:])
	name.WriteString(s.cas)
	name.WriteByte('/')
	name.Write(hexed[:2])
	name.WriteByte('/')
	name.Write(hexed[2:])
	return name.String()
}

func (s *Store) indexPath() string { return filepath.Join(s.cas, "index") }
func (s *Store) tmp() string       { return filepath.Join(s.cas, "tmp") }

// BlobError says that a blob cannot be had.
type BlobError struct {
	Digest   digest.Digest
	Presence Presence
	Path     string
	Err      error // the system's, if it was that
}

// Error says what is wrong and what follows.
func (e *BlobError) Error() string {
	switch {
	case e.Presence == Absent:
		return fmt.Sprintf("blob %s is not in the store (%s): run the stage that made it again", e.Digest, e.Path)
	case e.Err != nil:
		return fmt.Sprintf("blob %s cannot be read: %v; `flameox fsck` says what depends on it", e.Digest, e.Err)
	}
	return fmt.Sprintf("blob %s is damaged: %s has other content than its name says; `flameox fsck` moves it to quarantine and says what depends on it", e.Digest, e.Path)
}

// Unwrap is the system's error.
func (e *BlobError) Unwrap() error { return e.Err }

// Is makes an absent blob fs.ErrNotExist.
func (e *BlobError) Is(target error) bool { return target == fs.ErrNotExist && e.Presence == Absent }

// Open opens a blob after Check. Errors are *BlobError.
func (s *Store) Open(d digest.Digest) (vfs.File, error) {
	p, err := s.check(d)
	if p != Present {
		return nil, &BlobError{Digest: d, Presence: p, Path: s.Path(d), Err: err}
	}
	f, err := s.fs.OpenFile(s.Path(d), os.O_RDONLY, 0)
	if err != nil {
		return nil, &BlobError{Digest: d, Presence: Damaged, Path: s.Path(d), Err: err}
	}
	return f, nil
}

// ReadAll is the whole content, hashed as it is read. Errors are *BlobError.
func (s *Store) ReadAll(d digest.Digest) ([]byte, error) {
	if s.Asked != nil {
		s.Asked(d)
	}
	b, err := vfs.ReadFile(s.fs, s.Path(d), 1<<40)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &BlobError{Digest: d, Presence: Absent, Path: s.Path(d)}
	case err != nil:
		return nil, &BlobError{Digest: d, Presence: Damaged, Path: s.Path(d), Err: err}
	case digest.Sum(b) != d:
		return nil, &BlobError{Digest: d, Presence: Damaged, Path: s.Path(d)}
	}
	return b, nil
}

// Save writes what Check and Sync learned to cas/index, so that the next process need not hash again. A failure costs
// only that time.
func (s *Store) Save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fresh) == 0 && len(s.gone) == 0 && len(s.trees) == 0 {
		return nil
	}
	if _, err := s.fs.Lstat(s.cas); err != nil {
		return nil // nothing was ever written
	}
	rows := make([]keyed, 0, s.index.n)
	for i := range s.index.n {
		r := s.index.row(i)
		if _, newer := s.fresh[r.Digest]; !newer && !s.gone[r.Digest] {
			rows = append(rows, keyed{hash: blobHash(r.Digest), path: s.membersText(r.Digest), row: r})
		}
	}
	added := make([]keyed, 0, len(s.fresh))
	for d, r := range s.fresh {
		added = append(added, keyed{hash: blobHash(d), path: s.membersText(d), row: r})
	}
	b := encodeTable(indexMagic, 0, rows, added)
	if err := vfs.WriteFile(s.fs, s.indexPath(), b, 0o644, false); err != nil {
		return fmt.Errorf("write the blob index %s: %w; blobs are hashed again next time", s.indexPath(), err)
	}
	t, err := parseTable(indexMagic, b)
	if err != nil {
		return fmt.Errorf("write the blob index %s: %w", s.indexPath(), err)
	}
	s.index = t
	clear(s.fresh)
	clear(s.gone)
	clear(s.trees)
	return nil
}

// Close saves the index.
func (s *Store) Close() error { return s.Save() }

// Blob is one file found by Walk.
type Blob struct {
	Digest digest.Digest // zero for a file that has no business here
	Path   string
	Size   int64
}

// Walk calls fn for every file below the shard directories in the order of digests, without looking into it. It stops at the
// first error.
func (s *Store) Walk(fn func(Blob) error) error {
	for shard := range 256 {
		name := fmt.Sprintf("%02x", shard)
		dir := filepath.Join(s.cas, name)
		list, err := s.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list blobs in %s: %w", dir, err)
		}
		for _, e := range list {
			b := Blob{Path: filepath.Join(dir, e.Name())}
			st, err := s.fs.Lstat(b.Path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("list blobs in %s: %w", dir, err)
			}
			b.Size = st.Size
			if d, err := digest.Parse(name + e.Name()); err == nil {
				b.Digest = d
			}
			if err := fn(b); err != nil {
				return err
			}
		}
	}
	return nil
}

const lockWait = time.Minute

// beginWrite keeps Sweep away until endWrite.
func (s *Store) beginWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writers == 0 {
		for _, dir := range []string{s.tmp(), filepath.Join(s.dir, "lock")} {
			if err := vfs.MkdirAll(s.fs, dir, 0o755); err != nil {
				return Explain("create "+dir, err)
			}
		}
		l, err := s.fs.Lock(filepath.Join(s.dir, "lock", "batch"), vfs.Shared, lockWait)
		if err != nil {
			return fmt.Errorf("write to the store %s: %w; a recovery is running there, try again when it is done", s.dir, err)
		}
		s.lock = l
	}
	s.writers++
	return nil
}

func (s *Store) endWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writers--; s.writers == 0 && s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}
