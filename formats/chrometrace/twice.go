package chrometrace

import "bytes"

// members are the names that one object had so far. Few objects have many, and most names differ in what a bit tells.
type members struct {
	bits  uint64
	list  []Text
	table map[string]bool // where there are too many to look through
}

const membersMost = 64

func (m *members) reset() {
	m.bits, m.list, m.table = 0, m.list[:0], nil
}

// twice says whether the name was met before, in whatever way it is written.
func (m *members) twice(t Text) bool {
	name := t.Bytes()
	if m.table != nil {
		if m.table[string(name)] {
			return true
		}
		m.table[string(name)] = true
		return false
	}
	bit := uint64(1)
	if n := len(name); n > 0 {
		bit = 1 << ((31*uint(n) + uint(name[0]) + 7*uint(name[n-1])) & 63)
	}
	if m.bits&bit != 0 {
		for _, other := range m.list {
			if bytes.Equal(other.Bytes(), name) {
				return true
			}
		}
	}
	m.bits |= bit
	if m.list = append(m.list, t); len(m.list) == membersMost {
		m.table = make(map[string]bool, 2*membersMost)
		for _, other := range m.list {
			m.table[string(other.Bytes())] = true
		}
	}
	return false
}
