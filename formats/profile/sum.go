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

func (b *Builder) sum() *sums {
	s := &sums{b: b, m: len(b.opt.Metrics), primary: b.opt.Primary}
	s.depth = make([]uint32, len(b.nodes))
	for i := 1; i < len(b.nodes); i++ {
		s.depth[i] = s.depth[b.nodes[i].parent] + 1 // a parent comes before its children
	}
	s.self = make([]int64, len(b.frames)*s.m)
	s.inclusive = make([]int64, len(b.frames)*s.m)
	s.frameSamples = make([]uint64, len(b.frames)*s.m)

	// Labels do not matter here, so stacks that differ only in them are walked once.
	slot := make([]uint32, len(b.nodes))
	var leaves []uint32
	var weights []int64
	var samples []uint64
	for i, st := range b.stacks {
		if slot[st.node] == 0 {
			leaves = append(leaves, st.node)
			slot[st.node] = uint32(len(leaves))
			weights = append(weights, make([]int64, s.m)...)
			samples = append(samples, make([]uint64, s.m)...)
		}
		to, from := int(slot[st.node]-1)*s.m, i*s.m
		for m := range s.m {
			weights[to+m] += b.weights[from+m]
			samples[to+m] += b.samples[from+m]
		}
	}

	edgeAt := map[edge]uint32{}
	frameMark := make([]uint32, len(b.frames))
	var edgeMark []uint32
	for i, leaf := range leaves {
		mark := uint32(i) + 1
		w, n := weights[i*s.m:(i+1)*s.m], samples[i*s.m:(i+1)*s.m]
		for m := range s.m {
			s.self[int(b.nodes[leaf].frame)*s.m+m] += w[m]
		}
		for at := leaf; at != 0; at = b.nodes[at].parent {
			f := b.nodes[at].frame
			if frameMark[f] != mark { // recursion counts once
				frameMark[f] = mark
				for m := range s.m {
					s.inclusive[int(f)*s.m+m] += w[m]
					s.frameSamples[int(f)*s.m+m] += n[m]
				}
			}
			parent := b.nodes[at].parent
			if parent == 0 {
				continue
			}
			e := edge{Ref(b.nodes[parent].frame), Ref(f)}
			j, ok := edgeAt[e]
			if !ok {
				j = uint32(len(s.edges))
				edgeAt[e] = j
				s.edges = append(s.edges, e)
				edgeMark = append(edgeMark, 0)
				s.edgeWeights = append(s.edgeWeights, make([]int64, s.m)...)
				s.edgeSamples = append(s.edgeSamples, make([]uint64, s.m)...)
			}
			if edgeMark[j] != mark {
				edgeMark[j] = mark
				for m := range s.m {
					s.edgeWeights[int(j)*s.m+m] += w[m]
					s.edgeSamples[int(j)*s.m+m] += n[m]
				}
			}
		}
	}
	s.rankFrames()
	return s
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
