package cas

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// small is the size up to which content is hashed in memory before anything is written: most blobs are
// small, and most of those that are put twice.
const small = 1 << 20

// manySyncs is the number of files from which one sync of the file system costs less than one of each.
const manySyncs = 4

// Batch collects blobs until Sync gives them their names. It ends with Sync or Discard; Discard
// after either does nothing, so `defer b.Discard()` is right. Puts may run in parallel.
type Batch struct {
	s       *Store
	mu      sync.Mutex
	begun   bool
	done    bool
	temps   map[digest.Digest]string // path of the file that will become the blob
	unnamed map[string]bool          // being written
	old     map[digest.Digest]bool   // was there, but nobody remembers that its name is durable
	has     map[digest.Digest]bool
}

// NewBatch begins a batch. It touches the disk with the first Put.
func (s *Store) NewBatch() *Batch {
	return &Batch{
		s: s, temps: map[digest.Digest]string{}, unnamed: map[string]bool{},
		old: map[digest.Digest]bool{}, has: map[digest.Digest]bool{},
	}
}

// Store is the store of the batch.
func (b *Batch) Store() *Store { return b.s }

// Has says whether the blob was put through this batch, new or not.
func (b *Batch) Has(d digest.Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.has[d]
}

var errDone = errors.New("the batch is finished")

func (b *Batch) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return errDone
	}
	if b.begun {
		return nil
	}
	if err := b.s.beginWrite(); err != nil {
		return err
	}
	b.begun = true
	return nil
}

// Put stores everything in r and returns its digest and its size in bytes.
func (b *Batch) Put(r io.Reader) (digest.Digest, int64, error) {
	if err := b.begin(); err != nil {
		return digest.Digest{}, 0, err
	}
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, small)
	if errors.Is(err, io.EOF) {
		d, err := b.PutBytes(head.Bytes())
		return d, n, err
	}
	if err != nil {
		return digest.Digest{}, 0, fmt.Errorf("read what is to be stored: %w", err)
	}
	return b.putStream(io.MultiReader(&head, r), nil)
}

// PutBytes stores data and returns its digest.
func (b *Batch) PutBytes(data []byte) (digest.Digest, error) {
	if err := b.begin(); err != nil {
		return digest.Digest{}, err
	}
	d := digest.Sum(data)
	if b.claim(d) {
		return d, nil
	}
	tmp := filepath.Join(b.s.tmp(), d.String()+"-"+rand.Text())
	f, err := b.create(tmp)
	if err != nil {
		return d, err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	return d, b.finish(tmp, tmp, d, err)
}

// PutFile stores the content of a regular file, which it neither follows as a link nor waits for as a FIFO, and returns its digest and
// size in bytes. It fails with ErrChanging where the file changed meanwhile.
func (b *Batch) PutFile(path string) (digest.Digest, int64, error) {
	if err := b.begin(); err != nil {
		return digest.Digest{}, 0, err
	}
	f, err := openRegular(b.s.fs, path)
	if err != nil {
		return digest.Digest{}, 0, fmt.Errorf("store %s: %w", path, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return digest.Digest{}, 0, fmt.Errorf("store %s: %w", path, err)
	}
	var d digest.Digest
	var n int64
	if before.Size < small {
		d, n, err = b.Put(f)
	} else {
		d, n, err = b.putStream(f, f)
	}
	if err != nil {
		return d, n, err
	}
	after, err := f.Stat()
	if err == nil && (after.Identity != before.Identity || n != after.Size) {
		err = ErrChanging
	}
	if err != nil {
		return d, n, fmt.Errorf("store %s: %w", path, err)
	}
	return d, n, nil
}

// putStream writes while it hashes, or, where the file system can share blocks with src, hashes what it shares.
func (b *Batch) putStream(r io.Reader, src vfs.File) (digest.Digest, int64, error) {
	tmp := filepath.Join(b.s.tmp(), "stream-"+rand.Text())
	f, err := b.create(tmp)
	if err != nil {
		return digest.Digest{}, 0, err
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var d digest.Digest
	var n int64
	cloned := false
	if src != nil {
		err = b.s.fs.Clone(f, src)
		cloned = err == nil
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	switch {
	case err != nil:
	case cloned:
		d, n, err = copyHash(io.Discard, io.NewSectionReader(f, 0, 1<<62), *buf)
	default:
		d, n, err = copyHash(f, r, *buf)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil && b.claim(d) {
		b.mu.Lock()
		delete(b.unnamed, tmp)
		b.mu.Unlock()
		return d, n, Explain("remove "+tmp, b.s.fs.Remove(tmp))
	}
	named := filepath.Join(b.s.tmp(), d.String()+"-"+rand.Text())
	if err == nil {
		// A name that says what it should hold lets a recovery tell a complete file from one cut short.
		err = b.s.fs.Rename(tmp, named)
	}
	return d, n, b.finish(tmp, named, d, err)
}

// claim says whether the blob need not be written; it is part of the batch in any case.
func (b *Batch) claim(d digest.Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.has[d] {
		return true
	}
	if b.s.Check(d) != Present {
		return false
	}
	b.has[d] = true
	if r, ok := b.s.known(d); !ok || !r.durable {
		b.old[d] = true
	}
	return true
}

func (b *Batch) create(tmp string) (vfs.File, error) {
	f, err := b.s.fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, Explain("create a file in the store", err)
	}
	b.mu.Lock()
	b.unnamed[tmp] = true
	b.mu.Unlock()
	return f, nil
}

func (b *Batch) finish(tmp, named string, d digest.Digest, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.unnamed, tmp)
	if err != nil {
		b.s.fs.Remove(tmp)
		return Explain("write a blob to the store", err)
	}
	if b.has[d] { // put twice at the same moment
		return Explain("remove "+named, b.s.fs.Remove(named))
	}
	b.has[d] = true
	b.temps[d] = named
	return nil
}

// Sync makes every blob of the batch durable under its name. When it fails nothing is lost but the batch: blobs that already have their
// names are whole and harmless. Either way the batch is finished.
func (b *Batch) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done || !b.begun {
		b.done = true
		return nil
	}
	err := b.sync()
	b.end()
	return err
}

func (b *Batch) sync() error {
	s := b.s
	if len(b.temps) == 0 && len(b.old) == 0 {
		return nil
	}
	if err := b.syncData(); err != nil {
		return Explain("make blobs durable", err)
	}
	dirs := map[string]bool{}
	for d, tmp := range b.temps {
		if err := s.place(d, tmp, dirs); err != nil {
			return err
		}
		delete(b.temps, d)
		b.old[d] = true
	}
	for d := range b.old {
		dirs[filepath.Dir(s.Path(d))] = true
		if !s.shardMade(d) {
			dirs[s.cas] = true
		}
	}
	if err := s.syncDirs(dirs); err != nil {
		return Explain("make the names of blobs durable", err)
	}
	s.mu.Lock()
	for d := range b.old {
		s.made[d[0]] = true
	}
	s.mu.Unlock()
	for d := range b.old {
		st, err := s.fs.Lstat(s.Path(d))
		if err != nil || !st.Mode.IsRegular() {
			return Explain("look at a blob that was just stored", err)
		}
		// What was just renamed is as recent as can be, so the first Check hashes it once more.
		r, ok := s.known(d)
		if !ok || r.Identity != st.Identity {
			r = row{Identity: st.Identity, Digest: d, read: s.fs.Now().UnixNano()}
		}
		r.durable = true
		s.remember(r)
	}
	return nil
}

func (b *Batch) syncData() error {
	if len(b.temps) >= manySyncs {
		if err := b.s.fs.SyncFS(b.s.cas); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, tmp := range b.temps {
		if err := syncFile(b.s.fs, tmp); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(fsys vfs.FS, path string) error {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// place renames a durable file to its name and adds the directories whose entries changed.
func (s *Store) place(d digest.Digest, tmp string, dirs map[string]bool) error {
	path := s.Path(d)
	shard := filepath.Dir(path)
	if !s.shardMade(d) {
		if err := s.fs.Mkdir(shard, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return Explain("create "+shard, err)
		}
	}
	if st, err := s.fs.Lstat(path); err == nil {
		if p, _ := s.check(d); p == Damaged || !st.Mode.IsRegular() {
			if _, err := s.Quarantine(d, "its content did not fit its name when the same content was stored again"); err != nil {
				return err
			}
		}
	}
	if err := s.fs.Rename(tmp, path); err != nil {
		return Explain("give a blob its name", err)
	}
	dirs[shard] = true
	return nil
}

// shardMade says whether this process has made the entry of d's shard directory durable.

func (s *Store) shardMade(d digest.Digest) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.made[d[0]]
}

// syncDirs makes entries durable, and once in each process those of the directories above: another process may have
// made them and died before it could.
func (s *Store) syncDirs(dirs map[string]bool) error {
	s.mu.RLock()
	rooted := s.rooted
	s.mu.RUnlock()
	if !rooted {
		dirs[s.cas] = true
	}
	err := errors.ErrUnsupported
	if len(dirs) >= manySyncs {
		err = s.fs.SyncFS(s.cas)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
		for dir := range dirs {
			if err == nil {
				err = s.fs.SyncDir(dir)
			}
		}
	}
	if err != nil || rooted {
		return err
	}
	if err := vfs.SyncAbove(s.fs, s.dir); err != nil {
		return err
	}
	s.mu.Lock()
	s.rooted = true
	s.mu.Unlock()
	return nil
}

// Discard removes what Sync has not named.
func (b *Batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done || !b.begun {
		b.done = true
		return
	}
	b.end()
}

// end removes what is left of the batch. Caller holds mu.
func (b *Batch) end() {
	b.done = true
	for _, tmp := range b.temps {
		b.s.fs.Remove(tmp)
	}
	for tmp := range b.unnamed {
		b.s.fs.Remove(tmp)
	}
	b.s.endWrite()
}

// copyHash copies and hashes.
func copyHash(w io.Writer, r io.Reader, buf []byte) (digest.Digest, int64, error) {
	h := sha256.New()
	var n int64
	for {
		k, err := r.Read(buf)
		h.Write(buf[:k])
		if k > 0 && w != io.Discard {
			if _, err := w.Write(buf[:k]); err != nil {
				return digest.Digest{}, n, err
			}
		}
		n += int64(k)
		if err == io.EOF {
			return digest.Of(h), n, nil
		}
		if err != nil {
			return digest.Digest{}, n, err
		}
	}
}
