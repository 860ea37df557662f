package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flameox/flameox/internal/vfs"
)

// Kind is a kind of operation.
type Kind string

// The kinds of operations. The ones after Read change nothing.
const (
	Create   Kind = "create"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	Mkdir    Kind = "mkdir"
	Chmod    Kind = "chmod"
	SyncDir  Kind = "syncdir"
	SyncFS   Kind = "syncfs"
	Read     Kind = "read"
	Open     Kind = "open"
)

// Op is an operation about to be done. N counts, from 0, those that change something; it is -1 for others.
type Op struct {
	N    int
	Kind Kind
	Path string // of a rename, the new name
}

// FS is the failing file system. The zero value is of no use; call New.
type FS struct {
	// Inject is asked before every operation; an error it returns is what the operation fails with. A write that fails so has
	// written the first half of its bytes, as on a full disk. Set it before use.
	Inject func(Op) error
	// Clock replaces the clock of the machine if set.
	Clock func() time.Time
	// NoSyncFS makes SyncFS unsupported, as on a network file system.
	NoSyncFS bool

	root string
	real vfs.OS
	mu   sync.Mutex
	m    *model
}

var _ vfs.FS = (*FS)(nil)

// New wraps the directory root, which should be empty: what is in it already counts as durable.
func New(root string) (*FS, error) {
	f := &FS{root: filepath.Clean(root), m: newModel()}
	return f, f.m.load(f.root)
}

// FailNth makes an Inject that fails the n-th changing operation, once.
func FailNth(n int, err error) func(Op) error {
	return func(op Op) error {
		if op.N == n {
			return err
		}
		return nil
	}
}

// FailFrom makes an Inject that fails, from the n-th changing operation on, everything that needs space: the disk is full.
func FailFrom(n int, err error) func(Op) error {
	return func(op Op) error {
		if op.N < n {
			return nil
		}
		switch op.Kind {
		case Create, Write, Mkdir, Sync, SyncFS, SyncDir:
			return err
		}
		return nil
	}
}

// Ops is the number of changing operations so far.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.m.log)
}

// Log describes the changing operations so far, one line each.
func (f *FS) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]string, len(f.m.log))
	for i, e := range f.m.log {
		out[i] = string(e.kind) + " " + e.text
	}
	return out
}

// do asks Inject, does the operation for real, and writes it down if it succeeded. Caller holds mu.
func (f *FS) do(kind Kind, path string, real func() error, note func()) error {
	if err := f.ask(kind, path, true); err != nil {
		f.m.nothing(kind, f.rel(path)+" (failed)")
		return err
	}
	if err := real(); err != nil {
		return err
	}
	n := len(f.m.log)
	note()
	if len(f.m.log) == n { // outside root
		f.m.nothing(kind, path)
	}
	return nil
}

func (f *FS) ask(kind Kind, path string, changes bool) error {
	if f.Inject == nil {
		return nil
	}
	op := Op{N: -1, Kind: kind, Path: path}
	if changes {
		op.N = len(f.m.log)
	}
	if err := f.Inject(op); err != nil {
		return &fs.PathError{Op: string(kind), Path: path, Err: err}
	}
	return nil
}

func (f *FS) rel(path string) string {
	path = filepath.Clean(path)
	if path == f.root {
		return "."
	}
	if r, ok := strings.CutPrefix(path, f.root+"/"); ok {
		return r
	}
	return path
}

// OpenFile counts as Create only where it makes a file.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.real.Lstat(name)
	creates := flag&os.O_CREATE != 0 && errors.Is(err, fs.ErrNotExist)
	var file vfs.File
	open := func() (err error) { file, err = f.real.OpenFile(name, flag, perm); return err }
	if creates {
		err = f.do(Create, name, open, func() { f.m.create(f.rel(name), false) })
	} else if err = f.ask(Open, name, false); err == nil {
		if err = open(); err == nil && flag&os.O_TRUNC != 0 {
			f.m.truncate(f.m.find(f.rel(name)), 0, f.rel(name))
		}
	}
	if err != nil {
		return nil, err
	}
	h := &handle{File: file, fs: f, name: name, ino: f.m.find(f.rel(name)), append: flag&os.O_APPEND != 0}
	return h, nil
}

// Rename moves a file or a directory.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Rename, to, func() error { return f.real.Rename(from, to) }, func() { f.m.rename(f.rel(from), f.rel(to)) })
}

// Remove removes a file or an empty directory.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Remove, name, func() error { return f.real.Remove(name) }, func() { f.m.remove(f.rel(name)) })
}

// Mkdir makes a directory.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Mkdir, name, func() error { return f.real.Mkdir(name, perm) }, func() { f.m.create(f.rel(name), true) })
}

// Chmod changes a mode.
func (f *FS) Chmod(name string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Chmod, name, func() error { return f.real.Chmod(name, perm) }, func() {})
}

// SyncDir makes entries durable in the model; it does not wait for the real disk.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(SyncDir, name, func() error { _, err := f.real.Lstat(name); return err }, func() { f.m.syncDir(f.rel(name)) })
}

// SyncFS makes everything durable in the model.
func (f *FS) SyncFS(dir string) error {
	if f.NoSyncFS {
		return errors.ErrUnsupported
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(SyncFS, dir, func() error { return nil }, func() { f.m.syncAll() })
}

// Lstat is the real one.
func (f *FS) Lstat(name string) (vfs.Stat, error) { return f.real.Lstat(name) }

// ReadDir is the real one.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) { return f.real.ReadDir(name) }

// Clone is not supported.
func (f *FS) Clone(_, _ vfs.File) error { return errors.ErrUnsupported }

// Lock is the real one; lock files are no part of the model, which is right: nothing in them matters.
func (f *FS) Lock(name string, how vfs.LockMode, wait time.Duration) (io.Closer, error) {
	return f.real.Lock(name, how, wait)
}

// Now is Clock, or the clock of the machine.
func (f *FS) Now() time.Time {
	if f.Clock != nil {
		return f.Clock()
	}
	return time.Now()
}

// handle is an open file of FS.
type handle struct {
	vfs.File
	fs     *FS
	name   string
	ino    int
	append bool
	pos    int64
}

func (h *handle) Write(b []byte) (n int, err error) {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.append {
		st, err := h.File.Stat()
		if err != nil {
			return 0, err
		}
		h.pos = st.Size
	}
	if err := f.ask(Write, h.name, true); err != nil {
		n, _ = h.File.Write(b[:len(b)/2])
		f.m.write(h.ino, h.pos, b[:n], f.rel(h.name)+" (cut short)")
		h.pos += int64(n)
		return n, err
	}
	n, err = h.File.Write(b)
	f.m.write(h.ino, h.pos, b[:n], f.rel(h.name))
	h.pos += int64(n)
	return n, err
}

func (h *handle) Read(b []byte) (int, error) {
	h.fs.mu.Lock()
	err := h.fs.ask(Read, h.name, false)
	h.fs.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return h.File.Read(b)
}

func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	err := h.fs.ask(Read, h.name, false)
	h.fs.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return h.File.ReadAt(b, off)
}

func (h *handle) Sync() error {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Sync, h.name, func() error { return nil }, func() { f.m.sync(h.ino, f.rel(h.name)) })
}

func (h *handle) Datasync() error { return h.Sync() }

func (h *handle) Truncate(size int64) error {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Truncate, h.name, func() error { return h.File.Truncate(size) }, func() { f.m.truncate(h.ino, size, f.rel(h.name)) })
}

func (h *handle) Chmod(perm fs.FileMode) error {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(Chmod, h.name, func() error { return h.File.Chmod(perm) }, func() {})
}
