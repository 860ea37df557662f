package otlp

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
)

// attributes writes attributes as JSON objects. Objects nest: a value may be a list of pairs again.
type attributes struct {
	buf  []byte
	keys []pair // of the objects that are open, the innermost last
	note func(code, text string)
	memo map[string]string
}

// pair is where a key and what belongs to it stand in buf, from the comma or brace before it.
type pair struct{ from, key, end int }

// begin starts a new text.
func (a *attributes) begin() { a.buf, a.keys = a.buf[:0], a.keys[:0] }

// text is what was written. Equal texts share their memory while there are few.
func (a *attributes) text() string {
	if len(a.buf) == 2 && a.buf[0] == '{' {
		return none
	}
	if t, ok := a.memo[string(a.buf)]; ok {
		return t
	}
	if a.memo == nil {
		a.memo = map[string]string{}
	}
	t := string(a.buf)
	if len(a.memo) < 1024 && len(t) <= 1024 {
		a.memo[t] = t
	}
	return t
}

// open starts an object; close is told what open returned.
func (a *attributes) open() (first, at int) {
	a.buf = append(a.buf, '{')
	return len(a.keys), len(a.buf)
}

// key writes a key; the value follows, then done.
func (a *attributes) key(first int, key []byte) (p pair) {
	p.from = len(a.buf)
	if len(a.keys) > first {
		a.buf = append(a.buf, ',')
	}
	p.key = len(a.buf)
	a.string(key)
	p.end = len(a.buf)
	a.buf = append(a.buf, ':')
	return p
}

func (a *attributes) done(p pair) { a.keys = append(a.keys, p) }

// few is up to how many keys every pair of them is compared.
const few = 12

func (a *attributes) close(first, at int) {
	own := a.keys[first:]
	if a.twice(own) {
		a.rebuild(own, at)
	}
	a.keys = a.keys[:first]
	a.buf = append(a.buf, '}')
}

func (a *attributes) name(p pair) []byte { return a.buf[p.key:p.end] }

func (a *attributes) twice(own []pair) bool {
	if len(own) > few {
		seen := make(map[string]bool, len(own))
		for _, p := range own {
			if seen[string(a.name(p))] {
				return true
			}
			seen[string(a.name(p))] = true
		}
		return false
	}
	for i, p := range own {
		for _, q := range own[:i] {
			if p.end-p.key == q.end-q.key && bytes.Equal(a.name(p), a.name(q)) {
				return true
			}
		}
	}
	return false
}

// rebuild writes the object that began at once more, without values that a later one of the same key replaces.
func (a *attributes) rebuild(own []pair, at int) {
	last := map[string]int{}
	for i, p := range own {
		last[string(a.name(p))] = i
	}
	var out []byte
	for i, p := range own {
		if last[string(a.name(p))] != i {
			a.note(DuplicateKey, string(a.name(p)))
			continue
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		end := len(a.buf)
		if i+1 < len(own) {
			end = own[i+1].from
		}
		out = append(out, a.buf[p.key:end]...)
	}
	a.buf = append(a.buf[:at], out...)
}

const digits = "0123456789abcdef"

// string writes text; what is not UTF-8 stays, and the table says so.
func (a *attributes) string(s []byte) {
	a.buf = append(a.buf, '"')
	from := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		a.buf = append(a.buf, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			a.buf = append(a.buf, '\\', c)
		case '\n':
			a.buf = append(a.buf, '\\', 'n')
		case '\t':
			a.buf = append(a.buf, '\\', 't')
		case '\r':
			a.buf = append(a.buf, '\\', 'r')
		default:
			a.buf = append(a.buf, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	a.buf = append(append(a.buf, s[from:]...), '"')
}

// double writes a number with a fraction or an exponent, so that it is told from a whole one.
func (a *attributes) double(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		text := map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
		if math.IsNaN(f) {
			text = "NaN"
		}
		a.buf = append(append(append(a.buf, `{"type":"double","value":"`...), text...), `"}`...)
		return
	}
	from := len(a.buf)
	a.buf = strconv.AppendFloat(a.buf, f, 'g', -1, 64)
	if !bytes.ContainsAny(a.buf[from:], ".e") {
		a.buf = append(a.buf, '.', '0')
	}
}

func (a *attributes) int(n int64) { a.buf = strconv.AppendInt(a.buf, n, 10) }
func (a *attributes) bool(b bool) { a.buf = strconv.AppendBool(a.buf, b) }
func (a *attributes) null()       { a.buf = append(a.buf, "null"...) }

func (a *attributes) bytes(b []byte) {
	a.buf = append(a.buf, `{"type":"bytes","base64":"`...)
	a.buf = base64.StdEncoding.AppendEncode(a.buf, b)
	a.buf = append(a.buf, `"}`...)
}

// surrogates counts halves of a pair that stand alone in the JSON text b, which no UTF-8 can hold.
func surrogates(b []byte) (n int) {
	for i := 0; i+5 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] != 'u' {
			i++ // an escaped backslash begins no escape
			continue
		}
		switch half(b[i:]) {
		case high:
			if i+11 < len(b) && b[i+6] == '\\' && b[i+7] == 'u' && half(b[i+6:]) == low {
				i += 11
				continue
			}
			n++
		case low:
			n++
		}
		i += 5
	}
	return n
}

const (
	high = 1
	low  = 2
)

func half(escape []byte) int {
	v, err := strconv.ParseUint(string(escape[2:6]), 16, 32)
	switch {
	case err != nil || v < 0xD800 || v > 0xDFFF:
		return 0
	case v < 0xDC00:
		return high
	}
	return low
}
