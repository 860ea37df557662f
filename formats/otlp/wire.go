package otlp

import "fmt"

// The wire types of protobuf that proto3 uses.
const (
	varint  = 0
	fixed64 = 1
	bytesOf = 2
	fixed32 = 5
)

// cursor goes through the fields of one message that is in memory.
type cursor struct {
	b    []byte
	at   int
	num  int
	typ  int
	v    uint64 // of a number
	data []byte // of bytes, text or a message
	bad  string // why the message cannot be read
}

// next moves to the next field. It is false at the end and where the message is broken.
func (c *cursor) next() bool {
	if c.at >= len(c.b) || c.bad != "" {
		return false
	}
	tag, ok := c.uvarint()
	if !ok {
		return false
	}
	c.num, c.typ = int(tag>>3), int(tag&7)
	if c.num == 0 || tag > 1<<32-1 {
		c.bad = "a field has a number that none has"
		return false
	}
	switch c.typ {
	case varint:
		c.v, ok = c.uvarint()
		return ok
	case fixed64:
		return c.fixed(8)
	case fixed32:
		return c.fixed(4)
	case bytesOf:
		n, ok := c.uvarint()
		if !ok {
			return false
		}
		if n > uint64(len(c.b)-c.at) {
			c.bad = fmt.Sprintf("field %d says that it has %d bytes, and its message has %d left", c.num, n, len(c.b)-c.at)
			return false
		}
		c.data = c.b[c.at : c.at+int(n)]
		c.at += int(n)
		return true
	}
	c.bad = fmt.Sprintf("field %d has the wire type %d, which the protocol does not use", c.num, c.typ)
	return false
}

func (c *cursor) fixed(n int) bool {
	if len(c.b)-c.at < n {
		c.bad = "a number breaks off"
		return false
	}
	c.v = 0
	for i := range n {
		c.v |= uint64(c.b[c.at+i]) << (8 * i)
	}
	c.at += n
	return true
}

func (c *cursor) uvarint() (uint64, bool) {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1]), true
	}
	var v uint64
	for i := 0; i < 10; i++ {
		if c.at >= len(c.b) {
			c.bad = "a number breaks off"
			return 0, false
		}
		x := c.b[c.at]
		c.at++
		if i == 9 && x > 1 {
			break
		}
		v |= uint64(x&0x7F) << (7 * i)
		if x < 0x80 {
			return v, true
		}
	}
	c.bad = "a number has more than 64 bits"
	return 0, false
}

// is says whether the field has the wire type that it is declared with. Another one is another message.
func (c *cursor) is(typ int) bool {
	if c.typ == typ {
		return true
	}
	if c.bad == "" {
		c.bad = fmt.Sprintf("field %d has the wire type %d and not %d, so it is of another message", c.num, c.typ, typ)
	}
	return false
}

// fail makes text the reason why the message cannot be read, if there is one.
func (c *cursor) fail(text string) {
	if c.bad == "" {
		c.bad = text
	}
}
