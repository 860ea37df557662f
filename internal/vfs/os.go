package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the file system of the machine.
type OS struct{}

var _ FS = OS{}

type osFile struct{ *os.File }

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename is os.Rename.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

// Mkdir is os.Mkdir.
func (OS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// Chmod is os.Chmod.
func (OS) Chmod(name string, perm fs.FileMode) error { return os.Chmod(name, perm) }

// ReadDir is os.ReadDir.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Now is time.Now.
func (OS) Now() time.Time { return time.Now() }

// SyncDir opens the directory and syncs it.
func (OS) SyncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// SyncFS calls syncfs where that is a promise: a kernel that reports write errors, a local file system.
func (OS) SyncFS(dir string) error { return syncFS(dir) }

// Lstat is one system call without allocation.
func (OS) Lstat(name string) (Stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Lstat(name, &st)
		if err == nil {
			return statOf(&st), nil
		}
		if err != unix.EINTR {
			return Stat{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
	}
}

// Clone uses FICLONE.
func (OS) Clone(dst, src File) error {
	d, ok1 := dst.(osFile)
	s, ok2 := src.(osFile)
	if !ok1 || !ok2 {
		return errors.ErrUnsupported
	}
	return clone(d.File, s.File)
}

// Lock is flock, asked for again and again: a wait in the kernel could not end.
func (OS) Lock(name string, how LockMode, wait time.Duration) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	op := unix.LOCK_EX
	if how == Shared {
		op = unix.LOCK_SH
	}
	start, pause := time.Now(), 100*time.Microsecond
	for {
		switch err := unix.Flock(int(f.Fd()), op|unix.LOCK_NB); err {
		case nil:
			return f, nil
		case unix.EINTR:
			continue
		case unix.EWOULDBLOCK:
		default:
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
		}
		if time.Since(start) >= wait {
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
		}
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Millisecond)
	}
}

func (f osFile) Datasync() error { return datasync(f.File) }

func (f osFile) Stat() (Stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(int(f.Fd()), &st)
		if err == nil {
			return statOf(&st), nil
		}
		if err != unix.EINTR {
			return Stat{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
		}
	}
}

func statOf(st *unix.Stat_t) Stat {
	s := Stat{Identity: Identity{
		Size: st.Size, MtimeNS: st.Mtim.Nano(), CtimeNS: st.Ctim.Nano(),
		Dev: uint64(st.Dev), Ino: st.Ino,
	}}
	s.Mode = fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		s.Mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		s.Mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		s.Mode |= fs.ModeSocket
	case unix.S_IFCHR:
		s.Mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		s.Mode |= fs.ModeDevice
	default:
		s.Mode |= fs.ModeIrregular
	}
	return s
}
