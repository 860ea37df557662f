//go:build !linux

package reads

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/flameox/flameox/internal/vfs"
)

// folder is a directory that names are looked up in.
type folder struct{ path string }

func open(path string) (folder, bool) { return folder{path}, true }

// below is a directory below the folder.
func (f folder) below(dir string) (folder, bool) { return folder{filepath.Join(f.path, dir)}, true }

func (f folder) close() {}

// look is the sum of the name, relative to the folder, without following a last link; its identity, and whether it is a symbolic link.
func (f folder) look(name string) (s sum, id vfs.Identity, link bool) {
	return lookAt(filepath.Join(f.path, name))
}

// lookNUL is look of a name that ends with a NUL byte.
func (f folder) lookNUL(name []byte) (s sum, id vfs.Identity, link bool) {
	return f.look(string(name[:len(name)-1]))
}

func lookAt(path string) (s sum, id vfs.Identity, link bool) {
	st, err := vfs.OS{}.Lstat(path)
	switch {
	case err == nil:
		return sumOf(st.Identity, uint32(st.Mode)), st.Identity, st.Mode&fs.ModeSymlink != 0
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return absent, id, false
	case errors.Is(err, syscall.EACCES):
		return errnoSum(int(syscall.EACCES)), id, false
	}
	return doubt, id, false
}
