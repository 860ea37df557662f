package profile

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// stackRow is one row of stacks for every metric that has a weight.
type stackRow struct {
	node    uint32 // of the leaf
	depth   uint32 // frames that are shown, from the leaf
	labels  uint32
	weights []int64
	samples []uint64
}

// stackRows are all stacks that any sample weighs on, heaviest first. Stacks deeper than the budget are cut at the
// root, and those that are equal then are one.
func (s *sums) stackRows() (rows []stackRow, cut int, cutWeight int64) {
	limit := uint32(math.MaxUint32)
	if d := s.b.opt.Budget.StackDepth; d > 0 {
		limit = uint32(min(d, math.MaxUint32))
	}
	merged := map[[sha256.Size]byte]int{}
	for i, st := range s.b.stacks {
		r := stackRow{node: st.node, depth: s.depth[st.node], labels: st.labels,
			weights: s.b.weights[i*s.m : (i+1)*s.m], samples: s.b.samples[i*s.m : (i+1)*s.m]}
		if !anyOf(r.samples) {
			continue
		}
		if r.depth >= limit { // a stack that is exactly this deep may equal one that is cut
			if r.depth > limit {
				cut++
				cutWeight += abs(r.weights[s.primary])
				r.depth = limit
			}
			key := s.key(r)
			if j, ok := merged[key]; ok {
				for m := range s.m {
					rows[j].weights[m] += r.weights[m]
					rows[j].samples[m] += r.samples[m]
				}
				continue
			}
			r.weights, r.samples = slices.Clone(r.weights), slices.Clone(r.samples)
			merged[key] = len(rows)
		}
		rows = append(rows, r)
	}
	s.orderStacks(rows)
	return rows, cut, cutWeight
}

// key tells rows apart by labels and frames in few bytes, however deep they are.
func (s *sums) key(r stackRow) (key [sha256.Size]byte) {
	h := sha256.New()
	var word [4]byte
	put := func(n uint32) {
		binary.LittleEndian.PutUint32(word[:], n)
		h.Write(word[:])
	}
	put(r.labels)
	at := r.node
	for range r.depth {
		put(s.b.nodes[at].frame)
		at = s.b.nodes[at].parent
	}
	h.Sum(key[:0])
	return key
}

// orderStacks sorts rows: heaviest first; where weights are equal by the ranks of the frames from leaf to root, a path that ends
// before the other first; and by labels where paths are equal. The order of the input does not show.
func (s *sums) orderStacks(rows []stackRow) {
	slices.SortFunc(rows, func(x, y stackRow) int { return heavier(x.weights, y.weights, s.primary) })
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && heavier(rows[from].weights, rows[to].weights, s.primary) == 0 {
			to++
		}
		if to-from > 1 {
			s.orderPaths(rows[from:to])
		}
		from = to
	}
}

// step is where the comparison of a row is.
type step struct {
	row  uint32
	at   uint32 // node
	left uint32 // frames from here to where the row ends
	rank uint32 // of the frame at the node plus one, 0 behind the end
}

// orderPaths sorts rows of one weight, all together one frame at a time: rows that differ at a frame are not compared
// beyond it, and what many rows share is walked once for each row. Comparing them in pairs would walk it for each pair.
func (s *sums) orderPaths(rows []stackRow) {
	steps := make([]step, len(rows))
	for i, r := range rows {
		steps[i] = step{row: uint32(i), at: r.node, left: r.depth}
	}
	type span struct{ from, to int }
	for open := []span{{0, len(steps)}}; len(open) > 0; {
		group := open[len(open)-1]
		open = open[:len(open)-1]
		part := steps[group.from:group.to]
		for s.advance(part) {
		}
		if same(part) {
			slices.SortFunc(part, func(x, y step) int {
				return compareLabels(s.b.labels[rows[x.row].labels], s.b.labels[rows[y.row].labels])
			})
			continue
		}
		slices.SortFunc(part, func(x, y step) int { return cmp.Compare(x.rank, y.rank) })
		for from := 0; from < len(part); {
			to := from + 1
			for to < len(part) && part[to].rank == part[from].rank {
				to++
			}
			if to-from > 1 {
				for i := from; i < to; i++ {
					s.next(&part[i])
				}
				open = append(open, span{group.from + from, group.from + to})
			}
			from = to
		}
	}
	sorted := make([]stackRow, len(rows))
	for i, st := range steps {
		sorted[i] = rows[st.row]
	}
	copy(rows, sorted)
}

// advance looks at the frame where each of part is, and goes on to the next if it is the same for all of them and there is more to
// tell them apart.
func (s *sums) advance(part []step) bool {
	equal := true
	for i := range part {
		part[i].rank = 0
		if part[i].left > 0 {
			part[i].rank = s.rank[s.b.nodes[part[i].at].frame] + 1
		}
		equal = equal && part[i].rank == part[0].rank
	}
	if !equal || same(part) {
		return false
	}
	for i := range part {
		s.next(&part[i])
	}
	return true
}

func (s *sums) next(st *step) {
	if st.left > 0 {
		st.at, st.left = s.b.nodes[st.at].parent, st.left-1
	}
}

// same says whether nothing is left that tells the rows of part apart but labels.
func same(part []step) bool {
	for _, st := range part {
		if st.left != part[0].left || (st.left > 0 && st.at != part[0].at) {
			return false
		}
	}
	return true
}

func compareLabels(x, y labelSet) int {
	return slices.CompareFunc(x, y, func(a, b label) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
}

// path is a row's frames, root to leaf.
func (s *sums) path(r stackRow) []Ref {
	p := make([]Ref, r.depth)
	at := r.node
	for i := len(p) - 1; i >= 0; i-- {
		p[i] = Ref(s.b.nodes[at].frame)
		at = s.b.nodes[at].parent
	}
	return p
}
