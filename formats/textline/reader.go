package textline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxLine is the number of bytes that one line may have: more than the deepest stack that can be summed needs with its names.
const MaxLine = 64 << 20

// LongError says that a line has more than MaxLine bytes.
type LongError struct {
	Line int64 // from 1
}

// Error says which line it is.
func (e *LongError) Error() string {
	return fmt.Sprintf("line %d has more than %d MiB", e.Line, MaxLine>>20)
}

// Reader goes through the lines of a text. Use New.
type Reader struct {
	in         *bufio.Reader
	long       []byte // of a line that is longer than the buffer
	line       []byte
	number     int64
	bytes      int64
	unfinished bool
	wide       bool
	err        error
}

var (
	mark8  = []byte("\xEF\xBB\xBF")
	markLE = []byte("\xFF\xFE")
	markBE = []byte("\xFE\xFF")
)

const buffer = 256 << 10

// New reads r, whose first bytes say how its text is encoded.
func New(r io.Reader) *Reader {
	in := bufio.NewReaderSize(r, buffer)
	head, _ := in.Peek(3) // an error shows when it is read
	out := &Reader{in: in}
	switch {
	case bytes.HasPrefix(head, mark8):
		_, out.err = in.Discard(len(mark8))
	case bytes.HasPrefix(head, markLE), bytes.HasPrefix(head, markBE):
		out.wide = true
		_, out.err = in.Discard(len(markLE))
		out.in = bufio.NewReaderSize(&wide{in: in, big: bytes.HasPrefix(head, markBE)}, buffer)
	}
	return out
}

// Next goes to the next line. It is false at the end of the text and after an error.
func (r *Reader) Next() bool {
	if r.err != nil || r.unfinished {
		return false
	}
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.long)+len(part) > MaxLine {
			r.err = &LongError{r.number + 1}
			return false
		}
		r.bytes += int64(len(part))
		switch {
		case err == nil && len(r.long) == 0:
			r.line = part
		case err == nil || err == io.EOF:
			r.long = append(r.long, part...)
			r.line = r.long
			r.unfinished = err == io.EOF
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
			continue
		default:
			r.err = err
			return false
		}
		break
	}
	if r.unfinished && len(r.line) == 0 {
		r.unfinished = false
		r.err = io.EOF
		return false
	}
	r.number++
	r.line = bytes.TrimSuffix(r.line, []byte("\n"))
	r.line = bytes.TrimSuffix(r.line, []byte("\r"))
	return true
}

// Line is the line without its end, valid until Next is called.
func (r *Reader) Line() []byte { return r.line }

// Number is the number of the line, from 1.
func (r *Reader) Number() int64 { return r.number }

// Bytes is how much was read, as UTF-8.
func (r *Reader) Bytes() int64 { return r.bytes }

// Unfinished says whether the line is the last one and has no line end: nothing shows that it is whole.
func (r *Reader) Unfinished() bool { return r.unfinished }

// Wide says whether the text is in UTF-16.
func (r *Reader) Wide() bool { return r.wide }

// Err is why reading ended before the text did: a *LongError, or what reading it failed with.
func (r *Reader) Err() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// wide turns UTF-16 into UTF-8. Half a character becomes U+FFFD, as for every reader of text.
type wide struct {
	in   *bufio.Reader
	big  bool
	rest []byte // UTF-8 that did not fit
	high rune   // the first half of a pair
	end  error
}

func (w *wide) Read(p []byte) (n int, err error) {
	for n == 0 && w.end == nil {
		for len(w.rest) < len(p) && w.end == nil {
			w.unit()
		}
		n = copy(p, w.rest)
		w.rest = w.rest[:copy(w.rest, w.rest[n:])]
	}
	if n == 0 && len(w.rest) > 0 {
		n = copy(p, w.rest)
		w.rest = w.rest[:copy(w.rest, w.rest[n:])]
	}
	if n == 0 {
		return 0, w.end
	}
	return n, nil
}

// unit reads two bytes.
func (w *wide) unit() {
	var b [2]byte
	switch n, err := io.ReadFull(w.in, b[:]); {
	case err == io.ErrUnexpectedEOF && n == 1:
		w.rest, w.end = utf8.AppendRune(w.rest, utf8.RuneError), io.EOF
		return
	case err != nil:
		if w.high != 0 {
			w.rest, w.high = utf8.AppendRune(w.rest, utf8.RuneError), 0
		}
		w.end = err
		return
	}
	c := rune(b[0]) | rune(b[1])<<8
	if w.big {
		c = rune(b[1]) | rune(b[0])<<8
	}
	if w.high != 0 {
		pair := utf16.DecodeRune(w.high, c)
		w.high = 0
		w.rest = utf8.AppendRune(w.rest, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	switch {
	case c >= 0xD800 && c < 0xDC00:
		w.high = c
	case utf16.IsSurrogate(c):
		w.rest = utf8.AppendRune(w.rest, utf8.RuneError)
	default:
		w.rest = utf8.AppendRune(w.rest, c)
	}
}
