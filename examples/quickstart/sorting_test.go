package sorting

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// inputs are slices that have broken sorts before.
func inputs() map[string][]int {
	r := rand.New(rand.NewPCG(1, 2))
	in := map[string][]int{
		"empty":    {},
		"one":      {7},
		"two":      {2, 1},
		"extremes": {0, -1 << 63, 1<<63 - 1, -1, 1},
	}
	for _, n := range []int{15, 16, 17, 24, 25, 48, 49, 127, 128, 1000, 10_007} {
		random, few, rising, falling, organ := make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
		for i := range n {
			random[i] = int(r.Uint64())
			few[i] = r.IntN(4)
			rising[i] = i
			falling[i] = n - i
			organ[i] = min(i, n-i)
		}
		in[fmt.Sprintf("random/%d", n)] = random
		in[fmt.Sprintf("few/%d", n)] = few
		in[fmt.Sprintf("rising/%d", n)] = rising
		in[fmt.Sprintf("falling/%d", n)] = falling
		in[fmt.Sprintf("organ/%d", n)] = organ
	}
	return in
}

func TestSortsLikeTheStandardLibrary(t *testing.T) {
	for impl, sort := range Implementations() {
		for name, in := range inputs() {
			want := slices.Clone(in)
			slices.Sort(want)
			got := slices.Clone(in)
			sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s on %s: element %d is wrong", impl, name, firstDifference(got, want))
			}
		}
	}
}

func firstDifference(a, b []int) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func FuzzSortsLikeTheStandardLibrary(f *testing.F) {
	f.Add([]byte{3, 1, 2})
	f.Add([]byte("the quick brown fox jumps over the lazy dog"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := make([]int, len(data))
		for i, b := range data {
			in[i] = int(b)
		}
		want := slices.Clone(in)
		slices.Sort(want)
		for impl, sort := range Implementations() {
			got := slices.Clone(in)
			sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", impl, got, want)
			}
		}
	})
}

// BenchmarkSort has one sub-benchmark for each implementation and size. Their names
// carry key=value parts, which is how one of them is selected
// (-bench '^BenchmarkSort$/^impl=merge$/^n=1000$') and how its rows are found later.
func BenchmarkSort(b *testing.B) {
	impls := Implementations()
	for _, impl := range slices.Sorted(maps.Keys(impls)) {
		b.Run("impl="+impl, func(b *testing.B) {
			for _, n := range []int{1000, 100_000} {
				b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
					r := rand.New(rand.NewPCG(42, uint64(n)))
					in := make([]int, n)
					for i := range in {
						in[i] = int(r.Uint64())
					}
					s := make([]int, n)
					for b.Loop() {
						// Copying is a fixed and small part of every implementation's time.
						copy(s, in)
						impls[impl](s)
					}
				})
			}
		})
	}
}
