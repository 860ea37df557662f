// Package sorting sorts slices of integers in three ways, so that there is
// something to compare: a bottom-up merge sort, a pattern-defeating quicksort
// and a heap sort. All three sort in place in rising order; none keeps a
// reference to the slice.
package sorting

// Func sorts s in place in rising order.
type Func func(s []int)

// Implementations are the sorts of this package by the name they have in benchmarks.
func Implementations() map[string]Func {
	return map[string]Func{"merge": Merge, "quick": Quick, "heap": Heap}
}

// insertion sorts s. It beats the others on a few dozen elements, because it
// touches memory strictly in order, so Merge and Quick both end in it.
func insertion(s []int) {
	for i := 1; i < len(s); i++ {
		v := s[i]
		j := i
		for ; j > 0 && s[j-1] > v; j-- {
			s[j] = s[j-1]
		}
		s[j] = v
	}
}
