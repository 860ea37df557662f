package ready

// Queue holds what is ready, best first. It is not safe for concurrent use.
type Queue[N any, K comparable] struct {
	before func(a, b N) bool
	heap   []N
	aside  map[K][]N
	parked int
}

// New is an empty queue. before says that a comes before b; of two of which neither does, any may be first.
func New[N any, K comparable](before func(a, b N) bool) *Queue[N, K] {
	return &Queue[N, K]{before: before, aside: map[K][]N{}}
}

// Len is how many are in the queue, those aside included.
func (q *Queue[N, K]) Len() int { return len(q.heap) + q.parked }

// First is the best that is not aside; false where there is none.
func (q *Queue[N, K]) First() (n N, ok bool) {
	if len(q.heap) == 0 {
		return n, false
	}
	return q.heap[0], true
}

// Push adds n.
func (q *Queue[N, K]) Push(n N) {
	q.heap = append(q.heap, n)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.before(q.heap[i], q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// Pop takes First out of the queue, which must not be empty.
func (q *Queue[N, K]) Pop() N {
	first, last := q.heap[0], len(q.heap)-1
	var none N
	q.heap[0], q.heap[last] = q.heap[last], none
	q.heap = q.heap[:last]
	for i := 0; ; {
		best := i
		for _, down := range []int{2*i + 1, 2*i + 2} {
			if down < last && q.before(q.heap[down], q.heap[best]) {
				best = down
			}
		}
		if best == i {
			return first
		}
		q.heap[i], q.heap[best] = q.heap[best], q.heap[i]
		i = best
	}
}

// Park puts First aside until on is freed.
func (q *Queue[N, K]) Park(on K) {
	q.aside[on] = append(q.aside[on], q.Pop())
	q.parked++
}

// Free puts what waited for on back into the queue.
func (q *Queue[N, K]) Free(on K) {
	waited := q.aside[on]
	delete(q.aside, on)
	q.parked -= len(waited)
	for _, n := range waited {
		q.Push(n)
	}
}
