package reads

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flameox/flameox/internal/digest"
)

// workers is how many goroutines look at paths.
func workers() int { return min(4, runtime.GOMAXPROCS(0)) }

// Record is a record that was read and not yet checked.
type Record struct {
	c    *contents
	file string
	at   int64 // of the second section
	size int
	crc  uint32
}

// Open reads the record in a file. Whatever is wrong with it, there is none.
func Open(file string) (*Record, bool) {
	f, err := os.Open(file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	var head [headerSize]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:16]) != magic {
		return nil, false
	}
	n, m := binary.LittleEndian.Uint64(head[16:]), binary.LittleEndian.Uint64(head[28:])
	info, err := f.Stat()
	if err != nil || n > maxSection || m > maxSection || info.Size() != int64(headerSize+n+m) {
		return nil, false
	}
	first := make([]byte, n)
	if _, err := io.ReadFull(f, first); err != nil || crc32.Checksum(first, castagnoli) != binary.LittleEndian.Uint32(head[24:]) {
		return nil, false
	}
	c, err := decode(first)
	if err != nil {
		return nil, false
	}
	return &Record{c: c, file: file, at: int64(headerSize + n), size: int(m), crc: binary.LittleEndian.Uint32(head[36:])}, true
}

// Body is the recorded answer. It is not to be used unless Check says that it holds.
func (r *Record) Body() []byte { return r.c.body }

// Asked says whether the record answers this question, in this environment, at this time.
func (r *Record) Asked(question digest.Digest, environ map[string]string, now time.Time) bool {
	t := now.UnixNano()
	return r.c.question == salted(r.c.salt, string(question[:])) && r.c.after < t && t < r.c.before &&
		r.c.envSum == envSum(r.c.salt, r.c.env, environ)
}

// mostMoved is how many files may have moved before it is no use to say which.
const mostMoved = 1024

// Moved is files below one folder, or several, that are not what they were, by their numbers.
type Moved struct {
	numbers []int
	paths   map[int]string // absolute
	why     string         // the first other thing
}

// None says that nothing moved.
func (m Moved) None() bool { return len(m.numbers) == 0 }

// String names the first things that moved.
func (m Moved) String() string {
	var names []string
	if m.why != "" {
		names = append(names, m.why)
	}
	for _, n := range m.numbers[:min(len(m.numbers), 3)] {
		names = append(names, m.paths[n])
	}
	if more := len(m.numbers) - 3; more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return "moved: " + strings.Join(names, ", ")
}

// Check looks whether everything is as it was recorded. It is false where something moved that Again cannot know the effect of.
func (r *Record) Check() (Moved, bool) {
	var m Moved
	var mu sync.Mutex
	var next atomic.Int64
	var broken atomic.Bool
	folders := make([]folder, len(r.c.roots))
	for i, root := range r.c.roots {
		f, ok := open(root)
		if !ok {
			m.why = root
			return m, false
		}
		defer f.close()
		folders[i] = f
	}
	var wg sync.WaitGroup
	work := func() {
		buf := make([]byte, 0, 512)
		for !broken.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(r.c.blocks) {
				return
			}
			b := &r.c.blocks[i]
			at := folders[b.root]
			if b.dir != "" {
				var ok bool
				if at, ok = at.below(b.dir); !ok {
					broken.Store(true)
					return
				}
			}
			whole := b.each(buf, func(k int, name []byte, want sum) bool {
				if s, _, _ := at.lookNUL(name[:len(name)+1]); s != want || s == doubt {
					mu.Lock()
					defer mu.Unlock()
					m.numbers = append(m.numbers, b.first+k)
					if m.paths == nil {
						m.paths = map[int]string{}
					}
					m.paths[b.first+k] = filepath.Join(r.c.roots[b.root], b.dir, string(name))
					if len(m.numbers) > mostMoved {
						broken.Store(true)
					}
				}
				return !broken.Load()
			})
			if b.dir != "" {
				at.close()
			}
			if !whole {
				broken.Store(true)
			}
		}
	}
	for range workers() - 1 {
		wg.Go(work)
	}
	why := r.checkPaths()
	if why != "" {
		broken.Store(true)
	}
	work()
	wg.Wait()
	m.why = why
	slices.Sort(m.numbers)
	return m, !broken.Load()
}

// checkPaths is the first path that is not what it was, or "".
func (r *Record) checkPaths() string {
	for _, p := range r.c.places {
		if realPath(p.name) != p.real {
			return p.name
		}
	}
	for _, h := range r.c.hard {
		p := r.c.places[h.dir].name + h.base
		s, _, link := lookAt(p)
		if s != h.sum || s == doubt || link != h.link {
			return p
		}
		if link {
			if target, end, _ := follow(p); target != h.target || end != h.end || end == doubt {
				return p
			}
		}
	}
	return ""
}

// Set is the files of a set, some of which moved.
type Set struct {
	Tree  digest.Digest
	Root  string
	Files []string // below Root
}

// Sets are the sets that files which moved are in, and the rest of the answer. It is false where a path that moved is in none: then it is not
// known what follows.
func (r *Record) Sets(m Moved) (sets []Set, rest []byte, ok bool) {
	rd, ok := r.second()
	if !ok {
		return nil, nil, false
	}
	rest = rd.bytes()
	if m.None() {
		return nil, rest, !rd.bad
	}
	covered := map[int]bool{}
	var lists [][]int
	for range rd.num(len(rd.b)) {
		t := rd.digest()
		before, hit := 0, false
		list := make([]int, 0, min(rd.peek(), 1<<16))
		for range rd.num(len(rd.b)) {
			before += rd.num(1 << 31)
			list = append(list, before)
			if _, moved := m.paths[before]; moved {
				hit = true
				covered[before] = true
			}
		}
		if hit && t.IsZero() {
			return nil, nil, false
		}
		if hit {
			sets = append(sets, Set{Tree: t})
			lists = append(lists, list)
		}
	}
	if rd.bad || len(covered) != len(m.numbers) {
		return nil, nil, false
	}
	for i, list := range lists {
		if sets[i].Root, sets[i].Files, ok = r.names(list); !ok {
			return nil, nil, false
		}
	}
	return sets, rest, true
}

// Rest is the rest of the answer.
func (r *Record) Rest() ([]byte, bool) {
	_, rest, ok := r.Sets(Moved{})
	return rest, ok
}

func (r *Record) second() (*reader, bool) {
	f, err := os.Open(r.file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b := make([]byte, r.size)
	// Another process may have put a record in its place meanwhile: the checksum is the one of the record that was read.
	if _, err := f.ReadAt(b, r.at); err != nil || crc32.Checksum(b, castagnoli) != r.crc {
		return nil, false
	}
	return &reader{b: b}, true
}

// names are the paths that the rising numbers stand for, all below one folder.
func (r *Record) names(numbers []int) (root string, names []string, ok bool) {
	at := -1
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		if len(numbers) == 0 || numbers[0] >= b.first+b.n {
			continue
		}
		if at >= 0 && at != b.root {
			return "", nil, false
		}
		at = b.root
		whole := b.each(nil, func(k int, name []byte, _ sum) bool {
			if len(numbers) > 0 && numbers[0] == b.first+k {
				names = append(names, b.dir+string(name))
				numbers = numbers[1:]
			}
			return true
		})
		if !whole {
			return "", nil, false
		}
	}
	if at < 0 || len(numbers) > 0 {
		return "", nil, false
	}
	slices.Sort(names)
	return r.c.roots[at], names, true
}

// Paths are all paths that the record depends on, for people and for tests.
func (r *Record) Paths() (out []string) {
	for _, h := range r.c.hard {
		p := r.c.places[h.dir]
		out = append(out, filepath.Join(p.name, h.base))
		if p.real != "" {
			out = append(out, filepath.Join(p.real, h.base))
		}
		if h.target != "" {
			out = append(out, h.target)
		}
	}
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		b.each(nil, func(_ int, name []byte, _ sum) bool {
			out = append(out, filepath.Join(r.c.roots[b.root], b.dir, string(name)))
			return true
		})
	}
	return out
}
