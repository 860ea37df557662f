package reads

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/vfs"
)

// Answer is what a record is to hold besides what was read.
type Answer struct {
	// Question is over everything that the answer depends on and that can be said without looking at files: arguments, the machine, the program.
	Question digest.Digest
	Environ  map[string]string
	// Began is before the first read, by the clock that stamps files. What has younger stamps may have been read as it was before.
	Began time.Time
	Now   time.Time
	// After and Before bound the time in which the answer stands; zero where nothing does.
	After, Before time.Time
	// Body is the answer; Rest is what is needed besides to make it again where files of a set moved.
	Body, Rest []byte
}

// DoubtError says why no record can be made of an answer.
type DoubtError struct{ Why string }

func (e *DoubtError) Error() string { return "the answer is not recorded: " + e.Why }

// Seal looks at everything that was noted and makes the bytes of a record. A *DoubtError says that something cannot vouch for itself: it
// is so young that it may have been read before it changed, or it has moved meanwhile. The next answer is recorded then.
func (l *Log) Seal(a Answer) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != "" {
		return nil, &DoubtError{l.refused}
	}
	young := func(s sum, id vfs.Identity) bool {
		return s == doubt || s >= firstFree && id.Racy(a.Began.UnixNano(), a.Now.UnixNano())
	}
	c := &contents{question: a.Question, env: slices.Sorted(maps.Keys(l.env)), body: a.Body, before: 1<<63 - 1}
	rand.Read(c.salt[:]) // never fails
	c.question = salted(c.salt, string(a.Question[:]))
	c.envSum = envSum(c.salt, c.env, a.Environ)
	if !a.After.IsZero() {
		c.after = a.After.UnixNano()
	}
	if !a.Before.IsZero() {
		c.before = a.Before.UnixNano()
	}
	if err := l.sealPaths(c, young); err != nil {
		return nil, err
	}
	numbers, err := l.sealBelow(c, young)
	if err != nil {
		return nil, err
	}
	return pack(c.encode(), l.encodeSets(numbers, a.Rest)), nil
}

func (l *Log) sealPaths(c *contents, young func(sum, vfs.Identity) bool) error {
	index := map[string]int{}
	for _, p := range slices.Sorted(maps.Keys(l.paths)) {
		dir, base := filepath.Split(p)
		if base == "" {
			base = "."
		}
		i, known := index[dir]
		if !known {
			i = len(c.places)
			index[dir] = i
			c.places = append(c.places, place{dir, realPath(dir)})
		}
		s, id, link := lookAt(p)
		if s != l.paths[p] {
			return &DoubtError{p + " moved meanwhile"}
		}
		h := hard{dir: i, base: base, sum: s, link: link}
		if link {
			var end vfs.Identity
			h.target, h.end, end = follow(p)
			if young(h.end, end) {
				return &DoubtError{p + " leads to what is too young"}
			}
		}
		if young(s, id) {
			return &DoubtError{p + " is too young"}
		}
		c.hard = append(c.hard, h)
	}
	return nil
}

func realPath(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return real
}

// follow is where the link at p ends, and what is there.
func follow(p string) (target string, s sum, id vfs.Identity) {
	if target = realPath(p); target == "" {
		return "", absent, id
	}
	s, id, _ = lookAt(target)
	return target, s, id
}

// numbering is the number of a path by folder and name.
type numbering map[string]map[string]int

// opened is how many paths a directory needs to have for it to be opened.
const opened = 4

// group is names in one directory, or paths below the root where the directory has few.
type group struct {
	dir   string
	names []string
}

// groups sorts paths by their directories.
func groups(paths map[string]struct{}) []group {
	in := map[string][]string{}
	for p := range paths {
		dir, base := path.Split(p)
		in[dir] = append(in[dir], base)
	}
	out := []group{{}}
	for _, dir := range slices.Sorted(maps.Keys(in)) {
		names := in[dir]
		if len(names) < opened || dir == "" {
			for _, n := range names {
				out[0].names = append(out[0].names, dir+n)
			}
			continue
		}
		slices.Sort(names)
		out = append(out, group{dir, names})
	}
	slices.Sort(out[0].names)
	return out
}

func (l *Log) sealBelow(c *contents, young func(sum, vfs.Identity) bool) (numbering, error) {
	numbers := numbering{}
	total := 0
	for _, root := range slices.Sorted(maps.Keys(l.below)) {
		f, ok := open(root)
		if !ok {
			return nil, &DoubtError{root + " cannot be opened"}
		}
		defer f.close()
		c.roots = append(c.roots, root)
		of := make(map[string]int, len(l.below[root]))
		for _, g := range groups(l.below[root]) {
			sums := make([]sum, len(g.names))
			var doubt atomic.Pointer[string]
			inRuns(len(g.names), func(i int) {
				s, id, _ := f.look(g.dir + g.names[i])
				if sums[i] = s; young(s, id) {
					doubt.Store(&g.names[i])
				}
			})
			if d := doubt.Load(); d != nil {
				return nil, &DoubtError{filepath.Join(root, g.dir, *d) + " is too young"}
			}
			c.blocks = append(c.blocks, encodeBlocks(len(c.roots)-1, g.dir, g.names, sums)...)
			for i, n := range g.names {
				of[g.dir+n] = total + i
			}
			total += len(g.names)
		}
		numbers[root] = of
	}
	return numbers, nil
}

// inRuns calls fn for 0 … n-1 from a few goroutines, in runs of neighbours.
func inRuns(n int, fn func(i int)) {
	const run = 512
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers(), (n+run-1)/run) {
		wg.Go(func() {
			for {
				from := int(next.Add(run)) - run
				if from >= n {
					return
				}
				for i := from; i < min(from+run, n); i++ {
					fn(i)
				}
			}
		})
	}
	wg.Wait()
}

// encodeSets is the second section: the rest of the answer, then the sets by their digests, each with the numbers of its paths.
func (l *Log) encodeSets(numbers numbering, rest []byte) []byte {
	w := &writer{}
	w.bytes(rest)
	trees := slices.SortedFunc(maps.Keys(l.sets), func(a, b digest.Digest) int { return slices.Compare(a[:], b[:]) })
	w.num(len(trees))
	for _, t := range trees {
		s := l.sets[t]
		of := numbers[s.root]
		list := make([]int, len(s.rels))
		for i, rel := range s.rels {
			list[i] = of[rel]
		}
		slices.SortFunc(list, cmp.Compare)
		if l.fixed[t] { // what moves in it has an effect that is not known, whatever other sets it is in
			t = digest.Digest{}
		}
		w.b = append(w.b, t[:]...)
		w.num(len(list))
		before := 0
		for _, n := range list {
			w.num(n - before)
			before = n
		}
	}
	return w.b
}

// String says how much was noted, for people who look for what keeps a record from holding.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.below {
		n += len(m)
	}
	return fmt.Sprintf("%d paths, %d below folders, %d sets, %d variables", len(l.paths), n, len(l.sets), len(l.env))
}
