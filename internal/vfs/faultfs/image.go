package faultfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is one changing operation, in terms of inodes, so that it can be replayed without paths.
type entry struct {
	kind Kind
	text string
	ino  int    // of the file, or of the directory whose entries change
	off  int64  // of a write; the size of a truncate
	data []byte // of a write

	changes []change // of entries, in one or two directories
	isDir   bool     // of a create: changes[0].target is a directory
}

// change is one change of a directory's entries: name now leads to target, 0 for nothing; and was, if not empty, is gone.
type change struct {
	dir    int
	name   string
	target int
	was    string
}

// model is what the file system holds now, and how it came there.
type model struct {
	log    []entry
	base   map[int]*inode         // what was there at New: durable
	names  map[int]map[string]int // entries as they are now, by directory
	lastID int
}

type inode struct {
	dir     bool
	data    []byte
	entries map[string]int
	writes  []entry  // not durable
	changes []change // not durable
}

const rootID = 1

func newModel() *model {
	return &model{
		base:   map[int]*inode{rootID: {dir: true, entries: map[string]int{}}},
		names:  map[int]map[string]int{rootID: {}},
		lastID: rootID,
	}
}

// load takes what is in root as durable.
func (m *model) load(root string) error {
	return filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		dir, name := m.parent(strings.TrimPrefix(p, root+"/"))
		m.lastID++
		n := &inode{dir: d.IsDir()}
		if n.dir {
			n.entries = map[string]int{}
			m.names[m.lastID] = map[string]int{}
		} else if n.data, err = os.ReadFile(p); err != nil {
			return err
		}
		m.base[m.lastID] = n
		m.base[dir].entries[name] = m.lastID
		m.names[dir][name] = m.lastID
		return nil
	})
}

// find is the inode at path, 0 for none.
func (m *model) find(path string) int {
	if filepath.IsAbs(path) {
		return 0
	}
	id := rootID
	if path == "." {
		return id
	}
	for part := range strings.SplitSeq(path, "/") {
		if id = m.names[id][part]; id == 0 {
			return 0
		}
	}
	return id
}

func (m *model) parent(path string) (dir int, name string) {
	return m.find(filepath.Dir(path)), filepath.Base(path)
}

func (m *model) nothing(kind Kind, text string) {
	m.log = append(m.log, entry{kind: kind, text: text})
}

func (m *model) create(path string, isDir bool) {
	dir, name := m.parent(path)
	if dir == 0 {
		return
	}
	m.lastID++
	kind := Create
	if isDir {
		kind = Mkdir
		m.names[m.lastID] = map[string]int{}
	}
	m.names[dir][name] = m.lastID
	m.log = append(m.log, entry{kind: kind, text: path, isDir: isDir, changes: []change{{dir: dir, name: name, target: m.lastID}}})
}

func (m *model) remove(path string) {
	dir, name := m.parent(path)
	if dir == 0 {
		return
	}
	delete(m.names[dir], name)
	m.log = append(m.log, entry{kind: Remove, text: path, changes: []change{{dir: dir, name: name}}})
}

func (m *model) rename(from, to string) {
	id := m.find(from)
	d1, n1 := m.parent(from)
	d2, n2 := m.parent(to)
	if id == 0 || d2 == 0 {
		return
	}
	delete(m.names[d1], n1)
	m.names[d2][n2] = id
	e := entry{kind: Rename, text: from + " " + to}
	if d1 == d2 {
		e.changes = []change{{dir: d1, name: n2, target: id, was: n1}}
	} else {
		e.changes = []change{{dir: d2, name: n2, target: id}, {dir: d1, name: n1}}
	}
	m.log = append(m.log, e)
}

func (m *model) write(ino int, off int64, b []byte, text string) {
	m.log = append(m.log, entry{kind: Write, text: text, ino: ino, off: off, data: slices.Clone(b)})
}

func (m *model) truncate(ino int, size int64, text string) {
	m.log = append(m.log, entry{kind: Truncate, text: text, ino: ino, off: size})
}

func (m *model) sync(ino int, text string) {
	m.log = append(m.log, entry{kind: Sync, text: text, ino: ino})
}

func (m *model) syncDir(path string) {
	m.log = append(m.log, entry{kind: SyncDir, text: path, ino: m.find(path)})
}

func (m *model) syncAll() { m.log = append(m.log, entry{kind: SyncFS}) }

// replay is the state after the first n operations: durable parts applied, the others pending.
func (m *model) replay(n int) map[int]*inode {
	state := map[int]*inode{}
	for id, b := range m.base {
		state[id] = &inode{dir: b.dir, data: slices.Clone(b.data), entries: maps.Clone(b.entries)}
	}
	for _, e := range m.log[:n] {
		switch e.kind {
		case Create, Mkdir:
			if len(e.changes) > 0 {
				state[e.changes[0].target] = &inode{dir: e.isDir, entries: map[string]int{}}
			}
		case Write, Truncate:
			if i := state[e.ino]; i != nil {
				i.writes = append(i.writes, e)
			}
		case Sync:
			state[e.ino].settle()
		case SyncDir:
			state[e.ino].settle()
		case SyncFS:
			for _, i := range state {
				i.settle()
			}
		}
		for _, c := range e.changes {
			state[c.dir].changes = append(state[c.dir].changes, c)
		}
	}
	return state
}

// settle makes everything of an inode durable.
func (i *inode) settle() {
	if i == nil {
		return
	}
	for _, w := range i.writes {
		i.apply(w, len(w.data))
	}
	for _, c := range i.changes {
		i.enter(c)
	}
	i.writes, i.changes = nil, nil
}

func (i *inode) apply(w entry, n int) {
	end := w.off
	if w.kind == Write {
		end += int64(n)
	}
	if int64(len(i.data)) < end {
		i.data = append(i.data, make([]byte, end-int64(len(i.data)))...)
	}
	if w.kind == Truncate {
		i.data = i.data[:end]
		return
	}
	copy(i.data[w.off:], w.data[:n])
}

func (i *inode) enter(c change) {
	if c.was != "" {
		delete(i.entries, c.was)
	}
	if c.target == 0 {
		delete(i.entries, c.name)
	} else {
		i.entries[c.name] = c.target
	}
}

// Image writes into the empty directory dst a state that a power loss after the first n changing operations could have left;
// seed chooses which. Seed 0 drops all that was not durable, seed 1 keeps all.
func (f *FS) Image(n int, seed uint64, dst string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < 0 || n > len(f.m.log) {
		return fmt.Errorf("image after %d operations: there are %d", n, len(f.m.log))
	}
	state := f.m.replay(n)
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	keep := func() bool { return seed == 1 || seed > 1 && r.IntN(2) == 0 }
	for _, id := range slices.Sorted(maps.Keys(state)) {
		i := state[id]
		for _, w := range i.writes {
			switch {
			case keep():
				i.apply(w, len(w.data))
			case seed > 1 && w.kind == Write && r.IntN(2) == 0:
				i.apply(w, r.IntN(len(w.data)+1))
			}
		}
		for _, c := range i.changes {
			if keep() {
				i.enter(c)
			}
		}
	}
	return lay(state, rootID, dst)
}

func lay(state map[int]*inode, id int, dst string) error {
	for name, target := range state[id].entries {
		p, i := filepath.Join(dst, name), state[target]
		if !i.dir {
			if err := os.WriteFile(p, i.data, 0o644); err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(p, 0o755); err != nil {
			return err
		}
		if err := lay(state, target, p); err != nil {
			return err
		}
	}
	return nil
}
