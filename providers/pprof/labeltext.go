package pprof

import "encoding/binary"

// labelText is how many bytes of text the labels of all samples refer to. The reader hashes a label's key whenever it meets it, and
// a text of any length is an index of a few bytes in each sample, so the work is counted before the reader begins it.
func labelText(data []byte) (total int64) {
	var sizes []int64
	fields(data, func(field, wire, v uint64, _ []byte) {
		if field == 6 && wire == 2 {
			sizes = append(sizes, int64(v))
		}
	})
	size := func(i uint64) int64 {
		if i < uint64(len(sizes)) {
			return sizes[i]
		}
		return 0
	}
	fields(data, func(field, wire, _ uint64, sample []byte) {
		if field != 2 || wire != 2 {
			return
		}
		fields(sample, func(field, wire, _ uint64, label []byte) {
			if field != 3 || wire != 2 {
				return
			}
			fields(label, func(field, wire, v uint64, _ []byte) {
				if wire == 0 && (field == 1 || field == 2 || field == 4) { // key, text, unit
					total += size(v)
				}
			})
		})
	})
	return total
}

// fixed are the sizes of numbers of wire types that have one.
var fixed = [8]int{1: 8, 5: 4}

// fields calls visit for each field of a message up to where it is none: v is a number, or the length of inner.
func fields(data []byte, visit func(field, wire, v uint64, inner []byte)) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data = data[n:]
		switch tag & 7 {
		case 1, 5:
			data = data[min(fixed[tag&7], len(data)):]
			continue
		case 0, 2:
		default:
			return
		}
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data = data[n:]
		if tag&7 == 0 {
			visit(tag>>3, 0, v, nil)
			continue
		}
		if v > uint64(len(data)) {
			return
		}
		visit(tag>>3, 2, v, data[:v])
		data = data[v:]
	}
}
