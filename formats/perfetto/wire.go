package perfetto

import (
	"encoding/binary"
	"math"
)

// message goes through the fields of one protobuf message.
type message struct {
	rest  []byte
	field int
	wire  int
	n     uint64 // of a varint or a fixed number
	bytes []byte // of a length-delimited field
	bad   bool
}

// next reads a field. It is false at the end, and where the message is damaged.
func (m *message) next() bool {
	if len(m.rest) == 0 || m.bad {
		return false
	}
	tag, ok := m.varint()
	if !ok || tag>>3 == 0 || tag>>3 > 1<<29 {
		return m.damaged()
	}
	m.field, m.wire, m.n, m.bytes = int(tag>>3), int(tag&7), 0, nil
	switch m.wire {
	case 0:
		if m.n, ok = m.varint(); !ok {
			return m.damaged()
		}
	case 1:
		if len(m.rest) < 8 {
			return m.damaged()
		}
		m.n, m.rest = binary.LittleEndian.Uint64(m.rest), m.rest[8:]
	case 2:
		n, ok := m.varint()
		if !ok || n > uint64(len(m.rest)) {
			return m.damaged()
		}
		m.bytes, m.rest = m.rest[:n], m.rest[n:]
	case 5:
		if len(m.rest) < 4 {
			return m.damaged()
		}
		m.n, m.rest = uint64(binary.LittleEndian.Uint32(m.rest)), m.rest[4:]
	default:
		return m.damaged()
	}
	return true
}

func (m *message) damaged() bool {
	m.bad = true
	return false
}

func (m *message) varint() (uint64, bool) {
	n, size := binary.Uvarint(m.rest)
	if size <= 0 {
		return 0, false
	}
	m.rest = m.rest[size:]
	return n, true
}

func (m *message) double() float64 { return math.Float64frombits(m.n) }

// repeated appends the numbers of a field that may be packed.
func (m *message) repeated(list []uint64, fixed bool) []uint64 {
	switch {
	case m.wire != 2:
		return append(list, m.n)
	case fixed:
		for b := m.bytes; len(b) >= 8; b = b[8:] {
			list = append(list, binary.LittleEndian.Uint64(b))
		}
		return list
	}
	for b := m.bytes; len(b) > 0; {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			m.bad = true
			break
		}
		list, b = append(list, n), b[size:]
	}
	return list
}
