package shred

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// counting hides every method but Write, so that arrow-go does not close what it was given.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Writer writes a file, a row group for each buffer.
type Writer struct {
	file *file.Writer
	rows int
}

// NewWriter begins a file. It does not close w.
func NewWriter(w io.Writer, fields []Field, meta map[string]string) (_ *Writer, err error) {
	defer recovered(&err)
	top, err := root(fields)
	if err != nil {
		return nil, err
	}
	kv, err := keyValues(meta)
	if err != nil {
		return nil, err
	}
	opts := []parquet.WriterProperty{
		parquet.WithCreatedBy("flameox"), parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDataPageVersion(parquet.DataPageV1), // every reader reads it
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithStats(true),
	}
	columns := schema.NewSchema(top)
	for i, l := range Leaves(fields) {
		if path := columns.Column(i).Path(); l.Distinct {
			opts = append(opts, parquet.WithDictionaryFor(path, false), parquet.WithStatsFor(path, false))
		} else if l.Kind == Float || l.Kind == Time || l.Kind == Bool {
			opts = append(opts, parquet.WithDictionaryFor(path, false))
		}
	}
	fw, err := file.NewParquetWriterWithError(&counting{w: w}, top, file.WithWriterProps(parquet.NewWriterProperties(opts...)), file.WithWriteMetadata(kv))
	if err != nil {
		return nil, err
	}
	return &Writer{file: fw}, nil
}

func keyValues(meta map[string]string) (metadata.KeyValueMetadata, error) {
	kv := metadata.NewKeyValueMetadata()
	for _, k := range sorted(meta) {
		if err := kv.Append(k, meta[k]); err != nil {
			return nil, err
		}
	}
	return kv, nil
}

// Write appends the buffer's rows as one row group. The buffer is not changed.
func (w *Writer) Write(b *Buffer) (err error) {
	if b.rows == 0 {
		return nil
	}
	defer recovered(&err)
	group, err := w.file.AppendBufferedRowGroupChecked()
	if err != nil {
		return err
	}
	for i := range b.data {
		cw, err := group.Column(i)
		if err != nil {
			return err
		}
		if err := b.data[i].write(cw); err != nil {
			return fmt.Errorf("column %s: %w", b.leaves[i].Path, err)
		}
	}
	w.rows += b.rows
	return group.Close()
}

func (c *column) write(cw file.ColumnChunkWriter) (err error) {
	switch cw := cw.(type) {
	case *file.ByteArrayColumnChunkWriter:
		_, err = cw.WriteBatch(c.texts, c.defs, c.reps)
	case *file.Int64ColumnChunkWriter:
		_, err = cw.WriteBatch(c.ints, c.defs, c.reps)
	case *file.Float64ColumnChunkWriter:
		_, err = cw.WriteBatch(c.floats, c.defs, c.reps)
	case *file.BooleanColumnChunkWriter:
		_, err = cw.WriteBatch(c.bools, c.defs, c.reps)
	default:
		err = fmt.Errorf("no column of documents is written by %T", cw)
	}
	return err
}

// Rows is how many rows were written.
func (w *Writer) Rows() int { return w.rows }

// Close writes the footer.
func (w *Writer) Close() (err error) {
	defer recovered(&err)
	return w.file.Close()
}

// recovered makes an error of a panic: arrow-go reports some failures so.
func recovered(err *error) {
	if r := recover(); r != nil {
		if e, ok := r.(error); ok {
			*err = e
			return
		}
		*err = fmt.Errorf("%v", r)
	}
}
