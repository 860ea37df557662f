package columns

import "fmt"

// append adds the rows from (inclusive) to (exclusive) of src, a vector of a column of the same type,
// shape and nullability.
func (v *Vector) append(src *Vector, from, to int) {
	v.varied = true // it may be; comparing would cost more than it saves
	for j := range v.leaves {
		d, s := &v.leaves[j], &src.leaves[j]
		lo := s.find(from, v.maxDef, v.maxRep)
		hi := s.find(to, v.maxDef, v.maxRep)
		if v.maxRep > 0 {
			d.reps = append(d.reps, s.reps[lo.level:hi.level]...)
		}
		if v.maxDef > 0 {
			d.defs = append(d.defs, s.defs[lo.level:hi.level]...)
		}
		switch v.column.Type {
		case String:
			d.bytes = append(d.bytes, s.bytes[lo.value:hi.value]...)
			for _, b := range s.bytes[lo.value:hi.value] {
				v.text += int64(len(b))
			}
		case Bool:
			d.bools = append(d.bools, s.bools[lo.value:hi.value]...)
		case Float64:
			d.floats = append(d.floats, s.floats[lo.value:hi.value]...)
		default:
			d.ints = append(d.ints, s.ints[lo.value:hi.value]...)
		}
	}
}

// find is where a row starts. It walks on from the row it found last, so that copying a buffer piece by piece
// walks it once.
func (l *leaf) find(row int, maxDef, maxRep int16) place {
	if maxDef == 0 {
		return place{row, row, row}
	}
	p := l.at
	if row < p.row {
		p = place{}
	}
	for p.row < row && p.level < len(l.defs) {
		if l.defs[p.level] == maxDef {
			p.value++
		}
		p.level++
		if maxRep == 0 || p.level == len(l.reps) || l.reps[p.level] == 0 {
			p.row++
		}
	}
	l.at = p
	return p
}

// AppendRows adds the rows from (inclusive) to (exclusive) of src. A column of b that src has not, by name,
// gets the text of fill, or is an error.
func (b *Buffer) AppendRows(src *Buffer, from, to int, fill map[string]string) error {
	if from < 0 || to > src.rows || from > to {
		return fmt.Errorf("rows %d to %d of %d", from, to, src.rows)
	}
	for i := range b.vectors {
		v := &b.vectors[i]
		if at := src.schema.Index(v.column.Name); at >= 0 {
			s := &src.vectors[at]
			if s.column.Type != v.column.Type || s.column.Shape != v.column.Shape || s.column.Nullable != v.column.Nullable {
				return fmt.Errorf("column %s is %s in one table and %s in the other", v.column.Name, s.column.TypeName(), v.column.TypeName())
			}
			v.append(s, from, to)
			continue
		}
		text, ok := fill[v.column.Name]
		if !ok || v.column.Type != String || v.column.Shape != Scalar {
			return fmt.Errorf("column %s has no value", v.column.Name)
		}
		for range to - from {
			v.String(text)
		}
	}
	b.rows += to - from
	return nil
}
