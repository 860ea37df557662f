// Package join computes the instances of a block from its own axes and those of the blocks it refers to.
//
// A block's instances are the natural join of its upstreams: rows that agree on the axes they share, combined in every way over
// the others. An own axis that an upstream already has selects from it. Every step is a hash join, so the
// work is the size of the inputs and of the result, never their product; and results are bounded, because ten axes of a hundred
// values are a mistake that must not take the machine with it.
//
// The package knows axes and rows only: no blocks, no HCL.
package join

import (
	"errors"
	"slices"
	"strings"
)

// Limit is how many rows a table may have.
const Limit = 1_000_000

// ErrTooMany says that a table would have more than Limit rows.
var ErrTooMany = errors.New("too many instances")

// Table is rows over axes. Picks says which row of each joined upstream a row stands on.
type Table struct {
	Axes  []string
	Rows  [][]string // canonical values, in the order of Axes
	Picks [][]int32  // row numbers, one for each Upstream in the order of joining
}

// One is the table with one row and no axes, which every join starts from.
func One() *Table { return &Table{Rows: [][]string{nil}, Picks: [][]int32{nil}} }

// Upstream is the instances of a block. Rows are distinct.
type Upstream struct {
	Axes []string
	Rows [][]string
}

// Join is the natural join of t with u, in the order of t's rows, then u's.
func (t *Table) Join(u Upstream) (*Table, error) {
	var left, right, added []int // columns: shared ones on both sides, and those that only u has
	out := &Table{Axes: slices.Clone(t.Axes)}
	for j, name := range u.Axes {
		if i := slices.Index(t.Axes, name); i >= 0 {
			left, right = append(left, i), append(right, j)
		} else {
			added = append(added, j)
			out.Axes = append(out.Axes, name)
		}
	}
	matches := map[string][]int32{}
	for i, row := range u.Rows {
		k := key(row, right)
		matches[k] = append(matches[k], int32(i))
	}
	total := 0
	for _, row := range t.Rows {
		total += len(matches[key(row, left)])
		if total > Limit {
			return nil, ErrTooMany
		}
	}
	out.Rows, out.Picks = make([][]string, 0, total), make([][]int32, 0, total)
	// Two arrays for all rows: a table of 10,000 rows is not 20,000 allocations.
	values, picks := make([]string, 0, total*len(out.Axes)), make([]int32, 0, total*(t.width()+1))
	for i, row := range t.Rows {
		for _, m := range matches[key(row, left)] {
			v, p := len(values), len(picks)
			values = append(values, row...)
			for _, j := range added {
				values = append(values, u.Rows[m][j])
			}
			picks = append(append(picks, t.Picks[i]...), m)
			out.Rows = append(out.Rows, values[v:len(values):len(values)])
			out.Picks = append(out.Picks, picks[p:len(picks):len(picks)])
		}
	}
	return out, nil
}

func (t *Table) width() int {
	if len(t.Picks) == 0 {
		return 0
	}
	return len(t.Picks[0])
}

// key is the values of some columns as one string. No value has a NUL byte.
func key(row []string, columns []int) string {
	switch len(columns) {
	case 0:
		return ""
	case 1:
		return row[columns[0]]
	}
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(row[c])
		b.WriteByte(0)
	}
	return b.String()
}

// Axis adds an own axis: a product with its values or, where t already has an axis of that name, a selection. Unknown lists the
// values that select nothing because no row has them, in the order given.
func (t *Table) Axis(name string, values []string) (out *Table, unknown []string, err error) {
	i := slices.Index(t.Axes, name)
	if i < 0 {
		rows := make([][]string, len(values))
		for k := range values {
			rows[k] = values[k : k+1 : k+1]
		}
		out, err = t.Join(Upstream{Axes: []string{name}, Rows: rows})
		if err != nil {
			return nil, nil, err
		}
		for k := range out.Picks { // an own axis is not an upstream
			out.Picks[k] = out.Picks[k][:len(out.Picks[k])-1]
		}
		return out, nil, nil
	}
	have := map[string]bool{}
	for _, row := range t.Rows {
		have[row[i]] = true
	}
	wanted := map[string]bool{}
	for _, v := range values {
		wanted[v] = true
		if !have[v] {
			unknown = append(unknown, v)
		}
	}
	out = &Table{Axes: t.Axes}
	for k, row := range t.Rows {
		if wanted[row[i]] {
			out.Rows, out.Picks = append(out.Rows, row), append(out.Picks, t.Picks[k])
		}
	}
	return out, unknown, nil
}
