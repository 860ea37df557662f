package stats

import "slices"

// Median is the middle of the values, or the mean of the two in the middle. The order of v is not changed; v must not be empty.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1] + (s[n/2]-s[n/2-1])/2 // their sum may be too large for a float64
}
