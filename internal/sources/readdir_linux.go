package sources

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// listing reads directories. It is os.ReadDir with half the system calls and without an object for each entry: a project
// has as many small directories as files, and a plan lists them all.
type listing struct {
	buf []byte
}

// item is one entry of a directory.
type item struct {
	name string
	mode fs.FileMode // type bits only
}

// read lists the directory path in the order of names. Errors are *fs.PathError.
func (l *listing) read(path string) ([]item, error) {
	fail := func(op string, err error) ([]item, error) {
		return nil, &fs.PathError{Op: op, Path: path, Err: err}
	}
	if l.buf == nil {
		l.buf = make([]byte, 32<<10)
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd)
	var items []item
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, l.buf) })
		if err != nil {
			return fail("readdir", err)
		}
		if n <= 0 {
			break
		}
		items = appendItems(items, l.buf[:n])
	}
	known := items[:0]
	for _, i := range items {
		if i.mode == fs.ModeIrregular { // the file system does not say: ask for the entry itself
			var st unix.Stat_t
			_, err := retry(func() (int, error) { return 0, unix.Fstatat(fd, i.name, &st, unix.AT_SYMLINK_NOFOLLOW) })
			if err == unix.ENOENT {
				continue // removed meanwhile
			}
			if err != nil {
				return fail("lstat", err)
			}
			i.mode = typeOf(byte(st.Mode & unix.S_IFMT >> 12))
		}
		known = append(known, i)
	}
	if !slices.IsSortedFunc(known, byName) {
		slices.SortFunc(known, byName)
	}
	return known, nil
}

func byName(a, b item) int { return strings.Compare(a.name, b.name) }

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// typeOf turns a DT_… into type bits; both it and the top of a mode are the same numbers.
func typeOf(dt byte) fs.FileMode {
	switch dt {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_UNKNOWN:
		return fs.ModeIrregular
	}
	return fs.ModeDevice // or a pipe, or a socket: nothing that can be a source
}

// appendItems takes apart what getdents64 wrote: inode (8 bytes), offset (8), length of the entry (2), type (1), name, NUL.
func appendItems(items []item, b []byte) []item {
	const head = 19
	for len(b) > head {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= head || size > len(b) {
			break
		}
		name := b[head:size]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		inode := binary.NativeEndian.Uint64(b)
		mode := typeOf(b[18])
		b = b[size:]
		if inode == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		items = append(items, item{string(name), mode})
	}
	return items
}
