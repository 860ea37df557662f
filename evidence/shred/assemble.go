package shred

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Part is a row group of a file, to be copied as it is.
type Part struct {
	File  *File
	Group int
}

// Assemble writes a file of row groups of others, whose columns are those of the fields. Row groups that stand at the beginning of their file in the same order are
// copied in one piece.
func Assemble(to *os.File, fields []Field, meta map[string]string, parts []Part) (err error) {
	defer recovered(&err)
	var empty bytes.Buffer
	w, err := NewWriter(&empty, fields, meta)
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	template, err := file.NewParquetReader(bytes.NewReader(empty.Bytes()))
	if err != nil {
		return err
	}
	out := template.MetaData()
	at := int64(4)
	prefix := 0
	for i, p := range parts {
		if p.File != parts[0].File || p.Group != i {
			break
		}
		prefix = i + 1
	}
	if prefix > 0 {
		// Everything up to the footer: also row groups that follow and were not asked for would be copied, so only where there are none.
		if prefix == parts[0].File.Groups() {
			at = parts[0].File.body
			if err := copyRange(to, 0, parts[0].File.f, 0, at); err != nil {
				return err
			}
		} else {
			prefix = 0
		}
	}
	if prefix == 0 {
		if _, err := to.WriteAt([]byte("PAR1"), 0); err != nil {
			return err
		}
	}
	top := schema.NewSchema(template.MetaData().Schema.Root())
	for i, p := range parts {
		if !top.Equals(p.File.file.MetaData().Schema) {
			return fmt.Errorf("%s has other columns", p.File.Path)
		}
		group := *p.File.file.MetaData().FileMetaData.RowGroups[p.Group]
		ordinal := int16(min(i, 1<<15-1))
		group.Ordinal = &ordinal
		if i >= 1<<15 {
			group.Ordinal = nil
		}
		if i >= prefix {
			group.Columns = append(group.Columns[:0:0], group.Columns...)
			first := at
			for c := range group.Columns {
				start, n, err := p.File.extent(p.Group, c)
				if err != nil {
					return err
				}
				if err := copyRange(to, at, p.File.f, start, n); err != nil {
					return err
				}
				chunk := *group.Columns[c]
				data := *chunk.MetaData
				move := at - start
				data.DataPageOffset += move
				if data.DictionaryPageOffset != nil {
					v := *data.DictionaryPageOffset + move
					data.DictionaryPageOffset = &v
				}
				data.IndexPageOffset, data.BloomFilterOffset, data.BloomFilterLength = nil, nil, nil
				chunk.MetaData, chunk.FileOffset = &data, at
				chunk.OffsetIndexOffset, chunk.OffsetIndexLength, chunk.ColumnIndexOffset, chunk.ColumnIndexLength = nil, nil, nil, nil
				group.Columns[c] = &chunk
				at += n
			}
			group.FileOffset = &first
		}
		out.FileMetaData.RowGroups = append(out.FileMetaData.RowGroups, &group)
		out.FileMetaData.NumRows += group.NumRows
	}
	if _, err := to.Seek(at, io.SeekStart); err != nil {
		return err
	}
	var footer bytes.Buffer
	n, err := out.WriteTo(&footer, nil)
	if err != nil {
		return err
	}
	footer.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	footer.WriteString("PAR1")
	_, err = to.Write(footer.Bytes())
	return err
}

// extent is where a column chunk lies.
func (r *File) extent(g, c int) (start, n int64, err error) {
	chunk, err := r.file.MetaData().RowGroup(g).ColumnChunk(c)
	if err != nil {
		return 0, 0, err
	}
	start = chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 && chunk.DictionaryPageOffset() < start {
		start = chunk.DictionaryPageOffset()
	}
	return start, chunk.TotalCompressedSize(), nil
}

// copyRange copies n bytes between files. The kernel does it, and shares blocks where the file system can.
func copyRange(to *os.File, at int64, from *os.File, start, n int64) error {
	if _, err := to.Seek(at, io.SeekStart); err != nil {
		return err
	}
	copied, err := kernelCopy(to, from, start, n)
	if err != nil {
		return err
	}
	if copied < n {
		m, err := io.Copy(to, io.NewSectionReader(from, start+copied, n-copied))
		if err != nil {
			return err
		}
		copied += m
	}
	if copied != n {
		return errors.New("the file ended before its rows did")
	}
	return nil
}

// Rewrite appends the rows of a row group to a buffer, whose columns are the file's.
func (r *File) Rewrite(g int, b *Buffer) error {
	if len(b.leaves) != len(r.leaves) {
		return fmt.Errorf("%s has other columns", r.Path)
	}
	for i := range r.leaves {
		before := len(b.data[i].texts)
		if err := r.leaf(g, i, &b.data[i]); err != nil {
			return err
		}
		for _, t := range b.data[i].texts[before:] {
			b.bytes += int64(len(t))
		}
	}
	b.rows += r.GroupRows(g)
	return nil
}

// Fill gives rows of a buffer a text in a column in which they have none.
func (b *Buffer) Fill(path string, texts map[int]Raw) error {
	for i, l := range b.leaves {
		if l.Path != path {
			continue
		}
		if l.def != 1 || l.rep != 0 {
			return fmt.Errorf("column %s cannot be filled", path)
		}
		c := &b.data[i]
		var out []parquet.ByteArray
		n := 0
		for row, def := range c.defs {
			t, ok := texts[row]
			switch {
			case def == 1:
				out = append(out, c.texts[n])
				n++
			case ok:
				c.defs[row] = 1
				out = append(out, parquet.ByteArray(t))
			}
		}
		c.texts = out
		return nil
	}
	return fmt.Errorf("there is no column %s", path)
}

// GroupBytes is how much a row group unpacks to.
func (r *File) GroupBytes(g int) int64 { return r.file.MetaData().RowGroup(g).TotalByteSize() }
