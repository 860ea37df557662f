package perfetto

import (
	"bytes"
	"strconv"

	"github.com/flameox/flameox/formats/timeline"
)

// What programs on Android and Linux write into the kernel's trace to say what they do (atrace, trace_marker): B|pid|name, E|pid, S|pid|name|cookie,
// F|pid|name|cookie, I|pid|name and C|pid|name|value.

// ftrace goes through the events of one CPU.
func (r *reader) ftrace(b []byte) error {
	m := message{rest: b}
	marks := false
	clock := uint64(0)
	var list [][]byte
	for m.next() {
		switch {
		case m.field == 2 && m.wire == 2:
			list = append(list, m.bytes)
		case m.field == 5 && m.wire == 0:
			clock = m.n
		}
	}
	for _, e := range list {
		at, tid, text := mark(e)
		if len(text) < 1 {
			continue
		}
		marks = true
		r.sum.Events++
		ns, ok := r.clocks.time(0, clockBoottime, at)
		if clock != 0 { // another clock than the time since boot, which the kernel does not say how to bring to it
			ok = false
		}
		if !ok {
			r.sum.Problems[Clockless]++
			continue
		}
		if err := r.marked(ns, tid, text); err != nil {
			return err
		}
	}
	if m.bad {
		r.sum.Problems[Damaged]++
	}
	if !marks {
		r.sum.Others["ftrace_events"]++
	}
	return nil
}

// mark is an event that a program wrote; text is nil for other events.
func mark(b []byte) (at, tid uint64, text []byte) {
	m := message{rest: b}
	for m.next() {
		switch {
		case m.field == 1 && m.wire == 0:
			at = m.n
		case m.field == 2 && m.wire == 0:
			tid = uint64(uint32(m.n))
		case m.field == 3 && m.wire == 2:
			p := message{rest: m.bytes}
			for p.next() {
				if p.field == 2 && p.wire == 2 {
					text = p.bytes
				}
			}
		}
	}
	return at, tid, bytes.TrimRight(text, "\n")
}

func (r *reader) marked(at int64, tid uint64, text []byte) (err error) {
	o := &r.out
	*o = timeline.Event{Ordinal: r.sum.Events - 1, Start: at}
	kind, rest, _ := bytes.Cut(text, []byte{'|'})
	pid, rest, _ := bytes.Cut(rest, []byte{'|'})
	if len(kind) != 1 {
		r.sum.Problems[UnknownType]++
		return nil
	}
	thread := number(tid)
	o.Track = r.c.Thread(pid, thread)
	var last []byte
	switch kind[0] {
	case 'B':
		o.Kind = timeline.Begin
	case 'E':
		// Some write the name again, which closes nothing by itself.
		o.Kind, rest = timeline.End, nil
	case 'I':
		o.Kind = timeline.Instant
	case 'S', 'F', 'C':
		i := bytes.LastIndexByte(rest, '|')
		if i < 0 {
			r.sum.Problems[Valueless]++
			return nil
		}
		rest, last = rest[:i], rest[i+1:]
	default:
		r.sum.Problems[UnknownType]++
		return nil
	}
	if o.Name, err = r.c.Text(rest); err != nil {
		return err
	}
	switch kind[0] {
	case 'S', 'F':
		if o.Kind = timeline.Begin; kind[0] == 'F' {
			o.Kind = timeline.End
		}
		if o.Correlation, err = r.c.ID(last); err != nil {
			return err
		}
		o.Track = r.c.Async(pid, nil)
		o.Within = uint64(o.Name)<<32 ^ hash(last)
	case 'C':
		o.Kind = timeline.Counter
		if o.Value, err = strconv.ParseFloat(string(last), 64); err != nil {
			r.sum.Problems[Valueless]++
			return nil
		}
		o.HasValue = true
	}
	return r.c.Add(o)
}

// hash is FNV-1a, which is the same everywhere.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
