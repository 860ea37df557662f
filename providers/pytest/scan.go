package pytest

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// scanner goes through one line of a log. Python's json writes NaN and Infinity where a test recorded them, so a strict reader would refuse what
// the producer really leaves; and a log of thousands of tests is mostly text that is passed over, which is why that is fast.
// After an error bad is set and everything returns at once.
type scanner struct {
	b   []byte
	i   int
	bad bool
}

// maxDepth is far above what pytest nests: entries of a traceback in a chain.
const maxDepth = 200

func (s *scanner) fail() { s.bad, s.i = true, len(s.b) }

// next is the byte that comes next behind white space, 0 at the end.
func (s *scanner) next() byte {
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
		s.i++
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.next() != c || s.bad {
		return false
	}
	s.i++
	return true
}

func (s *scanner) need(c byte) {
	if !s.take(c) {
		s.fail()
	}
}

// quoted is a string as it is written, without its quotes.
func (s *scanner) quoted() []byte {
	s.need('"')
	from := s.i
	for !s.bad {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			break
		}
		end := s.i + n
		s.i = end + 1
		back := end
		for back > from && s.b[back-1] == '\\' {
			back--
		}
		if (end-back)%2 == 0 {
			return s.b[from:end]
		}
	}
	s.fail()
	return nil
}

// object calls member with each name; member must read the value.
func (s *scanner) object(member func(name []byte)) {
	s.need('{')
	if s.take('}') {
		return
	}
	for !s.bad {
		name := s.quoted()
		s.need(':')
		if s.bad {
			return
		}
		member(name)
		if s.take('}') {
			return
		}
		s.need(',')
	}
}

// array calls element for each value; element must read it.
func (s *scanner) array(element func()) {
	s.need('[')
	if s.take(']') {
		return
	}
	for !s.bad {
		element()
		if s.take(']') {
			return
		}
		s.need(',')
	}
}

// skip passes over a value, whose structure is checked.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail()
		return
	}
	switch s.next() {
	case '"':
		s.quoted()
	case '{':
		s.i++
		if s.take('}') {
			return
		}
		for !s.bad {
			s.quoted()
			s.need(':')
			s.skip(depth + 1)
			if s.take('}') {
				return
			}
			s.need(',')
		}
	case '[':
		s.i++
		if s.take(']') {
			return
		}
		for !s.bad {
			s.skip(depth + 1)
			if s.take(']') {
				return
			}
			s.need(',')
		}
	default:
		s.bare()
	}
}

// bare is a number or a word, checked.
func (s *scanner) bare() []byte {
	s.next()
	from := s.i
	for s.i < len(s.b) && word(s.b[s.i]) {
		s.i++
	}
	text := s.b[from:s.i]
	switch string(text) {
	case "null", "true", "false", "NaN", "Infinity", "-Infinity":
		return text
	}
	for n, c := range text {
		digit := c >= '0' && c <= '9'
		if n == 0 && !digit && c != '-' || !digit && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			s.fail()
			return nil
		}
	}
	if len(text) == 0 {
		s.fail()
	}
	return text
}

func word(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// text is a string; any other value is passed over, and ok is false.
func (s *scanner) text() (text []byte, ok bool) {
	if s.next() != '"' {
		s.skip(0)
		return nil, false
	}
	return s.quoted(), !s.bad
}

// whole is a whole number of 64 bits; any other value is passed over, and ok is false.
func (s *scanner) whole() (n int64, ok bool) {
	text, ok := s.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}

func (s *scanner) number() (text []byte, ok bool) {
	if c := s.next(); c != '-' && (c < '0' || c > '9') {
		s.skip(0)
		return nil, false
	}
	text = s.bare()
	return text, !s.bad
}

// seconds is a number of seconds in nanoseconds, exactly as it is written where that has no exponent: seconds since 1970 have
// more digits than a float keeps.
func (s *scanner) seconds() (ns int64, ok bool) {
	text, ok := s.number()
	if !ok {
		return 0, false
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	if len(whole) > 0 && len(whole) <= 10 && whole[0] != '-' {
		if n, digits := decimal(whole); digits {
			f, digits := int64(0), true
			scale := int64(1e9)
			for i, c := range fraction {
				if c < '0' || c > '9' {
					digits = false
					break
				}
				if i < 9 {
					f, scale = f*10+int64(c-'0'), scale/10
				} else if i == 9 && c >= '5' {
					f++
				}
			}
			if digits {
				return n*1e9 + f*scale, true
			}
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || math.Abs(v) > 9e9 {
		return 0, false
	}
	return int64(math.Round(v * 1e9)), true
}

func decimal(text []byte) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(text) > 0
}

// plain is the text of a string as it is written. Half of a surrogate pair is no character; it stays an escape, so that names which differ stay
// different.
func plain(quoted []byte) string {
	at := bytes.IndexByte(quoted, '\\')
	if at < 0 {
		return string(quoted)
	}
	out := append(make([]byte, 0, len(quoted)), quoted[:at]...)
	for at < len(quoted) {
		c := quoted[at]
		if c != '\\' || at+1 >= len(quoted) {
			out = append(out, c)
			at++
			continue
		}
		e := quoted[at+1]
		at += 2
		switch e {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r, ok := unit(quoted, at)
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			text := quoted[at-2 : at+4]
			at += 4
			if r >= 0xD800 && r < 0xDC00 && at+1 < len(quoted) && quoted[at] == '\\' && quoted[at+1] == 'u' {
				if low, ok := unit(quoted, at+2); ok && low >= 0xDC00 && low < 0xE000 {
					out = utf8.AppendRune(out, (r-0xD800)<<10|(low-0xDC00)+0x10000)
					at += 6
					continue
				}
			}
			if r >= 0xD800 && r < 0xE000 {
				out = append(out, text...)
				continue
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a backslash, a slash
			out = append(out, e)
		}
	}
	return string(out)
}

// unit is the four hexadecimal digits at a place.
func unit(b []byte, at int) (rune, bool) {
	if at+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[at:at+4]), 16, 16)
	return rune(n), err == nil
}
