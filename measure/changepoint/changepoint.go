// Package changepoint finds where the level of a series changed for good.
//
// It is E-divisive (Matteson and James, 2014): the point that divides a stretch into the two parts that are least alike, by the energy distance, is a change where chance
// rarely divides so well; then each part is searched again. How rarely is found by shuffling the stretch, with a fixed seed, so that the same values give the same changes
// everywhere. One outlier divides a shuffled stretch as well as the real one, so it is no change; a slow drift is found as one or more steps.
//
// The package knows values in order and nothing of revisions, time or units.
package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flameox/flameox/internal/stats"
)

// Options of Find. The zero value of a field is its default.
type Options struct {
	MinSegment   int     // fewest points on either side of a change: 3
	Significance float64 // most that chance may have to do with a change: 0.01
	Permutations int     // 999
	MinEffect    float64 // a relative change of the median up to this is no change
	Seed         uint64
}

// Change is a point whose level is another than before.
type Change struct {
	At            int // index of the first point of the new level
	Before, After float64
	Effect        float64 // After/Before − 1; the difference where a value is not positive
	P             float64 // share of shuffled stretches that divide as well
}

// maxStretch bounds the work, which grows with the square of the points: of a longer series only the latest are searched.
const maxStretch = 1000

// Find is the changes of the values, in order. Values that are all positive are compared by ratio, others by difference.
func Find(values []float64, o Options) []Change {
	if o.MinSegment == 0 {
		o.MinSegment = 3
	}
	if o.Significance == 0 {
		o.Significance = 0.01
	}
	if o.Permutations == 0 {
		o.Permutations = 999
	}
	offset := max(0, len(values)-maxStretch)
	values = values[offset:]
	positive := !slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) })
	x := slices.Clone(values)
	if positive {
		for i := range x {
			x[i] = math.Log(x[i])
		}
	}
	var at []int
	p := map[int]float64{}
	var search func(from, to int)
	search = func(from, to int) {
		best, q := divide(x[from:to], o.MinSegment)
		if best < 0 {
			return
		}
		chance := o.chance(x[from:to], q)
		if chance > o.Significance {
			return
		}
		at = append(at, from+best)
		p[from+best] = chance
		search(from, from+best)
		search(from+best, to)
	}
	search(0, len(x))
	slices.Sort(at)
	return o.changes(values, at, p, offset, positive)
}

// changes leaves out the least of the changes that are too small until none is: two neighbours that are one level are one stretch.
func (o Options) changes(values []float64, at []int, p map[int]float64, offset int, positive bool) []Change {
	for {
		out := make([]Change, len(at))
		least := -1
		for i, k := range at {
			from, to := 0, len(values)
			if i > 0 {
				from = at[i-1]
			}
			if i+1 < len(at) {
				to = at[i+1]
			}
			c := Change{At: offset + k, Before: stats.Median(values[from:k]), After: stats.Median(values[k:to]), P: p[k]}
			c.Effect = c.After - c.Before
			if positive {
				c.Effect = c.After/c.Before - 1
			}
			out[i] = c
			if math.Abs(c.Effect) <= o.MinEffect && (least < 0 || math.Abs(c.Effect) < math.Abs(out[least].Effect)) {
				least = i
			}
		}
		if least < 0 {
			return out
		}
		at = slices.Delete(at, least, least+1)
	}
}

// divide is the index that divides x best, with the statistic there; -1 where x is too short.
func divide(x []float64, least int) (best int, q float64) {
	n := len(x)
	best = -1
	// The sums of distances within the left part, within the right part and between them, as points go from right to left.
	var left, right, between float64
	for i := range x {
		for j := range i {
			right += math.Abs(x[i] - x[j])
		}
	}
	for k := 1; k < n; k++ {
		moved := x[k-1]
		var toLeft, toRight float64
		for _, v := range x[:k-1] {
			toLeft += math.Abs(moved - v)
		}
		for _, v := range x[k:] {
			toRight += math.Abs(moved - v)
		}
		left += toLeft
		right -= toRight
		between += toRight - toLeft
		if k < least || n-k < least {
			continue
		}
		a, b := float64(k), float64(n-k)
		e := 2*between/(a*b) - 2*left/(a*a) - 2*right/(b*b)
		if s := a * b / (a + b) * e; best < 0 || s > q {
			best, q = k, s
		}
	}
	return best, q
}

// chance is how often a shuffled x divides at least as well. It stops early once that is too often.
func (o Options) chance(x []float64, q float64) float64 {
	if q <= 0 {
		return 1
	}
	r := rand.New(rand.NewPCG(o.Seed, uint64(len(x))))
	y := slices.Clone(x)
	hits, most := 0, int(o.Significance*float64(o.Permutations+1))
	for range o.Permutations {
		r.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
		if _, s := divide(y, o.MinSegment); s >= q*(1-1e-12) {
			if hits++; hits > most {
				return 1
			}
		}
	}
	return float64(hits+1) / float64(o.Permutations+1)
}
