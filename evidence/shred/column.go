package shred

import "fmt"

// Column is the values of one leaf of a row group, by row.
type Column struct {
	data column
	leaf Leaf
	at   []int // of row i the first level; only where there are lists
	val  []int // of level i the value's index, -1 where there is none; nil where all are there
}

// Read reads one column. A file that lacks it has nulls in it.
func (r *File) Read(g int, path string) (c *Column, err error) {
	rows := r.GroupRows(g)
	i, ok := r.index[path]
	if !ok {
		val := make([]int, rows)
		for i := range val {
			val[i] = -1
		}
		return &Column{val: val}, nil
	}
	c = &Column{leaf: r.leaves[i]}
	if err := r.leaf(g, i, &c.data); err != nil {
		return nil, err
	}
	c.place()
	if n := c.rows(); n != rows {
		return nil, fmt.Errorf("read %s: %w: column %s has %d rows of %d", r.Path, ErrCorrupt, path, n, rows)
	}
	return c, nil
}

func (c *Column) place() {
	if c.leaf.rep > 0 {
		for i, rep := range c.data.reps {
			if rep == 0 {
				c.at = append(c.at, i)
			}
		}
		c.at = append(c.at, len(c.data.reps))
	}
	if c.leaf.def > 0 {
		c.val = make([]int, len(c.data.defs))
		n := 0
		for i, def := range c.data.defs {
			if c.val[i] = -1; def == c.leaf.def {
				c.val[i] = n
				n++
			}
		}
	}
}

func (c *Column) rows() int {
	switch {
	case c.at != nil:
		return len(c.at) - 1
	case c.val != nil:
		return len(c.val)
	}
	return max(len(c.data.texts), len(c.data.ints), len(c.data.floats), len(c.data.bools))
}

func (c *Column) value(level int) int {
	if c.val != nil {
		return c.val[level]
	}
	return level
}

// Text is the text of a row, and whether there is one. It may share memory with the column.
func (c *Column) Text(row int) (string, bool) {
	if i := c.value(row); i >= 0 && i < len(c.data.texts) {
		return string(c.data.texts[i]), true
	}
	return "", false
}

// Bytes is Text without a copy.
func (c *Column) Bytes(row int) []byte {
	if i := c.value(row); i >= 0 && i < len(c.data.texts) {
		return c.data.texts[i]
	}
	return nil
}

// Int is the integer or the time of a row.
func (c *Column) Int(row int) (int64, bool) {
	if i := c.value(row); i >= 0 && i < len(c.data.ints) {
		return c.data.ints[i], true
	}
	return 0, false
}

// Texts are the texts of a row of a list.
func (c *Column) Texts(row int) []string {
	if c.at == nil {
		return nil
	}
	var out []string
	for level := c.at[row]; level < c.at[row+1]; level++ {
		if i := c.value(level); i >= 0 && i < len(c.data.texts) {
			out = append(out, string(c.data.texts[i]))
		}
	}
	return out
}

// Any says whether a text of a row's list is one that f wants.
func (c *Column) Any(row int, f func([]byte) bool) bool {
	if c.at == nil {
		return false
	}
	for level := c.at[row]; level < c.at[row+1]; level++ {
		if i := c.value(level); i >= 0 && i < len(c.data.texts) && f(c.data.texts[i]) {
			return true
		}
	}
	return false
}

// Floats are the numbers of a row of a list.
func (c *Column) Floats(row int) []float64 {
	if c.at == nil {
		return nil
	}
	var out []float64
	for level := c.at[row]; level < c.at[row+1]; level++ {
		if i := c.value(level); i >= 0 && i < len(c.data.floats) {
			out = append(out, c.data.floats[i])
		}
	}
	return out
}
