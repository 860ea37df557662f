package reads

import (
	"path/filepath"
	"sync"

	"github.com/flameox/flameox/internal/digest"
)

// Log collects what is read while an answer is made. A nil one collects nothing, so that readers need not ask whether anybody listens. It may be
// used by several goroutines.
type Log struct {
	mu      sync.Mutex
	paths   map[string]sum // as it was when it was noted
	env     map[string]struct{}
	below   map[string]map[string]struct{} // folder → paths below it
	sets    map[digest.Digest]set
	fixed   map[digest.Digest]bool
	refused string
}

// set is files of which the answer depends on nothing but their content, by way of one digest over all of them.
type set struct {
	root string
	rels []string
}

// NewLog is an empty log.
func NewLog() *Log {
	return &Log{paths: map[string]sum{}, env: map[string]struct{}{}, below: map[string]map[string]struct{}{}, sets: map[digest.Digest]set{}, fixed: map[digest.Digest]bool{}}
}

// Path notes that the answer depends on what is at an absolute path: the content of a file, the listing of a directory, its being missing, and
// where links on the way lead. It is called before the path is read, so that nothing moves unseen in between.
func (l *Log) Path(paths ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			l.refuse("a path that is not absolute was read: " + p)
			return
		}
		p = filepath.Clean(p)
		if _, known := l.paths[p]; !known {
			l.paths[p], _, _ = lookAt(p)
		}
	}
}

// Below notes the same of many paths below an absolute folder, whose own place is known to be the same. Links among them are not followed: who
// follows one notes it with Path.
func (l *Log) Below(root string, rels ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addBelow(root, rels)
}

func (l *Log) addBelow(root string, rels []string) {
	m := l.below[root]
	if m == nil {
		m = map[string]struct{}{}
		l.below[root] = m
	}
	for _, r := range rels {
		m[r] = struct{}{}
	}
}

// Set notes files below a folder on whose content the answer depends through one digest only, which is that of a tree. Where their content moves and
// nothing else does, the answer can be made again from the new digest. Nobody may change the slice.
func (l *Log) Set(tree digest.Digest, root string, rels []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.sets[tree]; known {
		// Two lists of files with one digest are two lists of the same names and contents, below one root.
		if l.sets[tree].root != root {
			l.refuse("files of two folders have one digest")
		}
		return
	}
	l.sets[tree] = set{root, rels}
	l.addBelow(root, rels)
}

// Fix notes that the answer depends on the files of a set in another way too, so that it cannot be made again from a new digest.
func (l *Log) Fix(tree digest.Digest) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fixed[tree] = true
}

// Env notes that the answer depends on environment variables, set or not.
func (l *Log) Env(names ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range names {
		l.env[n] = struct{}{}
	}
}

// Refuse notes that the answer depends on something that no record can hold: what a program said. It is given each time anew then.
func (l *Log) Refuse(why string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse(why)
}

func (l *Log) refuse(why string) {
	if l.refused == "" {
		l.refused = why
	}
}

// Refused is why no record can be made; "" where one can.
func (l *Log) Refused() string {
	if l == nil {
		return "nothing was noted"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}
