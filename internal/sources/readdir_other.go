//go:build !linux

package sources

import (
	"io/fs"
	"os"
)

// listing reads directories.
type listing struct{}

// item is one entry of a directory.
type item struct {
	name string
	mode fs.FileMode // type bits only
}

// read lists the directory path in the order of names. Errors are *fs.PathError.
func (*listing) read(path string) ([]item, error) {
	list, err := os.ReadDir(path)
	items := make([]item, len(list))
	for i, e := range list {
		items[i] = item{e.Name(), e.Type()}
	}
	return items, err
}
