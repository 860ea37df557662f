package node

import (
	"cmp"
	"math"
	"slices"

	"github.com/flameox/flameox/formats/v8profile"
	"github.com/flameox/flameox/providers"
)

// nodeTime is the time of the samples of one node.
type nodeTime struct{ ns, samples int64 }

// timed is the time of each node's samples: of each until the next one, and of the last until the end.
// A profile of more time than 64 bits of nanoseconds hold is refused.
func timed(p named, say func(code, format string, args ...any)) ([]nodeTime, error) {
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
	}
	if back > 0 {
		say(OutOfOrder, "%d of %d samples stand behind a later one; they were put in the order of their times", back, len(samples))
		slices.SortStableFunc(samples, func(x, y sample) int { return cmp.Compare(x.at, y.at) })
	}
	from, to := p.Start, p.End
	if n := len(samples); n > 0 {
		from, to = min(from, samples[0].at), max(to, samples[n-1].at)
	}
	if uint64(to)-uint64(from) > math.MaxInt64/1000 {
		return nil, providers.Refuse(Overflow, "%s: the profile takes from %d to %d µs, which is more nanoseconds than 64 bits hold", p.name, from, to)
	}
	times := make([]nodeTime, len(p.Nodes))
	for i, s := range samples {
		end := p.End
		if i+1 < len(samples) {
			end = samples[i+1].at
		}
		if end < s.at {
			say(EndsEarly, "the profile's end is %d µs before its last sample, which has no time", s.at-end)
			end = s.at
		}
		t := &times[s.node]
		t.ns, t.samples = t.ns+1000*(end-s.at), t.samples+1
	}
	return times, nil
}

// idle is the time that V8 waited for something to do.
func idle(p named, times []nodeTime) (sum int64) {
	for i, n := range p.Nodes {
		if f := p.Frames[n.Frame]; f.Function == "(idle)" && f.Pseudo() {
			sum += times[i].ns
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
		r["duration_ns"], r["idle_ns"] = 1000*(p.End-p.Start), a.idle
	}
	return r
}
