package otlp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// window is how much of a payload is in memory; a span that is larger is held alone.
const window = 1 << 20

// Protobuf reads a payload of size bytes. largest is how many bytes one span, resource or scope may have. An error is an *Error where the payload is at
// fault, what h returned, or what r did.
func Protobuf(r io.Reader, size, largest int64, h Handler) (*Summary, error) {
	d := &protobuf{state: newState(h), r: bufio.NewReaderSize(r, window), end: size, largest: largest}
	if size > 0 {
		head, err := d.r.Peek(1)
		if err != nil {
			return nil, d.read(err)
		}
		if head[0] == 0 { // no field has the number 0, so this is the length of a frame
			err := d.whole(d.frames())
			return d.summary(), err
		}
	}
	err := d.whole(d.traces(size))
	return d.summary(), err
}

// whole is the end of a payload, of which something has to say that it is traces.
func (d *protobuf) whole(err error) error {
	switch {
	case err != nil:
		return err
	case d.sum.Resources == 0:
		return d.error(NotTraces, "it holds no resource spans, so it is no OTLP traces")
	case d.sum.Spans > 0 && d.count(InvalidTraceID) == d.sum.Spans && d.count(MissingTimestamp) == d.sum.Spans:
		// A gauge among metrics has text where a span has ids, and nothing else that differs.
		return d.error(NotTraces, "no record in it has the id of a trace or a time, so they are no spans; metrics and logs have another form")
	}
	return nil
}

type protobuf struct {
	*state
	r       *bufio.Reader
	at, end int64 // of the payload
	largest int64
	scratch []byte
}

func (d *protobuf) error(code, format string, args ...any) error {
	return &Error{Code: code, Offset: d.at, Text: fmt.Sprintf("byte %d: ", d.at) + fmt.Sprintf(format, args...)}
}

// read is what an error of reading means: the payload's size is known, so an early end is the file's.
func (d *protobuf) read(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.error(Truncated, "the payload breaks off")
	}
	return err
}

// frames reads the collector's file of messages with their lengths.
func (d *protobuf) frames() error {
	for n := int64(0); d.at < d.end; n++ {
		head, err := d.r.Peek(4)
		if err != nil {
			return d.cutFrame(n, d.read(err))
		}
		length := int64(head[0])<<24 | int64(head[1])<<16 | int64(head[2])<<8 | int64(head[3])
		if length == 0 {
			return d.error(NotTraces, "a frame has the length 0, so it is no file of OTLP traces")
		}
		if length > d.end-d.at-4 {
			return d.cutFrame(n, d.error(Truncated, "a frame says that it has %d bytes, and the file has %d left", length, d.end-d.at-4))
		}
		d.skip(4)
		if err := d.traces(d.at + length); err != nil {
			return err
		}
	}
	return nil
}

// cutFrame leaves a last frame out that breaks off, where there are others.
func (d *protobuf) cutFrame(before int64, err error) error {
	var bad *Error
	if before == 0 || d.sum.Spans == 0 || !errors.As(err, &bad) || bad.Code != Truncated {
		return err
	}
	d.sum.Cut = true
	d.note(LastCut, bad.Text)
	return nil
}

// skip passes over bytes that Peek has shown.
func (d *protobuf) skip(n int) {
	d.r.Discard(n) // cannot fail: they are in the buffer
	d.at += int64(n)
}

func (d *protobuf) uvarint(limit int64) (uint64, error) {
	var c cursor
	head, err := d.r.Peek(int(min(10, limit-d.at)))
	if len(head) == 0 {
		return 0, d.read(err)
	}
	c.b = head
	v, ok := c.uvarint()
	if !ok {
		if len(head) < 10 && d.at+int64(len(head)) == d.end {
			return 0, d.error(Truncated, "the payload breaks off in a number")
		}
		return 0, d.error(Malformed, "%s", c.bad)
	}
	d.skip(c.at)
	return v, nil
}

// field reads the head of a field that lies within limit: of bytes, their length; of another, its whole.
func (d *protobuf) field(limit int64) (num, typ int, length int64, err error) {
	tag, err := d.uvarint(limit)
	if err != nil {
		return 0, 0, 0, err
	}
	num, typ = int(tag>>3), int(tag&7)
	switch {
	case num == 0 || tag > 1<<32-1:
		return 0, 0, 0, d.error(Malformed, "a field has a number that none has, so this is no protobuf of OTLP")
	case typ == fixed64:
		return num, typ, 0, d.pass(8, limit)
	case typ == fixed32:
		return num, typ, 0, d.pass(4, limit)
	case typ == varint:
		_, err := d.uvarint(limit)
		return num, typ, 0, err
	case typ != bytesOf:
		return 0, 0, 0, d.error(Malformed, "a field has the wire type %d, which OTLP does not use", typ)
	}
	n, err := d.uvarint(limit)
	if err != nil {
		return 0, 0, 0, err
	}
	if n > uint64(limit-d.at) {
		if limit == d.end {
			return 0, 0, 0, d.error(Truncated, "field %d says that it has %d bytes, and the payload has %d left", num, n, limit-d.at)
		}
		return 0, 0, 0, d.error(Malformed, "field %d says that it has %d bytes, and its message has %d left", num, n, limit-d.at)
	}
	return num, typ, int64(n), nil
}

// pass leaves n bytes out.
func (d *protobuf) pass(n, limit int64) error {
	if n > limit-d.at {
		return d.error(Malformed, "a message breaks off")
	}
	for n > 0 {
		k, err := d.r.Discard(int(min(n, 1<<30)))
		d.at, n = d.at+int64(k), n-int64(k)
		if err != nil {
			return d.read(err)
		}
	}
	return nil
}

// take returns the next n bytes, which are valid until the next call of any method.
func (d *protobuf) take(n int64) ([]byte, error) {
	if n <= window {
		b, err := d.r.Peek(int(n))
		if err != nil {
			return nil, d.read(err)
		}
		d.skip(int(n))
		return b, nil
	}
	if n > d.largest {
		return nil, d.error(TooLarge, "one record has %d bytes, and %d fit into the memory that the extraction may take", n, d.largest)
	}
	if int64(cap(d.scratch)) < n {
		d.scratch = make([]byte, n)
	}
	b := d.scratch[:n]
	k, err := io.ReadFull(d.r, b)
	d.at += int64(k)
	if err != nil {
		return nil, d.read(err)
	}
	return b, nil
}

// join makes one message of the parts in which it stands.
func (d *protobuf) join(a, b []byte) ([]byte, error) {
	if n := int64(len(a) + len(b)); n > max(d.largest, window) {
		return nil, d.error(TooLarge, "one record has %d bytes, and %d fit into the memory that the extraction may take", n, d.largest)
	}
	return append(a, b...), nil
}

// traces reads a TracesData that ends at limit.
func (d *protobuf) traces(limit int64) error {
	for d.at < limit {
		num, typ, n, err := d.field(limit)
		switch {
		case err != nil:
			return err
		case num == 1 && typ == bytesOf:
			err = d.resourceSpans(d.at + n)
		case num == 1:
			err = d.error(NotTraces, "its first field is no message, so it is no OTLP traces")
		default:
			d.note(UnknownField, "")
			err = d.pass(n, limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *protobuf) resourceSpans(limit int64) error {
	d.openResource()
	var resource []byte
	for d.at < limit {
		num, typ, n, err := d.field(limit)
		if err != nil {
			return err
		}
		if typ != bytesOf && (num <= 3 || num == 1000) {
			return d.error(NotTraces, "field %d of resource spans has the wire type %d, so it is no OTLP traces", num, typ)
		}
		var b []byte
		switch num {
		case 1: // a message that stands twice is one message, by its concatenated bytes
			if b, err = d.take(n); err == nil {
				resource, err = d.join(resource, b)
			}
		case 2:
			err = d.scopeSpans(d.at + n)
		case 3:
			if b, err = d.take(n); err == nil {
				d.resource.SchemaURL = d.intern(b)
			}
		case 1000:
			return d.error(Deprecated, "its spans stand in instrumentation_library_spans, which opentelemetry-proto has no more since 0.15; write it with a newer SDK or collector")
		default:
			d.note(UnknownField, "")
			err = d.pass(n, limit)
		}
		if err != nil {
			return err
		}
	}
	if bad := d.resourceMessage(resource); bad != "" {
		return d.broken("resource", bad)
	}
	return d.h.Resource(&d.resource)
}

func (d *protobuf) scopeSpans(limit int64) error {
	d.openScope()
	var scope []byte
	for d.at < limit {
		num, typ, n, err := d.field(limit)
		if err != nil {
			return err
		}
		if typ != bytesOf && num <= 3 {
			return d.error(NotTraces, "field %d of scope spans has the wire type %d, so it is no OTLP traces", num, typ)
		}
		var b []byte
		switch num {
		case 1:
			if b, err = d.take(n); err == nil {
				scope, err = d.join(scope, b)
			}
		case 2:
			if b, err = d.take(n); err == nil {
				err = d.oneSpan(b)
			}
		case 3:
			if b, err = d.take(n); err == nil {
				d.scope.SchemaURL = d.intern(b)
			}
		default:
			d.note(UnknownField, "")
			err = d.pass(n, limit)
		}
		if err != nil {
			return err
		}
	}
	if bad := d.scopeMessage(scope); bad != "" {
		return d.broken("scope", bad)
	}
	return d.h.Scope(&d.scope)
}

func (d *protobuf) oneSpan(b []byte) error {
	trace, span, parent, bad := d.spanMessage(b)
	if bad != "" {
		return d.broken("span", bad)
	}
	return d.emit(trace, span, parent)
}

// broken is a message that cannot be read. Metrics and logs have their records where traces have spans.
func (d *protobuf) broken(what, bad string) error {
	return d.error(Malformed, "the %s that ends there cannot be read as one of OTLP traces: %s", what, bad)
}
