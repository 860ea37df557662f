package sorting

// run is the length that Merge sorts by insertion before it starts merging.
const run = 24

// Merge sorts s by merging ever longer sorted runs. It is stable and takes
// n log n steps for every input, and allocates one buffer as long as s.
func Merge(s []int) {
	for lo := 0; lo < len(s); lo += run {
		insertion(s[lo:min(lo+run, len(s))])
	}
	if len(s) <= run {
		return
	}
	from, to := s, make([]int, len(s))
	for width := run; width < len(s); width *= 2 {
		for lo := 0; lo < len(s); lo += 2 * width {
			mid := min(lo+width, len(s))
			hi := min(lo+2*width, len(s))
			merge(to[lo:hi], from[lo:mid], from[mid:hi])
		}
		from, to = to, from
	}
	// After an odd number of passes the sorted elements are in the buffer.
	if &from[0] != &s[0] {
		copy(s, from)
	}
}

// merge writes the elements of the sorted a and b to dst, in order. Of equal
// elements those of a come first.
func merge(dst, a, b []int) {
	// Two runs that already follow each other need no comparing at all; this makes
	// sorted input linear in each pass.
	if len(a) == 0 || len(b) == 0 || a[len(a)-1] <= b[0] {
		copy(dst[copy(dst, a):], b)
		return
	}
	i, j := 0, 0
	for k := range dst {
		if j == len(b) || i < len(a) && a[i] <= b[j] {
			dst[k] = a[i]
			i++
		} else {
			dst[k] = b[j]
			j++
		}
	}
}
