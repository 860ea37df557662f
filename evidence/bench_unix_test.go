//go:build unix

package evidence

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/evidence/columns"
)

// BenchmarkMeasurementsAgainstBareArrowGo writes the same rows to a file twice: through a Sink from Go structs,
// and by arrow-go's column writers, with arrow-go's own choices beside the same compression, from columns
// that were laid out before the clock started. The two take turns, CPU time is compared and the best of
// each counts, so that a busy machine does not decide.
func BenchmarkMeasurementsAgainstBareArrowGo(b *testing.B) {
	rows := make([]Measurement, benchRows)
	for i := range rows {
		rows[i] = sample(i)
	}
	dir := b.TempDir()
	path := throughSink(b, dir, rows)
	root, cols := laidOut(b, path)
	if err := os.Remove(path); err != nil {
		b.Fatal(err)
	}
	opts := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_LATEST), parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithDictionaryDefault(false), parquet.WithBatchSize(8192),
	}
	for _, c := range cols {
		if c.bytes != nil {
			opts = append(opts, parquet.WithDictionaryFor(c.path, true))
		}
	}
	props := parquet.NewWriterProperties(opts...)
	best := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		start := cpu(b)
		path := throughSink(b, dir, rows)
		best[0] = min(best[0], cpu(b)-start)
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
		start = cpu(b)
		bare(b, path, root, cols, props)
		best[1] = min(best[1], cpu(b)-start)
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRows/best[0].Seconds(), "rows/s")
	b.ReportMetric(benchRows/best[1].Seconds(), "bare-rows/s")
	b.ReportMetric(best[1].Seconds()/best[0].Seconds(), "of-bare")
}

// cpu is the processor time of the process so far, the collector's included.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchRows = columns.GroupRows

func throughSink(b *testing.B, dir string, rows []Measurement) string {
	s := NewSink(dir, meta, Budget{})
	for i := range rows {
		if err := s.Measurements.Put(&rows[i]); err != nil {
			b.Fatal(err)
		}
	}
	return closed(b, s)[0].Path
}

func bare(b *testing.B, path string, root *schema.GroupNode, cols []bareColumn, props *parquet.WriterProperties) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := file.NewParquetWriter(f, root, file.WithWriterProps(props))
	g, err := w.AppendRowGroupChecked()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range cols {
		cw, err := g.NextColumn()
		if err != nil {
			b.Fatal(err)
		}
		switch cw := cw.(type) {
		case *file.ByteArrayColumnChunkWriter:
			_, err = cw.WriteBatch(c.bytes, c.defs, c.reps)
		case *file.Int64ColumnChunkWriter:
			_, err = cw.WriteBatch(c.ints, c.defs, c.reps)
		case *file.Float64ColumnChunkWriter:
			_, err = cw.WriteBatch(c.floats, c.defs, c.reps)
		case *file.BooleanColumnChunkWriter:
			_, err = cw.WriteBatch(c.bools, c.defs, c.reps)
		}
		if err != nil {
			b.Fatal(err)
		}
		if err := cw.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil { // also closes f
		b.Fatal(err)
	}
}

type bareColumn struct {
	path       string
	defs, reps []int16
	bytes      []parquet.ByteArray
	ints       []int64
	floats     []float64
	bools      []bool
}

// laidOut reads the columns of a file with arrow-go alone.
func laidOut(b *testing.B, path string) (*schema.GroupNode, []bareColumn) {
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	g := r.RowGroup(0)
	var out []bareColumn
	for i := range g.NumColumns() {
		cr, err := g.Column(i)
		if err != nil {
			b.Fatal(err)
		}
		const most = benchRows * 4
		c := bareColumn{path: cr.Descriptor().Path()}
		if cr.Descriptor().MaxDefinitionLevel() > 0 {
			c.defs = make([]int16, most)
		}
		if cr.Descriptor().MaxRepetitionLevel() > 0 {
			c.reps = make([]int16, most)
		}
		var levels, n int
		for cr.HasNext() {
			var total int64
			var read int
			d, p := tail(c.defs, levels), tail(c.reps, levels)
			switch cr := cr.(type) {
			case *file.ByteArrayColumnChunkReader:
				c.bytes = append(c.bytes, make([]parquet.ByteArray, 4096)...)
				total, read, err = cr.ReadBatch(4096, c.bytes[n:], d, p)
				c.bytes = c.bytes[:n+read]
			case *file.Int64ColumnChunkReader:
				c.ints = append(c.ints, make([]int64, 4096)...)
				total, read, err = cr.ReadBatch(4096, c.ints[n:], d, p)
				c.ints = c.ints[:n+read]
			case *file.Float64ColumnChunkReader:
				c.floats = append(c.floats, make([]float64, 4096)...)
				total, read, err = cr.ReadBatch(4096, c.floats[n:], d, p)
				c.floats = c.floats[:n+read]
			case *file.BooleanColumnChunkReader:
				c.bools = append(c.bools, make([]bool, 4096)...)
				total, read, err = cr.ReadBatch(4096, c.bools[n:], d, p)
				c.bools = c.bools[:n+read]
			default:
				err = fmt.Errorf("%T", cr)
			}
			if err != nil {
				b.Fatal(err)
			}
			levels, n = levels+int(total), n+read
		}
		if c.defs != nil {
			c.defs = c.defs[:levels]
		}
		if c.reps != nil {
			c.reps = c.reps[:levels]
		}
		out = append(out, c)
	}
	return r.MetaData().Schema.Root(), out
}

func tail(s []int16, from int) []int16 {
	if s == nil {
		return nil
	}
	return s[from:]
}
