package cas

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/internal/digest"
)

// File is a file of a tree.
type File struct {
	Path   string // below the root, with / between names
	Digest digest.Digest
	Size   int64 // bytes
	Exec   bool
}

// Dir is the blob of one directory of a tree.
type Dir struct {
	Digest digest.Digest
	Bytes  []byte
}

const treeMagic = "flameox tree 1\n"

// The kinds of entries. Symbolic links have none: what they lead to is not content.
const (
	kindFile byte = 1
	kindExec byte = 2
	kindDir  byte = 3
)

// dirEntry is one line of a directory blob.
type dirEntry struct {
	kind   byte
	name   string
	digest digest.Digest
	size   int64 // of a directory, of all files below it
}

// BuildTree makes the blobs of the directories of a tree, children before parents, and the digest of the root, which is
// the last one. Files may come in any order. Two files at one path, a file where another needs a
// directory, and names that are empty, ".", "..", or hold NUL are errors.
func BuildTree(files []File) (root digest.Digest, dirs []Dir, err error) {
	sorted := make([]File, len(files))
	copy(sorted, files)
	for i := range sorted {
		if err := checkPath(sorted[i].Path); err != nil {
			return root, nil, err
		}
		if sorted[i].Size < 0 || sorted[i].Digest.IsZero() {
			return root, nil, fmt.Errorf("tree: %q has no digest or a negative size", sorted[i].Path)
		}
	}
	// By components: "a/b" before "a.b", so that a directory's files are neighbours.
	if byPath := func(a, b File) int { return comparePaths(a.Path, b.Path) }; !slices.IsSortedFunc(sorted, byPath) {
		slices.SortFunc(sorted, byPath)
	}
	b := &treeBuilder{seen: map[digest.Digest]bool{}}
	root, _, err = b.build("", sorted)
	return root, b.dirs, err
}

func comparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

func checkPath(p string) error {
	for name := range strings.SplitSeq(p, "/") {
		if err := checkName(name); err != nil {
			return fmt.Errorf("tree: the path %q: %w", p, err)
		}
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q cannot be the name of a file in a tree", name)
	case strings.ContainsAny(name, "\x00/"):
		return fmt.Errorf("the name %q holds NUL or /", name)
	}
	return nil
}

type treeBuilder struct {
	dirs []Dir
	seen map[digest.Digest]bool
}

// build makes the directory that holds files, whose paths all begin with prefix.
func (b *treeBuilder) build(prefix string, files []File) (d digest.Digest, size int64, err error) {
	var list []dirEntry
	for i := 0; i < len(files); {
		name, _, deeper := strings.Cut(files[i].Path[len(prefix):], "/")
		j := i + 1
		e := dirEntry{kind: kindFile, name: name, digest: files[i].Digest, size: files[i].Size}
		if files[i].Exec {
			e.kind = kindExec
		}
		full := prefix + name
		for j < len(files) && strings.HasPrefix(files[j].Path, full) && (len(files[j].Path) == len(full) || files[j].Path[len(full)] == '/') {
			j++
		}
		if deeper {
			e.kind = kindDir
			if e.digest, e.size, err = b.build(full+"/", files[i:j]); err != nil {
				return d, 0, err
			}
		} else if j > i+1 {
			if files[i+1].Path == full {
				return d, 0, fmt.Errorf("tree: %q is given twice", full)
			}
			return d, 0, fmt.Errorf("tree: %q is a file, and %q needs it to be a directory", full, files[i+1].Path)
		}
		if size+e.size < size {
			return d, 0, fmt.Errorf("tree: the size of %q does not fit 63 bits", prefix)
		}
		size += e.size
		list = append(list, e)
		i = j
	}
	bytes := encodeDir(list)
	d = digest.Sum(bytes)
	if !b.seen[d] {
		b.seen[d] = true
		b.dirs = append(b.dirs, Dir{d, bytes})
	}
	return d, size, nil
}

// encodeDir sorts entries by name.
func encodeDir(list []dirEntry) []byte {
	// Paths in order have names in order, except where one is another and more: "a/b" comes before "a.b".
	byName := func(a, b dirEntry) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(list, byName) {
		slices.SortFunc(list, byName)
	}
	size := len(treeMagic)
	for i := range list {
		size += 1 + len(list[i].name) + len(list[i].digest) + 2*binary.MaxVarintLen32
	}
	b := append(make([]byte, 0, size), treeMagic...)
	for _, e := range list {
		b = append(b, e.kind)
		b = binary.AppendUvarint(b, uint64(len(e.name)))
		b = append(b, e.name...)
		b = append(b, e.digest[:]...)
		b = binary.AppendUvarint(b, uint64(e.size))
	}
	return b
}

// parseDir reads what encodeDir writes and nothing else: one directory has one encoding.
func parseDir(b []byte) ([]dirEntry, error) {
	rest, ok := strings.CutPrefix(string(b), treeMagic)
	if !ok {
		return nil, errors.New("it does not begin as a directory of a tree of version 1 does")
	}
	var list []dirEntry
	for rest != "" {
		e := dirEntry{kind: rest[0]}
		if e.kind < kindFile || e.kind > kindDir {
			return nil, fmt.Errorf("an entry has the unknown kind %d", e.kind)
		}
		n, tail, err := cutUvarint(rest[1:])
		if err != nil {
			return nil, err
		}
		if n > uint64(len(tail)) || uint64(len(tail))-n < uint64(len(e.digest)) {
			return nil, errors.New("an entry is cut short")
		}
		e.name = tail[:n]
		if err := checkName(e.name); err != nil {
			return nil, err
		}
		if len(list) > 0 && list[len(list)-1].name >= e.name {
			return nil, fmt.Errorf("the name %q is there twice or out of order", e.name)
		}
		copy(e.digest[:], tail[n:])
		if e.digest.IsZero() {
			return nil, fmt.Errorf("%q has no digest", e.name)
		}
		size, tail, err := cutUvarint(tail[n+uint64(len(e.digest)):])
		if err != nil {
			return nil, err
		}
		if e.size = int64(size); e.size < 0 {
			return nil, fmt.Errorf("the size of %q does not fit 63 bits", e.name)
		}
		list = append(list, e)
		rest = tail
	}
	return list, nil
}

func cutUvarint(s string) (uint64, string, error) {
	v, n := binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
	if n <= 0 {
		return 0, "", errors.New("a number is cut short or too large")
	}
	if n > 1 && s[n-1] == 0 {
		return 0, "", errors.New("a number is longer than it must be")
	}
	return v, s[n:], nil
}
