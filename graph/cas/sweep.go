package cas

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Swept says what Sweep did.
type Swept struct {
	Busy    bool            // a process is writing: nothing was looked at
	Adopted []digest.Digest // complete: now blobs
	Removed []string        // paths of what was not
}

// Sweep clears cas/tmp and half-made trees of what killed processes left. A file that holds what its name
// says becomes a blob; one that cannot be read stays; every other one is removed. While any process has a batch open it does nothing.
func (s *Store) Sweep() (Swept, error) {
	var out Swept
	if _, err := s.fs.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err := vfs.MkdirAll(s.fs, filepath.Join(s.dir, "lock"), 0o755); err != nil {
		return out, Explain("recover the store", err)
	}
	for _, name := range []string{"batch", "trees"} {
		l, err := s.fs.Lock(filepath.Join(s.dir, "lock", name), vfs.Exclusive, 0)
		if errors.Is(err, vfs.ErrLocked) {
			out.Busy = true
			return out, nil
		}
		if err != nil {
			return out, Explain("recover the store", err)
		}
		defer l.Close()
	}
	if err := s.sweepTemps(&out); err != nil {
		return out, err
	}
	for _, dir := range []string{s.dir, s.cas, filepath.Join(s.dir, "trees"), filepath.Join(s.dir, "cache"), filepath.Join(s.dir, "quarantine")} {
		list, err := s.fs.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, Explain("recover the store", err)
		}
		for _, e := range list {
			if !vfs.IsTemp(e.Name()) {
				continue
			}
			p := filepath.Join(dir, e.Name())
			if err := vfs.RemoveAll(s.fs, p); err != nil {
				return out, Explain("remove "+p, err)
			}
			out.Removed = append(out.Removed, p)
		}
	}
	return out, nil
}

func (s *Store) sweepTemps(out *Swept) error {
	list, err := s.fs.ReadDir(s.tmp())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Explain("recover the store", err)
	}
	dirs := map[string]bool{}
	for _, e := range list {
		p := filepath.Join(s.tmp(), e.Name())
		hex, _, _ := strings.Cut(e.Name(), "-")
		d, err := digest.Parse(hex)
		if err == nil {
			h, err := hashFile(s.fs, p)
			if _, err := known(Damaged, err); err != nil {
				continue // whether it is complete is not known: the next sweep looks again
			}
			if err == nil && h.Digest == d && s.Check(d) != Present {
				if err := syncFile(s.fs, p); err != nil {
					return Explain("recover "+p, err)
				}
				if err := s.place(d, p, dirs); err != nil {
					return err
				}
				dirs[s.cas] = true
				out.Adopted = append(out.Adopted, d)
				continue
			}
		}
		if err := vfs.RemoveAll(s.fs, p); err != nil {
			return Explain("remove "+p, err)
		}
		out.Removed = append(out.Removed, p)
	}
	if len(dirs) == 0 {
		return nil
	}
	return Explain("recover the store", s.syncDirs(dirs))
}
