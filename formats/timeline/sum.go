package timeline

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
)

// profile sums the stacks of slices, and of samples where there are some. The metric is that by which rows are heavy.
func (c *Collector) profile(ctx context.Context, sink *evidence.Sink) (profile.Metric, profile.Summary, error) {
	var metrics []profile.Metric
	n := &c.nest
	weighs := slices.ContainsFunc(n.nodes, func(d node) bool { return d.count > 0 })
	if weighs || c.sampled == nil {
		if metrics = append(metrics, c.opt.Duration); c.opt.Count.Name != "" {
			metrics = append(metrics, c.opt.Count)
		}
	}
	ofSlices := len(metrics)
	if c.sampled != nil {
		metrics = append(metrics, c.sampled.Metrics...)
	}
	b := profile.New(profile.Options{Metrics: metrics, Budget: c.opt.Budget})
	b.Reserve(c.keep.reserved())
	if weighs {
		if err := c.slices(ctx, b, len(metrics)); err != nil {
			return metrics[0], profile.Summary{}, err
		}
	}
	if c.sampled != nil {
		weights, counts := make([]int64, len(metrics)), make([]uint64, len(metrics))
		put := func(stack []profile.Ref, w []int64, n []uint64, labels map[string]string) error {
			copy(weights[ofSlices:], w)
			copy(counts[ofSlices:], n)
			return b.AddCounted(stack, weights, counts, labels)
		}
		if err := c.sampled.Add(ctx, b, put); err != nil {
			return metrics[0], profile.Summary{}, err
		}
	}
	sum, err := b.Finish(sink)
	return metrics[0], sum, err
}

// slices adds the stacks of slices to an aggregation with so many metrics, of which those of slices come first.
func (c *Collector) slices(ctx context.Context, b *profile.Builder, metrics int) error {
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
			return err
		}
	}
	type labelled struct {
		track Track
		phase Text
	}
	labels := map[labelled]map[string]string{}
	var stack []profile.Ref
	weights, counts := make([]int64, metrics), make([]uint64, metrics)
	for i := range n.nodes {
		d := &n.nodes[i]
		if i%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
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
		if c.opt.Count.Name != "" {
			weights[1], counts[1] = d.count, uint64(d.count)
		}
		if err := b.AddCounted(stack, weights, counts, set); err != nil {
			return err
		}
	}
	return nil
}

// number writes thousands apart: 9,998.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i >= 1 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
