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

// weigh gives each node the length of the longest estimated path that begins with it.
func (a *applier) weigh() {
	a.weight = map[*Node]time.Duration{}
	for i := len(a.g.Nodes) - 1; i >= 0; i-- {
		n := a.g.Nodes[i]
		if n.Stage == nil {
			continue
		}
		d := &Decision{Node: n, Want: n.Attempts}
		a.estimate(d)
		longest := time.Duration(0)
		for _, u := range n.users {
			longest = max(longest, a.weight[u])
		}
		a.weight[n] = d.Estimate + longest
	}
}
