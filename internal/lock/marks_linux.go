package lock

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func setMark(f *os.File, how int16, at, n int64) error {
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: how, Whence: io.SeekStart, Start: at, Len: n})
		if err != unix.EINTR {
			return err
		}
	}
}

// markShared marks n bytes beside others that do the same; markAlone only where nobody else has marked any of them.
func markShared(f *os.File, at, n int64) error { return setMark(f, unix.F_RDLCK, at, n) }
func markAlone(f *os.File, at, n int64) error  { return setMark(f, unix.F_WRLCK, at, n) }
func unmark(f *os.File, at, n int64)           { setMark(f, unix.F_UNLCK, at, n) }

// marked is one of the ranges in [from, to) that another open file has marked. It changes nothing, and where the file system
// knows no such marks it finds none.
func marked(f *os.File, from, to int64) (lo, hi int64, ok bool) {
	for {
		l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: from, Len: to - from}
		switch err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); {
		case err == unix.EINTR:
			continue
		case err != nil || l.Type == unix.F_UNLCK:
			return 0, 0, false
		}
		lo, hi = l.Start, to
		if l.Len > 0 {
			hi = l.Start + l.Len
		}
		return max(lo, from), min(hi, to), true
	}
}
