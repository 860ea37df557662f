package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/formats/jsonscan"
)

// The objects that are small enough to be in memory. What cannot be read of one makes d.lost say why, and the rest is passed over; what is no JSON is
// the reader's error.

func (d *documents) lose(format string, args ...any) {
	if d.lost == "" {
		d.lost = fmt.Sprintf(format, args...)
	}
}

// members goes through an object. A null stands for a field that is not there.
func (d *documents) members(r *jsonscan.Reader, member func(name []byte)) {
	if r.Null() {
		return
	}
	if r.Kind() != '{' {
		d.lose("there is no object where one belongs")
		r.Skip()
		return
	}
	r.Object(func(name []byte) {
		if !r.Null() {
			member(name)
		}
	})
}

// elements goes through an array.
func (d *documents) elements(r *jsonscan.Reader, what string, element func()) {
	if r.Kind() != '[' {
		d.lose("%s is no list", what)
		r.Skip()
		return
	}
	r.Array(element)
}

func (d *documents) unknown(r *jsonscan.Reader, name []byte) {
	d.note(UnknownField, string(name))
	r.Skip()
}

// utf8 is a string's text, valid as long as the record.
func (d *documents) utf8(r *jsonscan.Reader) []byte {
	if r.Kind() != '"' {
		d.lose("there is no text where one belongs")
		r.Skip()
		return nil
	}
	raw, escaped := r.Quoted()
	if escaped && r.Err() == nil {
		raw = jsonscan.Unquote(raw)
	}
	return raw
}

func (d *documents) str(r *jsonscan.Reader) string { return d.intern(d.utf8(r)) }

// digits is the text of a whole number, which may stand in quotes.
func (d *documents) digits(r *jsonscan.Reader) string {
	switch r.Kind() {
	case '"':
		return string(d.utf8(r))
	case 0:
		return string(r.Number())
	}
	d.lose("there is no number where one belongs")
	r.Skip()
	return "0"
}

func (d *documents) unsigned(r *jsonscan.Reader, bits int) uint64 {
	text := d.digits(r)
	n, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		if f, ferr := strconv.ParseFloat(text, 64); ferr == nil && f == math.Trunc(f) && f >= 0 && f <= 1<<53 && f < math.Ldexp(1, bits) && bytes.ContainsAny([]byte(text), ".eE") {
			return uint64(f)
		}
		d.lose("%.24q is no whole number of %d bits", text, bits)
	}
	return n
}

func (d *documents) signed(r *jsonscan.Reader, bits int) int64 {
	text := d.digits(r)
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		if f, ferr := strconv.ParseFloat(text, 64); ferr == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 && math.Abs(f) < math.Ldexp(1, bits-1) && bytes.ContainsAny([]byte(text), ".eE") {
			return int64(f)
		}
		d.lose("%.24q is no whole number of %d bits", text, bits)
	}
	return n
}

// The names of enums, by which some producers write their values although the protocol wants numbers, with and without what they begin with.
var (
	kinds    = enum{"SPAN_KIND_", []string{"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"}}
	statuses = enum{"STATUS_CODE_", []string{"UNSET", "OK", "ERROR"}}
)

type enum struct {
	prefix string
	names  []string // by value
}

func (d *documents) enum(r *jsonscan.Reader, of enum) int64 {
	if r.Kind() == 0 {
		return d.signed(r, 32)
	}
	text := string(d.utf8(r))
	n := slices.Index(of.names, strings.TrimPrefix(text, of.prefix))
	if n < 0 {
		d.lose("%.40q is no value that is known there", text)
		return 0
	}
	d.note(EnumName, text)
	return int64(n)
}

// id is an id's bytes, valid as long as the span. Hexadecimal is the protocol's form; base64 is that of generic protobuf libraries, of
// 16 or 8 bytes told by its padding.
func (d *documents) id(r *jsonscan.Reader) []byte {
	text := d.utf8(r)
	if len(text) == 0 {
		return nil
	}
	from := len(d.idBytes)
	var err error
	if d.idBytes, err = hex.AppendDecode(d.idBytes, text); err == nil {
		d.hex = true
		return d.idBytes[from:]
	}
	d.idBytes = d.idBytes[:from]
	if text[len(text)-1] == '=' {
		if d.idBytes, err = base64.StdEncoding.AppendDecode(d.idBytes, text); err == nil && (len(d.idBytes)-from == 16 || len(d.idBytes)-from == 8) {
			d.b64 = true
			d.note(Base64ID, "")
			return d.idBytes[from:]
		}
		d.idBytes = d.idBytes[:from]
	}
	d.lose("the id %.40q is no hexadecimal number", text)
	return nil
}

type spanIDs struct{ trace, span, parent []byte }

func (d *documents) spanObject(r *jsonscan.Reader) (ids spanIDs) {
	p := &d.span
	p.reset()
	if cap(d.idBytes) < 1024 {
		d.idBytes = make([]byte, 0, 1024) // so that ids which are kept do not move for the next one, and where they do the old ones stay as they are
	}
	d.idBytes = d.idBytes[:0]
	if r.Kind() != '{' {
		d.lose("it is no object")
		r.Skip()
		return ids
	}
	d.members(r, func(name []byte) {
		switch string(name) {
		case "traceId":
			ids.trace = d.id(r)
		case "spanId":
			ids.span = d.id(r)
		case "parentSpanId":
			ids.parent = d.id(r)
		case "name":
			p.Name = d.str(r)
		case "traceState":
			p.TraceState = d.str(r)
		case "kind":
			p.Kind = d.enum(r, kinds)
		case "startTimeUnixNano":
			p.Start = d.unsigned(r, 64)
		case "endTimeUnixNano":
			p.End = d.unsigned(r, 64)
		case "flags":
			p.Flags = d.unsigned(r, 32)
		case "attributes":
			p.Attributes = d.attributes(r)
		case "droppedAttributesCount":
			p.DroppedAttributes = d.unsigned(r, 32)
		case "droppedEventsCount":
			p.DroppedEvents = d.unsigned(r, 32)
		case "droppedLinksCount":
			p.DroppedLinks = d.unsigned(r, 32)
		case "status":
			d.status(r)
		case "events":
			d.elements(r, "events", func() { d.eventObject(r) })
		case "links":
			d.elements(r, "links", func() { d.linkObject(r) })
		default:
			d.unknown(r, name)
		}
	})
	return ids
}

func (d *documents) status(r *jsonscan.Reader) {
	d.members(r, func(name []byte) {
		switch string(name) {
		case "code":
			d.span.StatusCode = d.enum(r, statuses)
		case "message":
			d.span.StatusMessage = d.str(r)
		default:
			d.unknown(r, name)
		}
	})
}

func (d *documents) eventObject(r *jsonscan.Reader) {
	e := Event{Attributes: none}
	d.members(r, func(name []byte) {
		switch string(name) {
		case "timeUnixNano":
			e.Time = d.unsigned(r, 64)
		case "name":
			e.Name = d.str(r)
		case "attributes":
			e.Attributes = d.attributes(r)
		case "droppedAttributesCount":
			e.Dropped = d.unsigned(r, 32)
		default:
			d.unknown(r, name)
		}
	})
	d.span.Events = append(d.span.Events, e)
}

// linkObject reads a link. One that cannot be read is left out alone: its span is whole without it.
func (d *documents) linkObject(r *jsonscan.Reader) {
	before := d.lost
	d.lost = ""
	l := Link{Attributes: none}
	var trace, span []byte
	d.members(r, func(name []byte) {
		switch string(name) {
		case "traceId":
			trace = d.id(r)
		case "spanId":
			span = d.id(r)
		case "traceState":
			l.TraceState = d.str(r)
		case "flags":
			l.Flags = d.unsigned(r, 32)
		case "attributes":
			l.Attributes = d.attributes(r)
		case "droppedAttributesCount":
			l.Dropped = d.unsigned(r, 32)
		default:
			d.unknown(r, name)
		}
	})
	if d.lost != "" {
		d.sum.Lost++
		d.note(RecordLost, "a link: "+d.lost)
	} else if r.Err() == nil {
		d.addLink(l, trace, span)
	}
	d.lost = before
}

func (d *documents) resourceObject(r *jsonscan.Reader) {
	d.members(r, func(name []byte) {
		switch string(name) {
		case "attributes":
			d.resource.Attributes = d.attributes(r)
		case "droppedAttributesCount":
			d.resource.Dropped = d.unsigned(r, 32)
		case "entityRefs": // of which there is no table
			r.Skip()
		default:
			d.unknown(r, name)
		}
	})
}

func (d *documents) scopeObject(r *jsonscan.Reader) {
	d.members(r, func(name []byte) {
		switch string(name) {
		case "name":
			d.scope.Name = d.str(r)
		case "version":
			d.scope.Version = d.str(r)
		case "attributes":
			d.scope.Attributes = d.attributes(r)
		case "droppedAttributesCount":
			d.scope.Dropped = d.unsigned(r, 32)
		default:
			d.unknown(r, name)
		}
	})
}
