package cas

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// small is the size up to which content is hashed in memory before anything is written: most blobs are
// small, and most of those that are put twice.
const small = 1 << 20

// Batch collects blobs until Sync gives them their names. It ends with Sync or Discard; Discard
// after either does nothing, so `defer b.Discard()` is right. Puts may run in parallel.
type Batch struct {
	s       *Store
	mu      sync.Mutex
	begun   bool
	done    bool
	err     error                    // of Sync, or that the batch was discarded
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

var (
	errDone      = errors.New("the batch is finished")
	errDiscarded = errors.New("the batch was discarded; its blobs are not in the store")
)

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

// Discard removes what Sync has not named.
func (b *Batch) Discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	if b.begun {
		b.err = errDiscarded
	}
	b.end()
}

// end removes what is left of the batch. Caller holds mu.
func (b *Batch) end() {
	b.done = true
	if b.err != nil {
		clear(b.has) // nothing may rely on them
	}
	if !b.begun {
		return
	}
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
