package stats

import "math"

// Mean is the arithmetic mean; v must not be empty.
func Mean(v []float64) float64 {
	m := 0.0
	for i, x := range v {
		m += (x - m) / float64(i+1) // a plain sum may be too large for a float64
	}
	return m
}

// StandardError is the sample standard deviation (n − 1) of the values over √n: how far their mean may be off. Two values are the least.
func StandardError(v []float64) float64 {
	m, s := Mean(v), 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	n := float64(len(v))
	return math.Sqrt(s / (n - 1) / n)
}
