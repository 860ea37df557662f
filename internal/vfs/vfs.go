package vfs

import (
	"errors"
	"io"
	"io/fs"
	"time"
)

// FS is a file system. Paths are those of package os. Errors are *fs.PathError or *os.LinkError that
// wrap the system's error number.
type FS interface {
	// OpenFile opens with the flags of package os. The descriptor is closed on exec.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces to, if it exists, atomically.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	Mkdir(name string, perm fs.FileMode) error
	Chmod(name string, perm fs.FileMode) error
	// SyncDir makes the entries of a directory durable, not what the entries hold.
	SyncDir(name string) error
	// SyncFS makes everything that was written to the file system of dir so far durable, data and
	// entries, and reports write errors since the last call on any file of it. It fails with errors.ErrUnsupported where the
	// kernel or the file system cannot promise that; callers then sync one by one.
	SyncFS(dir string) error
	// Lstat does not follow a symbolic link.
	Lstat(name string) (Stat, error)
	// ReadDir lists a directory in the order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Clone makes dst, an empty file open for writing, share the blocks of src copy-on-write. It fails with
	// errors.ErrUnsupported where the file system cannot; callers then copy.
	Clone(dst, src File) error
	// Lock takes the kernel lock of the file called name, creating it, and waits at most so long. It fails with
	// ErrLocked. Closing gives the lock back; so does the end of the process, however it ends.
	Lock(name string, how LockMode, wait time.Duration) (io.Closer, error)
	// Now is the clock that stamps files.
	Now() time.Time
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes data and metadata of the file durable; not its name.
	Sync() error
	// Datasync makes the data, and the size if it grew, durable.
	Datasync() error
	Truncate(size int64) error
	Chmod(perm fs.FileMode) error
	Stat() (Stat, error)
}

// LockMode says who else may hold a lock.
type LockMode int

// The modes of a lock.
const (
	Exclusive LockMode = iota
	Shared
)

// ErrLocked says that another holder kept a lock for the whole wait.
var ErrLocked = errors.New("the lock is held by another process")

// Identity is what lstat knows of a file without reading it. Two equal identities mean equal content, except
// for a file changed within one tick of the clock that stamps files: see Racy.
type Identity struct {
	Size    int64  // bytes
	MtimeNS int64  // modification of the content, nanoseconds since 1970
	CtimeNS int64  // change of content or metadata; no program can set it
	Dev     uint64 // device
	Ino     uint64 // inode on it
}

// Stat is the identity and the mode of a file.
type Stat struct {
	Identity
	Mode fs.FileMode
}

// Exec says whether the owner may execute the file.
func (s Stat) Exec() bool { return s.Mode&0o100 != 0 }

const (
	// Kernels stamp files with the time of their last tick: 10 ms at the slowest.
	fineGranularity = 50 * int64(time.Millisecond)
	// FAT counts in steps of two seconds, ext3 and HFS+ in steps of one.
	coarseGranularity = 2100 * int64(time.Millisecond)
)

// Racy says whether id cannot vouch for content that was read at the moment read, seen from now, both in nanoseconds
// since 1970 by the clock that stamps files. A change within one tick after
// the file was read would leave the same stamps, so stamps must be older than the reading by more
// than a tick. Stamps or readings in the future mean that the clock was set back: they vouch for nothing.
func (id Identity) Racy(read, now int64) bool {
	g := fineGranularity
	if id.MtimeNS%int64(time.Second) == 0 && id.CtimeNS%int64(time.Second) == 0 {
		g = coarseGranularity
	}
	return max(id.MtimeNS, id.CtimeNS) >= read-g || read > now
}
