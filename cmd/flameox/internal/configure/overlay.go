package configure

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// overlay is the files of a project with one more, which exists in memory only. It opens what the language opens by itself and keeps
// its rule: nothing is read outside the root, also not through a link. Variable files are outside by intention; each is read
// once, because it may be a pipe.
type overlay struct {
	root, path string // of the project, and of the file in memory; absolute
	src        []byte // nil: there is no such file
	varFiles   []string
	read       map[string][]byte
}

// newOverlay names the file in memory as no file in dir is named.
func newOverlay(root, dir string, varFiles []string) *overlay {
	name := "console.flameox.hcl"
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			break
		}
		name = "_" + name
	}
	return &overlay{root: root, path: filepath.Join(dir, name), varFiles: varFiles, read: map[string][]byte{}}
}

func (o *overlay) name() string { return filepath.Base(o.path) }

func (o *overlay) open(path string) (fs.File, error) {
	switch {
	case path == o.path && o.src != nil:
		return newMemFile(o.name(), o.src), nil
	case slices.Contains(o.varFiles, path):
		b, known := o.read[path]
		if !known {
			var err error
			if b, err = readBounded(path); err != nil {
				return nil, err
			}
			o.read[path] = b
		}
		return newMemFile(filepath.Base(path), b), nil
	}
	rel, err := filepath.Rel(o.root, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a directory, not a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	return root.Open(rel)
}

// maxVarFile bounds a variable file; it is more than the language accepts, which says so itself.
const maxVarFile = 64 << 20

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxVarFile))
}

func (o *overlay) readDir(path string) ([]fs.DirEntry, error) {
	rel, err := filepath.Rel(o.root, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(rel))
	if err == nil && path == filepath.Dir(o.path) && o.src != nil {
		entries = append(entries, fs.FileInfoToDirEntry(memInfo{o.name(), int64(len(o.src))}))
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return entries, err
}

// memFile is an open file in memory.
type memFile struct {
	*bytes.Reader
	info memInfo
}

func newMemFile(name string, src []byte) *memFile {
	return &memFile{bytes.NewReader(src), memInfo{name, int64(len(src))}}
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memFile) Close() error               { return nil }

type memInfo struct {
	name string
	size int64
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return 0o444 }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return false }
func (i memInfo) Sys() any           { return nil }
