package otlp

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/flameox/flameox/formats/jsonscan"
)

// attributes is a list of pairs as a JSON object.
func (d *documents) attributes(r *jsonscan.Reader) string {
	d.attrs.begin()
	d.pairs(r, 0)
	return d.attrs.text()
}

func (d *documents) pairs(r *jsonscan.Reader, depth int) {
	first, at := d.attrs.open()
	d.elements(r, "attributes", func() { d.pair(r, first, depth) })
	d.attrs.close(first, at)
}

// pair writes one attribute. The value may stand before its key, so it is looked at where it was passed over.
func (d *documents) pair(r *jsonscan.Reader, first, depth int) {
	var key, value []byte
	var from int64
	d.members(r, func(name []byte) {
		switch string(name) {
		case "key":
			key = d.utf8(r)
		case "value":
			value, from = r.Raw()
		default:
			d.unknown(r, name)
		}
	})
	if r.Err() != nil {
		return
	}
	p := d.attrs.key(first, key)
	if value == nil {
		d.note(NullAttribute, string(key))
		d.attrs.null()
	} else {
		v := jsonscan.Part(value, from)
		d.anyValue(v, depth)
		r.Stop(v.Err())
	}
	d.attrs.done(p)
}

// anyValue writes one value.
func (d *documents) anyValue(r *jsonscan.Reader, depth int) {
	if depth > deepest {
		d.lose("its values lie more than %d deep in each other", deepest)
		r.Skip()
		d.attrs.null()
		return
	}
	from, some := len(d.attrs.buf), false
	if r.Kind() != '{' {
		d.lose("an attribute's value is no object")
		r.Skip()
		d.attrs.null()
		return
	}
	r.Object(func(name []byte) {
		write := d.alternative(string(name), depth)
		if write == nil {
			d.unknown(r, name)
			return
		}
		if some {
			d.lose("an attribute has two values")
			d.attrs.buf = d.attrs.buf[:from]
		}
		some = true
		if r.Null() { // as JavaScript writes a number that JSON has no form for
			d.note(NullAttribute, "")
			d.attrs.null()
			return
		}
		write(r)
	})
	if !some {
		d.attrs.null()
	}
}

// alternative is how a value of one type is written; nil for a name that is no type.
func (d *documents) alternative(name string, depth int) func(r *jsonscan.Reader) {
	switch name {
	case "stringValue":
		return func(r *jsonscan.Reader) { d.attrs.string(d.utf8(r)) }
	case "intValue":
		return func(r *jsonscan.Reader) { d.attrs.int(d.signed(r, 64)) }
	case "doubleValue":
		return func(r *jsonscan.Reader) { d.attrs.double(d.double(r)) }
	case "boolValue":
		return d.boolean
	case "bytesValue":
		return func(r *jsonscan.Reader) {
			b, err := base64.StdEncoding.DecodeString(string(d.utf8(r)))
			if err != nil {
				d.lose("bytes are no base64")
			}
			d.attrs.bytes(b)
		}
	case "arrayValue":
		return func(r *jsonscan.Reader) { d.array(r, depth) }
	case "kvlistValue":
		return func(r *jsonscan.Reader) { d.pairList(r, depth) }
	}
	return nil
}

func (d *documents) double(r *jsonscan.Reader) float64 {
	var text string
	switch r.Kind() {
	case '"':
		text = string(d.utf8(r))
		switch text {
		case "NaN":
			return math.NaN()
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		}
	case 0:
		text = string(r.Number())
	default:
		r.Skip()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		d.lose("%.24q is no number", text)
		return 0
	}
	return f
}

func (d *documents) boolean(r *jsonscan.Reader) {
	raw, _ := r.Raw()
	switch string(raw) {
	case "true", "false":
		d.attrs.bool(raw[0] == 't')
		return
	}
	d.lose("%.20q is neither true nor false", raw)
	d.attrs.null()
}

func (d *documents) array(r *jsonscan.Reader, depth int) {
	d.attrs.buf = append(d.attrs.buf, '[')
	some := false
	d.members(r, func(name []byte) {
		if string(name) != "values" {
			d.unknown(r, name)
			return
		}
		d.elements(r, "values", func() {
			if some {
				d.attrs.buf = append(d.attrs.buf, ',')
			}
			some = true
			if r.Null() {
				d.attrs.null()
				return
			}
			d.anyValue(r, depth+1)
		})
	})
	d.attrs.buf = append(d.attrs.buf, ']')
}

func (d *documents) pairList(r *jsonscan.Reader, depth int) {
	from := len(d.attrs.buf)
	d.members(r, func(name []byte) {
		if string(name) == "values" {
			d.pairs(r, depth+1)
			return
		}
		d.unknown(r, name)
	})
	if len(d.attrs.buf) == from {
		d.attrs.buf = append(d.attrs.buf, none...)
	}
}
