package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/formats/jsonscan"
)

// source is a JSON text that is read value by value, of which only the value that is read is in memory.
type source struct {
	r       io.Reader
	buf     []byte // what was read and not yet passed
	at      int    // in buf
	base    int64  // of buf in the text
	end     bool   // r has no more
	largest int64  // bytes of one value
	value   jsonscan.Reader
}

func newSource(r io.Reader, largest int64) *source {
	return &source{r: r, buf: make([]byte, 0, window), largest: max(largest, window)}
}

func (s *source) offset() int64 { return s.base + int64(s.at) }

func (s *source) error(code, format string, args ...any) error {
	return &Error{Code: code, Offset: s.offset(), Text: fmt.Sprintf("byte %d: ", s.offset()) + fmt.Sprintf(format, args...)}
}

// fill reads more, and keeps what stands from at on.
func (s *source) fill() error {
	if s.end {
		return io.EOF
	}
	if s.at > 0 {
		n := copy(s.buf, s.buf[s.at:])
		s.base += int64(s.at)
		s.buf, s.at = s.buf[:n], 0
	}
	if len(s.buf) == cap(s.buf) {
		if int64(cap(s.buf)) >= s.largest {
			return s.error(TooLarge, "one record has more than the %d bytes that fit into the memory that the extraction may take", s.largest)
		}
		grown := make([]byte, len(s.buf), min(2*int64(cap(s.buf)), s.largest))
		copy(grown, s.buf)
		s.buf = grown
	}
	n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	switch {
	case errors.Is(err, io.EOF):
		s.end = true
		if n == 0 {
			return io.EOF
		}
	case err != nil:
		return err
	}
	return nil
}

// peek is the next byte that is no white space; 0 at the end of the text.
func (s *source) peek() (byte, error) {
	for {
		for ; s.at < len(s.buf); s.at++ {
			switch s.buf[s.at] {
			case ' ', '\n', '\r', '\t':
				continue
			}
			return s.buf[s.at], nil
		}
		switch err := s.fill(); {
		case errors.Is(err, io.EOF):
			return 0, nil
		case err != nil:
			return 0, err
		}
	}
}

// open passes over c, which must come next.
func (s *source) open(c byte) error {
	got, err := s.peek()
	switch {
	case err != nil:
		return err
	case got == 0 && s.at >= len(s.buf):
		return s.error(Truncated, "the payload breaks off where %q is expected", c)
	case got != c:
		return s.error(Malformed, "%q stands where %q is expected", s.buf[s.at:min(len(s.buf), s.at+12)], c)
	}
	s.at++
	return nil
}

// close passes over c if it comes next.
func (s *source) close(c byte) (bool, error) {
	got, err := s.peek()
	if err != nil || got != c || s.at >= len(s.buf) {
		return false, err
	}
	s.at++
	return true, nil
}

// list goes through an array or an object; element reads one element, or one member with its name.
func (s *source) list(open, shut byte, element func() error) error {
	if err := s.open(open); err != nil {
		return err
	}
	for some := false; ; some = true {
		done, err := s.close(shut)
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		if some {
			if err := s.open(','); err != nil {
				return err
			}
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// object goes through an object's members. Names that stand twice are refused: which one counts is a guess.
func (s *source) object(member func(name string) error) error {
	var seen []string
	return s.list('{', '}', func() error {
		raw, err := s.raw()
		if err != nil {
			return err
		}
		if raw[0] != '"' {
			return s.error(Malformed, "%.20q stands where a name is expected", raw)
		}
		s.value.Reset(raw, s.offset()-int64(len(raw)))
		name := s.value.Text()
		if err := s.value.Err(); err != nil {
			return s.scan(err)
		}
		for _, other := range seen {
			if other == name {
				return s.error(Ambiguous, "the name %q stands twice in one object", name)
			}
		}
		seen = append(seen, name)
		if err := s.open(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// scan makes an error of a value one of the payload.
func (s *source) scan(err error) error {
	var bad *jsonscan.Error
	if !errors.As(err, &bad) {
		return err
	}
	code := Malformed
	if bad.Cut && s.end && s.at >= len(s.buf) {
		code = Truncated
	}
	return &Error{Code: code, Offset: bad.Offset, Text: bad.Error()}
}

// raw passes over a value and returns its text, which is valid until the next call of any method. Only where it ends is known of it.
func (s *source) raw() ([]byte, error) {
	first, err := s.peek()
	if err != nil {
		return nil, err
	}
	if first == 0 && s.at >= len(s.buf) {
		return nil, s.error(Truncated, "the payload breaks off where a value is expected")
	}
	n, depth, text := 0, 0, false
	for {
		b := s.buf[s.at:]
	scan:
		for n < len(b) {
			if text {
				i := bytes.IndexByte(b[n:], '"')
				j := bytes.IndexByte(b[n:n+max(i, 0)], '\\')
				if i < 0 {
					j = bytes.IndexByte(b[n:], '\\')
				}
				switch {
				case j >= 0 && n+j+1 < len(b):
					n += j + 2
				case j >= 0:
					n += j
					break scan
				case i < 0:
					n = len(b)
				default:
					n += i + 1
					text = false
					if depth == 0 {
						return s.taken(n), nil
					}
				}
				continue
			}
			switch c := b[n]; c {
			case '"':
				text = true
			case '{', '[':
				depth++
			case '}', ']', ',', ':', ' ', '\n', '\r', '\t':
				if depth == 0 {
					if n == 0 {
						return nil, s.error(Malformed, "%q stands where a value is expected", c)
					}
					return s.taken(n), nil
				}
				if c == '}' || c == ']' {
					if depth--; depth == 0 {
						return s.taken(n + 1), nil
					}
				}
			}
			n++
		}
		switch err := s.fill(); {
		case errors.Is(err, io.EOF) && depth == 0 && !text:
			return s.taken(n), nil // a number or a word at the very end
		case errors.Is(err, io.EOF):
			return nil, s.error(Truncated, "the payload breaks off in the value that begins there")
		case err != nil:
			return nil, err
		}
	}
}

func (s *source) taken(n int) []byte {
	v := s.buf[s.at : s.at+n]
	s.at += n
	return v
}

// skip passes over a value, which has to be JSON.
func (s *source) skip() error {
	raw, err := s.raw()
	if err != nil {
		return err
	}
	s.value.Reset(raw, s.offset()-int64(len(raw)))
	s.value.Skip()
	s.value.End()
	if err := s.value.Err(); err != nil {
		return s.scan(err)
	}
	return nil
}
