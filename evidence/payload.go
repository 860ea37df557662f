package evidence

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// OpenPayload opens an immutable native payload for reading. Anything but a regular file is refused, so
// that a reader never blocks on a pipe or reads through a device that a path was swapped for.
func OpenPayload(path string) (io.ReadCloser, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the payload: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("opening the payload %s: it is a %s, not a regular file", path, kindOf(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the payload: %w", err)
	}
	// The name may have been swapped between the look and the open.
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		f.Close()
		return nil, fmt.Errorf("opening the payload %s: the file was replaced while it was being opened", path)
	}
	return f, nil
}

// ReadPayload reads a payload whole: its first bytes, up to limit, into memory that is made once. size is what the payload is said to have.
func ReadPayload(r io.Reader, size, limit int64) ([]byte, error) {
	if size < 0 || size > limit {
		size = limit
	}
	// bytes.Buffer wants room before it sees that there is nothing more.
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<30)) + bytes.MinRead)
	_, err := b.ReadFrom(io.LimitReader(r, limit))
	return b.Bytes(), err
}

func kindOf(m os.FileMode) string {
	switch {
	case m&os.ModeSymlink != 0:
		return "symbolic link"
	case m.IsDir():
		return "directory"
	case m&os.ModeNamedPipe != 0:
		return "named pipe"
	case m&os.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}
