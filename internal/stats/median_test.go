package stats

import (
	"math"
	"slices"
	"testing"
)

func TestMedianIsTheMiddleOrTheMeanOfTheTwoMiddleValues(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
		{[]float64{1, 1, 100}, 1},
	} {
		before := slices.Clone(c.in)
		if got := Median(c.in); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.in, got, c.want)
		}
		if !slices.Equal(before, c.in) {
			t.Errorf("%v became %v", before, c.in)
		}
	}
}
