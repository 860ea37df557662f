package chrometrace

import (
	"errors"
	"io"

	"github.com/flameox/flameox/formats/jsonscan"
)

// window is the part of a document that is in memory: it begins with the value that is read next.
type window struct {
	src    io.Reader
	buf    []byte
	from   int   // of what is not read yet
	base   int64 // of buf within the document
	end    error // of src, io.EOF or why it could not be read further
	most   int   // bytes that one value may have
	limit  int64 // bytes that the document may have, 0 for any
	reader jsonscan.Reader
}

const windowSize = 1 << 20

// more reads on. It is false where there is nothing more.
func (w *window) more() bool {
	if w.end != nil {
		return false
	}
	if w.from > 0 {
		n := copy(w.buf, w.buf[w.from:])
		w.base += int64(w.from)
		w.buf, w.from = w.buf[:n], 0
	}
	if len(w.buf) == cap(w.buf) {
		if cap(w.buf) >= w.most {
			return false
		}
		bigger := make([]byte, len(w.buf), max(windowSize, min(2*cap(w.buf), w.most)))
		copy(bigger, w.buf)
		w.buf = bigger
	}
	n, err := io.ReadAtLeast(w.src, w.buf[len(w.buf):cap(w.buf)], 1)
	w.buf = w.buf[:len(w.buf)+n]
	w.end = err
	if w.limit > 0 && w.base+int64(len(w.buf)) > w.limit {
		w.end = &Error{Code: TooLarge, Offset: w.limit, Text: "the trace has more bytes than may be read"}
		return false
	}
	return n > 0
}

// read calls parse with a reader of what comes next until it got all of it, and goes on behind what it read. parse may be called again from
// the beginning, so it must begin anew. The error is a *jsonscan.Error, or why the document could not be read.
func (w *window) read(parse func(r *jsonscan.Reader)) error {
	r := &w.reader
	for {
		r.Reset(w.buf[w.from:], w.base+int64(w.from))
		parse(r)
		err := r.Err()
		var bad *jsonscan.Error
		cut := errors.As(err, &bad) && bad.Cut
		// What ends where the window ends may go on behind it.
		if (cut || err == nil && r.At() == len(w.buf)-w.from) && w.more() {
			continue
		}
		if cut && w.end == nil {
			return &Error{Code: TooLarge, Offset: w.base + int64(w.from), Text: "one value is longer than any event"}
		}
		if cut && !errors.Is(w.end, io.EOF) {
			return w.end
		}
		if err == nil {
			w.from += r.At()
		}
		return err
	}
}

// next is the byte that comes next and is no white space, without passing over it; 0 at the end.
func (w *window) next() (c byte, err error) {
	for {
		for ; w.from < len(w.buf); w.from++ {
			switch c := w.buf[w.from]; c {
			case ' ', '\n', '\r', '\t':
			default:
				return c, nil
			}
		}
		if !w.more() {
			if w.end != nil && !errors.Is(w.end, io.EOF) {
				return 0, w.end
			}
			return 0, nil
		}
	}
}

func (w *window) offset() int64 { return w.base + int64(w.from) }
