package evidence

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence/columns"
)

// ScanOptions narrow a Scan.
type ScanOptions struct {
	Columns []string // in this order; all where empty
	Limit   int64    // rows; all where 0
}

// FileInfo says what a table file holds.
type FileInfo struct {
	Table   string // as the file says; "" where flameox did not write it
	Rows    int64
	Columns []Column
}

// errEnough ends a scan at its limit.
var errEnough = errors.New("enough rows")

// Describe reads the footer of a table file.
func Describe(path string) (FileInfo, error) {
	r, err := columns.Open(path)
	if err != nil {
		return FileInfo{}, err
	}
	defer r.Close()
	return FileInfo{Table: r.Schema().Name, Rows: r.Rows(), Columns: r.Schema().Columns}, nil
}

// Scan calls fn with the rows of one table file in order, without DuckDB. A row's values are string, bool,
// int64, uint64, float64, time.Time (UTC), slices of these, map[string]string, or nil where the value is
// missing. The slice that fn gets is reused. An error of fn ends the scan and is returned. What is held at once is a few thousand rows, or
// one that is larger, and not a row group.
func Scan(path string, opt ScanOptions, fn func(cols []Column, row []any) error) error {
	r, err := columns.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	want := r.Schema()
	if len(opt.Columns) > 0 {
		want = &columns.Schema{Name: want.Name}
		for _, name := range opt.Columns {
			i := r.Schema().Index(name)
			if i < 0 {
				return fmt.Errorf("reading %s: it has no column %q; it has %s", path, name, names(r.Schema()))
			}
			want.Columns = append(want.Columns, r.Schema().Columns[i])
		}
		if err := want.Check(); err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
	}
	b := columns.NewBuffer(want)
	var n int64
	for g := range r.Groups() {
		err := r.Each(g, b, func(b *columns.Buffer) error {
			return b.Each(func(row []any) error {
				if opt.Limit > 0 && n >= opt.Limit {
					return errEnough
				}
				n++
				return fn(want.Columns, row)
			})
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func names(s *columns.Schema) string {
	var out []string
	for i := range s.Columns {
		out = append(out, s.Columns[i].Name)
	}
	return strings.Join(out, ", ")
}
