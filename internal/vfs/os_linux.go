package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// syncable are the file systems whose syncfs waits for data and entries. FUSE and most network file systems accept the
// call and do nothing; overlayfs can be mounted to ignore it.
var syncable = map[int64]bool{
	unix.EXT4_SUPER_MAGIC:  true,
	unix.XFS_SUPER_MAGIC:   true,
	unix.BTRFS_SUPER_MAGIC: true,
	unix.F2FS_SUPER_MAGIC:  true,
	unix.TMPFS_MAGIC:       true,
}

func syncFS(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if !syncable[int64(st.Type)] || !reportsErrors() {
		return errors.ErrUnsupported
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &fs.PathError{Op: "syncfs", Path: dir, Err: err}
	}
	return nil
}

// reportsErrors says whether syncfs tells of failed writes: since Linux 5.8.
func reportsErrors() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var v [2]int
	i := 0
	for _, c := range u.Release {
		if c >= '0' && c <= '9' {
			v[i] = 10*v[i] + int(c-'0')
		} else if i++; c != '.' || i == len(v) {
			break
		}
	}
	return v[0] > 5 || v[0] == 5 && v[1] >= 8
}

func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

func clone(dst, src *os.File) error {
	switch err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())); err {
	case nil:
		return nil
	case unix.ENOSPC, unix.EIO, unix.EDQUOT:
		return &fs.PathError{Op: "clone", Path: dst.Name(), Err: err}
	default:
		return errors.ErrUnsupported
	}
}

// BootID changes with every start of the machine; "" where it cannot be known. What was written without a sync is
// whole as long as the machine has not restarted, whatever became of the process.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || len(b) < 36 {
		return ""
	}
	return string(b[:36])
}
