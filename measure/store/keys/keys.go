package keys

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Size of a name and of a value.
const Size = 16

// Digest is a name or a value: the first bytes of a SHA-256.
type Digest [Size]byte

// Of is the digest of texts, each kept apart from the next.
func Of(parts ...string) (d Digest) {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	copy(d[:], sum[:])
	return d
}

// Pair is a name with its value.
type Pair struct{ Name, Value Digest }

const pairSize = 2 * Size

// Index is an open index. One process at a time may add to it.
type Index struct {
	dir  string
	runs []*run
	m    manifest
}

type manifest struct {
	State []string       `json:"state"` // any of these is what the index was made from
	Runs  []string       `json:"runs"`  // from old to new
	Next  int            `json:"next"`
	Extra map[string]any `json:"extra,omitempty"`
}

type run struct {
	name  string
	f     *os.File
	pairs int64
}

// Open opens the index in a folder. fresh says that it was not made from the state, or is broken: it is empty then, and Extra too.
func Open(dir, state string) (x *Index, fresh bool, err error) {
	x = &Index{dir: dir}
	b, err := os.ReadFile(x.manifestPath())
	if errors.Is(err, fs.ErrNotExist) {
		return x, true, nil
	} else if err != nil {
		return nil, false, err
	}
	if json.Unmarshal(b, &x.m) != nil || !slices.Contains(x.m.State, state) || x.openRuns() != nil {
		x.Close()
		next := x.m.Next
		x.m = manifest{Next: next}
		return x, true, nil
	}
	return x, false, nil
}

func (x *Index) manifestPath() string { return filepath.Join(x.dir, "keys.json") }

func (x *Index) openRuns() error {
	for _, name := range x.m.Runs {
		f, err := os.Open(filepath.Join(x.dir, filepath.Base(name)))
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil || info.Size()%pairSize != 0 {
			f.Close()
			return errors.New("a run that is no row of pairs")
		}
		x.runs = append(x.runs, &run{name, f, info.Size() / pairSize})
	}
	return nil
}

// Close closes the files.
func (x *Index) Close() {
	for _, r := range x.runs {
		r.f.Close()
	}
	x.runs = nil
}

// Extra is what Save was given.
func (x *Index) Extra() map[string]any { return x.m.Extra }

// Pairs is how many pairs there are.
func (x *Index) Pairs() (n int64) {
	for _, r := range x.runs {
		n += r.pairs
	}
	return n
}

// Get is the value of a name; of several the one that was added last.
func (x *Index) Get(name Digest) (Digest, bool, error) {
	for _, r := range slices.Backward(x.runs) {
		if v, ok, err := r.get(name); ok || err != nil {
			return v, ok, err
		}
	}
	return Digest{}, false, nil
}

// window is how many pairs are read at once when the place of a name is nearly known.
const window = 128

// get guesses where the name stands, since digests are spread evenly, and reads a few pairs around.
func (r *run) get(name Digest) (v Digest, ok bool, err error) {
	lo, hi := int64(0), r.pairs // the name is in [lo, hi)
	target := float64(binary.BigEndian.Uint64(name[:8])) / (1 << 64)
	from, to := 0.0, 1.0
	var buf [window * pairSize]byte
	for step := 0; lo < hi; step++ {
		at := lo + int64(float64(hi-lo)*(target-from)/(to-from)) - window/2
		if step > 8 {
			at = (lo+hi)/2 - window/2 // the guesses do not help: halve
		}
		at = max(lo, min(at, hi-window))
		n := min(window, hi-at)
		block := buf[:n*pairSize]
		if _, err := r.f.ReadAt(block, at*pairSize); err != nil {
			return v, false, fmt.Errorf("read the index of the store: %w", err)
		}
		if bytes.Compare(name[:], block[:Size]) < 0 {
			hi = at
			to = float64(binary.BigEndian.Uint64(block[:8])) / (1 << 64)
		} else if last := block[(n-1)*pairSize:]; bytes.Compare(name[:], last[:Size]) > 0 {
			lo = at + n
			from = float64(binary.BigEndian.Uint64(last[:8])) / (1 << 64)
		} else {
			i, found := sort.Find(int(n), func(i int) int { return bytes.Compare(name[:], block[i*pairSize:i*pairSize+Size]) })
			if !found {
				return v, false, nil
			}
			copy(v[:], block[i*pairSize+Size:])
			return v, true, nil
		}
		if to <= from {
			from, to, target = 0, 1, 0.5
		}
	}
	return v, false, nil
}
