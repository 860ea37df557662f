package keys

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/flameox/flameox/internal/vfs"
)

// perTier is how many runs of about one size there may be.
const perTier = 8

// Save adds pairs and says what the index was made from now: any of the states. Of pairs of one name the last counts. Nothing has to be durable: an index that is lost is made again.
func (x *Index) Save(pairs []Pair, extra map[string]any, states ...string) error {
	if len(pairs) > 0 {
		slices.SortStableFunc(pairs, func(a, b Pair) int { return bytes.Compare(a.Name[:], b.Name[:]) })
		r, err := x.write(func(w io.Writer) (n int64, err error) {
			for i, p := range pairs {
				if i+1 < len(pairs) && pairs[i+1].Name == p.Name {
					continue
				}
				w.Write(p.Name[:])
				if _, err := w.Write(p.Value[:]); err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		})
		if err != nil {
			return err
		}
		x.runs = append(x.runs, r)
	}
	var gone []*run
	for {
		n := x.toMerge()
		if n == 0 {
			break
		}
		from := x.runs[len(x.runs)-n:]
		r, err := x.write(func(w io.Writer) (int64, error) { return merge(w, from) })
		if err != nil {
			return err
		}
		gone = append(gone, from...)
		x.runs = append(x.runs[:len(x.runs)-n:len(x.runs)-n], r)
	}
	x.m.State, x.m.Extra, x.m.Runs = states, extra, nil
	for _, r := range x.runs {
		x.m.Runs = append(x.m.Runs, r.name)
	}
	b, err := json.Marshal(x.m)
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(vfs.OS{}, x.manifestPath(), b, 0o644, false); err != nil {
		return fmt.Errorf("write the index of the store: %w", err)
	}
	for _, r := range gone {
		r.f.Close()
		os.Remove(filepath.Join(x.dir, r.name))
	}
	return x.sweep()
}

// sweep removes runs that nothing names: a process died after it had written them.
func (x *Index) sweep() error {
	list, err := filepath.Glob(filepath.Join(x.dir, "*.run"))
	if err != nil {
		return err
	}
	for _, path := range list {
		if !slices.Contains(x.m.Runs, filepath.Base(path)) {
			os.Remove(path)
		}
	}
	return nil
}

// toMerge is how many of the newest runs become one: so many that a run is never followed by as many of its own size.
func (x *Index) toMerge() int {
	total := int64(0)
	for n := 1; n <= len(x.runs); n++ {
		r := x.runs[len(x.runs)-n]
		total += r.pairs
		if n >= perTier && r.pairs < total {
			// Everything that is not much larger than what is merged comes along.
			for n < len(x.runs) && x.runs[len(x.runs)-n-1].pairs <= 2*total {
				n++
				total += x.runs[len(x.runs)-n].pairs
			}
			return n
		}
	}
	return 0
}

func (x *Index) write(fill func(io.Writer) (int64, error)) (_ *run, err error) {
	x.m.Next++
	name := fmt.Sprintf("%08d.run", x.m.Next)
	f, err := os.OpenFile(filepath.Join(x.dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write the index of the store: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	n, err := fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("write the index of the store: %w", err)
	}
	return &run{name, f, n}, nil
}

// merge writes the pairs of all runs in order; of one name the newest.
func merge(w io.Writer, runs []*run) (n int64, err error) {
	type cursor struct {
		r    *bufio.Reader
		pair Pair
		ok   bool
	}
	list := make([]cursor, len(runs))
	next := func(c *cursor) error {
		var b [pairSize]byte
		_, err := io.ReadFull(c.r, b[:])
		if c.ok = err == nil; err == io.EOF {
			return nil
		}
		copy(c.pair.Name[:], b[:Size])
		copy(c.pair.Value[:], b[Size:])
		return err
	}
	for i, r := range runs {
		list[i].r = bufio.NewReaderSize(io.NewSectionReader(r.f, 0, r.pairs*pairSize), 256<<10)
		if err := next(&list[i]); err != nil {
			return n, err
		}
	}
	for {
		best := -1
		for i := range list {
			if list[i].ok && (best < 0 || bytes.Compare(list[i].pair.Name[:], list[best].pair.Name[:]) <= 0) {
				best = i // of equal names the newest run
			}
		}
		if best < 0 {
			return n, nil
		}
		p := list[best].pair
		w.Write(p.Name[:])
		if _, err := w.Write(p.Value[:]); err != nil {
			return n, err
		}
		n++
		for i := range list {
			if list[i].ok && list[i].pair.Name == p.Name {
				if err := next(&list[i]); err != nil {
					return n, err
				}
			}
		}
	}
}
