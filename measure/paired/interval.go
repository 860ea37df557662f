package paired

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/flameox/flameox/internal/stats"
)

// estimate is the mean of log-ratios with what is needed to say how certain it is at any level.
type estimate interface {
	// at is the interval that holds the true mean with probability 1 − alpha.
	at(alpha float64) (low, high float64)
	// beyond is the smallest alpha at which the interval lies wholly on one side of ±b; 1 where no alpha does.
	beyond(b float64) float64
	// within is the smallest alpha at which the interval lies wholly inside ±b; 1 where no alpha does.
	within(b float64) float64
}

// student is the interval of normal differences: exact at any number of rounds.
type student struct {
	mean, se float64
	t        distuv.StudentsT
}

func newStudent(d []float64) student {
	return student{stats.Mean(d), stats.StandardError(d), distuv.StudentsT{Sigma: 1, Nu: float64(len(d) - 1)}}
}

func (s student) at(alpha float64) (low, high float64) {
	if s.se == 0 {
		return s.mean, s.mean
	}
	half := s.t.Quantile(1-alpha/2) * s.se
	return s.mean - half, s.mean + half
}

// tail is the two-sided probability beyond a distance from the mean.
func (s student) tail(distance float64) float64 {
	switch {
	case distance <= 0:
		return 1
	case s.se == 0:
		return 0
	}
	return 2 * s.t.Survival(distance/s.se)
}

func (s student) beyond(b float64) float64 { return s.tail(math.Abs(s.mean) - b) }
func (s student) within(b float64) float64 { return s.tail(b - math.Abs(s.mean)) }

// typical is the interval of differences that are symmetric about the true mean, whatever their distribution: the means of all subsets
// divide the line into parts that are equally likely to hold it (Hartigan, 1969). It is what a test that flips signs cannot refuse.
type typical struct {
	mean  float64
	means []float64 // of subsets, ascending
}

// Up to exactRounds all subsets are taken; beyond, as many as drawn, which keeps the property. The draw is seeded, so that the same
// rounds give the same interval everywhere.
const (
	exactRounds = 12
	drawn       = 1<<exactRounds - 1
	drawSeed    = 0x666c616d656f78
)

// signFlipRounds is the least at which an interval of 95 % exists: two of the 2⁶ parts are outside.
const signFlipRounds = 6

func newTypical(d []float64) typical {
	t := typical{mean: stats.Mean(d), means: make([]float64, 0, drawn)}
	add := func(set uint64, more func() uint64) {
		sum, n := 0.0, 0
		for i, x := range d {
			if i > 0 && i%64 == 0 {
				set = more()
			}
			if set>>(i%64)&1 == 1 {
				sum += x
				n++
			}
		}
		if n > 0 {
			t.means = append(t.means, sum/float64(n))
		}
	}
	if len(d) <= exactRounds {
		for set := uint64(1); set < 1<<len(d); set++ {
			add(set, nil)
		}
	} else {
		source := rand.NewPCG(drawSeed, uint64(len(d)))
		for len(t.means) < drawn {
			add(source.Uint64(), source.Uint64)
		}
	}
	slices.Sort(t.means)
	return t
}

// parts is the number of equally likely parts.
func (t typical) parts() float64 { return float64(len(t.means) + 1) }

func (t typical) at(alpha float64) (low, high float64) {
	k := int(math.Floor(alpha/2*t.parts() + 1e-9))
	if k == 0 {
		return math.Inf(-1), math.Inf(1) // too few rounds for this level
	}
	return t.means[k-1], t.means[len(t.means)-k]
}

func (t typical) beyond(b float64) float64 {
	// How many subset means are not beyond the edge that the mean is beyond of.
	n := len(t.means)
	switch {
	case t.mean > b:
		n, _ = slices.BinarySearchFunc(t.means, b, after)
	case t.mean < -b:
		i, _ := slices.BinarySearch(t.means, -b)
		n -= i
	}
	return min(1, 2*float64(n+1)/t.parts())
}

func (t typical) within(b float64) float64 {
	if math.Abs(t.mean) >= b {
		return 1
	}
	low, _ := slices.BinarySearchFunc(t.means, -b, after)
	high, _ := slices.BinarySearch(t.means, b)
	return min(1, 2*float64(max(low, len(t.means)-high)+1)/t.parts())
}

// after finds the first element that is greater than the target.
func after(x, target float64) int {
	if x <= target {
		return -1
	}
	return 1
}
