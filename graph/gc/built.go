package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/cas"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
)

// Built is a folder that was built of what is in the store: an environment, a tool, or a download that never became whole.
type Built struct {
	Path  string `json:"path"` // below the store, with / between names
	Bytes int64  `json:"bytes"`
}

// builtIn are the folders of folders that are built, and the beginning of the names of their locks. Each folder has the first digits of a
// key as its name.
var builtIn = [...]struct{ dir, lock string }{{"env", "env-"}, {"tools", "tool-"}}

// The names of such folders.
const (
	builtDigits = 24
	partials    = "partial" // of tools: downloads, by the digest they are to have
)

// built finds what no run that is kept was made with, and what has been left alone for as long as runs are kept. It can be made again: of the blobs
// while those are there, else of what its lock or its digests say.
func built(store *cas.Store, recs *cache.Records, kept map[string]Reason, o *Options) ([]Built, error) {
	needed := map[string]bool{}
	for _, s := range recs.All() {
		if kept[s.Run] != "" && !s.Key.IsZero() {
			needed[s.Key.String()[:builtDigits]] = true
		}
	}
	fsys := store.FS()
	old := func(path string) bool {
		st, err := fsys.Lstat(path)
		return err == nil && o.Now.UnixNano()-st.MtimeNS > o.Keep.Nanoseconds()
	}
	var out []Built
	for _, in := range builtIn {
		entries, err := fsys.ReadDir(filepath.Join(store.Dir(), in.dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list what was built: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(store.Dir(), in.dir, e.Name())
			if e.Name() == partials {
				parts, err := fsys.ReadDir(path)
				if err != nil {
					return nil, fmt.Errorf("list downloads: %w", err)
				}
				for _, p := range parts {
					if part := filepath.Join(path, p.Name()); p.Type().IsRegular() && old(part) {
						size, err := sizeOf(fsys, part)
						if err != nil {
							return nil, err
						}
						out = append(out, Built{in.dir + "/" + partials + "/" + p.Name(), size})
					}
				}
				continue
			}
			if !e.IsDir() || !isBuilt(e.Name()) || needed[e.Name()] || !old(path) {
				continue
			}
			size, err := sizeOf(fsys, path)
			if err != nil {
				return nil, err
			}
			out = append(out, Built{in.dir + "/" + e.Name(), size})
		}
	}
	return out, nil
}

func isBuilt(name string) bool {
	return len(name) == builtDigits && strings.Trim(name, "0123456789abcdef") == ""
}

// sizeOf is what the files at path have. Links are not followed.
func sizeOf(fsys vfs.FS, path string) (int64, error) {
	st, err := fsys.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("measure what was built: %w", err)
	}
	if !st.Mode.IsDir() {
		return st.Size, nil
	}
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return 0, fmt.Errorf("measure what was built: %w", err)
	}
	var sum int64
	for _, e := range entries {
		n, err := sizeOf(fsys, filepath.Join(path, e.Name()))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// raze deletes what was built and is not in use. It does not go to the trash: it is made again, and what was moved would be none. What says
// that a folder is whole goes first, so that one that is half gone is never taken for one.
func raze(store *cas.Store, list []Built) (gone []Built, err error) {
	fsys := store.FS()
	for _, b := range list {
		dir, name, _ := strings.Cut(b.Path, "/")
		if isBuilt(name) {
			for _, in := range builtIn {
				if in.dir != dir {
					continue
				}
				l, err := lock.TryAcquire(filepath.Join(store.Dir(), "lock", in.lock+name), lock.Holder{Command: "flameox gc"})
				if err != nil {
					continue // somebody builds or uses it
				}
				err = razeOne(fsys, filepath.Join(store.Dir(), filepath.FromSlash(b.Path)))
				l.Release()
				if err != nil {
					return gone, err
				}
				gone = append(gone, b)
			}
			continue
		}
		if err := razeOne(fsys, filepath.Join(store.Dir(), filepath.FromSlash(b.Path))); err != nil {
			return gone, err
		}
		gone = append(gone, b)
	}
	return gone, nil
}

// stampName is the file by which a folder is an environment (docs/formats/environments.md).
const stampName = ".flameox-stamp.json"

func razeOne(fsys vfs.FS, path string) error {
	err := fsys.Remove(filepath.Join(path, stampName))
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if err = writable(fsys, path); err == nil {
			err = vfs.RemoveAll(fsys, path)
		}
	}
	if err != nil {
		return fmt.Errorf("delete what was built and nothing needs: %w", err)
	}
	return nil
}

// writable lets folders be emptied that a program made read-only.
func writable(fsys vfs.FS, path string) error {
	st, err := fsys.Lstat(path)
	if err != nil || !st.Mode.IsDir() {
		return err
	}
	if st.Mode.Perm()&0o300 != 0o300 {
		if err := fsys.Chmod(path, 0o755); err != nil {
			return err
		}
	}
	entries, err := fsys.ReadDir(path)
	for _, e := range entries {
		if err == nil && e.IsDir() {
			err = writable(fsys, filepath.Join(path, e.Name()))
		}
	}
	return err
}
