package shred

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/flameox/flameox/internal/ijson"
)

// Raw is a value that is canonical text already.
type Raw []byte

// Buffer holds rows column by column.
type Buffer struct {
	fields []Field
	leaves []Leaf
	data   []column
	rows   int
	bytes  int64
}

// column is the levels of a leaf and the values that are there.
type column struct {
	defs, reps []int16
	ints       []int64
	floats     []float64
	bools      []bool
	texts      []parquet.ByteArray
}

// NewBuffer makes an empty buffer.
func NewBuffer(fields []Field) *Buffer {
	leaves := Leaves(fields)
	return &Buffer{fields: fields, leaves: leaves, data: make([]column, len(leaves))}
}

// Rows is how many rows there are.
func (b *Buffer) Rows() int { return b.rows }

// Bytes is about how much text the rows hold.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Reset empties the buffer.
func (b *Buffer) Reset() {
	for i := range b.data {
		c := &b.data[i]
		clear(c.texts)
		c.defs, c.reps, c.ints, c.floats, c.bools, c.texts = c.defs[:0], c.reps[:0], c.ints[:0], c.floats[:0], c.bools[:0], c.texts[:0]
	}
	b.rows, b.bytes = 0, 0
}

// Add appends a document. One that lacks a required member, or has one of another type, is refused; the buffer is then useless.
func (b *Buffer) Add(doc map[string]any) error {
	at := 0
	for i := range b.fields {
		v := doc[b.fields[i].Name]
		if err := b.put(&b.fields[i], &at, v, 0, 0, 0); err != nil {
			return fmt.Errorf("%s: %w", b.fields[i].Name, err)
		}
	}
	b.rows++
	return nil
}

// put appends a value at the leaves that begin at *at. def and rep are the levels of what the value stands in, lists how many lists that is in.
func (b *Buffer) put(f *Field, at *int, v any, def, rep, lists int16) error {
	if v == nil {
		if f.Required {
			return fmt.Errorf("it is missing")
		}
		return b.missing(f, at, def, rep)
	}
	if !f.Required {
		def++
	}
	switch f.Kind {
	case Group:
		m, ok := v.(map[string]any)
		if !ok && f.Alone != "" {
			m, ok = map[string]any{f.Alone: v}, true
		}
		if !ok {
			return fmt.Errorf("it is no object")
		}
		for i := range f.Fields {
			if err := b.put(&f.Fields[i], at, m[f.Fields[i].Name], def, rep, lists); err != nil {
				return fmt.Errorf("%s: %w", f.Fields[i].Name, err)
			}
		}
		return nil
	case List:
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("it is no list")
		}
		if len(list) == 0 {
			return b.missing(f, at, def, rep)
		}
		start := *at
		for i, x := range list {
			*at = start
			r := rep
			if i > 0 {
				r = lists + 1
			}
			if err := b.put(&f.Fields[0], at, x, def+1, r, lists+1); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	c, l := &b.data[*at], &b.leaves[*at]
	*at++
	c.level(l, def, rep)
	return b.value(c, l, v)
}

// missing appends that nothing is there to every leaf below.
func (b *Buffer) missing(f *Field, at *int, def, rep int16) error {
	if f.Kind == Group || f.Kind == List {
		for i := range f.Fields {
			if err := b.missing(&f.Fields[i], at, def, rep); err != nil {
				return err
			}
		}
		return nil
	}
	b.data[*at].level(&b.leaves[*at], def, rep)
	*at++
	return nil
}

func (c *column) level(l *Leaf, def, rep int16) {
	if l.def > 0 {
		c.defs = append(c.defs, def)
	}
	if l.rep > 0 {
		c.reps = append(c.reps, rep)
	}
}

func (b *Buffer) value(c *column, l *Leaf, v any) error {
	switch l.Kind {
	case JSON:
		text, there := v.(Raw)
		var err error
		if !there {
			text, err = ijson.Canonical(v)
		}
		if err != nil {
			return err
		}
		c.texts = append(c.texts, parquet.ByteArray(text))
		b.bytes += int64(len(text))
		return nil
	case Text:
		if s, ok := v.(string); ok {
			c.texts = append(c.texts, []byte(s))
			b.bytes += int64(len(s))
			return nil
		}
	case Time:
		if s, ok := v.(string); ok {
			t, err := time.Parse(time.RFC3339Nano, s)
			if err != nil {
				return fmt.Errorf("%q is no time", s)
			}
			c.ints = append(c.ints, t.UnixMicro())
			return nil
		}
	case Int:
		if f, ok := v.(float64); ok && f == math.Trunc(f) {
			c.ints = append(c.ints, int64(f))
			return nil
		}
	case Float:
		if f, ok := v.(float64); ok {
			c.floats = append(c.floats, f)
			return nil
		}
	case Bool:
		if x, ok := v.(bool); ok {
			c.bools = append(c.bools, x)
			return nil
		}
	}
	return fmt.Errorf("it has another type")
}
