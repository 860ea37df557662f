package shred

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// kernelCopy copies what the kernel can copy without handing it over, to the place where to stands. It may copy less than n, and none at all.
func kernelCopy(to, from *os.File, start, n int64) (copied int64, err error) {
	for copied < n {
		off := start + copied
		m, err := unix.CopyFileRange(int(from.Fd()), &off, int(to.Fd()), nil, int(min(n-copied, 1<<30)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPERM):
			return copied, nil
		case err != nil:
			return copied, err
		case m == 0:
			return copied, nil
		}
		copied += int64(m)
	}
	return copied, nil
}
