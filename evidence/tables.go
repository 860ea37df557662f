package evidence

import (
	"reflect"
	"slices"
	"sync"

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

// OtelSpansTable is the name of the table of spans.
const OtelSpansTable = "otel_spans"

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

// tables is what Tables returns, made once, when it is first asked: it follows from types alone.
var tables = sync.OnceValue(func() []Table {
	return []Table{
		newTable[Run](RunsTable, "one executed or imported stage: identity, status, times, host, semantics, limitations", ""),
		newTable[Resource](ResourcesTable, "one sampled point or summary of a process tree, a device or a file system", ""),
		newTable[Overhead](OverheadsTable, "how much longer a run took because it was profiled", ""),
		newTable[Fault](FaultsTable, "one toxic that stood on the way to a server while a run was measured, or that there was none", ""),
		newTable[Reduction](ReductionsTable, "one candidate of a reduction, with what its predicate said of it", ""),
		newTable[Measurement](MeasurementsTable, "one sample of one metric, never a mean of samples", ""),
		newTable[Frame]("frames", "one place in a program, as the producer names it", ""),
		newTable[FrameValue]("frame_values", "the weight of one frame in one metric; recursion is counted once in inclusive", "inclusive"),
		newTable[CallEdge]("call_edges", "the weight of one direct call", "weight"),
		newTable[Stack]("stacks", "one call stack, root to leaf, with its weight", "weight"),
		newTable[TraceEvent](TraceEventsTable, "one thing that happened at a time: a slice, an instant, a counter's value, a flow; bounded, heaviest first", "duration_ns"),
		newTable[Operator](OperatorsTable, "what all calls of one operator with the same shapes in one phase took together", "total_ns"),
		newTable[KernelCase]("kernel_cases", "one output of one case of a kernel validation, with its status", ""),
		newTable[CompilerArtifact](CompilerArtifactsTable, "one file that a compiler of GPU kernels left, and what it was made from", ""),
		newTable[AdapterExtraction]("adapter_extractions", "what an adapter of a third party says of one artifact", ""),
		newTable[KernelMetric]("kernel_metrics", "one error metric of one output of a kernel validation", ""),
		newTable[Test](TestsTable, "one phase of a test, or a test that did not run", ""),
		newTable[CoverageLine](CoverageLinesTable, "one line that ran in one context; how often is not known", ""),
		newTable[CoverageArc](CoverageArcsTable, "one step from a line to another that was taken in one context", ""),
		newTable[PythonImport](PythonImportsTable, "one import of a Python program, with its own time and the import that it happened in", ""),
		newTable[OtelResource]("otel_resources", "what produced spans, as OTLP names it", ""),
		newTable[OtelScope]("otel_scopes", "the instrumentation of a resource that made spans", ""),
		newTable[OtelSpan](OtelSpansTable, "one span of a trace, its times and parent as the producer wrote them", ""),
		newTable[OtelEvent]("otel_events", "something that happened within a span", ""),
		newTable[OtelLink]("otel_links", "a span's reference to another one", ""),
	}
})

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
func Tables() []Table { return slices.Clone(tables()) }

// Lookup is the table called name.
func Lookup(name string) (*Table, bool) {
	for _, t := range tables() {
		if t.Name == name {
			return &t, true
		}
	}
	return nil, false
}
