package speedscope

import (
	"fmt"
	"math"

	"github.com/flameox/flameox/formats/jsonscan"
)

// Faults are what was wrong in a profile, where it has one reading only.
type Faults struct {
	Unclosed int64 // frames that were open at the end of the profile
	Unopened int64 // events that close a frame where none is open
	Backward int64 // events before the one in front of them
	Furthest int64 // how far before, at most, in the unit's Quantity
}

// Walk calls add for each sample of a profile, or for each time in which the open stack did not change: the frames by number, root to leaf, and the
// weight in the unit's Quantity. The frames are valid until it returns. depth bounds the frames of a stack. An error is add's own, or an *Error: nothing of the
// profile was added where its events contradict each other, while other errors may come in the middle.
func (p *Profile) Walk(depth int, add func(stack []int32, weight int64) error) (Faults, error) {
	if p.Type == Sampled {
		return Faults{}, p.sampled(depth, add)
	}
	if _, err := p.evented(depth, func([]int32, int64) error { return nil }); err != nil {
		return Faults{}, err
	}
	return p.evented(depth, add)
}

func (p *Profile) sampled(depth int, add func([]int32, int64) error) error {
	weights, samples := jsonscan.Part(p.weights.text, p.weights.at), jsonscan.Part(p.samples.text, p.samples.at)
	next := list(weights)
	var stack []int32
	var own error
	n := int64(0)
	samples.Array(func() {
		stack = stack[:0]
		samples.Array(func() {
			if len(stack) >= depth {
				samples.Stop(refuse(Contradiction, "%s: sample %d has more than %d frames", p.label(), n+1, depth))
				samples.Skip()
				return
			}
			stack = append(stack, p.frame(samples))
		})
		if samples.Err() != nil {
			return
		}
		if !next() {
			if weights.Err() == nil {
				samples.Stop(refuse(Contradiction, "%s: there are %d weights, and more samples", p.label(), n))
			}
			samples.Stop(weights.Err())
			return
		}
		n++
		at := weights.Offset()
		text, _ := weights.Raw()
		if weights.Err() != nil {
			samples.Stop(weights.Err())
			return
		}
		w, err := p.Unit.scale(text, at)
		if err == nil && w < 0 {
			err = refuse(Contradiction, "%s: sample %d has the weight %s", p.label(), n, text)
		}
		if err == nil {
			own = add(stack, w)
			err = own
		}
		if err != nil {
			samples.Stop(err)
		}
	})
	switch {
	case own != nil:
		return own
	case samples.Err() != nil:
		return located(samples.Err(), Contradiction)
	case next():
		return refuse(Contradiction, "%s: there are %d samples, and more weights", p.label(), n)
	case weights.Err() != nil:
		return located(weights.Err(), Contradiction)
	}
	return nil
}

// list returns what goes to the next element of the array that r is at. It is false behind the last.
func list(r *jsonscan.Reader) func() bool {
	first, done := true, false
	return func() bool {
		switch {
		case done || r.Err() != nil:
			return false
		case first:
			first = false
			done = !r.Open('[') || r.Close(']')
		default:
			done = r.Close(']') || !r.Open(',')
		}
		return !done && r.Err() == nil
	}
}

func (p *Profile) evented(depth int, add func([]int32, int64) error) (out Faults, err error) {
	events := jsonscan.Part(p.events.text, p.events.at)
	var stack []int32
	var own error
	var last int64
	first := true
	// between is the time that passed since the last event.
	between := func(at int64) error {
		if first {
			first, last = false, at
			return nil
		}
		if at < last {
			out.Backward++
			out.Furthest = max(out.Furthest, saturated(last, at))
			return nil
		}
		d := saturated(at, last)
		if d == math.MaxInt64 {
			return refuse(Overflow, "%s: the time between two events is more than 64 bits hold", p.label())
		}
		last = at
		if d == 0 || len(stack) == 0 {
			return nil
		}
		own = add(stack, d)
		return own
	}
	events.Array(func() {
		e := p.event(events)
		if events.Err() != nil {
			return
		}
		err := between(e.at)
		switch {
		case err != nil:
		case e.open && len(stack) >= depth:
			err = refuse(Contradiction, "%s: byte %d: more than %d frames are open", p.label(), e.offset, depth)
		case e.open:
			stack = append(stack, e.frame)
		case len(stack) == 0:
			out.Unopened++
		case stack[len(stack)-1] == e.frame:
			stack = stack[:len(stack)-1]
		case contains(stack, e.frame):
			err = refuse(Unbalanced, "%s: byte %d: an event closes frame %d where frame %d is the innermost that is open, so the time of both is in doubt", p.label(), e.offset, e.frame, stack[len(stack)-1])
		default:
			out.Unopened++
		}
		if err != nil {
			events.Stop(err)
		}
	})
	if own != nil {
		return out, own
	}
	if err := events.Err(); err != nil {
		return out, located(err, Contradiction)
	}
	out.Unclosed = int64(len(stack))
	if len(stack) > 0 && p.End > last {
		if err := between(p.End); err != nil {
			return out, err
		}
	}
	return out, nil
}

// saturated is a - b, where a is not less than b.
func saturated(a, b int64) int64 {
	if d := uint64(a) - uint64(b); d <= math.MaxInt64 {
		return int64(d)
	}
	return math.MaxInt64
}

func contains(stack []int32, frame int32) bool {
	for _, f := range stack {
		if f == frame {
			return true
		}
	}
	return false
}

type event struct {
	open   bool
	at     int64
	frame  int32
	offset int64
}

func (p *Profile) event(r *jsonscan.Reader) (e event) {
	e.frame, e.offset = -1, r.Offset()
	kind, timed := byte(0), false
	r.Object(func(name []byte) {
		switch string(name) {
		case "type":
			if text := r.Text(); text == "O" || text == "C" {
				kind = text[0]
			} else if r.Err() == nil {
				r.Stop(refuse(Unknown, "%s: byte %d: the event's type is %.20q, and known are O and C", p.label(), e.offset, text))
			}
		case "at":
			text, at := r.Raw()
			if r.Err() == nil {
				var err error
				if e.at, err = p.Unit.scale(text, at); err != nil {
					r.Stop(err)
				}
				timed = true
			}
		case "frame":
			e.frame = p.frame(r)
		default:
			r.Skip()
		}
	})
	if r.Err() == nil && (kind == 0 || e.frame < 0 || !timed) {
		r.Stop(refuse(Contradiction, "%s: byte %d: an event lacks its type, its frame or its time", p.label(), e.offset))
	}
	e.open = kind == 'O'
	return e
}

// frame reads the number of a frame that there is.
func (p *Profile) frame(r *jsonscan.Reader) int32 {
	n := r.Int()
	if r.Err() == nil && (n < 0 || n >= int64(p.frames)) {
		r.Stop(refuse(Contradiction, "%s: byte %d: frame %d is meant, and there are %d", p.label(), r.Offset(), n, p.frames))
		return -1
	}
	return int32(n)
}

func (p *Profile) label() string { return fmt.Sprintf("profile %.60q", p.Name) }
