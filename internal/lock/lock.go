package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Holder says who takes a lock, for the messages of those who must wait.
type Holder struct {
	Command string // "flameox apply"
}

// Lock is a held lock.
type Lock struct {
	f     *os.File
	path  string
	place int // of the holder's name in the file; -1 where there is none
}

// mode says with what permissions a lock file is made.
type mode struct {
	perm fs.FileMode
	// exact sets perm whatever the umask says, for files that other users must be able to open.
	exact bool
	// share takes the lock beside others that share it.
	share bool
}

var private = mode{perm: 0o644}

// Acquire takes the lock on the file at path, which it makes where it is missing, and waits for it until ctx ends. An error is
// a *HeldError where another process held it all the time.
func Acquire(ctx context.Context, path string, h Holder) (*Lock, error) {
	return acquire(ctx, path, h, private)
}

// TryAcquire takes the lock now or returns a *HeldError.
func TryAcquire(path string, h Holder) (*Lock, error) { return try(path, h, private) }

// Longest pause between two attempts. A blocking flock could not be ended with ctx.
const longestPause = 200 * time.Millisecond

func acquire(ctx context.Context, path string, h Holder, m mode) (*Lock, error) {
	c := &candidate{path: path, holder: h, mode: m, place: -1}
	defer c.close()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longestPause) {
		l, err := c.take()
		if l != nil || err != nil {
			return l, err
		}
		c.wait()
		select {
		case <-ctx.Done():
			e := held(path, c.f, c.free)
			e.cause = ctx.Err()
			return nil, e
		case <-time.After(pause):
		}
	}
}

func try(path string, h Holder, m mode) (*Lock, error) {
	c := &candidate{path: path, holder: h, mode: m, place: -1}
	defer c.close()
	l, err := c.take()
	if l == nil && err == nil {
		err = held(path, c.f, c.free)
	}
	return l, err
}

// open opens the lock file. It first opens without creating: in a sticky directory such as /tmp, Linux
// (fs.protected_regular) refuses to open another user's file with O_CREAT even where its mode allows it. A file that may only be
// read can be locked all the same; its holder is then not named.
func open(path string, m mode) (*os.File, error) {
	const flags = os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	var err error
	for range 10 {
		var f *os.File
		f, err = os.OpenFile(path, flags, 0)
		if errors.Is(err, fs.ErrPermission) {
			f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		}
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, m.perm)
			if errors.Is(err, fs.ErrExist) {
				continue // another process made it first
			}
			if err == nil && m.exact {
				err = f.Chmod(m.perm)
			}
		}
		if err != nil {
			break
		}
		st, serr := f.Stat()
		if serr == nil && !st.Mode().IsRegular() {
			f.Close()
			return nil, fmt.Errorf("lock %s: it is not a regular file but %s; remove it", path, kind(st.Mode()))
		}
		return f, serr
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("lock %s: it is a symbolic link, which is not followed; remove it", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("lock %s: the directory %s does not exist", path, filepath.Dir(path))
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("lock %s: permission denied: neither reading nor writing it is allowed; have its owner make it readable (chmod a+rw) or remove it", path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// current says whether path still names the open file.
func current(path string, f *os.File) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// Path is the lock's file.
func (l *Lock) Path() string { return l.path }

// Release lets the lock go. Releasing twice does nothing.
func (l *Lock) Release() error {
	if l == nil || l.f == nil {
		return nil
	}
	leavePlace(l.f, l.place)
	err := l.f.Close() // the only descriptor of it: closing releases
	l.f = nil
	return err
}
