package sources

import (
	"testing"

	"golang.org/x/sys/unix"
)

func FuzzAppendItems(f *testing.F) {
	fd, err := unix.Open(f.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		f.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(buf[:n])
	f.Add(append(make([]byte, 16), 24, 0, 8, 'a', 0, 0, 0, 0))
	f.Add(append(make([]byte, 16), 255, 255, 8, 'a', 0, 0, 0, 0))
	f.Add(append(make([]byte, 16), 0, 0, 8, 'a', 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		for _, i := range appendItems(nil, b) {
			if i.name == "." || i.name == ".." {
				t.Errorf("the entry %q is listed", i.name)
			}
			total += len(i.name)
		}
		if total > len(b) {
			t.Errorf("%d bytes of names from %d bytes", total, len(b))
		}
	})
}
