package graph

import (
	"time"

	"github.com/flameox/flameox/graph/cache"
)

// estimateFrom is how many of the newest results an estimate is made of.
const estimateFrom = 5

// estimate says how long what is missing of a node will take: the mean wall time of the newest valid results at its address, for each attempt. Results
// of this class of machine are used where there are any, and others only where there are none.
func (p *Planner) estimate(d *Decision) {
	history := p.store.At(d.Node.Address)
	each, n := meanWall(history, func(r *cache.Summary) bool { return r.HostClass == p.store.HostClass })
	elsewhere := n == 0
	if elsewhere {
		each, n = meanWall(history, func(*cache.Summary) bool { return true })
	}
	if n == 0 {
		return
	}
	d.Estimate = each * time.Duration(max(1, d.Want-d.Have))
	d.EstimateElsewhere, d.EstimateRuns = elsewhere, n
}

// meanWall is the mean wall time of the newest valid results that count, and how many those are.
func meanWall(history []*cache.Summary, counts func(*cache.Summary) bool) (time.Duration, int) {
	var sum time.Duration
	n := 0
	for i := len(history) - 1; i >= 0 && n < estimateFrom; i-- {
		if r := history[i]; r.Valid() && counts(r) {
			sum += r.Wall
			n++
		}
	}
	return sum / time.Duration(max(1, n)), n
}
