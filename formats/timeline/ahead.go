package timeline

import "slices"

// Where a slice that only begins and one that has its duration begin at one instant, which of them is around the other depends on an end that comes later. ahead
// looks for it: it holds records of a track from such an instant on, until each beginning in it has its end or the others have passed theirs, and notes
// in the records of beginnings how long they take. Each record is held once, and most only until the next instant.
type ahead struct {
	queue   []record
	head    int     // of what was not handed on
	current int     // where the instant begins that may not be whole
	pending []begun // beginnings without an end

	ends, begins []int // of whole, behind current
	base         int   // of queue[0]

	instant int   // records of the instant at head, 0 while that is not known
	waiting int   // its beginnings without an end
	until   int64 // when the last of its slices with a duration ends
}

// begun is a beginning. Where it is counted among all that queue ever held; in front of base+head it is gone.
type begun struct {
	at   int
	name Text
}

// endsMost is the number of ends of one instant that are held against the names of what they may end. More is no trace of a program.
const endsMost = 64

// mostAhead is the number of records that are held. Beyond it a beginning counts as longer than what begins with it.
const mostAhead = 1 << 16

// record takes the next record in order.
func (n *nest) record(r *record) error {
	a := &n.ahead
	if len(a.queue) > 0 {
		if last := &a.queue[len(a.queue)-1]; last.track != r.track || last.within != r.within {
			if err := n.drain(true, r.start); err != nil {
				return err
			}
		} else if last.start != r.start {
			a.whole()
			if err := n.drain(false, r.start); err != nil {
				return err
			}
		}
	}
	if len(a.queue) == 0 && n.started && (r.track != n.track || r.within != n.within) {
		a.pending = a.pending[:0]
	}
	if len(a.queue) == 0 && r.kind != Begin && r.kind != End {
		return n.take(r)
	}
	a.queue = append(a.queue, *r)
	return nil
}

// whole finds the ends of the instant that just became whole, by the rules by which instant and match end slices.
func (a *ahead) whole() {
	same := a.queue[a.current:]
	ordered := len(same) == 1 || slices.ContainsFunc(same, func(r record) bool { return r.kind == End && r.name == NoText })
	a.ends, a.begins = a.ends[:0], a.begins[:0]
	for i := range same {
		switch r := &same[i]; {
		case r.kind == Begin && ordered:
			a.begin(r, i)
		case r.kind == Begin:
			a.begins = append(a.begins, i)
		case r.kind == End && (ordered || len(a.ends) == endsMost):
			a.end(r)
		case r.kind == End:
			a.ends = append(a.ends, i)
		}
	}
	fits := func(i int) bool {
		last := len(a.pending) - 1
		return last >= 0 && a.pending[last].name == same[i].name
	}
	for begins := a.begins; ; {
		if k := slices.IndexFunc(a.ends, fits); k >= 0 {
			a.end(&same[a.ends[k]])
			a.ends = slices.Delete(a.ends, k, k+1)
			continue
		}
		if len(begins) == 0 {
			break
		}
		a.begin(&same[begins[0]], begins[0])
		begins = begins[1:]
	}
	for _, i := range a.ends {
		a.end(&same[i])
	}
	a.current = len(a.queue)
}

func (a *ahead) begin(r *record, i int) {
	a.pending = append(a.pending, begun{a.base + a.current + i, r.name})
}

// end gives the innermost beginning its duration.
func (a *ahead) end(r *record) {
	last := len(a.pending) - 1
	if last < 0 {
		return
	}
	i := a.pending[last].at - a.base
	a.pending = a.pending[:last]
	if i < a.head {
		return
	}
	a.queue[i].duration = r.start - a.queue[i].start
	if a.instant > 0 && i < a.head+a.instant {
		a.waiting--
	}
}

// drain hands on what has to wait for nothing more, at the time of the record that comes next; or all of a track that ended.
func (n *nest) drain(all bool, now int64) error {
	a := &n.ahead
	if all {
		a.whole()
	}
	for a.head < a.current {
		if a.instant == 0 {
			n.look()
		}
		if !all && a.waiting > 0 && now < a.until && len(a.queue)-a.head < mostAhead {
			break
		}
		for range a.instant {
			if err := n.take(&a.queue[a.head]); err != nil {
				return err
			}
			a.head++
		}
		a.instant, a.waiting = 0, 0
	}
	if a.head == len(a.queue) || a.head >= mostAhead {
		a.shift()
	}
	if all {
		a.pending = a.pending[:0]
	}
	return nil
}

// shift gives the place of what was handed on back.
func (a *ahead) shift() {
	a.queue = a.queue[:copy(a.queue, a.queue[a.head:])]
	a.base, a.current, a.head = a.base+a.head, a.current-a.head, 0
}

// look finds what the instant at head has to wait for: nothing, unless slices of both kinds begin in it.
func (n *nest) look() {
	a := &n.ahead
	at := &a.queue[a.head]
	a.waiting, a.until = 0, at.start
	if n.started && n.track == at.track && n.within == at.within {
		for i := range n.same {
			if r := &n.same[i]; r.start == at.start && r.kind == Complete {
				a.until = max(a.until, r.end())
			}
		}
	}
	i := a.head
	for ; i < a.current && a.queue[i].start == at.start; i++ {
		switch r := &a.queue[i]; {
		case r.kind == Complete:
			a.until = max(a.until, r.end())
		case r.kind == Begin && r.duration < 0:
			a.waiting++
		}
	}
	a.instant = i - a.head
}
