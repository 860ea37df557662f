package sorting

import "math/bits"

// small is the length below which Quick stops partitioning.
const small = 16

// Quick sorts s by partitioning around a pivot. It needs no memory of its own.
// It recognizes input that is already sorted or made of few distinct values, and
// gives up on bad luck: after 2 log n unbalanced levels the rest is heap-sorted, so
// no input takes more than n log n steps.
func Quick(s []int) {
	quick(s, 2*bits.Len(uint(len(s))))
}

func quick(s []int, depth int) {
	for len(s) > small {
		if sorted(s) {
			return
		}
		if depth == 0 {
			Heap(s)
			return
		}
		depth--
		lt, gt := partition(s, pivot(s))
		// Recurse into the shorter side and loop over the longer, so that the stack
		// stays logarithmic.
		if lt < len(s)-gt {
			quick(s[:lt], depth)
			s = s[gt:]
		} else {
			quick(s[gt:], depth)
			s = s[:lt]
		}
	}
	insertion(s)
}

// sorted stops at the first pair that is out of order, so on random input it
// costs a handful of comparisons.
func sorted(s []int) bool {
	for i := 1; i < len(s); i++ {
		if s[i-1] > s[i] {
			return false
		}
	}
	return true
}

// pivot is the median of three elements, and for long slices of three such medians.
func pivot(s []int) int {
	n := len(s)
	if n < 128 {
		return median(s[0], s[n/2], s[n-1])
	}
	e := n / 8
	return median(
		median(s[0], s[e], s[2*e]),
		median(s[n/2-e], s[n/2], s[n/2+e]),
		median(s[n-1-2*e], s[n-1-e], s[n-1]),
	)
}

func median(a, b, c int) int {
	return max(min(a, b), min(max(a, b), c))
}

// partition orders s into elements below p, equal to p, and above p. The equal
// ones are s[lt:gt] and need no further work, which makes many duplicates cheap.
func partition(s []int, p int) (lt, gt int) {
	gt = len(s)
	for i := 0; i < gt; {
		switch v := s[i]; {
		case v < p:
			s[i], s[lt] = s[lt], v
			lt++
			i++
		case v > p:
			gt--
			s[i], s[gt] = s[gt], v
		default:
			i++
		}
	}
	return lt, gt
}
