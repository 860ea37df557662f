package reads

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/internal/vfs"
)

// folder is an open directory that names are looked up in.
type folder struct{ fd int }

// open opens a directory to look names up in it.
func open(path string) (folder, bool) { return folder{unix.AT_FDCWD}.below(path) }

// below opens a directory below the folder.
func (f folder) below(dir string) (folder, bool) {
	fd, err := unix.Openat(f.fd, dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return folder{fd}, err == nil
}

func (f folder) close() { unix.Close(f.fd) }

// look is the sum of the name, relative to the folder, without following a last link; its identity, and whether it is a symbolic link.
func (f folder) look(name string) (s sum, id vfs.Identity, link bool) {
	return f.lookNUL(append([]byte(name), 0))
}

// lookNUL is look of a name that ends with a NUL byte. A plan asks for tens of thousands of them, so it allocates nothing, and does not tell the
// scheduler of each call: they are short.
func (f folder) lookNUL(name []byte) (s sum, id vfs.Identity, link bool) {
	var st unix.Statx_t
	for {
		_, _, errno := unix.RawSyscall6(unix.SYS_STATX, uintptr(f.fd), uintptr(unsafe.Pointer(unsafe.SliceData(name))),
			unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
		switch errno {
		case 0:
			if st.Mask&unix.STATX_BASIC_STATS != unix.STATX_BASIC_STATS {
				return doubt, id, false
			}
			id = vfs.Identity{
				Size: int64(st.Size), MtimeNS: nanoseconds(st.Mtime), CtimeNS: nanoseconds(st.Ctime),
				Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino,
			}
			return sumOf(id, uint32(st.Mode)), id, st.Mode&unix.S_IFMT == unix.S_IFLNK
		case unix.EINTR:
		case unix.ENOENT, unix.ENOTDIR:
			return absent, id, false
		case unix.EACCES, unix.ELOOP, unix.ENAMETOOLONG:
			return errnoSum(int(errno)), id, false
		default:
			return doubt, id, false
		}
	}
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func lookAt(path string) (s sum, id vfs.Identity, link bool) {
	return folder{unix.AT_FDCWD}.look(path)
}
