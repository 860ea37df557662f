package growth

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Point is a quantity at a size.
type Point struct{ X, Y float64 }

// Coefficient is an estimate with its standard error and 95 % interval. Without a degree of freedom there is neither.
type Coefficient struct {
	Value  float64  `json:"value"`
	Error  *float64 `json:"standard_error,omitempty"`
	Low95  *float64 `json:"low,omitempty"`
	High95 *float64 `json:"high,omitempty"`
}

// Fit is a law y = Offset + Slope·f(x), fitted by least squares.
type Fit struct {
	Law          string       `json:"law"`
	Offset       Coefficient  `json:"offset"`
	Slope        *Coefficient `json:"slope,omitempty"` // of the law; the constant has none
	RSS          float64      `json:"residual_sum_of_squares"`
	AICc         *float64     `json:"aicc,omitempty"`          // missing with too few points, or where the fit is exact
	DurbinWatson *float64     `json:"durbin_watson,omitempty"` // near 2 where residuals, in the order of sizes, do not hang together
	Condition    float64      `json:"condition_number"`        // of the design, columns scaled to one length: above 30 the coefficients are hard to tell apart
	Exact        bool         `json:"exact,omitempty"`         // the law meets every point
}

// Result is all fits, best first, and which is the winner.
type Result struct {
	Fits   []Fit  `json:"fits"`
	Winner string `json:"winner,omitempty"` // the law that describes the points, where it is better by an AICc of 2
	Why    string `json:"why,omitempty"`    // there is none
}

type law struct {
	name string
	f    func(x float64) float64 // nil: constant
}

var laws = []law{
	{"constant", nil},
	{"log n", math.Log},
	{"n", func(x float64) float64 { return x }},
	{"n log n", func(x float64) float64 { return x * math.Log(x) }},
	{"n²", func(x float64) float64 { return x * x }},
}

// clear is by how much a law has to be better.
const clear = 2

// Fits fits every law. Sizes must be above 0, there must be three points or more, and two sizes.
func Fits(points []Point) (*Result, error) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	if len(points) < 3 {
		return nil, fmt.Errorf("%d points are too few to fit anything; three are the least", len(points))
	}
	for _, p := range points {
		if !(p.X > 0) || math.IsInf(p.X, 0) || math.IsNaN(p.Y) || math.IsInf(p.Y, 0) {
			return nil, fmt.Errorf("the point %v, %v cannot be fitted: sizes are above 0 and everything is finite", p.X, p.Y)
		}
	}
	if points[0].X == points[len(points)-1].X {
		return nil, errors.New("all points have one size, so nothing is known of growth")
	}
	r := &Result{}
	for _, l := range laws {
		r.Fits = append(r.Fits, l.fit(points))
	}
	slices.SortStableFunc(r.Fits, func(a, b Fit) int {
		switch x, y := a.rank(), b.rank(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	best, next := r.Fits[0], r.Fits[1]
	switch {
	case best.Exact && !next.Exact:
		r.Winner = best.Law
	case best.Exact:
		r.Why = "several laws meet every point exactly"
	case best.AICc == nil || slices.ContainsFunc(r.Fits, func(f Fit) bool { return f.AICc == nil }):
		r.Why = fmt.Sprintf("with %d points the laws cannot be compared; five are the least", len(points))
	case *next.AICc-*best.AICc < clear:
		r.Why = fmt.Sprintf("%s and %s describe the points about equally well: their AICc differ by %.2f, and %d is the least that counts", best.Law, next.Law, *next.AICc-*best.AICc, clear)
	default:
		r.Winner = best.Law
	}
	return r, nil
}

func (f *Fit) rank() float64 {
	switch {
	case f.Exact:
		return math.Inf(-1)
	case f.AICc == nil:
		return math.MaxFloat64
	}
	return *f.AICc
}

func (l law) fit(points []Point) Fit {
	n := len(points)
	var sx, sy float64
	g := make([]float64, n)
	for i, p := range points {
		if l.f != nil {
			g[i] = l.f(p.X)
		}
		sx += g[i]
		sy += p.Y
	}
	mx, my := sx/float64(n), sy/float64(n)
	var sxx, sxy, syy, raw float64
	for i, p := range points {
		sxx += (g[i] - mx) * (g[i] - mx)
		sxy += (g[i] - mx) * (p.Y - my)
		syy += p.Y * p.Y
		raw += g[i] * g[i]
	}
	f := Fit{Law: l.name, Condition: 1}
	slope, k := 0.0, 1
	if l.f != nil {
		k = 2
		slope = sxy / sxx
		// The design's columns, 1 and g, scaled to one length, have the correlation r around 0: the singular values are √(1±r).
		r := math.Abs(sx) / math.Sqrt(float64(n)*raw)
		f.Condition = math.Sqrt((1 + r) / math.Max(1-r, 1e-16))
	}
	offset := my - slope*mx
	var before, dw float64
	for i, p := range points {
		e := p.Y - offset - slope*g[i]
		f.RSS += e * e
		if i > 0 {
			dw += (e - before) * (e - before)
		}
		before = e
	}
	// What is left of points that lie on the law is rounding.
	f.Exact = f.RSS <= 1e-24*math.Max(syy, math.SmallestNonzeroFloat64)
	f.Offset.Value = offset
	if l.f != nil {
		f.Slope = &Coefficient{Value: slope}
	}
	if f.Exact {
		return f
	}
	f.DurbinWatson = new(dw / f.RSS)
	if free := n - k; free > 0 {
		s2 := f.RSS / float64(free)
		t := quantile975(free)
		if l.f == nil {
			f.Offset.interval(math.Sqrt(s2/float64(n)), t)
		} else {
			f.Offset.interval(math.Sqrt(s2*(1/float64(n)+mx*mx/sxx)), t)
			f.Slope.interval(math.Sqrt(s2/sxx), t)
		}
	}
	if p := k + 1; n-p-1 > 0 { // the variance is a parameter, too
		f.AICc = new(float64(n)*math.Log(f.RSS/float64(n)) + 2*float64(p) + 2*float64(p)*float64(p+1)/float64(n-p-1))
	}
	return f
}

func (c *Coefficient) interval(se, t float64) {
	c.Error, c.Low95, c.High95 = &se, new(c.Value-t*se), new(c.Value+t*se)
}

// quantile975 is the point of Student's distribution above which 2.5 % lie.
func quantile975(df int) float64 {
	low, high := 0.0, 1e3
	for range 100 {
		mid := (low + high) / 2
		if upper(mid, float64(df)) > 0.025 {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// upper is the share of Student's distribution above t ≥ 0: half of the regularized incomplete beta function at v/(v+t²).
func upper(t, v float64) float64 { return beta(v/2, 0.5, v/(v+t*t)) / 2 }

// beta is the regularized incomplete beta function, by its continued fraction (Lentz).
func beta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return math.Max(0, math.Min(1, x))
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	if x > (a+1)/(a+b+2) {
		return 1 - beta(b, a, 1-x)
	}
	const tiny = 1e-300
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	h := d
	for m := 1.0; m < 500; m++ {
		for _, num := range [2]float64{m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)), -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))} {
			if d = 1 + num*d; math.Abs(d) < tiny {
				d = tiny
			}
			if c = 1 + num/c; math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			h *= d * c
		}
		if math.Abs(d*c-1) < 1e-15 {
			break
		}
	}
	return front * h / a
}
