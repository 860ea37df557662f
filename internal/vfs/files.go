package vfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempMark is in the name of every file that WriteFile has not finished.
const tempMark = ".tmp-"

// IsTemp says whether WriteFile gave this name to a file that it had not finished.
func IsTemp(name string) bool { return strings.Contains(filepath.Base(name), tempMark) }

// WriteFile puts data at name by rename: a reader sees the old file or the whole new one. With durable, the new one also
// survives a power loss once WriteFile has returned; without, a power loss may leave the old one, the new one, or a
// broken one, so the content needs a checksum.
func WriteFile(fsys FS, name string, data []byte, perm fs.FileMode, durable bool) (err error) {
	tmp := name + tempMark + rand.Text()
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			fsys.Remove(tmp)
		}
	}()
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err = fsys.Rename(tmp, name); err != nil {
		return err
	}
	if durable {
		return fsys.SyncDir(filepath.Dir(name))
	}
	return nil
}

// ReadFile reads a whole file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes, more than the limit of %d", st.Size, limit)}
	}
	b := make([]byte, st.Size)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // cut short by another process since Stat
	}
	return b[:n], err
}

// MkdirAll makes a directory and its parents; one that exists is fine.
func MkdirAll(fsys FS, dir string, perm fs.FileMode) error {
	st, err := fsys.Lstat(dir)
	if err == nil && st.Mode.IsDir() {
		return nil
	}
	if err == nil && st.Mode&fs.ModeSymlink == 0 {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("a file that is no directory is in the way")}
	}
	if err == nil {
		return nil // a link set by the owner; what it leads to shows when it is used
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := MkdirAll(fsys, parent, perm); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// RemoveAll removes a file or a directory with all that it holds, also where directories are read-only. It does not
// follow symbolic links. What does not exist is fine.
func RemoveAll(fsys FS, name string) error {
	st, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode.IsDir() {
		if st.Mode&0o700 != 0o700 {
			if err := fsys.Chmod(name, 0o700); err != nil {
				return err
			}
		}
		list, err := fsys.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := RemoveAll(fsys, filepath.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncAbove makes durable that dir is there and what its entries are: it syncs dir and its parent. A parent that may
// not be read was made by somebody else, long ago, and is left alone.
func SyncAbove(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	if err := fsys.SyncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
