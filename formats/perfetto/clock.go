package perfetto

import (
	"cmp"
	"math"
	"slices"
)

// Clocks of the format. Those from 64 to 127 belong to one sequence.
const (
	clockBoottime  = 6
	firstSequence  = 64
	lastSequence   = 127
	mostSnapshots  = 1 << 16 // of one pair of clocks; later ones replace the last
	clockFactorMax = 1 << 32
)

// clock is one clock, of a sequence where it is not one of the machine.
type clock struct{ sequence, id uint64 }

type pair struct{ from, to clock }

// both is one instant on two clocks.
type both struct{ from, to int64 }

// scale is how a sequence's own clock counts.
type scale struct {
	factor      int64
	incremental bool
	last        int64
}

// clocks know how clocks run beside each other.
type clocks struct {
	primary uint64
	pairs   map[pair][]both
	beside  map[clock][]clock
	scales  map[clock]*scale
}

func newClocks() *clocks {
	return &clocks{primary: clockBoottime, pairs: map[pair][]both{}, beside: map[clock][]clock{}, scales: map[clock]*scale{}}
}

func of(sequence, id uint64) clock {
	if id < firstSequence || id > lastSequence {
		sequence = 0
	}
	return clock{sequence, id}
}

// snapshot takes in what a snapshot says.
func (c *clocks) snapshot(sequence uint64, b []byte) bool {
	m := message{rest: b}
	type reading struct {
		clock
		at int64
	}
	var list []reading
	for m.next() {
		switch {
		case m.field == 2 && m.wire == 0:
			c.primary = m.n
		case m.field == 1 && m.wire == 2 && len(list) < 64:
			r := message{rest: m.bytes}
			var id, at, factor uint64
			factor = 1
			incremental := false
			for r.next() {
				switch r.field {
				case 1:
					id = r.n
				case 2:
					at = r.n
				case 3:
					incremental = r.n != 0
				case 4:
					factor = r.n
				}
			}
			k := of(sequence, id)
			if r.bad || factor == 0 || factor > clockFactorMax || at > math.MaxInt64/factor {
				continue
			}
			if k.sequence != 0 {
				c.scales[k] = &scale{factor: int64(factor), incremental: incremental, last: int64(at * factor)}
			}
			list = append(list, reading{k, int64(at * factor)})
		}
	}
	for _, a := range list {
		for _, b := range list {
			if a.clock == b.clock {
				continue
			}
			p := pair{a.clock, b.clock}
			known := c.pairs[p]
			if len(known) == 0 {
				c.beside[a.clock] = append(c.beside[a.clock], b.clock)
			}
			if len(known) == mostSnapshots {
				known = known[:len(known)-1]
			}
			c.pairs[p] = append(known, both{a.at, b.at})
		}
	}
	return !m.bad
}

// time brings a packet's time to the trace's clock; ok is false where no snapshot says how.
func (c *clocks) time(sequence, id, at uint64) (ns int64, ok bool) {
	k := of(sequence, id)
	if at > math.MaxInt64 {
		return 0, false
	}
	t := int64(at)
	if k.sequence != 0 {
		s := c.scales[k]
		if s == nil || t > math.MaxInt64/s.factor {
			return 0, false
		}
		t *= s.factor
		if s.incremental {
			if t > math.MaxInt64-s.last {
				return 0, false
			}
			t += s.last
			s.last = t
		}
	}
	return c.convert(k, clock{0, c.primary}, t, 3)
}

// convert goes from clock to clock, over others where no snapshot has both.
func (c *clocks) convert(from, to clock, t int64, steps int) (int64, bool) {
	if from == to {
		return t, true
	}
	if steps == 0 {
		return 0, false
	}
	if known := c.pairs[pair{from, to}]; len(known) > 0 {
		return shift(known, t)
	}
	for _, over := range c.beside[from] {
		if mid, ok := shift(c.pairs[pair{from, over}], t); ok {
			if out, ok := c.convert(over, to, mid, steps-1); ok {
				return out, true
			}
		}
	}
	return 0, false
}

// shift uses the last snapshot at or before t, or the first one.
func shift(known []both, t int64) (int64, bool) {
	i, found := slices.BinarySearchFunc(known, t, func(b both, t int64) int { return cmp.Compare(b.from, t) })
	if !found && i > 0 {
		i--
	}
	b := known[min(i, len(known)-1)]
	d := b.to - b.from
	if t > 0 && d > math.MaxInt64-t {
		return 0, false
	}
	return t + d, true
}
