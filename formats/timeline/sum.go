package timeline

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// profile sums the stacks of slices.
func (c *Collector) profile(ctx context.Context, sink *evidence.Sink) (profile.Summary, error) {
	metrics := []profile.Metric{c.opt.Duration}
	if c.opt.Count.Name != "" {
		metrics = append(metrics, c.opt.Count)
	}
	b := profile.New(profile.Options{Metrics: metrics, Budget: c.opt.Budget})
	b.Reserve(c.keep.reserved())
	n := &c.nest
	refs := make([]profile.Ref, len(n.frames))
	for i, k := range n.frames {
		f := profile.Frame{Function: c.texts.list[k.name], Module: c.texts.list[k.category]}
		if f.Function == "" {
			f.Function, f.Synthetic = Unnamed, true
		}
		if k.file != NoText {
			f.File = c.file(k.file)
		}
		if k.hasLine {
			f.Line = profile.Some(k.line)
		}
		if c.opt.Frame != nil {
			c.opt.Frame(&f)
		}
		var err error
		if refs[i], err = b.Frame(f); err != nil {
			return profile.Summary{}, err
		}
	}
	type labelled struct {
		track Track
		phase Text
	}
	labels := map[labelled]map[string]string{}
	var stack []profile.Ref
	weights, counts := make([]int64, len(metrics)), make([]uint64, len(metrics))
	for i := range n.nodes {
		d := &n.nodes[i]
		if i%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return profile.Summary{}, err
			}
		}
		if d.count == 0 {
			continue
		}
		stack = stack[:0]
		for at := uint32(i); at != noNode; at = n.nodes[at].parent {
			stack = append(stack, refs[n.nodes[at].frame])
		}
		slices.Reverse(stack)
		key := labelled{d.track, d.phase}
		set, ok := labels[key]
		if !ok {
			set = c.who(d.track).labels
			if d.phase != NoText {
				set = maps.Clone(set)
				set["phase"] = c.texts.list[d.phase]
			}
			labels[key] = set
		}
		weights[0], counts[0] = d.self, uint64(d.count)
		if len(weights) > 1 {
			weights[1], counts[1] = d.count, uint64(d.count)
		}
		if err := b.AddCounted(stack, weights, counts, set); err != nil {
			return profile.Summary{}, err
		}
	}
	return b.Finish(sink)
}

// number writes thousands apart: 9,998.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i >= 1 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
