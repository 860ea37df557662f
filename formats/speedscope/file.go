package speedscope

import (
	"errors"
	"fmt"
	"math"

	"github.com/flameox/flameox/formats/jsonscan"
)

// MediaType is what a file is registered as. None is registered; this is ours.
const MediaType = "application/x-speedscope+json"

// Schema is what every file says of itself.
const Schema = "https://www.speedscope.app/file-format-schema.json"

// The codes of errors.
const (
	EmptyFile     = "payload_empty"
	Truncated     = "payload_truncated"
	NotJSON       = "payload_not_json"
	NotSpeedscope = "not_a_speedscope_file"
	Unknown       = "unknown_structure"
	Contradiction = "payload_contradictory"
	Unbalanced    = "events_contradictory"
	NotWhole      = "weights_not_whole"
	Overflow      = "weights_overflow"
)

// Error says why a file, or one profile of it, cannot be read.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Text }

func refuse(code, format string, args ...any) error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

// Frame is a place in a program as the file names it. Line and Column are -1 where there is none; py-spy writes a line of 0 for that.
type Frame struct {
	Name   string
	File   string
	Line   int64
	Column int64
}

// Type of a profile.
type Type int

// The types.
const (
	Sampled Type = iota + 1
	Evented
)

// Profile is one of a file's. Its weights are still text; Walk goes through them.
type Profile struct {
	Type Type
	Name string
	Unit Unit
	End  int64 // where the profile ends, in its Unit, as Walk's weights are

	frames           int // of the file
	samples, weights part
	events           part
}

// part is an array that is read later.
type part struct {
	text []byte
	at   int64
	here bool
}

// File is a whole file. It refers to the bytes that it was made of.
type File struct {
	Name     string
	Exporter string // the program that wrote it, as it names itself: py-spy@0.4.2
	Frames   []Frame
	Profiles []Profile
}

// Parse reads a file's frames and what it says of its profiles. An error is an *Error.
func Parse(data []byte) (*File, error) {
	if len(data) == 0 {
		return nil, refuse(EmptyFile, "the file has no bytes: nothing was written, or the writer was killed")
	}
	var f File
	var schema string
	frames, profiles := false, false
	r := jsonscan.New(data)
	r.Object(func(name []byte) {
		switch string(name) {
		case "$schema":
			schema = optional(r)
		case "name":
			f.Name = optional(r)
		case "exporter":
			f.Exporter = optional(r)
		case "shared":
			r.Object(func(name []byte) {
				if string(name) != "frames" {
					r.Skip()
					return
				}
				frames = true
				r.Array(func() { f.Frames = append(f.Frames, frame(r)) })
			})
		case "profiles":
			profiles = true
			r.Array(func() { f.Profiles = append(f.Profiles, profileOf(r)) })
		default:
			r.Skip()
		}
	})
	r.End()
	switch err := r.Err(); {
	case err != nil:
		return nil, located(err, NotJSON)
	case schema != Schema:
		return nil, refuse(NotSpeedscope, "the file is JSON, and its $schema is %.60q and not that of speedscope (%s)", schema, Schema)
	case !frames || !profiles:
		return nil, refuse(Contradiction, "the file is speedscope's and has no list of %s", missing(frames))
	}
	for i := range f.Profiles {
		f.Profiles[i].frames = len(f.Frames)
	}
	return &f, nil
}

func missing(frames bool) string {
	if !frames {
		return "frames"
	}
	return "profiles"
}

// located is an error of the scanner as one of this package.
func located(err error, code string) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var scan *jsonscan.Error
	if errors.As(err, &scan) && scan.Cut {
		code = Truncated
	}
	return &Error{code, err.Error()}
}

// optional is a text, or "" for null.
func optional(r *jsonscan.Reader) string {
	if r.Null() {
		return ""
	}
	return r.Text()
}

func frame(r *jsonscan.Reader) Frame {
	f := Frame{Line: -1, Column: -1}
	named := false
	at := r.Offset()
	r.Object(func(name []byte) {
		switch string(name) {
		case "name":
			f.Name, named = r.Text(), true
		case "file":
			f.File = optional(r)
		case "line":
			f.Line = place(r)
		case "col":
			f.Column = place(r)
		default:
			r.Skip()
		}
	})
	if r.Err() == nil && !named {
		r.Stop(refuse(Contradiction, "byte %d: a frame has no name", at))
	}
	return f
}

// place is a line or a column, -1 for null.
func place(r *jsonscan.Reader) int64 {
	if r.Null() {
		return -1
	}
	return max(-1, r.Int())
}

func profileOf(r *jsonscan.Reader) (p Profile) {
	at := r.Offset()
	var end part
	unit, kind := "", ""
	take := func(into *part) {
		into.text, into.at = r.Raw()
		into.here = true
	}
	r.Object(func(name []byte) {
		switch string(name) {
		case "type":
			kind = r.Text()
		case "name":
			p.Name = optional(r)
		case "unit":
			unit = r.Text()
		case "endValue":
			take(&end)
		case "samples":
			take(&p.samples)
		case "weights":
			take(&p.weights)
		case "events":
			take(&p.events)
		default:
			r.Skip()
		}
	})
	if r.Err() != nil {
		return p
	}
	var err error
	switch kind {
	case "sampled":
		p.Type = Sampled
		if !p.samples.here || !p.weights.here {
			err = refuse(Contradiction, "byte %d: the sampled profile %.60q has no samples or no weights", at, p.Name)
		}
	case "evented":
		p.Type = Evented
		if !p.events.here || !end.here {
			err = refuse(Contradiction, "byte %d: the evented profile %.60q has no events or no endValue", at, p.Name)
		}
	default:
		err = refuse(Unknown, "byte %d: the profile %.60q is of the type %.60q, and known are sampled and evented", at, p.Name, kind)
	}
	if err == nil {
		p.Unit, err = unitOf(unit, p.Name, at)
	}
	if err == nil && end.here && p.Type == Evented {
		p.End, err = p.Unit.scale(end.text, end.at)
	}
	if err != nil {
		r.Stop(err)
	}
	return p
}

// Unit is what weights are counted in.
type Unit struct {
	Name     string // as the file writes it: seconds, bytes, none
	Quantity string // of what Walk returns: ns, bytes, count
	exponent int    // a weight times ten to this is in Quantity
}

func unitOf(name, profile string, at int64) (Unit, error) {
	for _, u := range []Unit{{"none", "count", 0}, {"bytes", "bytes", 0}, {"nanoseconds", "ns", 0}, {"microseconds", "ns", 3}, {"milliseconds", "ns", 6}, {"seconds", "ns", 9}} {
		if u.Name == name {
			return u, nil
		}
	}
	return Unit{}, refuse(Unknown, "byte %d: the profile %.60q has the unit %.60q, and known are none, bytes, nanoseconds, microseconds, milliseconds and seconds", at, profile, name)
}

// scale is the number that text has, in the unit's Quantity. Times are rounded to the nearest nanosecond.
func (u Unit) scale(text []byte, at int64) (int64, error) {
	n, whole, ok := decimal(text, u.exponent)
	switch {
	case !ok && !isNumber(text):
		return 0, refuse(Contradiction, "byte %d: %.40q stands where a number is expected", at, text)
	case !ok:
		return 0, refuse(Overflow, "byte %d: %.40s %s are more than 64 bits hold as %s", at, text, u.Name, u.Quantity)
	case !whole && u.Quantity != "ns":
		return 0, refuse(NotWhole, "byte %d: %.40s of the unit %s is no whole number, and nothing says what a part of one would be", at, text, u.Name)
	}
	return n, nil
}

func isNumber(text []byte) bool {
	return len(text) > 0 && (text[0] == '-' || text[0] >= '0' && text[0] <= '9')
}

// decimal is a JSON number times ten to shift, rounded to the nearest whole number, halves away from zero; whole says that nothing was rounded.
// ok is false for what is no number, and for what 64 bits do not hold.
func decimal(text []byte, shift int) (n int64, whole, ok bool) {
	i, negative := 0, false
	if i < len(text) && text[i] == '-' {
		negative, i = true, i+1
	}
	from := i
	var digits []byte // without the point
	point := -1
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
			continue
		case c == '.' && point < 0:
			point = len(digits)
			continue
		}
		break
	}
	if i == from || len(digits) == 0 {
		return 0, false, false
	}
	if point < 0 {
		point = len(digits)
	}
	if i < len(text) {
		exponent, ok := small(text[i:])
		if !ok {
			return 0, false, false
		}
		shift += exponent
	}
	// The digits before place are the whole number.
	place := point + shift
	whole = true
	for j, c := range digits {
		if j >= place && c != '0' {
			whole = false
		}
	}
	for j := range max(place, 0) {
		d := int64(0)
		if j < len(digits) {
			d = int64(digits[j] - '0')
		} else if n == 0 {
			break
		}
		if n > (math.MaxInt64-d)/10 {
			return 0, false, false
		}
		n = 10*n + d
	}
	if place >= 0 && place < len(digits) && digits[place] >= '5' {
		if n == math.MaxInt64 {
			return 0, false, false
		}
		n++
	}
	if negative {
		n = -n
	}
	return n, whole, true
}

// small is the exponent of a number: e-3, E+3.
func small(text []byte) (n int, ok bool) {
	if len(text) < 2 || text[0]|0x20 != 'e' {
		return 0, false
	}
	text = text[1:]
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = 10*n + int(c-'0'); n > 4000 { // beyond every 64-bit number, and within what is counted to
			n = 4000
		}
	}
	if negative {
		n = -n
	}
	return n, len(text) > 0
}
