package growth

import (
	"math"
	"slices"
	"testing"
)

// The figures are those of scipy.stats.spearmanr (1.17.1), and of its permutation test over all orders.
func TestCorrelationsOfRanksAreThoseOfScipy(t *testing.T) {
	for _, c := range []struct {
		x, y   []float64
		rho, p float64
	}{
		{[]float64{1, 2, 3, 4, 5}, []float64{1, 2, 3, 4, 5}, 0.9999999999999999, 0.016666666666666666},
		{[]float64{10, 30, 100, 300, 1000}, []float64{5, 4, 4, 2, 1}, -0.9746794344808964, 0.03333333333333333},
		{[]float64{1, 2, 3, 4, 5, 6}, []float64{3, 1, 2, 6, 5, 4}, 0.6, 0.24166666666666667},
		{[]float64{5, 4, 3, 2, 1, 6, 7}, []float64{0, 0, 0, 1, 2, 3, 9.5}, 0.37062465833055064, 0.4166666666666667},
		{[]float64{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}, []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, 0.5265313520914635, 0.07863046813632459},
		{[]float64{0.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0, 64.0, 81.0, 100.0, 121.0, 144.0, 169.0, 196.0, 225.0, 256.0, 289.0, 324.0, 361.0, 400.0, 441.0, 484.0, 529.0, 576.0, 625.0, 676.0, 729.0, 784.0, 841.0}, []float64{0.0, 0.9414709848078965, 1.1092974268256817, 0.4411200080598672, -0.3568024953079282, -0.45892427466313845, 0.3205845018010741, 1.356986598718789, 1.7893582466233817, 1.3121184852417567, 0.4559788891106302, 0.10000979344929661, 0.663427081999565, 1.7201670368266408, 2.39060735569487, 2.150287840157117, 1.3120966833349348, 0.7386025081204431, 1.049012753228324, 2.0498772096629523, 2.9129452507276277, 2.936655638536056, 2.1911486907095963, 1.4537795958248292, 1.494421637993376, 2.367648249902227, 3.362558450479603, 3.656375928404503, 3.070905788307869, 2.2363661157870323}, 0.7766407119021135, 4.5251535596344134e-07},
		{[]float64{1.0, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{9, 8, 7, 5, 6, 4, 3, 2, 1}, -0.9833333333333333, 1.936196303745927e-06},
	} {
		rho, p, ok := NewRanks(c.x).Correlation(c.y)
		if !ok || math.Abs(rho-c.rho) > 1e-12 || math.Abs(p-c.p) > 1e-9*max(1, c.p) {
			t.Errorf("%v along %v: rho %v, p %v; want %v, %v", c.y, c.x, rho, p, c.rho, c.p)
		}
	}
}

func TestValuesThatAreAllOneHaveNoCorrelation(t *testing.T) {
	if _, _, ok := NewRanks([]float64{1, 2, 3, 4, 5}).Correlation([]float64{7, 7, 7, 7, 7}); ok {
		t.Error("equal values have a correlation")
	}
	if _, _, ok := NewRanks([]float64{2, 2, 2, 2, 2}).Correlation([]float64{1, 2, 3, 4, 5}); ok {
		t.Error("equal sizes have a correlation")
	}
}

func TestHolmRaisesByHowManyAreLeftAndKeepsTheOrder(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, 0.03, 0.005})
	for i, want := range []float64{0.06, 0.03, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("%v", got)
			break
		}
	}
	if got := Holm([]float64{0.9, 0.8}); !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("%v is above 1", got)
	}
}
