package timeline

import (
	"math"
	"strconv"
)

// Kind says what an event is.
type Kind uint8

// The kinds. A Complete event has its duration; a Begin and an End are two events that become one slice.
const (
	Complete Kind = iota
	Begin
	End
	Instant
	Counter
	FlowStart
	FlowStep
	FlowEnd
)

// Event is one event that a reader found.
type Event struct {
	Kind     Kind
	Track    Track // whose time it is on
	Within   uint64
	Ordinal  int64 // of the event in the trace
	Start    int64 // nanoseconds
	Duration int64 // nanoseconds, from 0, of a Complete event; Start+Duration must not overflow
	Name     Text  // NoText on an End stands for any
	Category Text

	Correlation ID
	External    ID
	Shapes      Text
	Phase       Text
	File        Text
	Line        Number
	Device      Number
	Stream      Number
	Bytes       Number
	Series      Text
	Value       float64
	HasValue    bool
}

// Number is a whole number that may be missing.
type Number struct {
	N  int64
	OK bool
}

// ID is an identifier that producers write as a number or as a text. The zero value is none.
type ID struct {
	n    uint64
	form form
}

type form uint8

const (
	absent form = iota
	decimal
	signed
	hexadecimal
	text // n is a Text
)

// NumberID is an ID that is a number.
func NumberID(n uint64) ID { return ID{n, decimal} }

// ID makes an identifier of its text, so that two are equal where their texts are.
func (c *Collector) ID(b []byte) (ID, error) {
	switch {
	case len(b) == 0:
		return ID{}, nil
	case len(b) < 20 && b[0] != '0' && b[0] != '-' || len(b) == 1:
		if n, ok := digits(b); ok {
			return ID{n, decimal}, nil
		}
	case len(b) < 20 && b[0] == '-' && len(b) > 1 && b[1] != '0':
		if n, ok := digits(b[1:]); ok {
			return ID{n, signed}, nil
		}
	case len(b) > 3 && len(b) <= 18 && b[0] == '0' && b[1] == 'x' && b[2] != '0':
		if n, ok := hexDigits(b[2:]); ok {
			return ID{n, hexadecimal}, nil
		}
	}
	t, err := c.Text(b)
	return ID{uint64(t), text}, err
}

func digits(b []byte) (n uint64, ok bool) {
	for _, d := range b {
		if d -= '0'; d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	return n, true
}

func hexDigits(b []byte) (n uint64, ok bool) {
	for _, d := range b {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, true
}

// IDText is an identifier's text; "" for none.
func (c *Collector) IDText(id ID) string {
	if s := c.idText(id.n, id.form); s != nil {
		return *s
	}
	return ""
}

func (c *Collector) idText(n uint64, f form) *string {
	var s string
	switch f {
	case absent:
		return nil
	case decimal:
		s = strconv.FormatUint(n, 10)
	case signed:
		s = "-" + strconv.FormatUint(n, 10)
	case hexadecimal:
		s = "0x" + strconv.FormatUint(n, 16)
	case text:
		s = c.texts.list[n]
	}
	return &s
}

// record is an event as it is sorted and spilled: it holds no pointer, so that its memory can be written as it is.
type record struct {
	start, duration, ordinal int64 // duration is -1 where there is none
	bytes                    int64
	value                    uint64 // bits of a float
	within                   uint64
	correlation, external    uint64
	line                     int64
	track                    Track
	device, stream           int32
	name, category           Text
	shapes, phase            Text // shapes is the series of a counter
	file                     Text
	kind                     Kind
	correlationForm          form
	externalForm             form
	has                      flags
}

type flags uint8

const (
	hasBytes flags = 1 << iota
	hasValue
	hasLine
	hasDevice
	hasStream
)

func (r *record) set(e *Event) {
	*r = record{
		start: e.Start, duration: e.Duration, ordinal: e.Ordinal, bytes: e.Bytes.N, value: math.Float64bits(e.Value), within: e.Within,
		correlation: e.Correlation.n, external: e.External.n, line: e.Line.N, track: e.Track, name: e.Name, category: e.Category,
		shapes: e.Shapes, phase: e.Phase, file: e.File, kind: e.Kind, correlationForm: e.Correlation.form, externalForm: e.External.form,
	}
	if e.Kind != Complete {
		r.duration = -1
	}
	if e.Series != NoText {
		r.shapes = e.Series
	}
	for _, f := range [...]struct {
		ok  bool
		bit flags
	}{{e.Bytes.OK, hasBytes}, {e.HasValue && !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0), hasValue}, {e.Line.OK, hasLine}, {small(e.Device, &r.device), hasDevice}, {small(e.Stream, &r.stream), hasStream}} {
		if f.ok {
			r.has |= f.bit
		}
	}
}

// small puts a number that fits into 32 bits; devices and streams that do not are no ordinals.
func small(n Number, to *int32) bool {
	if !n.OK || n.N != int64(int32(n.N)) {
		return false
	}
	*to = int32(n.N)
	return true
}

// end is when a complete record ends.
func (r *record) end() int64 { return r.start + r.duration }
