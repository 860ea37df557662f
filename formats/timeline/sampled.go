package timeline

import (
	"context"

	"github.com/flameox/flameox/formats/profile"
)

// Put adds a stack of samples, root to leaf, with a weight in each metric of Sampled and how many samples are behind it. It keeps nothing of what it gets.
type Put func(stack []profile.Ref, weights []int64, counts []uint64, labels map[string]string) error

// Sampled are stacks of samples that a trace has beside its slices. They are in the same profile, with metrics of their own: a slice says how long
// something took, a sample what ran.
type Sampled struct {
	Metrics []profile.Metric
	// Add makes the frames known to the aggregation and puts every stack.
	Add func(ctx context.Context, b *profile.Builder, put Put) error
}

// Sampled adds stacks of samples to what Finish sums. Where no slice has a duration their first metric is the profile's default.
func (c *Collector) Sampled(s *Sampled) { c.sampled = s }

// Labels are what rows say of a track: its process and thread, by ids and names. They are not to be changed.
func (c *Collector) Labels(t Track) map[string]string { return c.who(t).labels }

// File is how evidence names a file.
func (c *Collector) File(name string) string {
	if c.opt.File == nil {
		return name
	}
	return c.opt.File(name)
}

// Memory is the bytes of memory that the collector's budget allows; 0 where it has no bound.
func (c *Collector) Memory() int64 { return c.opt.Budget.Memory }
