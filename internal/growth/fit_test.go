package growth

import (
	"math"
	"strings"
	"testing"
)

func points(f func(x float64) float64, sizes ...float64) (out []Point) {
	for i, x := range sizes {
		// A percent up and down, so that no law meets every point.
		out = append(out, Point{x, f(x) * (1 + 0.01*float64(1-2*(i%2)))})
	}
	return out
}

var sizes = []float64{10, 30, 100, 300, 1000, 3000, 10000, 30000}

func TestTheLawThatMadeThePointsWins(t *testing.T) {
	for name, f := range map[string]func(float64) float64{
		"n":     func(x float64) float64 { return 5 + 3*x },
		"n²":    func(x float64) float64 { return 2 * x * x },
		"log n": func(x float64) float64 { return 100 + 40*math.Log(x) },
	} {
		r, err := Fits(points(f, sizes...))
		if err != nil || r.Winner != name {
			t.Errorf("%s: the winner is %q (%s), %v", name, r.Winner, r.Why, err)
		}
	}
}

func TestWithFewPointsNothingWinsAndItIsSaid(t *testing.T) {
	r, err := Fits(points(func(x float64) float64 { return x }, 10, 100, 1000))
	if err != nil || r.Winner != "" || !strings.Contains(r.Why, "3 points") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range [][]Point{
		nil, {{1, 1}, {2, 2}}, {{1, 1}, {1, 2}, {1, 3}}, {{0, 1}, {1, 2}, {2, 3}}, {{1, math.NaN()}, {2, 2}, {3, 3}}, {{1, 1}, {2, 2}, {math.Inf(1), 3}},
	} {
		if _, err := Fits(bad); err == nil {
			t.Errorf("%v was fitted", bad)
		}
	}
}

func TestLawsThatDescribeThePointsAlikeHaveNoWinner(t *testing.T) {
	// Over a narrow range n and n log n are hardly told apart.
	r, err := Fits(points(func(x float64) float64 { return x }, 100, 120, 140, 160, 180, 200))
	if err != nil || r.Winner != "" || !strings.Contains(r.Why, "about equally well") {
		t.Errorf("winner %q, %s, %v", r.Winner, r.Why, err)
	}
}

func TestPointsOnALawAreMetExactly(t *testing.T) {
	r, err := Fits([]Point{{1, 3}, {2, 5}, {3, 7}, {4, 9}, {5, 11}})
	if err != nil || r.Winner != "n" || !r.Fits[0].Exact || math.Abs(r.Fits[0].Slope.Value-2) > 1e-12 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The normal equations are solved in another way than the code does it; the quantile is from tables.
func TestALineHasTheFiguresOfOrdinaryLeastSquares(t *testing.T) {
	r, err := Fits([]Point{{1, 2.1}, {2, 3.9}, {3, 6.2}, {4, 7.8}, {5, 10.1}, {6, 12.2}})
	if err != nil {
		t.Fatal(err)
	}
	var f *Fit
	for i := range r.Fits {
		if r.Fits[i].Law == "n" {
			f = &r.Fits[i]
		}
	}
	x := []float64{1, 2, 3, 4, 5, 6}
	y := []float64{2.1, 3.9, 6.2, 7.8, 10.1, 12.2}
	n, sx, sxx, sy, sxy := 6.0, 21.0, 91.0, 0.0, 0.0
	for i := range x {
		sy += y[i]
		sxy += x[i] * y[i]
	}
	b := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	a := (sy - b*sx) / n
	rss := 0.0
	for i := range x {
		rss += math.Pow(y[i]-a-b*x[i], 2)
	}
	se := math.Sqrt(rss / 4 / (sxx - sx*sx/n))
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"offset", f.Offset.Value, a}, {"slope", f.Slope.Value, b}, {"RSS", f.RSS, rss}, {"standard error", *f.Slope.Error, se},
		{"low end", *f.Slope.Low95, b - 2.7764451051977987*se}, // t of 4 degrees of freedom, from tables
		{"AICc", *f.AICc, n*math.Log(rss/n) + 6 + 24.0/2},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s is %v, want %v", c.what, c.got, c.want)
		}
	}
	if f.Condition < 1 || *f.DurbinWatson < 0 || *f.DurbinWatson > 4 {
		t.Errorf("condition %v, Durbin-Watson %v", f.Condition, *f.DurbinWatson)
	}
}

func TestQuantilesAreThoseOfTables(t *testing.T) {
	for df, want := range map[int]float64{1: 12.7062047362, 2: 4.3026527297, 5: 2.5705818356, 30: 2.0422724563, 1000: 1.9623390808} {
		if got := quantile975(df); math.Abs(got-want) > 1e-8 {
			t.Errorf("with %d degrees of freedom it is %v, want %v", df, got, want)
		}
	}
}
