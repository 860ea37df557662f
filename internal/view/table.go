package view

import (
	"io"
	"unicode/utf8"
)

// Table is rows in aligned columns.
type Table struct {
	Columns []Column
	Rows    [][]string
	Empty   string // written instead where there are no rows
	Footer  string // a last line, or ""
}

// Column describes one column.
type Column struct {
	Title string
	Right bool // numbers
	Path  bool // loses its middle, not its end, where there is no room
	Keep  bool // is never shortened
	Wrap  bool // of the last one: goes on in further lines below itself
}

// Write writes the table. Without a width nothing is shortened.
func (v *Table) Write(w io.Writer, o Options) error {
	p := newPage(o)
	if len(v.Rows) == 0 && v.Empty != "" {
		p.put(0, line{{v.Empty, plain}})
		return p.writeTo(w)
	}
	p.table(v, 0)
	if v.Footer != "" {
		p.put(0, line{{clean(v.Footer), plain}})
	}
	return p.writeTo(w)
}

// columnGap is between two columns.
const columnGap = 2

func (p *page) table(v *Table, indent int) {
	width := make([]int, len(v.Columns))
	titled := false
	for i, c := range v.Columns {
		width[i] = utf8.RuneCountInString(c.Title)
		titled = titled || c.Title != ""
	}
	cells := make([][]string, len(v.Rows))
	for r, row := range v.Rows {
		cells[r] = make([]string, len(v.Columns))
		for i := range v.Columns {
			if i < len(row) {
				cells[r][i] = p.o.symbols(clean(row[i]))
			}
			width[i] = max(width[i], utf8.RuneCountInString(cells[r][i]))
		}
	}
	hang := indent
	if last := len(v.Columns) - 1; last >= 0 && v.Columns[last].Wrap {
		width[last] = 0
		for _, n := range width[:last] {
			hang += n + columnGap
		}
	}
	shrink(width, v.Columns, p.o.Width-indent)
	if titled {
		l := line{}.pad(indent)
		for i, c := range v.Columns {
			l = p.cell(l, c, width[i], c.Title, strong, i == 0)
		}
		p.put(indent, l)
	}
	for _, row := range cells {
		l := line{}.pad(indent)
		for i, c := range v.Columns {
			l = p.cell(l, c, width[i], row[i], plain, i == 0)
		}
		p.put(hang, l)
	}
}

func (p *page) cell(l line, c Column, n int, s string, st style, first bool) line {
	if !first {
		l = l.pad(l.width() + columnGap)
	}
	switch {
	case c.Wrap:
		n = utf8.RuneCountInString(s)
	case c.Path:
		s = cutMiddle(s, n, p.g.ellipsis)
	default:
		s = cutEnd(s, n, p.g.ellipsis)
	}
	start := l.width()
	if c.Right {
		l = l.pad(start + n - utf8.RuneCountInString(s))
	}
	return l.add(st, s).pad(start + n)
}

// leastColumn is as narrow as a column becomes.
const leastColumn = 8

// shrink takes columns from the widest ones until the table fits total, which is no limit where it is not positive.
func shrink(width []int, columns []Column, total int) {
	if total <= 0 {
		return
	}
	sum := columnGap * (len(width) - 1)
	for _, n := range width {
		sum += n
	}
	for sum > total {
		widest := -1
		for i, n := range width {
			if !columns[i].Keep && n > leastColumn && (widest < 0 || n > width[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return // wider than the output whatever is done: lines wrap
		}
		width[widest]--
		sum--
	}
}
