package perfetto

import (
	"math"
	"strconv"

	"github.com/flameox/flameox/formats/timeline"
)

// Types of track events.
const (
	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4
)

// legacy is what an event says that was made for the older format of Chrome.
type legacy struct {
	phase    byte
	duration int64 // microseconds
	id       uint64
	hasID    bool
	local    bool
	pid, tid uint64
	hasPid   bool
	hasTid   bool
	name     uint64
	hasName  bool
}

// trackEvent reads one event. at is the time of its packet, where the packet has one.
func (r *reader) trackEvent(s *sequence, b []byte, at int64, stamped bool) error {
	o := &r.out
	*o = timeline.Event{Ordinal: r.sum.Events, Start: at}
	r.sum.Events++
	m := message{rest: b}
	var kind, uuid, value uint64
	var double float64
	hasTrack, hasValue, hasDouble := false, false, false
	var categories []byte
	first := true
	category := func(t []byte) {
		if !first {
			categories = append(categories, ',')
		}
		first = false
		categories = append(categories, t...)
	}
	var old *legacy
	flows, ends := r.flows[:0], r.ends[:0]
	var err error
	text := func(b []byte) timeline.Text {
		t, e := r.c.Text(b)
		if e != nil {
			err = e
		}
		return t
	}
	for m.next() && err == nil {
		switch m.field {
		case 9:
			kind = m.n
		case 11:
			uuid, hasTrack = m.n, true
		case 10:
			o.Name = s.names[m.n]
		case 23:
			o.Name = text(m.bytes)
		case 3:
			for _, id := range m.repeated(nil, false) {
				category([]byte(r.c.String(s.categories[id])))
			}
		case 22:
			category(m.bytes)
		case 30:
			value, hasValue = m.n, true
		case 44:
			double, hasDouble = m.double(), true
		case 1:
			s.time += int64(m.n)
			o.Start, stamped, err = r.legacyTime(s.time, stamped, o.Start)
		case 16:
			s.time = int64(m.n)
			o.Start, stamped, err = r.legacyTime(s.time, stamped, o.Start)
		case 36, 47:
			flows = m.repeated(flows, m.field == 47)
		case 42, 48:
			ends = m.repeated(ends, m.field == 48)
		case 52:
			o.Correlation = timeline.NumberID(m.n)
		case 53:
			o.Correlation, err = r.c.ID(m.bytes)
		case 54:
			o.Correlation, err = r.c.ID([]byte(r.c.String(s.correlations[m.n])))
		case 34:
			p := s.places[m.n]
			o.File, o.Line = p.file, p.line
		case 33:
			var p place
			_, p, err = r.place(m.bytes)
			o.File, o.Line = p.file, p.line
		case 4:
			err = r.annotation(s, m.bytes)
		case 6:
			old = legacyEvent(m.bytes)
		case 12, 46:
			r.sum.Extra++
		}
	}
	r.flows, r.ends = flows, ends
	switch {
	case err != nil:
		return err
	case m.bad:
		r.sum.Problems[Damaged]++
		return nil
	case !stamped:
		r.sum.Problems[Timeless]++
		return nil
	}
	if len(categories) > 0 {
		if o.Category, err = r.c.Text(categories); err != nil {
			return err
		}
	}
	if !hasTrack && s.hasTrack {
		uuid, hasTrack = s.track, true
	}
	if kind == 0 && old != nil {
		return r.older(s, old, uuid, hasTrack)
	}
	if o.Track, err = r.trackFor(s, uuid, hasTrack); err != nil {
		return err
	}
	switch kind {
	case typeBegin:
		o.Kind = timeline.Begin
	case typeEnd:
		o.Kind, o.Name = timeline.End, timeline.NoText // an end closes what is innermost, whatever it is called
	case typeInstant:
		o.Kind = timeline.Instant
	case typeCounter:
		return r.counter(s, uuid, int64(value), hasValue, double, hasDouble)
	default:
		r.sum.Problems[UnknownType]++
		return nil
	}
	if err := r.c.Add(o); err != nil {
		return err
	}
	return r.flow(flows, ends)
}

// trackFor is the track of an event; one that names none is its sequence's thread's.
func (r *reader) trackFor(s *sequence, uuid uint64, hasTrack bool) (timeline.Track, error) {
	if (!hasTrack || uuid == 0) && s.thread {
		return r.c.Thread(number(s.pid), signed(int64(s.tid))), nil
	}
	return r.on(uuid)
}

// legacyTime is a time that an event gives itself, of the clock that counts since boot without sleep.
func (r *reader) legacyTime(us int64, stamped bool, was int64) (int64, bool, error) {
	if us < 0 || us > math.MaxInt64/1000 {
		return was, stamped, nil
	}
	if t, ok := r.clocks.time(0, 3, uint64(us)*1000); ok {
		return t, true, nil
	}
	return us * 1000, true, nil
}

// counter adds a value of a counter.
func (r *reader) counter(s *sequence, uuid uint64, value int64, hasValue bool, double float64, hasDouble bool) error {
	t, err := r.trackOf(uuid)
	if err != nil {
		return err
	}
	o := &r.out
	o.Kind = timeline.Counter
	switch {
	case hasDouble:
		o.Value, o.HasValue = double*float64(t.multiplier), true
	case hasValue:
		if t.incremental {
			s.counters[uuid] += value
			value = s.counters[uuid]
		}
		o.Value, o.HasValue = float64(value)*float64(t.multiplier), true
	default:
		r.sum.Problems[Valueless]++
		return nil
	}
	if o.Name == timeline.NoText && t.name != "" { // a counter is called as its track
		if o.Name, err = r.c.Text([]byte(t.name)); err != nil {
			return err
		}
	}
	return r.c.Add(o)
}

// flow adds the flows that go through an event.
func (r *reader) flow(flows, ends []uint64) error {
	o := &r.out
	put := func(kind timeline.Kind, id uint64) error {
		e := timeline.Event{Kind: kind, Track: o.Track, Ordinal: o.Ordinal, Start: o.Start, Name: o.Name, Category: o.Category, Correlation: timeline.NumberID(id)}
		return r.c.Add(&e)
	}
	for _, id := range flows {
		kind := timeline.FlowStart
		if r.open[id] {
			kind = timeline.FlowStep
		} else if len(r.open) < mostFlows {
			r.open[id] = true
		}
		if err := put(kind, id); err != nil {
			return err
		}
	}
	for _, id := range ends {
		delete(r.open, id)
		if err := put(timeline.FlowEnd, id); err != nil {
			return err
		}
	}
	return nil
}

func legacyEvent(b []byte) *legacy {
	l := &legacy{}
	m := message{rest: b}
	for m.next() {
		switch m.field {
		case 1:
			l.name, l.hasName = m.n, true
		case 2:
			l.phase = byte(m.n)
		case 3:
			l.duration = int64(m.n)
		case 6, 11:
			l.id, l.hasID = m.n, true
		case 10:
			l.id, l.hasID, l.local = m.n, true, true
		case 18:
			l.pid, l.hasPid = uint64(uint32(m.n)), true
		case 19:
			l.tid, l.hasTid = m.n, true
		}
	}
	return l
}

// older adds an event with a phase of Chrome's older format.
func (r *reader) older(s *sequence, l *legacy, uuid uint64, hasTrack bool) (err error) {
	o := &r.out
	if o.Name == timeline.NoText && l.hasName {
		o.Name = s.names[l.name]
	}
	pid, tid, known := s.pid, s.tid, s.thread
	if t := r.tracks[uuid]; hasTrack && t != nil && t.thread {
		pid, tid, known = t.pid, t.tid, true
	}
	if l.hasPid || l.hasTid {
		known = true
		if l.hasPid {
			pid = l.pid
		}
		if l.hasTid {
			tid = l.tid
		}
		o.Track = r.c.Thread(number(pid), signed(int64(tid)))
	} else if o.Track, err = r.trackFor(s, uuid, hasTrack); err != nil {
		return err
	}
	switch l.phase {
	case 'B':
		o.Kind = timeline.Begin
	case 'E':
		o.Kind = timeline.End
	case 'X':
		if l.duration < 0 || l.duration > (math.MaxInt64-max(0, o.Start))/1000 {
			r.sum.Problems[Negative]++
			return nil
		}
		o.Kind, o.Duration = timeline.Complete, l.duration*1000
	case 'I', 'i', 'R':
		o.Kind = timeline.Instant
	case 'b', 'S', 'e', 'F', 'n', 'T', 'p':
		if !l.hasID || !known {
			r.sum.Problems[NoID]++
			return nil
		}
		o.Track = r.c.Async(number(pid), signed(int64(tid)))
		o.Within, o.Correlation = l.id*1099511628211^uint64(o.Category), timeline.NumberID(l.id)
		if l.local {
			o.Within ^= pid << 32
		}
		switch l.phase {
		case 'b', 'S':
			o.Kind = timeline.Begin
		case 'e', 'F':
			o.Kind = timeline.End
		default:
			o.Kind = timeline.Instant
		}
	default:
		r.sum.Problems[UnknownType]++
		return nil
	}
	return r.c.Add(o)
}

// annotation takes an argument that means the same in every trace.
func (r *reader) annotation(s *sequence, b []byte) error {
	m := message{rest: b}
	var name string
	var text []byte
	var n timeline.Number
	for m.next() {
		switch m.field {
		case 1:
			name = r.c.String(s.arguments[m.n])
		case 10:
			name = string(m.bytes)
		case 3:
			n = timeline.Number{N: int64(m.n), OK: m.n <= math.MaxInt64}
		case 4:
			n = timeline.Number{N: int64(m.n), OK: true}
		case 6:
			text = m.bytes
		case 17:
			text = []byte(r.c.String(s.values[m.n]))
		}
	}
	o := &r.out
	var err error
	id := func() (out timeline.ID) {
		switch {
		case n.OK && n.N >= 0:
			return timeline.NumberID(uint64(n.N))
		case text != nil:
			out, err = r.c.ID(text)
		}
		return out
	}
	whole := func() timeline.Number {
		if !n.OK && text != nil {
			i, e := strconv.ParseInt(string(text), 10, 64)
			return timeline.Number{N: i, OK: e == nil}
		}
		return n
	}
	switch name {
	case "phase", "Phase":
		o.Phase, err = r.c.Text(text)
	case "correlation", "correlationId", "Correlation ID", "corr_id":
		o.Correlation = id()
	case "External id":
		o.External = id()
	case "device", "deviceId":
		o.Device = whole()
	case "stream", "streamId":
		o.Stream = whole()
	case "Bytes", "Allocation Bytes":
		o.Bytes = whole()
	case "Input Dims", "Input Shapes":
		o.Shapes, err = r.c.Text(text)
	case "filename", "file":
		o.File, err = r.c.Text(text)
	case "line":
		o.Line = whole()
	}
	return err
}

func number(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }
func signed(n int64) []byte  { return strconv.AppendInt(nil, n, 10) }
