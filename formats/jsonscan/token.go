package jsonscan

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// What a reader of very long documents needs: one Reader for many pieces of a stream, and values whose text stays where it is.

// Reset makes the reader go through data, which stands at base within the document, as if it were new. A byte order mark is no part of data.
func (r *Reader) Reset(data []byte, base int64) {
	r.data, r.at, r.base, r.err = data, 0, base, nil
}

// At is how far the reader came in its data.
func (r *Reader) At() int { return r.at }

// Begin passes over open, which must come next, and says whether a member or an element follows. With More it goes through an object or an
// array without a function: for more := r.Begin('{', '}'); more; more = r.More('}'). Names that stand twice are for the caller to notice.
func (r *Reader) Begin(open, shut byte) bool {
	return r.Open(open) && !r.Close(shut) && r.err == nil
}

// More passes over a comma and says that another follows, or over shut.
func (r *Reader) More(shut byte) bool {
	if r.err != nil || r.Close(shut) {
		return false
	}
	return r.Open(',')
}

// Mark remembers what comes next, for Marked.
func (r *Reader) Mark() { r.space(); r.mark = r.at }

// Marked is the text from where Mark was called to here.
func (r *Reader) Marked() []byte { return r.data[r.mark:r.at] }

// Name is the next member's name. It is part of the document, or new where it has escapes.
func (r *Reader) Name() []byte {
	name := r.bytes()
	r.Open(':')
	return name
}

// Quoted reads a string as it stands between its quotes; escaped says that Unquote has to make it text.
func (r *Reader) Quoted() (raw []byte, escaped bool) {
	if !r.Open('"') {
		return nil, false
	}
	return r.quoted()
}

// Number reads a number's text.
func (r *Reader) Number() []byte { return r.number() }

// Unquote is the text of a string that Quoted returned.
func Unquote(raw []byte) []byte {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil { // cannot be: Quoted checked it
		return raw
	}
	return []byte(s)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// quoted goes to the end of a string behind its first quote.
func (r *Reader) quoted() (raw []byte, escaped bool) {
	from := r.at
	data := r.data
	at := from
	for {
		// Eight bytes at a time to the next quote, backslash or control character.
		for at+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[at:])
			q, b := w^(ones*'"'), w^(ones*'\\')
			special := ((q - ones) &^ q) | ((b - ones) &^ b) | ((w - ones*0x20) &^ w)
			if special &= highs; special != 0 {
				at += bits.TrailingZeros64(special) >> 3
				break
			}
			at += 8
		}
		for at < len(data) && data[at] != '"' && data[at] != '\\' && data[at] >= ' ' {
			at++
		}
		if at >= len(data) {
			break
		}
		switch data[at] {
		case '"':
			r.at = at + 1
			return data[from:at], escaped
		case '\\':
			escaped = true
			n, cut := escape(data[at:])
			if n == 0 && !cut {
				r.at = at
				r.fail(false, "the string %s is not JSON: no such escape", r.here())
				return nil, false
			}
			if cut {
				n = len(data) - at
			}
			at += n
		default:
			r.at = at
			r.fail(false, "a string holds the control character %#x", data[at])
			return nil, false
		}
	}
	r.at = len(data)
	r.fail(true, "the document breaks off in a string")
	return nil, false
}

// escape is the length of the escape that s begins with; 0 for none.
func escape(s []byte) (n int, cut bool) {
	if len(s) < 2 {
		return 0, true
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, false
	case 'u':
		for i := 2; i < 6; i++ {
			if i >= len(s) {
				return 0, true
			}
			c := s[i] | 0x20
			if (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
				return 0, false
			}
		}
		return 6, false
	}
	return 0, false
}
