package columns

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
)

// Buffer holds rows column by column: the vectors of a schema's columns, all of one length. A caller
// appends one value to every vector and then counts the row with Row.
//
// Strings are kept by reference until the buffer is written or reset: they must not share memory with
// something that is overwritten, as is already true of every Go string that was not made with unsafe.
type Buffer struct {
	schema  *Schema
	vectors []Vector
	rows    int
	weighed int // rows when Full looked last
}

// NewBuffer makes an empty buffer of the schema's columns.
func NewBuffer(s *Schema) *Buffer {
	b := &Buffer{schema: s, vectors: make([]Vector, len(s.Columns))}
	for i := range b.vectors {
		c := &s.Columns[i]
		v := &b.vectors[i]
		v.column = c
		v.maxDef, v.maxRep = c.levels()
		v.leaves = make([]leaf, c.leaves())
	}
	return b
}

// Schema is the schema the buffer was made of.
func (b *Buffer) Schema() *Schema { return b.schema }

// Vector is the vector of the i-th column.
func (b *Buffer) Vector(i int) *Vector { return &b.vectors[i] }

// Rows is the number of rows.
func (b *Buffer) Rows() int { return b.rows }

// Row counts one row, after one value was appended to every vector.
func (b *Buffer) Row() { b.rows++ }

// Bytes is about how much memory the values refer to.
func (b *Buffer) Bytes() int64 {
	var n int64
	for i := range b.vectors {
		v := &b.vectors[i]
		n += v.text
		for j := range v.leaves {
			l := &v.leaves[j]
			n += int64(len(l.defs)+len(l.reps))*2 + int64(len(l.bools)) + int64(len(l.ints)+len(l.floats))*8 + int64(len(l.bytes))*24
		}
	}
	return n
}

// Reset empties the buffer and keeps its memory.
func (b *Buffer) Reset() {
	for i := range b.vectors {
		v := &b.vectors[i]
		v.text, v.repaired, v.varied = 0, 0, false
		for j := range v.leaves {
			v.leaves[j].clear()
		}
	}
	b.rows, b.weighed = 0, 0
}

// Repaired is the number of strings since the last Reset that were not UTF-8, which Parquet's string type
// requires: each wrong byte is held as U+FFFD.
func (b *Buffer) Repaired() int {
	n := 0
	for i := range b.vectors {
		n += b.vectors[i].repaired
	}
	return n
}

// Vector is the values of one column. Which method appends a value follows from the column's type and
// shape; a value of another type is a mistake of the caller and makes the vectors unequal, which Write
// refuses.
type Vector struct {
	column   *Column
	maxDef   int16
	maxRep   int16
	leaves   []leaf
	text     int64 // bytes of strings
	repaired int
	varied   bool   // not every text of the buffer is the first one
	pairs    []pair // scratch of Map
	last     *byte  // the text that was found valid last
	lastLen  int
	defs     []int16 // scratch of reading
	reps     []int16
}

type pair struct{ key, value string }

// leaf is one Parquet column: the levels, and the values that are there. Levels are only kept where the
// column has them.
type leaf struct {
	defs, reps []int16
	bools      []bool
	ints       []int64 // also unsigned numbers and timestamps
	floats     []float64
	bytes      []parquet.ByteArray
	at         place // of the row that append reached last
}

// place is where a row starts in a leaf.
type place struct{ row, level, value int }

func (v *Vector) present() {
	if v.maxDef > 0 {
		l := &v.leaves[0]
		l.defs = append(l.defs, v.maxDef)
	}
}

// Null appends a missing value to a nullable column.
func (v *Vector) Null() {
	for i := range v.leaves {
		l := &v.leaves[i]
		l.defs = append(l.defs, 0)
		if v.maxRep > 0 {
			l.reps = append(l.reps, 0)
		}
	}
}

// Int64 appends an integer, or a timestamp in microseconds.
func (v *Vector) Int64(x int64) {
	v.present()
	v.leaves[0].ints = append(v.leaves[0].ints, x)
}

// Uint64 appends an unsigned integer.
func (v *Vector) Uint64(x uint64) { v.Int64(int64(x)) }

// Bool appends a truth value.
func (v *Vector) Bool(x bool) {
	v.present()
	v.leaves[0].bools = append(v.leaves[0].bools, x)
}

// Float64 appends a finite number. Infinity and NaN are no measurements: they are refused, and nothing
// is appended.
func (v *Vector) Float64(x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("column %s: %v is not a finite number; leave the value missing and say why", v.column.Name, x)
	}
	v.present()
	v.leaves[0].floats = append(v.leaves[0].floats, x)
	return nil
}

// String appends a text.
func (v *Vector) String(s string) {
	v.present()
	l := &v.leaves[0]
	b := v.valid(s)
	if n := len(l.bytes); n > 0 && !v.varied {
		// By content, not by address alone: equal rows must take the same path to the same bytes.
		v.varied = !bytes.Equal(l.bytes[n-1], b)
	}
	l.bytes = append(l.bytes, b)
}

// constant says that every row of the vector is known to have the same text.
func (v *Vector) constant() bool {
	return v.column.Type == String && v.maxDef == 0 && !v.varied && len(v.leaves[0].bytes) > 1
}

// valid is the bytes of s, without a copy where s is UTF-8.
func (v *Vector) valid(s string) parquet.ByteArray {
	if s == "" {
		return parquet.ByteArray{}
	}
	if d := unsafe.StringData(s); d == v.last && len(s) == v.lastLen {
		v.text += int64(len(s)) // the very text of the row before
		return unsafe.Slice(d, len(s))
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		v.repaired++
	}
	v.text += int64(len(s))
	v.last, v.lastLen = unsafe.StringData(s), len(s)
	return unsafe.Slice(v.last, len(s))
}

// empty appends a list or a map without an entry.
func (v *Vector) empty() {
	for i := range v.leaves {
		l := &v.leaves[i]
		l.defs = append(l.defs, v.maxDef-1)
		l.reps = append(l.reps, 0)
	}
}

// Strings appends a list of texts.
func (v *Vector) Strings(list []string) {
	if len(list) == 0 {
		v.empty()
		return
	}
	l := &v.leaves[0]
	for i, s := range list {
		l.defs = append(l.defs, v.maxDef)
		l.reps = append(l.reps, first(i))
		l.bytes = append(l.bytes, v.valid(s))
	}
}

// Int64s appends a list of integers or timestamps.
func (v *Vector) Int64s(list []int64) {
	if len(list) == 0 {
		v.empty()
		return
	}
	l := &v.leaves[0]
	for i, x := range list {
		l.defs = append(l.defs, v.maxDef)
		l.reps = append(l.reps, first(i))
		l.ints = append(l.ints, x)
	}
}

// Float64s appends a list of finite numbers; where one is not, nothing is appended.
func (v *Vector) Float64s(list []float64) error {
	for i, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("column %s: element %d is %v, not a finite number", v.column.Name, i, x)
		}
	}
	if len(list) == 0 {
		v.empty()
		return nil
	}
	l := &v.leaves[0]
	for i, x := range list {
		l.defs = append(l.defs, v.maxDef)
		l.reps = append(l.reps, first(i))
		l.floats = append(l.floats, x)
	}
	return nil
}

// Map appends a map, its entries in ascending order of key, so that equal maps are equal bytes.
func (v *Vector) Map(m map[string]string) {
	if len(m) == 0 {
		v.empty()
		return
	}
	pairs := v.pairs[:0]
	for k, x := range m {
		// Insertion: a map of dimensions has a few entries, and one walk is cheaper than a sort and a look-up each.
		i := len(pairs)
		pairs = append(pairs, pair{k, x})
		for ; i > 0 && pairs[i-1].key > k; i-- {
			pairs[i] = pairs[i-1]
		}
		pairs[i] = pair{k, x}
	}
	v.pairs = pairs
	kl, vl := &v.leaves[0], &v.leaves[1]
	var last parquet.ByteArray
	for i, p := range pairs {
		r := first(i)
		key := v.valid(p.key)
		if i > 0 && v.repaired > 0 && string(key) == string(last) {
			continue // two keys that only differed in bytes that are no text; a map has a key once
		}
		last = key
		kl.defs = append(kl.defs, v.maxDef)
		kl.reps = append(kl.reps, r)
		kl.bytes = append(kl.bytes, key)
		vl.defs = append(vl.defs, v.maxDef)
		vl.reps = append(vl.reps, r)
		vl.bytes = append(vl.bytes, v.valid(p.value))
	}
}

func first(i int) int16 {
	if i == 0 {
		return 0
	}
	return 1
}

// Undo removes what was appended since the last Row: after a value of a row was refused.
func (b *Buffer) Undo() {
	for i := range b.vectors {
		v := &b.vectors[i]
		if n := v.rows(); n > b.rows {
			v.drop(n - b.rows)
		}
	}
}

// rows is the number of rows the vector holds.
func (v *Vector) rows() int {
	l := &v.leaves[0]
	switch {
	case v.maxRep > 0:
		n := 0
		for _, r := range l.reps {
			if r == 0 {
				n++
			}
		}
		return n
	case v.maxDef > 0:
		return len(l.defs)
	}
	return l.values(v.column.Type)
}

// drop removes the last n rows.
func (v *Vector) drop(n int) {
	for range n {
		for i := range v.leaves {
			l := &v.leaves[i]
			for {
				start := true
				if v.maxRep > 0 {
					start = l.reps[len(l.reps)-1] == 0
					l.reps = l.reps[:len(l.reps)-1]
				}
				there := true
				if v.maxDef > 0 {
					there = l.defs[len(l.defs)-1] == v.maxDef
					l.defs = l.defs[:len(l.defs)-1]
				}
				if there {
					v.pop(l)
				}
				if start {
					break
				}
			}
		}
	}
}

func (v *Vector) pop(l *leaf) {
	switch v.column.Type {
	case String:
		l.bytes = l.bytes[:len(l.bytes)-1]
	case Bool:
		l.bools = l.bools[:len(l.bools)-1]
	case Float64:
		l.floats = l.floats[:len(l.floats)-1]
	default:
		l.ints = l.ints[:len(l.ints)-1]
	}
}
