package cas

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/selftrace"
	"github.com/flameox/flameox/internal/vfs"
)

const (
	statMagic = "flameox stats 1\n"
	// keepSaves is for how many saves an entry stays that nobody asks for: a project is left for a
	// while and taken up again.
	keepSaves = 64
)

// Hashed is what is known of a regular file.
type Hashed struct {
	Digest digest.Digest
	Identity
	Exec bool
	Err  error // of DigestAll; the rest is zero then
}

// StatCache remembers the digests of source files by absolute path and stat identity. An answer from memory is given only
// where the identity is unchanged and its stamps are older than the moment of hashing by more than a tick of
// the clock (vfs.Identity.Racy); anything else reads the file. It may be used from several goroutines.
//
// It trusts the kernel's stamps: content written without them moving (a raw write to the device, a mapping
// of a network file system) goes unnoticed.
type StatCache struct {
	// Workers is how many files DigestAll looks at in parallel.
	Workers int
	// Distrust says not to answer from what an earlier process remembered: every file is read once. What is read is saved as ever.
	Distrust bool
	// Trace is told of files that are looked at and hashed; nil where nobody asks where time goes.
	Trace *selftrace.Recorder

	path string
	fs   vfs.FS
	base *table
	seen []atomic.Bool // rows of base that were asked for

	mu     sync.Mutex
	fresh  map[string]row
	hashes atomic.Int64
	bytes  atomic.Int64
}

// OpenStatCache loads the file path (of a store: cache/stat); one that is missing or broken is an empty cache.
func OpenStatCache(path string, fsys vfs.FS) *StatCache {
	c := &StatCache{Workers: 2, path: path, fs: fsys, fresh: map[string]row{}}
	c.base = loadTable(fsys, path, statMagic)
	c.seen = make([]atomic.Bool, c.base.n)
	return c
}

// Hashes is how many files were read so far because memory could not answer, and how many bytes they had.
func (c *StatCache) Hashes() (files, bytes int64) { return c.hashes.Load(), c.bytes.Load() }

func pathHash(path string) uint32 { return crc32.Checksum([]byte(path), castagnoli) }

func (c *StatCache) known(path string) (row, bool) {
	c.mu.Lock()
	r, ok := c.fresh[path]
	base, seen := c.base, c.seen
	c.mu.Unlock()
	if ok {
		return r, true
	}
	if c.Distrust {
		return row{}, false
	}
	for i := range base.bucket(pathHash(path)) {
		if string(base.path(i)) == path {
			seen[i].Store(true)
			return base.row(i), true
		}
	}
	return row{}, false
}

// Digest is the digest, identity and executable bit of the regular file at an absolute path. A symbolic link is ErrNotRegular: resolve it first.
func (c *StatCache) Digest(path string) (Hashed, error) {
	h, ok, err := c.remembered(path)
	if ok || err != nil {
		return h, err
	}
	return c.read(path)
}

// remembered is the answer from memory; false where the file has to be read.
func (c *StatCache) remembered(path string) (Hashed, bool, error) {
	if !filepath.IsAbs(path) {
		return Hashed{}, false, fmt.Errorf("hash %s: the path must be absolute", path)
	}
	st, err := c.fs.Lstat(path)
	if err != nil {
		return Hashed{}, false, fmt.Errorf("hash %s: %w", path, err)
	}
	if !st.Mode.IsRegular() {
		return Hashed{}, false, fmt.Errorf("hash %s: %w", path, ErrNotRegular)
	}
	if r, ok := c.known(path); ok && r.Identity == st.Identity && !st.Racy(r.read, c.fs.Now().UnixNano()) {
		return Hashed{Digest: r.Digest, Identity: st.Identity, Exec: st.Exec()}, true, nil
	}
	return Hashed{}, false, nil
}

func (c *StatCache) read(path string) (Hashed, error) {
	span := c.Trace.Begin("hash", path)
	h, err := hashFile(c.fs, path)
	span.Note("bytes", h.Size)
	span.End()
	if err != nil {
		return Hashed{}, fmt.Errorf("hash %s: %w", path, err)
	}
	c.hashes.Add(1)
	c.bytes.Add(h.Size)
	c.mu.Lock()
	c.fresh[path] = row{Identity: h.Identity, Digest: h.Digest, read: h.read}
	c.mu.Unlock()
	return Hashed{Digest: h.Digest, Identity: h.Identity, Exec: h.Exec()}, nil
}

// DigestAll is Digest of every path, in their order; an error is in the answer of its path. What must be read is read after
// everything was looked at, one file at a time for each worker: a few large files are as much work as many small ones.
func (c *StatCache) DigestAll(paths []string) []Hashed {
	out := make([]Hashed, len(paths))
	unread := make([]bool, len(paths))
	span := c.Trace.Begin("stat", "")
	span.Note("files", int64(len(paths)))
	each(c.Workers, len(paths), lookRun, func(i int) {
		h, ok, err := c.remembered(paths[i])
		h.Err = err
		out[i], unread[i] = h, !ok && err == nil
	})
	span.End()
	var left []int
	for i, u := range unread {
		if u {
			left = append(left, i)
		}
	}
	each(c.Workers, len(left), 1, func(k int) {
		h, err := c.read(paths[left[k]])
		h.Err = err
		out[left[k]] = h
	})
	return out
}

// Save writes the cache by rename if anything was hashed since it was loaded. Of two processes that save, the later wins. A failure
// costs only time.
func (c *StatCache) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fresh) == 0 {
		return nil
	}
	saves := c.base.saves + 1
	rows := make([]keyed, 0, c.base.n+len(c.fresh))
	text := string(c.base.text) // one copy for all paths
	for i := range c.base.n {
		r := c.base.row(i)
		if c.seen[i].Load() {
			r.used = saves
		}
		if saves-r.used > keepSaves {
			continue
		}
		k := keyed{hash: c.base.hash(i), path: c.base.pathIn(text, i), row: r}
		if _, newer := c.fresh[k.path]; !newer {
			rows = append(rows, k)
		}
	}
	added := make([]keyed, 0, len(c.fresh))
	for p, r := range c.fresh {
		r.used = saves
		added = append(added, keyed{hash: pathHash(p), path: p, row: r})
	}
	b := encodeTable(statMagic, saves, rows, added)
	dir := filepath.Dir(c.path)
	err := vfs.MkdirAll(c.fs, dir, 0o755)
	if err == nil {
		err = vfs.WriteFile(c.fs, c.path, b, 0o644, false)
	}
	var t *table
	if err == nil {
		t, err = parseTable(statMagic, b)
	}
	if err != nil {
		return fmt.Errorf("write the stat cache %s: %w; files are hashed again next time", c.path, err)
	}
	c.base, c.seen = t, make([]atomic.Bool, t.n)
	clear(c.fresh)
	return nil
}

// Same says whether the file at path still has the identity id. A file that is gone, or is another kind of
// file, has not; an error is one of lstat.
func Same(fsys vfs.FS, path string, id Identity) (bool, error) {
	st, err := fsys.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && st.Mode.IsRegular() && st.Identity == id, err
}
