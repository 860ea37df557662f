package evidence

import (
	"reflect"
	"slices"

	"github.com/flameox/flameox/evidence/columns"
)

// Column is one column of a table: name, type, unit, documentation.
type Column = columns.Column

// Table is one table of the published evidence.
type Table struct {
	Name string
	Doc  string // what one row is
	// Weight is what the rows of the table weigh: over a budget the heaviest are kept. "" where nothing
	// weighs them, and going over a budget is refused.
	Weight  string
	Columns []Column // as published, run first

	part *columns.Schema // of an extraction's file: without run
	row  reflect.Type
}

// PublishedSchema is the schema of the table's published files.
func (t *Table) PublishedSchema() *columns.Schema {
	return &columns.Schema{Name: t.Name, Columns: slices.Clone(t.Columns)}
}

// PartSchema is the schema of an extraction's file, or of the runs table the published one.
func (t *Table) PartSchema() *columns.Schema { return t.part }

// Column is the column called name.
func (t *Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// RunsTable is the name of the table that all others join.
const RunsTable = "runs"

// MeasurementsTable is the name of the table of samples.
const MeasurementsTable = "measurements"

// ResourcesTable is the name of the table of what the engine samples while something runs.
const ResourcesTable = "resources"

// The columns that are not in the row structs.
var (
	runColumn  = Column{Name: "run", Type: columns.String, Doc: "run of the capture or the import: joins runs.run"}
	partPrefix = []Column{
		{Name: "artifact", Type: columns.String, Doc: "SHA-256 of the native payload, or of the list of payloads where there are several"},
		{Name: "provider", Type: columns.String, Doc: "provider that extracted the row"},
		{Name: "provider_version", Type: columns.Int64, Doc: "implementation version of the provider, raised when its output changes"},
	}
)

// tables is what Tables returns, made once: it follows from types alone.
var tables = []Table{
	newTable[Run](RunsTable, "one executed or imported stage: identity, status, times, host, semantics, limitations", ""),
	newTable[Resource](ResourcesTable, "one sampled point or summary of a process tree, a device or a file system", ""),
	newTable[Measurement](MeasurementsTable, "one sample of one metric, never a mean of samples", ""),
	newTable[Frame]("frames", "one place in a program, as the producer names it", ""),
	newTable[FrameValue]("frame_values", "the weight of one frame in one metric; recursion is counted once in inclusive", "inclusive"),
	newTable[CallEdge]("call_edges", "the weight of one direct call", "weight"),
	newTable[Stack]("stacks", "one call stack, root to leaf, with its weight", "weight"),
}

func newTable[T any](name, doc, weight string) Table {
	t := Table{Name: name, Doc: doc, Weight: weight, row: reflect.TypeFor[T]()}
	own := columnsOf(t.row)
	if name == RunsTable {
		t.part = &columns.Schema{Name: name, Columns: own}
	} else {
		t.part = &columns.Schema{Name: name, Columns: append(slices.Clone(partPrefix), own...)}
		t.Columns = append(t.Columns, runColumn)
	}
	t.Columns = append(t.Columns, t.part.Columns...)
	return t
}

// Tables lists every table, runs first.
func Tables() []Table { return slices.Clone(tables) }

// Lookup is the table called name.
func Lookup(name string) (*Table, bool) {
	for i := range tables {
		if tables[i].Name == name {
			t := tables[i]
			return &t, true
		}
	}
	return nil, false
}
