package callgraph

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

// Stack is a call stack with its weight in one metric.
type Stack struct {
	ID      string
	Weight  int64
	Samples *uint64
	Labels  map[string]string

	ids  []string // of frames, root to leaf, of a row that is being read
	path []uint32 // the same as indexes, where they were looked up
	of   *reading
	own  *Profile
}

// Path is the frames, root to leaf, as indexes of Profile.Frames. Of a stack that EachStack hands on it is good until the next one: Paths keeps it.
func (s *Stack) Path() ([]uint32, error) {
	if s.path == nil && s.of != nil {
		var err error
		if s.path, err = s.of.path(s.ids); err != nil {
			return nil, err
		}
	}
	return s.path, nil
}

// Frames are the frames of a stack that Stacks returned, root to leaf.
func (s *Stack) Frames() []*Frame {
	out := make([]*Frame, len(s.path))
	for i, f := range s.path {
		out[i] = s.own.frames[f]
	}
	return out
}

// Paths keeps paths of stacks, four bytes for each frame of each: profiles have millions of them.
type Paths struct{ room []uint32 }

// Keep is a copy of the path that stays.
func (k *Paths) Keep(path []uint32) []uint32 {
	if len(path) > cap(k.room)-len(k.room) {
		k.room = make([]uint32, 0, max(len(path), 1<<18))
	}
	from := len(k.room)
	k.room = append(k.room, path...)
	return k.room[from:len(k.room):len(k.room)]
}

// EachStack calls fn with every stack that has a weight in one of the metrics, with the index of that metric, in the order of the rows. Only fn's
// own copy of a path stays.
func (p *Profile) EachStack(metrics []Metric, fn func(metric int, s *Stack) error) error {
	if _, err := p.Frames(); err != nil {
		return err
	}
	r := &reading{p: p, near: map[*byte]uint32{}}
	var s Stack
	return p.scan("stacks", []string{"stack", "frames", "metric", "unit", "weight", "samples", "labels"}, func(row []any) error {
		m := slices.Index(metrics, Metric{row[2].(string), row[3].(string)})
		if m < 0 {
			return nil
		}
		s = Stack{ID: row[0].(string), Weight: row[4].(int64), Samples: number(row[5]), of: r}
		s.ids, _ = row[1].([]string)
		s.Labels, _ = row[6].(map[string]string)
		return fn(m, &s)
	})
}

// Stacks are the stacks that have a weight in m, heaviest first; where with is not "", those that have the frame with this identity.
func (p *Profile) Stacks(m Metric, with string) ([]Stack, error) {
	if _, err := p.Frames(); err != nil {
		return nil, err
	}
	only, known := p.at[with]
	if with != "" && !known {
		return nil, nil
	}
	var out []Stack
	var kept Paths
	err := p.EachStack([]Metric{m}, func(_ int, s *Stack) error {
		path, err := s.Path()
		if err == nil && (with == "" || slices.Contains(path, only)) {
			out = append(out, Stack{ID: s.ID, Weight: s.Weight, Samples: s.Samples, Labels: s.Labels, path: kept.Keep(path), own: p})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y Stack) int { return cmp.Or(Heavier(x.Weight, y.Weight), strings.Compare(x.ID, y.ID)) })
	return out, nil
}

// reading looks up frames while rows are read. An identity is 64 bytes and stands in thousands of stacks; the rows of a file mostly hand it on as the
// same memory, which is looked up faster.
type reading struct {
	p       *Profile
	near    map[*byte]uint32 // index by where an identity lies
	before  []string         // of the stack that was looked up last: neighbours often begin alike
	scratch []uint32
}

func (r *reading) path(ids []string) ([]uint32, error) {
	if cap(r.scratch) < len(ids) {
		r.scratch = append(make([]uint32, 0, 2*len(ids)), r.scratch...)
	}
	r.scratch = r.scratch[:len(ids)]
	alike := true
	for i, id := range ids {
		// While before is held, what lies at the same place is the same text.
		if alike = alike && i < len(r.before) && len(id) == len(r.before[i]) && unsafe.StringData(id) == unsafe.StringData(r.before[i]); alike {
			continue // scratch has it
		}
		at, ok := r.near[unsafe.StringData(id)]
		// By content, too: memory of a part of the file that has been passed may be another text now.
		if !ok || r.p.frames[at].ID != id {
			if at, ok = r.p.at[id]; !ok {
				r.before = nil
				return nil, noFrame(id)
			}
			if len(r.near) > 2*len(r.p.frames) {
				clear(r.near)
			}
			r.near[unsafe.StringData(id)] = at
		}
		r.scratch[i] = at
	}
	r.before = ids
	return r.scratch, nil
}
