package ready

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func drain(q *Queue[int, string]) (out []int) {
	for {
		n, ok := q.First()
		if !ok {
			return out
		}
		if q.Pop() != n {
			return append(out, -1)
		}
		out = append(out, n)
	}
}

func TestTheBestIsFirstWhateverTheOrderInWhichTheyCame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for size := range 60 {
		q := New[int, string](func(a, b int) bool { return a < b })
		var want []int
		for range size {
			n := r.IntN(20)
			want = append(want, n)
			q.Push(n)
		}
		slices.Sort(want)
		if got := drain(q); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestWhatIsAsideComesBackWhenItsKeyIsFreeAndCountsMeanwhile(t *testing.T) {
	q := New[int, string](func(a, b int) bool { return a < b })
	for n := range 6 {
		q.Push(n)
	}
	q.Park("a") // 0
	q.Park("b") // 1
	q.Park("a") // 2
	if n, _ := q.First(); n != 3 || q.Len() != 6 {
		t.Fatalf("first is %d of %d", n, q.Len())
	}
	q.Free("c")
	q.Free("a")
	if got := drain(q); !slices.Equal(got, []int{0, 2, 3, 4, 5}) || q.Len() != 1 {
		t.Fatalf("got %v, %d are left", got, q.Len())
	}
	q.Free("b")
	if got := drain(q); !slices.Equal(got, []int{1}) || q.Len() != 0 {
		t.Fatalf("got %v, %d are left", got, q.Len())
	}
}
