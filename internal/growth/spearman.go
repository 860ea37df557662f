package growth

import (
	"cmp"
	"math"
	"slices"
)

// MinRanks is the fewest points between which a correlation of ranks is looked for: with four, chance alone orders them perfectly once in twelve times.
const MinRanks = 5

// exactRanks is the most points up to which every order is gone through.
const exactRanks = 8

// Ranks tests whether values rise or fall along sizes, by Spearman's correlation of ranks. It remembers what the orders of the sizes give, so that thousands of
// series along the same sizes cost little more than one. It is for one goroutine.
type Ranks struct {
	x     []float64            // ranks of the sizes, less their mean
	norm  float64              // root of the sum of their squares
	known map[string][]float64 // by the ranks of the values, ascending: the correlations of all orders, ascending by amount
}

// NewRanks is the test along the sizes. They must be MinRanks at least.
func NewRanks(sizes []float64) *Ranks {
	r := &Ranks{x: ranks(sizes), known: map[string][]float64{}}
	r.norm = norm(r.x)
	return r
}

// Correlation is Spearman's rho of the values with the sizes, and how often chance alone gives as strong a one in either direction: of every order where there are
// up to eight points, by Student's t beyond. Where the values or the sizes are all one there is neither, and ok is false.
func (r *Ranks) Correlation(values []float64) (rho, p float64, ok bool) {
	y := ranks(values)
	n := norm(y)
	if n == 0 || r.norm == 0 {
		return 0, 0, false
	}
	rho = max(-1, min(1, dot(r.x, y)/(n*r.norm)))
	if len(y) <= exactRanks {
		return rho, r.exact(y, n, math.Abs(rho)), true
	}
	freedom := float64(len(y) - 2)
	if rho*rho >= 1 {
		return rho, 0, true
	}
	// The share beyond t on either side, as the incomplete beta function has it.
	return rho, beta(freedom/2, 0.5, 1-rho*rho), true
}

// exact is the share of the orders of y whose correlation is as strong.
func (r *Ranks) exact(y []float64, n, strength float64) float64 {
	slices.Sort(y)
	key := make([]byte, len(y))
	for i, v := range y {
		key[i] = byte(2*v + 128) // ranks are halves
	}
	all, ok := r.known[string(key)]
	if !ok {
		permute(y, len(y), func() { all = append(all, math.Abs(dot(r.x, y))/(n*r.norm)) })
		slices.Sort(all)
		r.known[string(key)] = all
	}
	at, _ := slices.BinarySearch(all, strength-1e-9)
	return float64(len(all)-at) / float64(len(all))
}

// permute goes through every order of the first n of y, by Heap's method.
func permute(y []float64, n int, fn func()) {
	if n <= 1 {
		fn()
		return
	}
	for i := range n - 1 {
		permute(y, n-1, fn)
		j := 0
		if n%2 == 0 {
			j = i
		}
		y[j], y[n-1] = y[n-1], y[j]
	}
	permute(y, n-1, fn)
}

// ranks are the places of values in their order, less the mean place; equal values share the mean of their places.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	middle := float64(len(values)-1) / 2
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1)/2 - middle
		}
		from = to
	}
	return out
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// Holm are the values of p, in their order, made larger for their number (Holm, 1979): rejecting those up to a level rejects any that chance made with no more than
// that probability.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	least := 0.0
	for i, k := range order {
		least = max(least, min(1, p[k]*float64(len(p)-i)))
		out[k] = least
	}
	return out
}
