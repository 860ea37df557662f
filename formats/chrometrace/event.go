package chrometrace

import (
	"bytes"
	"strconv"

	"github.com/flameox/flameox/formats/jsonscan"
)

// Event is one event. Its texts are part of the window: they are good until the function that got the event returns.
type Event struct {
	Ordinal int64 // among all elements of the trace, from 0
	Offset  int64 // bytes in front of it in the document, after decompression
	Phase   byte  // X, B, E, b, e, n, i, I, R, M, C, s, t, f, and the rarer N, D, O, P, S, T, F, p, a, c, (, ), v, V

	Name, Category Text
	Process        []byte // pid, a number or a text; nil where there is none
	Thread         []byte // tid, likewise
	Start          int64  // nanoseconds since the trace's own beginning
	Duration       int64  // nanoseconds, of a complete event
	ID             []byte // of asynchronous events and flows: the text of id, or of id2 with what it is within in front
	Args           Args

	bad      string // why the event cannot be used: a code of Problems
	duration bool
	stamped  bool
}

// Text is a text as it stands in the document.
type Text struct {
	Raw     []byte // between the quotes
	Escaped bool   // Unquote has to make it text
}

// Bytes is the text itself.
func (t Text) Bytes() []byte {
	if t.Escaped {
		return jsonscan.Unquote(t.Raw)
	}
	return t.Raw
}

// Args are the arguments of an event that mean the same in every trace that has them. Numbers that are no whole number of 64 bits are missing.
type Args struct {
	Raw         []byte  // the whole object, as it stands; nil where there is none
	Name        Text    // of a metadata event: the name of the thread or the process
	File        Text    // filename, file
	Line        Number  // line
	Shapes      []byte  // Input Dims or Input Shapes, as JSON
	Bytes       Number  // Bytes or Allocation Bytes
	Total       Number  // Total Allocated
	Phase       Text    // phase
	Correlation []byte  // correlation, correlationId, Correlation ID: its text
	External    []byte  // External id: its text
	Device      Number  // device, deviceId, Device Id
	Stream      Number  // stream, streamId
	Step        Text    // of an asynchronous step
	Series      []Value // of a counter: every member that is a number, in their order

	twice   bool // a name stands twice, so there is no telling which of the two is meant: nothing is taken
	members members
}

// Number is a whole number that may be missing.
type Number struct {
	N  int64
	OK bool
}

// Value is one series of a counter.
type Value struct {
	Name Text
	text []byte
}

// Float is the value; ok is false where no 64-bit float is near it.
func (v Value) Float() (f float64, ok bool) {
	f, err := strconv.ParseFloat(string(v.text), 64)
	return f, err == nil
}

// The reasons why an event is passed over.
const (
	NoPhase       = "phase_missing"     // no ph, or one that is not one character
	NoTime        = "time_missing"      // no ts, or one that is no number of microseconds
	NoDuration    = "duration_missing"  // a complete event without dur
	Negative      = "duration_negative" // it ends before it begins
	Zeroed        = "time_zeroed"       // a complete event with ts 0 and dur 0: the producer lost its time
	NamedTwice    = "member_twice"      // a member of the event stands twice
	NotAnEvent    = "not_an_event"      // an element that is no object
	UnknownPhase  = "phase_unknown"     // a phase that the format does not have
	BeyondInt64   = "time_overflow"     // it ends later than 64 bits of nanoseconds hold
	OddIdentifier = "id_unusable"       // an id that is neither a text nor a number
)

// nothing is an event without any member, as which some producers write the end of the array.
const nothing = "nothing"

const (
	seenName = 1 << iota
	seenCat
	seenPh
	seenTS
	seenDur
	seenPid
	seenTid
	seenID
	seenID2
	seenArgs
)

// parse reads one event. What is wrong with it alone is in bad; what is no JSON is r's error.
func (e *Event) parse(r *jsonscan.Reader) {
	series, members := e.Args.Series[:0], e.Args.members
	*e = Event{Ordinal: e.Ordinal, Offset: r.Offset()}
	e.Args.Series, e.Args.members = series, members
	if r.Kind() != '{' {
		e.bad = NotAnEvent
		r.Skip()
		return
	}
	seen := 0
	once := func(bit int) {
		if seen&bit != 0 && e.bad == "" {
			e.bad = NamedTwice
		}
		seen |= bit
	}
	for more := r.Begin('{', '}'); more; more = r.More('}') {
		name := r.Name()
		switch string(name) {
		case "name":
			once(seenName)
			e.Name = text(r)
		case "cat":
			once(seenCat)
			e.Category = text(r)
		case "ph":
			once(seenPh)
			if t := text(r); len(t.Raw) == 1 {
				e.Phase = t.Raw[0]
			}
		case "ts":
			once(seenTS)
			e.Start, e.stamped = nanoseconds(number(r))
		case "dur":
			once(seenDur)
			e.Duration, e.duration = nanoseconds(number(r))
		case "pid":
			once(seenPid)
			e.Process = identifier(r)
		case "tid":
			once(seenTid)
			e.Thread = identifier(r)
		case "id":
			once(seenID)
			if id := identifier(r); e.ID == nil {
				e.ID = id
			}
		case "id2":
			once(seenID2)
			e.id2(r)
		case "args":
			once(seenArgs)
			e.arguments(r)
		default:
			r.Skip()
		}
	}
	switch {
	case e.bad != "" || r.Err() != nil:
	case seen == 0:
		e.bad = nothing
	default:
		e.check(seen)
	}
}

// check says what is wrong with an event that was read whole.
func (e *Event) check(seen int) {
	switch {
	case e.Phase == 0:
		e.bad = NoPhase
	case !known[e.Phase]:
		e.bad = UnknownPhase
	case e.Phase == 'M':
	case !e.stamped:
		e.bad = NoTime
	case e.Phase == 'X' && seen&seenDur == 0, e.Phase == 'X' && !e.duration:
		e.bad = NoDuration
	case e.Phase == 'X' && e.Duration < 0:
		e.bad = Negative
	case e.Phase == 'X' && e.Start == 0 && e.Duration == 0:
		e.bad = Zeroed
	case e.Start > 0 && e.Start+e.Duration < e.Start:
		e.bad = BeyondInt64
	case e.ID == nil && (e.async() || e.flow()):
		e.bad = OddIdentifier
	}
}

var known = func() (k [256]bool) {
	for _, c := range []byte("XBEbeniIRMCstfNDOPSTFpac()vV") {
		k[c] = true
	}
	return k
}()

func (e *Event) async() bool { return e.Phase == 'b' || e.Phase == 'e' || e.Phase == 'n' }
func (e *Event) flow() bool  { return e.Phase == 's' || e.Phase == 't' || e.Phase == 'f' }

// text reads a text; anything else is none.
func text(r *jsonscan.Reader) (t Text) {
	if r.Kind() == '"' {
		t.Raw, t.Escaped = r.Quoted()
		return t
	}
	r.Skip()
	return t
}

// number reads the text of a number, which may be in quotes; anything else is no text.
func number(r *jsonscan.Reader) []byte {
	switch r.Kind() {
	case 0:
		return r.Number()
	case '"':
		raw, _ := r.Quoted()
		return raw
	}
	r.Skip()
	return nil
}

// identifier reads a text or a number as text; anything else is nil.
func identifier(r *jsonscan.Reader) []byte {
	switch r.Kind() {
	case 0:
		return r.Number()
	case '"':
		return text(r).Bytes()
	}
	r.Skip()
	return nil
}

// id2 reads an id that says what it is within: one process, or all of them.
func (e *Event) id2(r *jsonscan.Reader) {
	if r.Kind() != '{' {
		r.Skip()
		return
	}
	for more := r.Begin('{', '}'); more; more = r.More('}') {
		name := r.Name()
		local := bytes.Equal(name, []byte("local"))
		if !local && !bytes.Equal(name, []byte("global")) {
			r.Skip()
			continue
		}
		id := identifier(r)
		if id == nil {
			continue
		}
		e.ID = append([]byte("global:"), id...)
		if local {
			e.ID = append([]byte("local:"), id...)
		}
	}
}

func (e *Event) arguments(r *jsonscan.Reader) {
	a := &e.Args
	if r.Kind() != '{' {
		r.Skip()
		return
	}
	r.Mark()
	a.members.reset()
	for more := r.Begin('{', '}'); more; more = r.More('}') {
		raw, escaped := r.Quoted()
		r.Open(':')
		name := Text{raw, escaped}
		a.twice = a.members.twice(name) || a.twice
		switch string(raw) {
		case "name":
			a.Name = text(r)
		case "filename", "file":
			a.File = text(r)
		case "line":
			a.Line = a.whole(name, r)
		case "Input Dims", "Input Shapes":
			a.Shapes, _ = r.Raw()
		case "Bytes", "Allocation Bytes":
			a.Bytes = a.whole(name, r)
		case "Total Allocated":
			a.Total = a.whole(name, r)
		case "phase", "Phase":
			a.Phase = text(r)
		case "correlation", "correlationId", "Correlation ID":
			a.Correlation = identifier(r)
		case "External id":
			a.External = identifier(r)
		case "device", "deviceId", "Device Id":
			a.Device = a.whole(name, r)
		case "stream", "streamId":
			a.Stream = a.whole(name, r)
		case "step":
			a.Step = text(r)
		default:
			if r.Kind() != 0 {
				r.Skip()
				continue
			}
			a.series(name, r.Number())
		}
	}
	a.Raw = r.Marked()
	if a.twice {
		*a = Args{Series: a.Series[:0], twice: true, members: a.members}
	}
}

// whole reads a whole number, which may be in quotes. A number is a series too: nothing says yet that the event is no counter.
func (a *Args) whole(name Text, r *jsonscan.Reader) (n Number) {
	plain := r.Kind() == 0
	s := number(r)
	if plain {
		a.series(name, s)
	}
	if len(s) == 0 || len(s) > 20 {
		return n
	}
	i, err := strconv.ParseInt(string(s), 10, 64)
	return Number{i, err == nil}
}

// most is the number of series that are kept of one event.
const mostSeries = 64

func (a *Args) series(name Text, s []byte) {
	if len(a.Series) < mostSeries {
		a.Series = append(a.Series, Value{Name: name, text: s})
	}
}
