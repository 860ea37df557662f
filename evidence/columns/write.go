package columns

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// A row group ends at the first of these. The row count is sixty of DuckDB's vectors, its own default; the
// byte count bounds the memory of a table of long strings.
const (
	GroupRows  = 122_880
	GroupBytes = 64 << 20

	// A dictionary this large ends the row group, too. It must never be given up instead: arrow-go then writes
	// the counts of the two encodings in the order of a Go map, and the same rows would be different bytes.
	groupDictionary = 8 << 20
)

// A buffer is handed over at the first of these. It is small because what lies in it is held as Go
// values, which cost memory and the collector's time, while what the Parquet writer holds is encoded.
const (
	chunkRows  = 8192
	chunkBytes = 8 << 20

	// A buffer that goes over chunkBytes does so by one row. What a reader must hold at once stays below maxPage.
	maxBuffer = maxPage / 2
)

// Full says whether the buffer should be written now.
func (b *Buffer) Full() bool {
	if b.rows >= chunkRows {
		return true
	}
	// Bytes walks the vectors, so it is asked for when there are some more rows only. Texts are counted as they come: a few rows
	// with lists of many thousands are more than may be written at once.
	if b.rows-b.weighed < 64 {
		for i := range b.vectors {
			if b.vectors[i].text >= chunkBytes {
				return true
			}
		}
		return false
	}
	b.weighed = b.rows
	return b.Bytes() >= chunkBytes
}

// Writer writes one Parquet file.
type Writer struct {
	schema *Schema
	file   *file.Writer
	sink   *countingWriter
	group  file.BufferedRowGroupWriter // the open row group, or nil
	inRow  int                         // rows in it
	rows   int64

	repeated repeated
}

// countingWriter hides every method but Write, so that arrow-go does not close what it was given.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// NewWriter starts a file of the schema on w. The file's key-value metadata holds meta and, of every
// column, flameox.unit.<column> and flameox.doc.<column>.
func NewWriter(w io.Writer, s *Schema, meta map[string]string) (*Writer, error) {
	group, err := s.group()
	if err != nil {
		return nil, err
	}
	kv, err := keyValues(s, meta)
	if err != nil {
		return nil, err
	}
	opts := []parquet.WriterProperty{
		parquet.WithCreatedBy("flameox"),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1), // every reader reads it
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false),
		parquet.WithDictionaryPageSizeLimit(1 << 30), // never: see groupDictionary
		parquet.WithStats(true),
		parquet.WithBatchSize(8192),
	}
	for i := range s.Columns {
		for _, path := range s.Columns[i].paths() {
			if s.Columns[i].Type == String && !s.Columns[i].Distinct {
				opts = append(opts, parquet.WithDictionaryFor(path, true))
			}
			if s.Columns[i].Distinct {
				opts = append(opts, parquet.WithCompressionLevelFor(path, 1)) // more effort finds little in ids and takes twice as long
			}
			if s.Columns[i].Shape != Scalar || s.Columns[i].Distinct {
				opts = append(opts, parquet.WithStatsFor(path, false)) // no reader skips by them
			}
		}
	}
	sink := &countingWriter{w: w}
	fw, err := file.NewParquetWriterWithError(sink, group,
		file.WithWriterProps(parquet.NewWriterProperties(opts...)), file.WithWriteMetadata(kv))
	if err != nil {
		return nil, err
	}
	return &Writer{schema: s, file: fw, sink: sink}, nil
}

func keyValues(s *Schema, meta map[string]string) (metadata.KeyValueMetadata, error) {
	kv := metadata.NewKeyValueMetadata()
	keys := make([]string, 0, len(meta))
	for k := range meta {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if err := kv.Append(k, meta[k]); err != nil {
			return nil, err
		}
	}
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Unit != "" {
			if err := kv.Append("flameox.unit."+c.Name, c.Unit); err != nil {
				return nil, err
			}
		}
		if c.Doc != "" {
			if err := kv.Append("flameox.doc."+c.Name, c.Doc); err != nil {
				return nil, err
			}
		}
	}
	return kv, nil
}

// Write appends the buffer's rows. The buffer is not changed.
func (w *Writer) Write(b *Buffer) (err error) {
	if b.rows == 0 {
		return nil
	}
	// arrow-go reports some failures of the sink by a panic.
	defer recovered(&err)
	if w.group == nil {
		if w.group, err = w.file.AppendBufferedRowGroupChecked(); err != nil {
			return err
		}
	}
	n, full := 0, false
	for i := range b.vectors {
		v := &b.vectors[i]
		if v.text > maxBuffer {
			return fmt.Errorf("table %s: column %s has %d bytes of text in %d rows, more than a reader should have to hold", w.schema.Name, v.column.Name, v.text, b.rows)
		}
		if n := v.rows(); n != b.rows {
			return fmt.Errorf("table %s: column %s has %d values in %d rows", w.schema.Name, v.column.Name, n, b.rows)
		}
		for j := range v.leaves {
			cw, err := w.group.Column(n)
			if err != nil {
				return err
			}
			n++
			if v.constant() {
				err = w.repeated.write(cw, n-1, v.leaves[0].bytes)
			} else {
				err = v.leaves[j].write(cw, v.maxDef, v.maxRep)
			}
			if err != nil {
				return fmt.Errorf("table %s, column %s: %w", w.schema.Name, v.column.Name, err)
			}
			if d, ok := cw.CurrentEncoder().(interface{ DictEncodedSize() int }); ok && d.DictEncodedSize() >= groupDictionary {
				full = true
			}
		}
	}
	w.rows += int64(b.rows)
	w.inRow += b.rows
	if full || w.inRow >= GroupRows || w.group.TotalCompressedBytes() >= GroupBytes {
		return w.endGroup()
	}
	return nil
}

func (w *Writer) endGroup() error {
	if w.group == nil {
		return nil
	}
	err := w.group.Close()
	w.group, w.inRow = nil, 0
	w.repeated.known = nil
	return err
}

var errNoText = errors.New("a text column that is not written as bytes")

func (l *leaf) write(cw file.ColumnChunkWriter, maxDef, maxRep int16) (err error) {
	var defs, reps []int16
	if maxDef > 0 {
		defs = l.defs
	}
	if maxRep > 0 {
		reps = l.reps
	}
	switch cw := cw.(type) {
	case *file.ByteArrayColumnChunkWriter:
		_, err = cw.WriteBatch(l.bytes, defs, reps)
	case *file.Int64ColumnChunkWriter:
		_, err = cw.WriteBatch(l.ints, defs, reps)
	case *file.Float64ColumnChunkWriter:
		_, err = cw.WriteBatch(l.floats, defs, reps)
	case *file.BooleanColumnChunkWriter:
		_, err = cw.WriteBatch(l.bools, defs, reps)
	default:
		err = fmt.Errorf("no column of this schema is written by %T", cw)
	}
	return err
}

// Rows is the number of rows written so far.
func (w *Writer) Rows() int64 { return w.rows }

// Bytes is the number of bytes so far, those of the open row group without its last pages; after Close, the
// size of the file.
func (w *Writer) Bytes() int64 {
	if w.group != nil {
		return w.sink.n + w.group.TotalCompressedBytes()
	}
	return w.sink.n
}

// Close writes the footer. It does not close what the file was written to.
func (w *Writer) Close() (err error) {
	defer recovered(&err)
	if err := w.endGroup(); err != nil {
		return err
	}
	return w.file.Close()
}

func recovered(err *error) {
	if r := recover(); r != nil {
		if e, ok := r.(error); ok {
			*err = e
			return
		}
		*err = fmt.Errorf("%v", r)
	}
}
