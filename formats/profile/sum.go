package profile

import (
	"cmp"
	"slices"

	"github.com/flameox/flameox/internal/digest"
)

// sums is everything that the tables say, before a budget.
type sums struct {
	b       *Builder
	m       int // number of metrics
	primary int

	depth []uint32 // by node

	self, inclusive []int64  // frame × metric
	frameSamples    []uint64 // frame × metric

	edges       []edge
	edgeWeights []int64  // edge × metric
	edgeSamples []uint64 // edge × metric

	ids   []digest.Digest // by frame
	order []Ref           // frames, heaviest first
	rank  []uint32        // by frame: its place in order
}

type edge struct{ parent, child Ref }

// sum walks the tree of stack prefixes once: the weight of a prefix is that of all stacks that begin with it. The sum
// of a frame is over its outermost occurrences, below which it counts no second time. Going from each leaf to the root instead would
// cost as much as all stacks are deep together, which is not bounded by how many prefixes there are.
func (b *Builder) sum() (*sums, error) {
	s := &sums{b: b, m: len(b.opt.Metrics), primary: b.opt.Primary}
	s.self = make([]int64, len(b.frames)*s.m)
	s.inclusive = make([]int64, len(b.frames)*s.m)
	s.frameSamples = make([]uint64, len(b.frames)*s.m)
	outer, edgeOf, err := s.occurrences()
	if err != nil {
		return nil, err
	}
	s.edgeWeights = make([]int64, len(s.edges)*s.m)
	s.edgeSamples = make([]uint64, len(s.edges)*s.m)

	weights := make([]int64, len(b.nodes))
	samples := make([]uint64, len(b.nodes))
	for m := range s.m {
		clear(weights)
		clear(samples)
		for i, st := range b.stacks {
			w := b.weights[i*s.m+m]
			weights[st.node] += w
			samples[st.node] += b.samples[i*s.m+m]
			s.self[int(b.nodes[st.node].frame)*s.m+m] += w
		}
		for i := len(b.nodes) - 1; i > 0; i-- { // a parent comes before its children
			n := b.nodes[i]
			weights[n.parent] += weights[i]
			samples[n.parent] += samples[i]
			if outer[i]&outerFrame != 0 {
				s.inclusive[int(n.frame)*s.m+m] += weights[i]
				s.frameSamples[int(n.frame)*s.m+m] += samples[i]
			}
			if outer[i]&outerEdge != 0 {
				s.edgeWeights[int(edgeOf[i])*s.m+m] += weights[i]
				s.edgeSamples[int(edgeOf[i])*s.m+m] += samples[i]
			}
		}
	}
	s.rankFrames()
	return s, nil
}

// What a node may be the outermost occurrence of.
const (
	outerFrame = 1 << iota
	outerEdge
)

// occurrences finds the edges, and by node its edge and whether it is the first of its frame and of its edge on the way from the root.
func (s *sums) occurrences() (outer []uint8, edgeOf []uint32, err error) {
	nodes := s.b.nodes
	s.depth = make([]uint32, len(nodes))
	outer, edgeOf = make([]uint8, len(nodes)), make([]uint32, len(nodes))
	child, sibling := make([]uint32, len(nodes)), make([]uint32, len(nodes))
	edgeAt := map[edge]uint32{}
	for i := len(nodes) - 1; i > 0; i-- {
		p := nodes[i].parent
		sibling[i], child[p] = child[p], uint32(i)
	}
	for i := 1; i < len(nodes); i++ {
		p := nodes[i].parent
		s.depth[i] = s.depth[p] + 1
		if p == 0 {
			continue
		}
		e := edge{Ref(nodes[p].frame), Ref(nodes[i].frame)}
		j, ok := edgeAt[e]
		if !ok {
			if err := s.b.charge(64+16*int64(s.m), "call_edges", s.b.opt.Budget.Memory); err != nil {
				return nil, nil, err
			}
			j = uint32(len(s.edges))
			edgeAt[e] = j
			s.edges = append(s.edges, e)
		}
		edgeOf[i] = j
	}

	// How often frames and edges are on the way from the root to where the walk is.
	frameOn, edgeOn := make([]uint32, len(s.b.frames)), make([]uint32, len(s.edges))
	for at := child[0]; at != 0; {
		f := nodes[at].frame
		if frameOn[f]++; frameOn[f] == 1 {
			outer[at] |= outerFrame
		}
		if nodes[at].parent != 0 {
			if edgeOn[edgeOf[at]]++; edgeOn[edgeOf[at]] == 1 {
				outer[at] |= outerEdge
			}
		}
		if child[at] != 0 {
			at = child[at]
			continue
		}
		for at != 0 {
			frameOn[nodes[at].frame]--
			if nodes[at].parent != 0 {
				edgeOn[edgeOf[at]]--
			}
			if sibling[at] != 0 {
				at = sibling[at]
				break
			}
			at = nodes[at].parent
		}
	}
	return outer, edgeOf, nil
}

// rankFrames orders the frames that any sample weighs on: heaviest inclusive weight of the primary metric
// first, and by identity where weights are equal, so that the order of the input does not show.
func (s *sums) rankFrames() {
	s.ids = make([]digest.Digest, len(s.b.frames))
	for f := range s.b.frames {
		if anyOf(s.frameSamples[f*s.m : (f+1)*s.m]) {
			s.ids[f] = s.b.frames[f].id()
			s.order = append(s.order, Ref(f))
		}
	}
	slices.SortFunc(s.order, func(x, y Ref) int {
		if c := heavier(s.inclusive[int(x)*s.m:], s.inclusive[int(y)*s.m:], s.primary); c != 0 {
			return c
		}
		return slices.Compare(s.ids[x][:], s.ids[y][:])
	})
	s.rank = make([]uint32, len(s.b.frames))
	for i := range s.rank {
		s.rank[i] = uint32(len(s.b.frames))
	}
	for i, f := range s.order {
		s.rank[f] = uint32(i)
	}
}

// orderEdges sorts the edges that any sample weighs on, heaviest first.
func (s *sums) orderEdges() []int {
	var order []int
	for j := range s.edges {
		if anyOf(s.edgeSamples[j*s.m : (j+1)*s.m]) {
			order = append(order, j)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		if c := heavier(s.edgeWeights[x*s.m:], s.edgeWeights[y*s.m:], s.primary); c != 0 {
			return c
		}
		if c := cmp.Compare(s.rank[s.edges[x].parent], s.rank[s.edges[y].parent]); c != 0 {
			return c
		}
		return cmp.Compare(s.rank[s.edges[x].child], s.rank[s.edges[y].child])
	})
	return order
}

// heavier orders by absolute weight, heaviest first: a profile that is the difference of two has
// negative weights, and a large one is as interesting as a large positive one.
func heavier(x, y []int64, m int) int { return cmp.Compare(abs(y[m]), abs(x[m])) }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func anyOf(samples []uint64) bool {
	for _, n := range samples {
		if n != 0 {
			return true
		}
	}
	return false
}
