package columns

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// batch is how many levels are read at once.
const batch = 4096

// maxElements bounds the elements of all lists of one row group: levels compress so well that a damaged page
// of a few bytes can announce billions.
const maxElements = 1 << 27

// readLeaf appends one column chunk. fileNullable says whether the file's column has one definition level
// that the vector's column may lack or have in addition.
func (v *Vector) readLeaf(l *leaf, cr file.ColumnChunkReader, fileNullable bool, rows int) error {
	v.varied = true // it may be
	raise := int16(0)
	if v.column.Nullable && !fileNullable {
		raise = 1 // present in the file is one level deeper here
	}
	fileDef, fileRep := cr.Descriptor().MaxDefinitionLevel(), cr.Descriptor().MaxRepetitionLevel()
	if fileDef+raise != v.maxDef || fileRep != v.maxRep {
		return fmt.Errorf("levels %d and %d are not those of its type", fileDef, fileRep)
	}
	// One more than there are rows, so that a chunk with too many values is noticed.
	n := min(batch, rows+1)
	var defs, reps []int16
	if fileDef > 0 {
		v.defs = slices.Grow(v.defs[:0], n)
		defs = v.defs[:n]
	}
	if fileRep > 0 {
		v.reps = slices.Grow(v.reps[:0], n)
		reps = v.reps[:n]
	}
	seen, got, values := 0, 0, len(l.bytes)
	for cr.HasNext() {
		total, read, err := l.readBatch(cr, n, defs, reps)
		if err != nil {
			return err
		}
		if total == 0 {
			return errors.New("a page without values")
		}
		present := int(total)
		if fileDef > 0 {
			present = 0
			for _, d := range defs[:total] {
				if d < 0 || d > fileDef {
					return fmt.Errorf("definition level %d", d)
				}
				if d == fileDef {
					present++
				}
				l.defs = append(l.defs, d+raise)
			}
		} else if v.maxDef > 0 {
			for range total {
				l.defs = append(l.defs, v.maxDef)
			}
		}
		if present != read {
			return fmt.Errorf("%d values where %d are announced", read, present)
		}
		if fileRep > 0 {
			for i, rep := range reps[:total] {
				switch {
				case rep < 0 || rep > fileRep || rep > 0 && seen == 0 || rep > 0 && defs[i] < fileDef:
					return fmt.Errorf("repetition level %d", rep)
				case rep == 0:
					seen++
				}
				l.reps = append(l.reps, rep)
			}
		} else {
			seen += int(total)
		}
		got += int(total)
		if seen > rows || got > rows+maxElements {
			return fmt.Errorf("more values than %d rows can have", rows)
		}
	}
	if err := cr.Err(); err != nil {
		return err
	}
	if seen != rows {
		return fmt.Errorf("%d rows where the row group has %d", seen, rows)
	}
	for _, b := range l.bytes[values:] {
		v.text += int64(len(b))
	}
	return nil
}

// readBatch reads up to n levels and appends the values that are there.
func (l *leaf) readBatch(cr file.ColumnChunkReader, n int, defs, reps []int16) (total int64, read int, err error) {
	switch cr := cr.(type) {
	case *file.ByteArrayColumnChunkReader:
		at := len(l.bytes)
		l.bytes = slices.Grow(l.bytes, n)
		total, read, err = cr.ReadBatch(int64(n), l.bytes[at:at+n], defs, reps)
		l.bytes = l.bytes[:at+read]
	case *file.Int64ColumnChunkReader:
		at := len(l.ints)
		l.ints = slices.Grow(l.ints, n)
		total, read, err = cr.ReadBatch(int64(n), l.ints[at:at+n], defs, reps)
		l.ints = l.ints[:at+read]
	case *file.Float64ColumnChunkReader:
		at := len(l.floats)
		l.floats = slices.Grow(l.floats, n)
		total, read, err = cr.ReadBatch(int64(n), l.floats[at:at+n], defs, reps)
		l.floats = l.floats[:at+read]
	case *file.BooleanColumnChunkReader:
		at := len(l.bools)
		l.bools = slices.Grow(l.bools, n)
		total, read, err = cr.ReadBatch(int64(n), l.bools[at:at+n], defs, reps)
		l.bools = l.bools[:at+read]
	default:
		err = fmt.Errorf("no column of a table is read by %T", cr)
	}
	return total, read, err
}

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
