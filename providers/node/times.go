package node

import (
	"cmp"
	"math"
	"slices"

	"github.com/flameox/flameox/formats/v8profile"
)

// nodeTimes are the times of samples by node, in nanoseconds.
type nodeTimes struct {
	from  []int32 // by node, and one more
	times []int64
}

func (t *nodeTimes) of(node int32) []int64 { return t.times[t.from[node]:t.from[node+1]] }

// timed gives each sample its time: until the next one, and until the end for the last.
func timed(p named, say func(code, format string, args ...any)) *nodeTimes {
	t := &nodeTimes{from: make([]int32, len(p.Nodes)+1), times: make([]int64, len(p.Samples))}
	type sample struct {
		at   int64
		node int32
	}
	samples := make([]sample, len(p.Samples))
	at, back := p.Start, 0
	for i, node := range p.Samples {
		d := p.Deltas[i]
		if d < 0 {
			back++
		}
		at += d
		samples[i] = sample{at, node}
		t.from[node+1]++
	}
	if back > 0 {
		say(OutOfOrder, "%d of %d samples stand behind a later one; they were put in the order of their times", back, len(samples))
		slices.SortStableFunc(samples, func(x, y sample) int { return cmp.Compare(x.at, y.at) })
	}
	for i := range p.Nodes {
		t.from[i+1] += t.from[i]
	}
	free := slices.Clone(t.from)
	for i, s := range samples {
		end := p.End
		if i+1 < len(samples) {
			end = samples[i+1].at
		}
		if end < s.at {
			say(EndsEarly, "the profile's end is %d µs before its last sample, which has no time", s.at-end)
			end = s.at
		}
		t.times[free[s.node]] = nanoseconds(end, s.at)
		free[s.node]++
	}
	return t
}

// nanoseconds is to - from, in nanoseconds of microseconds. What does not fit is the most there is, which no sum holds: the profile is refused.
func nanoseconds(to, from int64) int64 {
	d := uint64(to) - uint64(from) // to is not before from
	if d > math.MaxInt64/1000 {
		return math.MaxInt64
	}
	return int64(d) * 1000
}

// idle is the time that V8 waited for something to do.
func (t *nodeTimes) idle(p named) (sum int64) {
	for i, n := range p.Nodes {
		if f := p.Frames[n.Frame]; f.Function == "(idle)" && pseudo(f) {
			for _, d := range t.of(int32(i)) {
				sum = saturated(sum, d)
			}
		}
	}
	return sum
}

// results are the attributes that expressions may read. Facts of one profile are there where the run has one.
func (a *adder) results(list []named) map[string]any {
	r := map[string]any{"profiles": int64(len(list))}
	if len(list) > 1 {
		return r
	}
	p := list[0]
	r["kind"], r["samples"] = p.Kind.String(), int64(len(p.Samples)+len(p.HeapSamples))
	if p.Kind == v8profile.CPU {
		r["duration_ns"], r["idle_ns"] = nanoseconds(p.End, p.Start), a.idle
	}
	return r
}
