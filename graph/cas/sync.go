package cas

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// manySyncs is the number of files from which one sync of the file system costs less than one of each.
const manySyncs = 4

// Sync makes every blob of the batch durable under its name. When it fails nothing is lost but the batch: blobs that already have their
// names are whole and harmless. Either way the batch is finished, and Sync says the same when asked again.
func (b *Batch) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return b.err
	}
	if b.begun && len(b.temps)+len(b.old) > 0 {
		// Each of the others waits in its own Sync, so its batch is ours to read and write meanwhile.
		b.s.syncing.Do(b, syncTogether)
	}
	b.end()
	return b.err
}

// syncTogether syncs batches of one store, and sets the error of each. A failure is found out one by one: it is of the batch that it
// happens to.
func syncTogether(batches []*Batch) {
	if len(batches) > 1 && syncAll(batches) == nil {
		return
	}
	for _, b := range batches {
		b.err = syncAll([]*Batch{b})
	}
}

// syncAll may be called again after an error: what has its name already is only made durable.
func syncAll(batches []*Batch) error {
	s := batches[0].s
	if err := syncData(batches); err != nil {
		return Explain("make blobs durable", err)
	}
	dirs := map[string]bool{}
	for _, b := range batches {
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
	}
	if err := s.syncDirs(dirs); err != nil {
		return Explain("make the names of blobs durable", err)
	}
	for _, b := range batches {
		if err := b.placed(); err != nil {
			return err
		}
	}
	return nil
}

// placed remembers blobs that are durable under their names.
func (b *Batch) placed() error {
	s := b.s
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

// syncData makes the content of the batches' new files durable, where they have many with one sync of the file system.
func syncData(batches []*Batch) error {
	s, files := batches[0].s, 0
	for _, b := range batches {
		files += len(b.temps)
	}
	if files >= manySyncs {
		if err := s.fs.SyncFS(s.cas); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for _, b := range batches {
		for _, tmp := range b.temps {
			if err := syncFile(s.fs, tmp); err != nil {
				return err
			}
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
