package cas

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// treesWait is how long one caller waits for another that lays out a large tree.
const treesWait = 10 * time.Minute

// Materialize lays a tree out below trees/ and returns the directory. Files and directories in it are read-only copies (or
// share blocks copy-on-write), never hard links. What is there from an earlier call is verified by lstat against what is remembered, by
// content where that moved, and made anew where it is damaged. Callers in this and other processes may overlap; a directory that was replaced
// because it was damaged is removed, so a process that works in it sees it go.
func (s *Store) Materialize(root digest.Digest) (string, error) {
	dir := filepath.Join(s.dir, "trees", root.String())
	if root.IsZero() {
		return "", errors.New("lay out a tree: there is no digest")
	}
	list, err := s.nodes(root)
	if err != nil {
		return "", fmt.Errorf("lay out a tree: %w", err)
	}
	if s.treeIntact(dir, list) {
		return dir, nil
	}
	for _, d := range []string{filepath.Dir(dir), filepath.Join(s.dir, "lock")} {
		if err := vfs.MkdirAll(s.fs, d, 0o755); err != nil {
			return "", Explain("lay out the tree "+root.Short(), err)
		}
	}
	l, err := s.fs.Lock(filepath.Join(s.dir, "lock", "trees"), vfs.Exclusive, treesWait)
	if err != nil {
		return "", fmt.Errorf("lay out the tree %s: %w", root.Short(), err)
	}
	defer l.Close()
	if s.treeIntact(dir, list) {
		return dir, nil
	}
	tmp := dir + ".tmp-" + rand.Text()
	if err := s.layOut(tmp, list); err != nil {
		vfs.RemoveAll(s.fs, tmp)
		return "", Explain("lay out the tree "+root.Short(), err)
	}
	if err := s.replaceTree(tmp, dir); err != nil {
		vfs.RemoveAll(s.fs, tmp)
		return "", Explain("lay out the tree "+root.Short(), err)
	}
	// Nothing is remembered of it yet: stamps of files that were just written vouch for nothing. The next call reads them.
	return dir, nil
}

// VerifyTree says whether what Materialize laid out for root is intact; one that is not laid out is not.
func (s *Store) VerifyTree(root digest.Digest) (bool, error) {
	list, err := s.nodes(root)
	if err != nil {
		return false, err
	}
	return s.treeIntact(filepath.Join(s.dir, "trees", root.String()), list), nil
}

// TreesDir is the folder that trees are laid out in, each below its digest.
func (s *Store) TreesDir() string { return filepath.Join(s.dir, "trees") }

// LaidOut lists the roots of the trees that are laid out.
func (s *Store) LaidOut() ([]digest.Digest, error) {
	list, err := s.fs.ReadDir(filepath.Join(s.dir, "trees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the trees that are laid out: %w", err)
	}
	var out []digest.Digest
	for _, e := range list {
		if d, err := digest.Parse(e.Name()); err == nil {
			out = append(out, d)
		}
	}
	return out, nil
}

// DropTree removes what Materialize laid out for root; the blobs stay.
func (s *Store) DropTree(root digest.Digest) error {
	dir := filepath.Join(s.dir, "trees", root.String())
	l, err := s.fs.Lock(filepath.Join(s.dir, "lock", "trees"), vfs.Exclusive, treesWait)
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	defer l.Close()
	for _, p := range []string{dir, dir + ".stat"} {
		if err := vfs.RemoveAll(s.fs, p); err != nil {
			return Explain("remove "+p, err)
		}
	}
	return nil
}

func (s *Store) replaceTree(tmp, dir string) error {
	_, err := s.fs.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s.fs.Rename(tmp, dir)
	}
	if err != nil {
		return err
	}
	old := dir + ".tmp-" + rand.Text()
	if err := s.fs.Rename(dir, old); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, dir); err != nil {
		return err
	}
	return vfs.RemoveAll(s.fs, old)
}

// layOut writes the tree at dir, hashing what it copies.
func (s *Store) layOut(dir string, list []node) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for _, n := range list {
		p := filepath.Join(dir, n.Path)
		if n.dir {
			if err := s.fs.Mkdir(p, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := s.copyBlob(p, n.File, *buf); err != nil {
			return err
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].dir {
			if err := s.fs.Chmod(filepath.Join(dir, list[i].Path), 0o555); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) copyBlob(to string, file File, buf []byte) (err error) {
	src, err := s.fs.OpenFile(s.Path(file.Digest), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &BlobError{Digest: file.Digest, Presence: Absent, Path: s.Path(file.Digest)}
	}
	if err != nil {
		return err
	}
	defer src.Close()
	perm := fs.FileMode(0o444)
	if file.Exec {
		perm = 0o555
	}
	dst, err := s.fs.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if e := dst.Close(); err == nil {
			err = e
		}
	}()
	var d digest.Digest
	var n int64
	switch err = s.fs.Clone(dst, src); {
	case errors.Is(err, errors.ErrUnsupported):
		d, n, err = copyHash(dst, src, buf)
	case err == nil:
		d, n, err = copyHash(io.Discard, io.NewSectionReader(dst, 0, 1<<62), buf)
	}
	if err == nil && d != file.Digest {
		err = &BlobError{Digest: file.Digest, Presence: Damaged, Path: s.Path(file.Digest)}
	}
	if err == nil && n != file.Size {
		err = fmt.Errorf("the tree says that %q has %d bytes, and its blob has %d; the tree was not made by this program", file.Path, file.Size, n)
	}
	return err
}

// treeIntact compares what is laid out at dir with the tree, and notes the identities of what it had to read.
func (s *Store) treeIntact(dir string, list []node) bool {
	if st, err := s.fs.Lstat(dir); err != nil || !st.Mode.IsDir() {
		return false
	}
	var note *treeNote
	if !s.Distrust {
		note = s.loadNote(dir, len(list))
	}
	now := s.fs.Now().UnixNano()
	ids := make([]Identity, len(list))
	moved := false
	for i, n := range list {
		p := dir
		if n.Path != "" {
			p = dir + "/" + n.Path
		}
		st, err := s.fs.Lstat(p)
		if err != nil || st.Mode.IsDir() != n.dir {
			return false
		}
		ids[i] = st.Identity
		if note != nil && note.ids[i] == st.Identity && !st.Racy(note.read, now) {
			continue
		}
		moved = true
		if n.dir {
			names, err := s.fs.ReadDir(p)
			// The children themselves are looked up one by one, so their number is enough.
			if err != nil || len(names) != n.children || st.Mode.Perm()&0o222 != 0 {
				return false
			}
			continue
		}
		if !st.Mode.IsRegular() || st.Exec() != n.Exec || st.Size != n.Size || st.Mode.Perm()&0o222 != 0 {
			return false
		}
		h, err := hashFile(s.fs, p)
		if err != nil || h.Digest != n.Digest || h.Identity != st.Identity {
			return false
		}
	}
	if moved {
		// A failure costs a reading next time. Where another process has just replaced the directory, the inodes in this note fit nothing.
		_ = s.saveNote(dir, treeNote{read: now, ids: ids})
	}
	return true
}

// treeNote is what is remembered of a laid-out tree: TREE.stat beside it. It counts until the machine restarts, because the files are not synced.
type treeNote struct {
	read int64
	ids  []Identity // in the order of nodes
}

const noteMagic = "flameox trees 1\n"

func (s *Store) saveNote(dir string, n treeNote) error {
	le := binary.LittleEndian
	b := append([]byte(noteMagic), fmt.Sprintf("%-36s", vfs.BootID())...)
	b = le.AppendUint32(b, uint32(len(n.ids)))
	b = le.AppendUint64(b, uint64(n.read))
	for _, id := range n.ids {
		b = le.AppendUint64(b, uint64(id.Size))
		b = le.AppendUint64(b, uint64(id.MtimeNS))
		b = le.AppendUint64(b, uint64(id.CtimeNS))
		b = le.AppendUint64(b, id.Dev)
		b = le.AppendUint64(b, id.Ino)
	}
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return vfs.WriteFile(s.fs, dir+".stat", b, 0o644, false)
}

// loadNote is nil where there is no note that counts.
func (s *Store) loadNote(dir string, n int) *treeNote {
	const head = 16 + 36 + 4 + 8
	b, err := vfs.ReadFile(s.fs, dir+".stat", maxTable)
	boot := vfs.BootID()
	le := binary.LittleEndian
	if err != nil || boot == "" || len(b) != head+40*n+4 || string(b[:52]) != noteMagic+boot ||
		le.Uint32(b[52:]) != uint32(n) || crc32.Checksum(b[:len(b)-4], castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil
	}
	note := &treeNote{read: int64(le.Uint64(b[56:])), ids: make([]Identity, n)}
	for i := range note.ids {
		r := b[head+40*i:]
		note.ids[i] = Identity{
			Size: int64(le.Uint64(r)), MtimeNS: int64(le.Uint64(r[8:])), CtimeNS: int64(le.Uint64(r[16:])),
			Dev: le.Uint64(r[24:]), Ino: le.Uint64(r[32:]),
		}
	}
	return note
}
