package chrometrace

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/timeline"
	"github.com/flameox/flameox/formats/v8profile"
)

// tree is a profile whose pieces were joined.
type tree struct {
	nodes   []sampledNode // parent is an index, -1 for none
	weights []weight      // by node
	track   timeline.Track
	id      string // where the thread has several, which were taken at once or one after the other
	frames  []v8profile.CallFrame
}

type weight struct{ ns, hits int64 }

type moment struct {
	at   int64
	node int32
}

// finish joins the pieces of each profile.
func (s *sampler) finish() (trees []tree) {
	for _, p := range s.profiles {
		t := tree{track: p.track, frames: s.list}
		s.far = false
		var list []moment
		var ok bool
		if p.complete != nil {
			list, ok = s.whole(p, &t)
		} else {
			list, ok = s.join(p, &t)
		}
		if !ok {
			continue
		}
		s.out.Profiles++
		if s.weigh(p, &t, list) {
			t.id = p.id
			trees = append(trees, t)
		}
	}
	of := map[timeline.Track]int{}
	for _, t := range trees {
		of[t.track]++
	}
	for i := range trees {
		if of[trees[i].track] == 1 {
			trees[i].id = ""
		} else {
			s.out.Beside++
		}
	}
	return trees
}

// whole takes the nodes and samples of an event that has all of a profile.
func (s *sampler) whole(p *sampled, t *tree) (list []moment, ok bool) {
	v := p.complete
	t.frames = v.Frames
	for _, n := range v.Nodes {
		t.nodes = append(t.nodes, sampledNode{parent: int64(n.Parent), frame: n.Frame})
	}
	p.started, p.ended, p.start, p.end = true, true, v.Start, v.End
	at := v.Start
	for i, node := range v.Samples {
		at = s.step(at, v.Deltas[i])
		list = append(list, moment{at, node})
	}
	return list, true
}

// join puts the pieces of a profile in the order of their times, and their nodes into one tree.
func (s *sampler) join(p *sampled, t *tree) (list []moment, ok bool) {
	if len(p.pieces) == 0 {
		return nil, false // it began, or ended, and nothing was sampled
	}
	slices.SortStableFunc(p.pieces, func(x, y piece) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.ordinal, y.ordinal)) })
	at := map[int64]int32{}
	for i := range p.pieces {
		for _, n := range p.pieces[i].nodes {
			if _, twice := at[n.id]; twice {
				s.out.Twice++
				continue
			}
			at[n.id] = int32(len(t.nodes))
			t.nodes = append(t.nodes, n)
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		parent, known := at[n.parent]
		switch {
		case !n.hasParent:
			n.parent = -1
		case !known:
			s.out.Orphans++
			n.parent = -1
		default:
			n.parent = int64(parent)
		}
	}
	s.open(t)
	if !p.started {
		s.out.Unstarted++
	}
	now := p.start
	for i := range p.pieces {
		c := &p.pieces[i]
		for j, d := range c.deltas {
			now = s.step(now, d)
			if j >= len(c.samples) {
				continue
			}
			node, known := at[c.samples[j]]
			if !known {
				s.out.Lost++
				node = -1
			}
			list = append(list, moment{now, node})
		}
		s.out.Lost += int64(max(0, len(c.samples)-len(c.deltas)))
	}
	return list, true
}

// open takes nodes that call each other in a circle out of it: one that is met again stands at the root.
func (s *sampler) open(t *tree) {
	seen := make([]int32, len(t.nodes)) // by which node it was met first
	for i := range t.nodes {
		for at := int64(i); at >= 0 && seen[at] == 0; at = t.nodes[at].parent {
			seen[at] = int32(i + 1)
			if next := t.nodes[at].parent; next >= 0 && seen[next] == int32(i+1) {
				t.nodes[at].parent = -1
				s.out.Orphans++
			}
		}
	}
}

// step is a time after another. What 64 bits do not hold is noted, and the profile left out.
func (s *sampler) step(at, d int64) int64 {
	switch {
	case d > 0 && at > math.MaxInt64-d:
		s.far = true
		return math.MaxInt64
	case d < 0 && at < math.MinInt64-d:
		s.far = true
		return math.MinInt64
	}
	return at + d
}

// weigh gives each sample the time until the next.
func (s *sampler) weigh(p *sampled, t *tree, list []moment) bool {
	if len(list) == 0 {
		return false
	}
	back := int64(0)
	for i := 1; i < len(list); i++ {
		if list[i].at < list[i-1].at {
			back++
		}
	}
	if back > 0 {
		s.out.Backwards += back
		slices.SortStableFunc(list, func(x, y moment) int { return cmp.Compare(x.at, y.at) })
	}
	first, last := list[0].at, list[len(list)-1].at
	end := last
	if p.ended && p.started { // without a beginning, times say how long something took and not when
		end = max(last, p.end)
	} else {
		s.out.Unended++
	}
	if s.far || uint64(end)-uint64(first) > math.MaxInt64/1000 {
		s.out.Overlong++
		return false
	}
	t.weights = make([]weight, len(t.nodes))
	for i, m := range list {
		until := end
		if i+1 < len(list) {
			until = list[i+1].at
		}
		if m.node >= 0 {
			w := &t.weights[m.node]
			w.ns, w.hits = w.ns+1000*(until-m.at), w.hits+1
			s.out.Count++
		}
	}
	return true
}

// sum puts the samples of the trees into an aggregation.
func (s *sampler) sum(trees []tree) *timeline.Sampled {
	return &timeline.Sampled{Metrics: []profile.Metric{SelfTime, HitCount}, Add: func(ctx context.Context, b *profile.Builder, put timeline.Put) error {
		for i := range trees {
			if err := s.tree(ctx, &trees[i], b, put); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (s *sampler) tree(ctx context.Context, t *tree, b *profile.Builder, put timeline.Put) error {
	refs := make([]profile.Ref, len(t.frames))
	known := make([]bool, len(t.frames))
	labels := s.c.Labels(t.track)
	if t.id != "" {
		labels = maps.Clone(labels)
		labels["profile"] = t.id
	}
	within := ""
	if s.out.Profiles > 1 {
		within = labels["pid"]
	}
	var stack []profile.Ref
	for i := range t.nodes {
		if i%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		w := t.weights[i]
		if w.hits == 0 {
			continue
		}
		stack = stack[:0]
		for at := int64(i); at >= 0; at = t.nodes[at].parent {
			f := t.nodes[at].frame
			if !known[f] {
				var err error
				if refs[f], err = b.Frame(t.frames[f].Place(s.c.File, within)); err != nil {
					return err
				}
				known[f] = true
			}
			if err := b.CheckDepth(len(stack) + 1); err != nil {
				return err
			}
			stack = append(stack, refs[f])
		}
		slices.Reverse(stack)
		if err := put(stack, []int64{w.ns, w.hits}, []uint64{uint64(w.hits), uint64(w.hits)}, labels); err != nil {
			return err
		}
	}
	return nil
}
