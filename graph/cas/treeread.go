package cas

import (
	"fmt"

	"github.com/flameox/flameox/internal/digest"
)

// maxTree bounds the entries of one tree: a few kilobytes of directories that name one another again and again could
// stand for more files than fit any machine.
const maxTree = 4 << 20

// maxDepth bounds how deep directories lie; paths of Linux end at 4,096 bytes.
const maxDepth = 2048

// PutTree stores the directories of a tree and returns the digest of its root. The blobs of the files are put by the caller.
func (b *Batch) PutTree(files []File) (digest.Digest, error) {
	root, dirs, err := BuildTree(files)
	if err != nil {
		return root, err
	}
	seen := map[digest.Digest]bool{root: true}
	var members []digest.Digest
	add := func(d digest.Digest) {
		if !seen[d] {
			seen[d] = true
			members = append(members, d)
		}
	}
	for _, d := range dirs {
		if _, err := b.PutBytes(d.Bytes); err != nil {
			return root, err
		}
		add(d.Digest)
	}
	for i := range files {
		add(files[i].Digest)
	}
	b.s.keepMembers(root, members)
	return root, nil
}

// readDir reads one directory; the zero digest is an empty one.
func (s *Store) readDir(d digest.Digest) ([]dirEntry, error) {
	if d.IsZero() {
		return nil, nil
	}
	b, err := s.ReadAll(d)
	if err != nil {
		return nil, err
	}
	list, err := parseDir(b)
	if err != nil {
		return nil, fmt.Errorf("blob %s is not a directory of a tree: %w", d, err)
	}
	return list, nil
}

// node is a file or a directory of a tree; the root is the first and has no path.
type node struct {
	File
	dir      bool
	children int // entries of a directory
}

// nodes lists a tree, directories before what they hold, names in order.
func (s *Store) nodes(root digest.Digest) ([]node, error) {
	memo := map[digest.Digest][]dirEntry{}
	counts := map[digest.Digest]int{}
	// Every directory is read and counted once before anything is laid out flat.
	var count func(d digest.Digest, depth int) (int, error)
	count = func(d digest.Digest, depth int) (int, error) {
		if n, ok := counts[d]; ok {
			return n, nil
		}
		if depth > maxDepth {
			return 0, fmt.Errorf("it is deeper than %d directories", maxDepth)
		}
		list, err := s.readDir(d)
		if err != nil {
			return 0, err
		}
		n := 1
		for _, e := range list {
			below := 1
			if e.kind == kindDir {
				if below, err = count(e.digest, depth+1); err != nil {
					return 0, err
				}
			}
			if n += below; n > maxTree {
				return 0, fmt.Errorf("it has more than %d entries", maxTree)
			}
		}
		memo[d], counts[d] = list, n
		return n, nil
	}
	total, err := count(root, 0)
	if err != nil {
		return nil, fmt.Errorf("read the tree %s: %w", root, err)
	}
	out := make([]node, 0, total)
	var walk func(path string, d digest.Digest)
	walk = func(path string, d digest.Digest) {
		list := memo[d]
		out = append(out, node{File: File{Path: path, Digest: d}, dir: true, children: len(list)})
		for _, e := range list {
			p := e.name
			if path != "" {
				p = path + "/" + e.name
			}
			if e.kind == kindDir {
				walk(p, e.digest)
				continue
			}
			out = append(out, node{File: File{Path: p, Digest: e.digest, Size: e.size, Exec: e.kind == kindExec}})
		}
	}
	walk("", root)
	return out, nil
}

// ReadTree lists the files of a tree, directory by directory, names in order. It fails where a directory is absent, damaged or no
// directory; the blobs of the files are not looked at.
func (s *Store) ReadTree(root digest.Digest) ([]File, error) {
	list, err := s.nodes(root)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(list))
	for _, n := range list {
		if !n.dir {
			files = append(files, n.File)
		}
	}
	return files, nil
}

// TreeDirs lists the digests of the directory blobs of a tree, each once, the root first.
func (s *Store) TreeDirs(root digest.Digest) ([]digest.Digest, error) {
	list, err := s.nodes(root)
	if err != nil {
		return nil, err
	}
	var out []digest.Digest
	seen := map[digest.Digest]bool{}
	for _, n := range list {
		if n.dir && !seen[n.Digest] {
			seen[n.Digest] = true
			out = append(out, n.Digest)
		}
	}
	return out, nil
}

// TreeChange is a file in which two trees differ. A zero digest means that the file is not there. Where both digests are
// equal, only the executable bit differs.
type TreeChange struct {
	Path             string
	Old, New         digest.Digest
	OldExec, NewExec bool
}

// DiffTrees lists the files in which b differs from a, in the order of names; equal directories are not read. The zero digest is an
// empty tree.
func (s *Store) DiffTrees(a, b digest.Digest) ([]TreeChange, error) {
	var out []TreeChange
	var walk func(path string, a, b digest.Digest, depth int) error
	walk = func(path string, a, b digest.Digest, depth int) error {
		if a == b {
			return nil
		}
		if depth > maxDepth || len(out) > maxTree {
			return fmt.Errorf("they are deeper than %d directories or differ in more than %d files", maxDepth, maxTree)
		}
		la, err := s.readDir(a)
		if err != nil {
			return err
		}
		lb, err := s.readDir(b)
		if err != nil {
			return err
		}
		for len(la) > 0 || len(lb) > 0 {
			var ea, eb dirEntry
			if len(lb) == 0 || len(la) > 0 && la[0].name <= lb[0].name {
				ea = la[0]
			}
			if len(la) == 0 || len(lb) > 0 && lb[0].name <= la[0].name {
				eb = lb[0]
			}
			if ea.kind != 0 {
				la = la[1:]
			}
			if eb.kind != 0 {
				lb = lb[1:]
			}
			p := path + ea.name
			if ea.kind == 0 {
				p = path + eb.name
			}
			// A file that became a directory is a file gone and the directory's files new.
			c := TreeChange{Path: p}
			var da, db digest.Digest
			switch ea.kind {
			case kindDir:
				da = ea.digest
			case kindFile, kindExec:
				c.Old, c.OldExec = ea.digest, ea.kind == kindExec
			}
			switch eb.kind {
			case kindDir:
				db = eb.digest
			case kindFile, kindExec:
				c.New, c.NewExec = eb.digest, eb.kind == kindExec
			}
			if c.Old != c.New || c.OldExec != c.NewExec {
				out = append(out, c)
			}
			if err := walk(p+"/", da, db, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk("", a, b, 0); err != nil {
		return nil, fmt.Errorf("compare the trees %s and %s: %w", a.Short(), b.Short(), err)
	}
	return out, nil
}
