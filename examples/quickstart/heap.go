package sorting

// Heap sorts s by building a heap and taking its largest element again and again.
// It takes n log n steps for every input and no memory, but jumps around in
// it, which long slices feel.
func Heap(s []int) {
	for root := len(s)/2 - 1; root >= 0; root-- {
		sink(s, root)
	}
	for end := len(s) - 1; end > 0; end-- {
		s[0], s[end] = s[end], s[0]
		sink(s[:end], 0)
	}
}

// sink moves the element at root down until both its children are no larger.
func sink(s []int, root int) {
	v := s[root]
	for {
		child := 2*root + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1] > s[child] {
			child++
		}
		if s[child] <= v {
			break
		}
		s[root] = s[child]
		root = child
	}
	s[root] = v
}
