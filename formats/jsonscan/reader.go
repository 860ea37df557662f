package jsonscan

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Reader goes through one document. Use New.
type Reader struct {
	data  []byte
	at    int
	mark  int
	base  int64 // of data within the document
	err   error
	stack []byte // of Skip
}

// Error says why a document was not read to its end.
type Error struct {
	Offset int64 // bytes before the place
	Cut    bool  // the document breaks off
	Text   string
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	return fmt.Sprintf("byte %d of the document: %s", e.Offset, e.Text)
}

// New reads data, which must not change. A byte order mark in front of it is passed over, as browsers do.
func New(data []byte) *Reader {
	r := &Reader{data: data}
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		r.at = 3
	}
	return r
}

// Part is a value that Raw returned, to be read later; offset is where it began, for messages.
func Part(value []byte, offset int64) *Reader { return &Reader{data: value, base: offset} }

// Err is the first error: an *Error, or what Stop was given.
func (r *Reader) Err() error { return r.err }

// Offset is where the reader is.
func (r *Reader) Offset() int64 { return r.base + int64(r.at) }

// Stop makes err the reader's error, unless it has one.
func (r *Reader) Stop(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Reader) fail(cut bool, format string, args ...any) {
	r.Stop(&Error{Offset: r.Offset(), Cut: cut, Text: fmt.Sprintf(format, args...)})
}

// Kind is the first byte of the value that comes next: one of {, [, ", t, f, n, or 0 for a number or anything else.
func (r *Reader) Kind() byte {
	if r.err != nil || !r.space() {
		return 0
	}
	switch c := r.data[r.at]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return 0
}

// space passes over white space. It is false at the end of the document.
func (r *Reader) space() bool {
	if r.at < len(r.data) && r.data[r.at] > ' ' {
		return true
	}
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case ' ', '\n', '\r', '\t':
			continue
		}
		return true
	}
	return false
}

// Open passes over c, which must come next: a bracket, a comma or a colon.
func (r *Reader) Open(c byte) bool {
	if r.err == nil && r.at < len(r.data) && r.data[r.at] == c {
		r.at++
		return true
	}
	switch {
	case r.err != nil:
		return false
	case !r.space():
		r.fail(true, "the document breaks off where %q is expected", c)
		return false
	case r.data[r.at] != c:
		r.fail(false, "%s stands where %q is expected", r.here(), c)
		return false
	}
	r.at++
	return true
}

// Close passes over c if it comes next.
func (r *Reader) Close(c byte) bool {
	if r.err != nil || !r.space() || r.data[r.at] != c {
		return false
	}
	r.at++
	return true
}

// here quotes what comes next.
func (r *Reader) here() string {
	rest := r.data[r.at:]
	if len(rest) > 12 {
		rest = rest[:12]
	}
	return strconv.Quote(string(rest))
}

// End makes anything but white space that follows an error.
func (r *Reader) End() {
	if r.err == nil && r.space() {
		r.fail(false, "%s stands behind the end of the document", r.here())
	}
}

// Object reads an object. member is called with each name, which is valid until it returns, and must read the value.
func (r *Reader) Object(member func(name []byte)) {
	if !r.Open('{') || r.Close('}') {
		return
	}
	var seen names
	for {
		name := r.bytes()
		if r.err == nil && seen.twice(name) {
			r.fail(false, "the name %s stands twice in one object", strconv.Quote(string(name)))
		}
		if !r.Open(':') {
			return
		}
		member(name)
		if r.err != nil || r.Close('}') || !r.Open(',') {
			return
		}
	}
}

// names are those that an object had so far: a few are looked through, many are looked up.
type names struct {
	list  [8][]byte
	n     int
	table map[string]bool
}

func (s *names) twice(name []byte) bool {
	if s.table == nil {
		for _, other := range s.list[:s.n] {
			if bytes.Equal(other, name) {
				return true
			}
		}
		if s.n < len(s.list) {
			s.list[s.n] = name
			s.n++
			return false
		}
		s.table = make(map[string]bool, 2*len(s.list))
		for _, other := range s.list {
			s.table[string(other)] = true
		}
	}
	if s.table[string(name)] {
		return true
	}
	s.table[string(name)] = true
	return false
}

// Array reads an array. element is called for each value and must read it.
func (r *Reader) Array(element func()) {
	if !r.Open('[') || r.Close(']') {
		return
	}
	for {
		element()
		if r.err != nil || r.Close(']') || !r.Open(',') {
			return
		}
	}
}

// Text reads a string.
func (r *Reader) Text() string { return string(r.bytes()) }

// bytes is a string's text, part of the document where it has no escapes.
func (r *Reader) bytes() []byte {
	if !r.Open('"') {
		return nil
	}
	raw, escaped := r.quoted()
	if escaped {
		return Unquote(raw)
	}
	return raw
}

// number is the text of a number.
func (r *Reader) number() []byte {
	if r.err != nil {
		return nil
	}
	if !r.space() {
		r.fail(true, "the document breaks off where a number is expected")
		return nil
	}
	from := r.at
	if r.data[r.at] == '-' {
		r.at++
	}
	whole := r.digits()
	ok := whole == 1 || whole > 1 && r.data[r.at-whole] != '0'
	if ok && r.at < len(r.data) && r.data[r.at] == '.' {
		r.at++
		ok = r.digits() > 0
	}
	if ok && r.at < len(r.data) && r.data[r.at]|0x20 == 'e' {
		r.at++
		if r.at < len(r.data) && (r.data[r.at] == '+' || r.data[r.at] == '-') {
			r.at++
		}
		ok = r.digits() > 0
	}
	if !ok {
		cut := r.at == len(r.data)
		r.at = from
		r.fail(cut, "%s stands where a number is expected", r.here())
		return nil
	}
	return r.data[from:r.at]
}

func (r *Reader) digits() (n int) {
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
		n++
	}
	return n
}

// Int reads a whole number of 64 bits, however it is written: 2, 2.0, 2e0. Of those with a fraction or an exponent only what a 64-bit float
// holds exactly is one.
func (r *Reader) Int() int64 {
	from := r.at
	text := r.number()
	if r.err != nil {
		return 0
	}
	if n, ok := small(text); ok {
		return n
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(text), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 || !bytes.ContainsAny(text, ".eE") {
			r.at = from
			r.space()
			r.fail(false, "%s is no whole number of 64 bits", r.here())
			return 0
		}
		n = int64(f)
	}
	return n
}

// small is the value of up to 18 digits.
func small(text []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// Float reads a number as the nearest 64-bit float, as every producer's own reader does. One beyond all floats is an error.
func (r *Reader) Float() float64 {
	text := r.number()
	if r.err != nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		r.fail(false, "the number %s is beyond what a 64-bit float holds", text)
	}
	return f
}
