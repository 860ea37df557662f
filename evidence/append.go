package evidence

import (
	"fmt"
	"unsafe"

	"github.com/flameox/flameox/evidence/columns"
)

// appender appends the rows of one struct type to a buffer.
type appender[T any] struct {
	table  *Table
	puts   []put
	checks bool
}

func newAppender[T any](name string) appender[T] {
	table, ok := Lookup(name)
	if !ok {
		panic("evidence: no table is called " + name)
	}
	_, checks := any((*T)(nil)).(checker)
	return appender[T]{table: table, puts: plan(table.row, table.PartSchema()), checks: checks}
}

// append appends the struct's own columns; the buffer's row is not counted yet. Where the row is refused
// the buffer is as it was.
func (a *appender[T]) append(b *columns.Buffer, row *T) error {
	if a.checks {
		if err := any(row).(checker).check(); err != nil {
			b.Undo()
			return fmt.Errorf("table %s: %w", a.table.Name, err)
		}
	}
	for _, put := range a.puts {
		if err := put(b, unsafe.Pointer(row)); err != nil {
			b.Undo()
			return fmt.Errorf("table %s: %w", a.table.Name, err)
		}
	}
	b.Row()
	return nil
}

// RunAppender appends rows of the runs table to a buffer of its published schema.
type RunAppender struct{ a appender[Run] }

// NewRunAppender makes one; it is for one goroutine.
func NewRunAppender() *RunAppender { return &RunAppender{newAppender[Run](RunsTable)} }

// Append appends one row.
func (r *RunAppender) Append(b *columns.Buffer, run *Run) error { return r.a.append(b, run) }
