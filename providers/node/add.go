package node

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/v8profile"
	"github.com/flameox/flameox/providers"
)

// adder puts profiles into one aggregation.
type adder struct {
	b       *profile.Builder
	paths   providers.Paths
	lines   bool                 // leaves are lines
	several bool                 // profiles, so that samples are labelled
	metric  [len(allMetrics)]int // index in weights, -1 for none
	weights []int64
	counts  []uint64
	idle    int64 // nanoseconds
}

// bare says whether a profile is whole and holds nothing.
func (p named) bare() bool {
	return len(p.Samples) == 0 && !slices.ContainsFunc(p.Nodes, func(n v8profile.Node) bool { return n.Hits > 0 || n.Size > 0 })
}

func (p named) empty() evidence.Limitation {
	return evidence.Limitation{Code: NoSamples, Text: p.name + ": the profile is whole and has no sample: the run was too short for one, or did nothing of the kind in this thread"}
}

// add adds every sample of a profile.
func (a *adder) add(ctx context.Context, p named) (limits []evidence.Limitation, err error) {
	say := func(code, format string, args ...any) {
		limits = append(limits, evidence.Limitation{Code: code, Text: p.name + ": " + fmt.Sprintf(format, args...)})
	}
	refs := make([]profile.Ref, len(p.Frames))
	for i, f := range p.Frames {
		if refs[i], err = a.b.Frame(a.frame(p, f)); err != nil {
			return nil, err
		}
	}
	var labels map[string]string
	if a.several {
		labels = map[string]string{"profile": p.name}
	}
	var own func(node int32, stack []profile.Ref) error
	if p.Kind == v8profile.CPU {
		if own, err = a.cpu(p, labels, say); err != nil {
			return nil, err
		}
	} else {
		own = a.heap(p, labels, say)
	}
	if p.bare() {
		limits = append(limits, p.empty())
	}
	var stack []profile.Ref
	err = p.Walk(func(node int32, depth int) error {
		if depth == 0 || node%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := a.b.CheckDepth(depth + 1); err != nil {
			return err
		}
		stack = append(stack[:depth], refs[p.Nodes[node].Frame])
		return own(node, stack)
	})
	return limits, err
}

// put adds one record with the weights that have been set.
func (a *adder) put(stack []profile.Ref, labels map[string]string) error {
	err := a.b.AddCounted(stack, a.weights, a.counts, labels)
	clear(a.weights)
	clear(a.counts)
	return err
}

func (a *adder) set(metric int, weight, count int64) {
	if i := a.metric[metric]; i >= 0 {
		a.weights[i], a.counts[i] = weight, uint64(count)
	}
}

// cpu returns what adds the samples of one node. V8 counts hits and lists samples separately, and not always as many.
func (a *adder) cpu(p named, labels map[string]string, say func(code, format string, args ...any)) (func(int32, []profile.Ref) error, error) {
	times, err := timed(p, say)
	if err != nil {
		return nil, err
	}
	a.idle = idle(p, times)
	if !p.HasHits {
		say(NoHits, "the profile has no hit counts, so there is no cpu.hit_count")
	}
	if len(p.Samples) == 0 && !p.bare() {
		say(NoTimes, "the profile has hits and no list of samples, so there is no time")
	}
	if a.lines {
		return a.byLine(p, labels, say), nil
	}
	return func(node int32, stack []profile.Ref) error {
		hits := p.Nodes[node].Hits
		if hits == 0 && times[node].samples == 0 {
			return nil
		}
		a.set(hitCount, hits, hits)
		a.set(selfTime, times[node].ns, times[node].samples)
		return a.put(stack, labels)
	}, nil
}

// byLine adds the hits of one node by the lines that V8 counted; those without a line stay with the function.
func (a *adder) byLine(p named, labels map[string]string, say func(code, format string, args ...any)) func(int32, []profile.Ref) error {
	var without, all int64
	for _, n := range p.Nodes {
		all = saturated(all, n.Hits)
		left := n.Hits
		for _, t := range n.Ticks {
			left -= t.Ticks
		}
		without = saturated(without, left)
	}
	if without > 0 {
		say(LinesMissing, "V8 gave no line for %d of %d hits; they are with their functions", without, all)
	}
	hit := func(stack []profile.Ref, n int64) error {
		if n == 0 {
			return nil
		}
		a.set(hitCount, n, n)
		return a.put(stack, labels)
	}
	return func(node int32, stack []profile.Ref) error {
		n := p.Nodes[node]
		left := n.Hits
		leaf := len(stack) - 1
		function := stack[leaf]
		for _, t := range n.Ticks {
			left -= t.Ticks
			f := a.frame(p, p.Frames[n.Frame])
			f.Line, f.Column = profile.Some(t.Line), profile.Opt{}
			ref, err := a.b.Frame(f)
			if err != nil {
				return err
			}
			stack[leaf] = ref
			if err := hit(stack, t.Ticks); err != nil {
				return err
			}
		}
		stack[leaf] = function
		return hit(stack, left)
	}
}

// heap returns what adds the allocations of one node. Its size is the node's own; samples only say how many are behind it,
// where they agree with it.
func (a *adder) heap(p named, labels map[string]string, say func(code, format string, args ...any)) func(int32, []profile.Ref) error {
	type sum struct{ size, samples int64 }
	sums := make([]sum, len(p.Nodes))
	lost, lostBytes := 0, int64(0)
	for _, s := range p.HeapSamples {
		if s.Node < 0 {
			lost++
			lostBytes = saturated(lostBytes, s.Size)
			continue
		}
		sums[s.Node] = sum{saturated(sums[s.Node].size, s.Size), sums[s.Node].samples + 1}
	}
	differ := 0
	for i, n := range p.Nodes {
		if n.Size != sums[i].size {
			differ++
			sums[i].samples = 1
		}
	}
	switch {
	case !p.HasSamples && differ > 0:
		say(NoRecords, "the profile has no list of samples, as Node and Chrome wrote until 2018: each place in the call tree counts as one")
	case differ > 0 || lost > 0:
		say(SizesDiffer, "the list of samples and the call tree were not written at one instant: %d of %d places differ in size and count as one sample, and %d samples (%d bytes) belong to none; sizes are those of the tree", differ, len(p.Nodes), lost, lostBytes)
	}
	return func(node int32, stack []profile.Ref) error {
		size := p.Nodes[node].Size
		if size == 0 {
			return nil
		}
		a.set(selfSize, size, sums[node].samples)
		return a.put(stack, labels)
	}
}

func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// frame is how tables name a function.
func (a *adder) frame(p named, c v8profile.CallFrame) profile.Frame {
	within := ""
	if a.several {
		within = p.name
	}
	return c.Place(a.paths.File, within)
}
