package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flameox/flameox/evidence/columns"
	"github.com/flameox/flameox/internal/digest"
)

// FileMeta is what every row of an extraction shares.
type FileMeta struct {
	Artifact        digest.Digest // of the native payload; of several, the digest of the sorted list of theirs
	Provider        string
	ProviderVersion int
}

// Part is one file that a Sink left.
type Part struct {
	Table string
	Path  string
	Rows  int64
	Bytes int64
}

// Sink takes the rows of one extraction and leaves one Parquet file per table that got rows. The bytes
// follow from the rows, their order, and meta. It is for one goroutine.
//
// Put keeps references to the strings, slices and maps of a row until they are written, so a caller
// must not change them afterwards; the struct itself may be reused at once.
type Sink struct {
	Measurements  *Writer[Measurement]
	Frames        *Writer[Frame]
	FrameValues   *Writer[FrameValue]
	CallEdges     *Writer[CallEdge]
	Stacks        *Writer[Stack]
	Resources     *Writer[Resource]
	TraceEvents   *Writer[TraceEvent]
	Operators     *Writer[Operator]
	KernelCases   *Writer[KernelCase]
	KernelMetrics *Writer[KernelMetric]
	Adapters      *Writer[AdapterExtraction]
	Tests         *Writer[Test]
	CoverageLines *Writer[CoverageLine]
	CoverageArcs  *Writer[CoverageArc]
	PythonImports *Writer[PythonImport]
	OtelResources *Writer[OtelResource]
	OtelScopes    *Writer[OtelScope]
	OtelSpans     *Writer[OtelSpan]
	OtelEvents    *Writer[OtelEvent]
	OtelLinks     *Writer[OtelLink]
	Overheads     *Writer[Overhead]

	CompilerArtifacts *Writer[CompilerArtifact]
	Faults            *Writer[Fault]
	Reductions        *Writer[Reduction]

	dir      string
	meta     FileMeta
	artifact string
	budget   Budget
	rows     int64
	repaired int
	tables   []*tableFile
	err      error
	closed   bool
}

// NewSink makes a sink that leaves its files in dir, which exists and is the caller's alone. Of the budget
// it enforces Rows and OutputBytes.
func NewSink(dir string, meta FileMeta, budget Budget) *Sink {
	s := &Sink{dir: dir, meta: meta, artifact: meta.Artifact.String(), budget: budget}
	s.Resources = newWriter[Resource](s, ResourcesTable)
	s.Measurements = newWriter[Measurement](s, MeasurementsTable)
	s.Frames = newWriter[Frame](s, "frames")
	s.FrameValues = newWriter[FrameValue](s, "frame_values")
	s.CallEdges = newWriter[CallEdge](s, "call_edges")
	s.Stacks = newWriter[Stack](s, "stacks")
	s.TraceEvents = newWriter[TraceEvent](s, TraceEventsTable)
	s.Operators = newWriter[Operator](s, OperatorsTable)
	s.KernelCases = newWriter[KernelCase](s, "kernel_cases")
	s.KernelMetrics = newWriter[KernelMetric](s, "kernel_metrics")
	s.Adapters = newWriter[AdapterExtraction](s, "adapter_extractions")
	s.Tests = newWriter[Test](s, TestsTable)
	s.CoverageLines = newWriter[CoverageLine](s, CoverageLinesTable)
	s.CoverageArcs = newWriter[CoverageArc](s, CoverageArcsTable)
	s.PythonImports = newWriter[PythonImport](s, PythonImportsTable)
	s.OtelResources = newWriter[OtelResource](s, "otel_resources")
	s.OtelScopes = newWriter[OtelScope](s, "otel_scopes")
	s.OtelSpans = newWriter[OtelSpan](s, OtelSpansTable)
	s.OtelEvents = newWriter[OtelEvent](s, "otel_events")
	s.OtelLinks = newWriter[OtelLink](s, "otel_links")
	s.Overheads = newWriter[Overhead](s, OverheadsTable)
	s.CompilerArtifacts = newWriter[CompilerArtifact](s, CompilerArtifactsTable)
	s.Faults = newWriter[Fault](s, FaultsTable)
	s.Reductions = newWriter[Reduction](s, ReductionsTable)
	return s
}

// Rows is the number of rows put so far, of all tables.
func (s *Sink) Rows() int64 { return s.rows }

// Limitations are those that follow from writing alone.
func (s *Sink) Limitations() []Limitation {
	n := s.repaired
	for _, t := range s.tables {
		if t.buffer != nil {
			n += t.buffer.Repaired()
		}
	}
	if n == 0 {
		return nil
	}
	return []Limitation{{"text_not_utf8", fmt.Sprintf("%d texts held bytes that are not UTF-8; each such byte is U+FFFD in the tables", n)}}
}

// Close writes what is left and returns the files, in the order of Tables. After an error of Put or Close
// there is no file.
func (s *Sink) Close() ([]Part, error) {
	if s.closed {
		return nil, errors.New("the sink is closed already")
	}
	var parts []Part
	for _, t := range s.tables {
		if s.err != nil {
			break
		}
		part, err := t.close()
		if err != nil {
			s.err = err
		} else if part.Rows > 0 {
			parts = append(parts, part)
		}
	}
	if s.err != nil {
		err := s.err
		s.Discard()
		return nil, err
	}
	s.closed = true
	return parts, nil
}

// Discard removes every file of the sink. It may be called at any time, and again.
func (s *Sink) Discard() {
	for _, t := range s.tables {
		t.discard()
	}
	if s.err == nil {
		s.err = errors.New("the sink was discarded")
	}
	s.closed = true
}

// Restart forgets every row, as if the sink were new: for a payload that is read in one pass and turns out to be none after rows of it were
// put. It forgets a bound that was crossed too. A sink that is closed stays closed.
func (s *Sink) Restart() {
	if s.closed {
		return
	}
	for _, t := range s.tables {
		t.discard()
	}
	s.rows, s.repaired, s.err = 0, 0, nil
}

// tableFile is the file of one table, made when the first buffer is full or the sink is closed.
type tableFile struct {
	sink   *Sink
	table  *Table
	buffer *columns.Buffer
	file   *os.File
	made   bool // the file is ours to remove
	writer *columns.Writer
}

func (t *tableFile) path() string { return filepath.Join(t.sink.dir, t.table.Name+".parquet") }

// admit holds one more row against the budget.
func (t *tableFile) admit() error {
	s := t.sink
	if s.err != nil {
		return s.err
	}
	if s.budget.Rows > 0 && s.rows >= s.budget.Rows {
		s.err = &BudgetError{What: "rows", Table: t.table.Name, Limit: s.budget.Rows}
		return s.err
	}
	if t.buffer == nil {
		t.buffer = columns.NewBuffer(t.table.PartSchema())
	}
	return nil
}

func (t *tableFile) flush() error {
	s := t.sink
	if t.writer == nil {
		f, err := os.OpenFile(t.path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return fmt.Errorf("writing table %s: %w", t.table.Name, err)
		}
		t.file, t.made = f, true
		meta := map[string]string{
			columns.MetaTable:          t.table.Name,
			"flameox.artifact":         s.artifact,
			"flameox.provider":         s.meta.Provider,
			"flameox.provider_version": strconv.Itoa(s.meta.ProviderVersion),
		}
		if t.writer, err = columns.NewWriter(f, t.table.PartSchema(), meta); err != nil {
			return fmt.Errorf("writing %s: %w", t.path(), err)
		}
	}
	s.repaired += t.buffer.Repaired()
	if err := t.writer.Write(t.buffer); err != nil {
		return fmt.Errorf("writing %s: %w", t.path(), err)
	}
	t.buffer.Reset()
	return t.within()
}

// within holds the bytes of all files against the budget. They are counted when a buffer is written, so
// a file may be a few pages larger before it is refused and removed.
func (t *tableFile) within() error {
	s := t.sink
	if s.budget.OutputBytes <= 0 {
		return nil
	}
	var n int64
	for _, o := range s.tables {
		if o.writer != nil {
			n += o.writer.Bytes()
		}
	}
	if n > s.budget.OutputBytes {
		return &BudgetError{What: "output bytes", Table: t.table.Name, Limit: s.budget.OutputBytes}
	}
	return nil
}

func (t *tableFile) close() (Part, error) {
	if t.buffer == nil {
		return Part{}, nil
	}
	if t.buffer.Rows() > 0 {
		if err := t.flush(); err != nil {
			return Part{}, err
		}
	}
	if t.writer == nil {
		return Part{}, nil
	}
	if err := t.writer.Close(); err != nil {
		return Part{}, fmt.Errorf("writing %s: %w", t.path(), err)
	}
	if err := t.within(); err != nil {
		return Part{}, err
	}
	f := t.file
	t.file = nil
	if err := f.Close(); err != nil {
		return Part{}, fmt.Errorf("writing %s: %w", t.path(), err)
	}
	return Part{Table: t.table.Name, Path: t.path(), Rows: t.writer.Rows(), Bytes: t.writer.Bytes()}, nil
}

func (t *tableFile) discard() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
	if t.made {
		os.Remove(t.path())
	}
	t.made, t.writer, t.buffer = false, nil, nil
}

// Writer takes the rows of one table.
type Writer[T any] struct {
	tableFile
	rows appender[T]
}

func newWriter[T any](s *Sink, name string) *Writer[T] {
	a := newAppender[T](name)
	w := &Writer[T]{tableFile: tableFile{sink: s, table: a.table}, rows: a}
	s.tables = append(s.tables, &w.tableFile)
	return w
}

// Put appends one row. The error is a *BudgetError where the row would go over the budget, and says which
// column where a number is not finite or the row contradicts itself; nothing of the row is kept then. After
// a BudgetError or a failed write the sink refuses everything.
func (w *Writer[T]) Put(row *T) error {
	if err := w.admit(); err != nil {
		return err
	}
	b := w.buffer
	b.Vector(0).String(w.sink.artifact)
	b.Vector(1).String(w.sink.meta.Provider)
	b.Vector(2).Int64(int64(w.sink.meta.ProviderVersion))
	if err := w.rows.append(b, row); err != nil {
		return err
	}
	w.sink.rows++
	if b.Full() {
		if err := w.flush(); err != nil {
			w.sink.err = err
			return err
		}
	}
	return nil
}
