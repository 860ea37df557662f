package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
)

// tree adds slices that nest, of which those that begin together are told apart by their ends alone, as complete slices or as begun ones.
func tree(t *testing.T, r *rand.Rand, from, to int64, depth int, out *[]Event, c *Collector, kind func() bool) {
	t.Helper()
	name, err := c.Text(fmt.Appendf(nil, "%d-%d-%d", from, to, depth))
	if err != nil {
		t.Fatal(err)
	}
	track := c.Thread([]byte("1"), []byte("1"))
	if kind() {
		*out = append(*out, Event{Kind: Complete, Track: track, Start: from * 10_000, Duration: (to - from) * 10_000, Name: name})
	} else {
		*out = append(*out, Event{Kind: Begin, Track: track, Start: from * 10_000, Name: name}, Event{Kind: End, Track: track, Start: to * 10_000, Name: name})
	}
	for at := from; at < to-1 && depth < 6; {
		end := at + 1 + r.Int64N(to-at)
		if end-at == to-from {
			end--
		}
		tree(t, r, at, end, depth+1, out, c, kind)
		at = end
	}
}

func TestSlicesOfBothKindsNestAsThoseOfOneKind(t *testing.T) {
	for seed := range uint64(60) {
		var want map[string]int64
		for way := range 4 {
			r, coin := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, uint64(way)))
			c := New(Options{Budget: evidence.DefaultBudget()})
			var events []Event
			tree(t, r, 0, 20, 0, &events, c, func() bool { return way == 0 || coin.IntN(2) == 0 })
			if way == 3 { // begun ones keep their order: nothing but it says which of two that begin together is around the other
				slices.SortStableFunc(events, func(a, b Event) int { return int(b.Kind) - int(a.Kind) })
				slices.SortStableFunc(events, func(a, b Event) int { return int(a.Start/10_000) - int(b.Start/10_000) })
			}
			for i := range events {
				events[i].Ordinal = int64(i)
				if err := c.Add(&events[i]); err != nil {
					t.Fatal(err)
				}
			}
			sum, _ := finish(t, c)
			got := map[string]int64{}
			for i := range c.nest.nodes {
				path := ""
				for n := uint32(i); n != noNode; n = c.nest.nodes[n].parent {
					path = c.texts.list[c.nest.frames[c.nest.nodes[n].frame].name] + ";" + path
				}
				got[path] += c.nest.nodes[i].self
			}
			c.Close()
			if want == nil {
				want = got
			}
			if sum.Overlapping > 0 || sum.Misnamed > 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, way %d: %+v\n%v\nwant %v", seed, way, sum.Counts, got, want)
			}
		}
	}
}

func TestBeginningsThatNeverEndCostNoMoreThanTheirNumber(t *testing.T) {
	took := func(n int) time.Duration {
		c := New(Options{Budget: evidence.DefaultBudget()})
		defer c.Close()
		track := c.Thread([]byte("1"), []byte("1"))
		for i := range n {
			for k, e := range []Event{{Kind: Begin, Name: 0}, {Kind: Complete, Duration: 1 << 30}} {
				e.Track, e.Start, e.Ordinal = track, int64(i), int64(2*i+k)
				if err := c.Add(&e); err != nil {
					t.Fatal(err)
				}
			}
		}
		began := time.Now()
		finish(t, c)
		return time.Since(began)
	}
	took(1000)
	small, large := took(4000), took(16000)
	if large > 16*small+time.Second {
		t.Errorf("4,000 take %v, 16,000 take %v", small, large)
	}
}
