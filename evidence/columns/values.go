package columns

import (
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
)

// Each calls fn with every row in order. The values are string, bool, int64, uint64, float64, time.Time
// (UTC), []T of these, map[string]string, or nil where the value is missing. The slice is reused; the
// values in it are not.
func (b *Buffer) Each(fn func(row []any) error) error {
	row := make([]any, len(b.vectors))
	cursors := make([]cursor, len(b.vectors))
	for i := range cursors {
		cursors[i].v = &b.vectors[i]
	}
	for range b.rows {
		for i := range cursors {
			row[i] = cursors[i].next()
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}

// cursor walks a vector: level counts definition levels, value counts values.
type cursor struct {
	v            *Vector
	level, value int
}

func (c *cursor) next() any {
	v := c.v
	if v.maxRep > 0 {
		return c.repeated()
	}
	if v.maxDef > 0 {
		def := v.leaves[0].defs[c.level]
		c.level++
		if def < v.maxDef {
			return nil
		}
	}
	x := v.scalar(c.value)
	c.value++
	return x
}

func (c *cursor) repeated() any {
	v := c.v
	l := &v.leaves[0]
	start, n := c.value, 0
	def := l.defs[c.level]
	for {
		if l.defs[c.level] == v.maxDef {
			n++
		}
		c.level++
		if c.level == len(l.reps) || l.reps[c.level] == 0 {
			break
		}
	}
	c.value += n
	if v.column.Nullable && def == 0 {
		return nil
	}
	if v.column.Shape == Map {
		m := make(map[string]string, n)
		for i := start; i < start+n; i++ {
			m[text(l.bytes[i])] = text(v.leaves[1].bytes[i])
		}
		return m
	}
	switch v.column.Type {
	case String:
		out := make([]string, n)
		for i, b := range v.leaves[0].bytes[start : start+n] {
			out[i] = text(b)
		}
		return out
	case Bool:
		return list[bool](v, start, n)
	case Uint64:
		return list[uint64](v, start, n)
	case Float64:
		return list[float64](v, start, n)
	case Timestamp:
		return list[time.Time](v, start, n)
	}
	return list[int64](v, start, n)
}

func list[T any](v *Vector, start, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v.scalar(start + i).(T)
	}
	return out
}

func (v *Vector) scalar(i int) any {
	l := &v.leaves[0]
	switch v.column.Type {
	case String:
		return text(l.bytes[i])
	case Bool:
		return l.bools[i]
	case Uint64:
		return uint64(l.ints[i])
	case Float64:
		return l.floats[i]
	case Timestamp:
		return time.UnixMicro(l.ints[i]).UTC()
	}
	return l.ints[i]
}

// text is the text of b, without a copy: the bytes of a buffer are those of strings, or were made by reading and are never written again.
func text(b parquet.ByteArray) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
