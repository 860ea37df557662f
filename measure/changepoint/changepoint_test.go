package changepoint

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// levels are values around each level, off by sd, relative.
func levels(seed uint64, sd float64, list ...[2]float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	var out []float64
	for _, l := range list {
		for range int(l[1]) {
			out = append(out, l[0]*math.Exp(sd*r.NormFloat64()))
		}
	}
	return out
}

func TestAStepIsFoundWhereItIs(t *testing.T) {
	for seed := range uint64(20) {
		got := Find(levels(seed, 0.01, [2]float64{10, 20}, [2]float64{11, 15}, [2]float64{10, 25}), Options{})
		if len(got) != 2 || abs(got[0].At-20) > 1 || abs(got[1].At-35) > 1 || math.Abs(got[0].Effect-0.1) > 0.02 || math.Abs(got[1].Effect+0.09) > 0.02 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func abs(n int) int { return max(n, -n) }

func TestNoiseAloneIsSeldomAChange(t *testing.T) {
	alarms, of := 0, 300
	for seed := range uint64(of) {
		if len(Find(levels(seed, 0.05, [2]float64{10, 30}), Options{})) > 0 {
			alarms++
		}
	}
	// The share that is allowed is 1 %; three standard deviations of it are 1.7.
	if alarms > 8 {
		t.Errorf("%d of %d series of noise have a change", alarms, of)
	}
}

func TestOneOutlierIsNoChange(t *testing.T) {
	for seed := range uint64(30) {
		v := levels(seed, 0.005, [2]float64{10, 30})
		for _, at := range []int{0, 2, 15, 27, 29} {
			w := append([]float64{}, v...)
			w[at] *= 5
			for _, c := range Find(w, Options{MinEffect: 0.01}) {
				t.Errorf("seed %d, outlier at %d: %+v", seed, at, c)
			}
		}
	}
}

func TestASlowDriftIsFound(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		v := make([]float64, 30)
		for i := range v {
			v[i] = 10 * math.Pow(1.003, float64(i)) * math.Exp(0.005*r.NormFloat64())
		}
		if got := Find(v, Options{}); len(got) == 0 || got[0].Effect <= 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func TestTheSameValuesGiveTheSameChanges(t *testing.T) {
	v := levels(1, 0.05, [2]float64{10, 20}, [2]float64{11, 20})
	if a, b := Find(v, Options{}), Find(v, Options{}); !reflect.DeepEqual(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestShortFlatAndNegativeSeries(t *testing.T) {
	for _, v := range [][]float64{nil, {1}, {1, 2, 3, 4, 5}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, {0, 0, 0, 0, 0, 0, 0}} {
		if got := Find(v, Options{}); len(got) != 0 {
			t.Errorf("%v: %+v", v, got)
		}
	}
	v := []float64{-1, -1.01, -0.99, -1, -1.02, -0.98, -1, -1.01, 3, 3.01, 2.99, 3, 3.02, 2.98, 3, 3.01}
	if got := Find(v, Options{}); len(got) != 1 || got[0].At != 8 || math.Abs(got[0].Effect-4) > 0.05 {
		t.Errorf("%+v", got)
	}
}
