package shred

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// ErrCorrupt is in every error about a file that is no Parquet file, or a damaged one.
var ErrCorrupt = errors.New("damaged Parquet file")

// maxPage bounds what one page may claim to unpack to.
const maxPage = 512 << 20

// File is an open file of rows.
type File struct {
	Path   string
	Footer string // SHA-256 of the footer: it has the place of every page, so that no two states of a file have one
	f      *os.File
	file   *file.Reader
	size   int64
	body   int64 // bytes before the footer
	leaves []Leaf
	index  map[string]int
}

// Open opens a file. The error is one of package os where there is none, and wraps ErrCorrupt where it is no Parquet file.
func Open(path string) (_ *File, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &File{Path: path, f: f}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			f.Close()
			err = fmt.Errorf("read %s: %w: %w", path, ErrCorrupt, err)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if r.size = info.Size(); r.size < 12 {
		return nil, fmt.Errorf("%d bytes are too few", r.size)
	}
	var tail [8]byte
	if _, err := f.ReadAt(tail[:], r.size-8); err != nil {
		return nil, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, errors.New("it does not end as one")
	}
	r.body = r.size - 8 - int64(binary.LittleEndian.Uint32(tail[:4]))
	if r.body < 4 {
		return nil, errors.New("its footer claims to be longer than the file")
	}
	footer := make([]byte, r.size-r.body)
	if _, err := f.ReadAt(footer, r.body); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(footer)
	r.Footer = hex.EncodeToString(sum[:])
	props := parquet.NewReaderProperties(nil)
	props.MaxUncompressedPageSize, props.MaxCompressedPageSize = maxPage, maxPage
	if r.file, err = file.NewParquetReader(io.NewSectionReader(f, 0, r.size), file.WithReadProps(props)); err != nil {
		return nil, err
	}
	r.index = map[string]int{}
	top := r.file.MetaData().Schema
	for i := range top.NumColumns() {
		c := top.Column(i)
		l := Leaf{Path: plain(top.Root(), c.Path()), Kind: kindOf(c), def: c.MaxDefinitionLevel(), rep: c.MaxRepetitionLevel()}
		r.index[l.Path] = len(r.leaves)
		r.leaves = append(r.leaves, l)
	}
	for g := range r.file.NumRowGroups() {
		for c := range r.leaves {
			if start, n, err := r.extent(g, c); err != nil {
				return nil, err
			} else if start < 0 || n < 0 || start+n > r.body {
				return nil, fmt.Errorf("column %d of row group %d lies outside the file", c, g)
			}
		}
	}
	return r, nil
}

// plain is a column's path without the two levels that a list puts between: its writers call them differently.
func plain(root *schema.GroupNode, path string) string {
	var out []string
	var at schema.Node = root
	inList := 0
	for _, name := range strings.Split(path, ".") {
		g, ok := at.(*schema.GroupNode)
		if !ok {
			break
		}
		i := g.FieldIndexByName(name)
		if i < 0 {
			return path
		}
		at = g.Field(i)
		if inList > 0 {
			inList--
		} else {
			out = append(out, name)
		}
		if inList == 0 && (at.ConvertedType() == schema.ConvertedTypes.List || at.LogicalType() != nil && at.LogicalType().Equals(schema.ListLogicalType{})) {
			inList = 2
		}
	}
	return strings.Join(out, ".")
}

func kindOf(c *schema.Column) Kind {
	switch c.PhysicalType() {
	case parquet.Types.ByteArray:
		if c.ConvertedType() == schema.ConvertedTypes.JSON || c.LogicalType() != nil && c.LogicalType().Equals(schema.JSONLogicalType{}) {
			return JSON
		}
		return Text
	case parquet.Types.Int64:
		switch c.ConvertedType() {
		case schema.ConvertedTypes.TimestampMicros:
			return Time
		case schema.ConvertedTypes.None, schema.ConvertedTypes.Int64:
			if _, ok := c.LogicalType().(schema.TimestampLogicalType); ok {
				return Time
			}
			return Int
		}
	case parquet.Types.Double:
		return Float
	case parquet.Types.Boolean:
		return Bool
	}
	return 0
}

// Close closes the file.
func (r *File) Close() error { return r.f.Close() }

// Groups is the number of row groups.
func (r *File) Groups() int { return r.file.NumRowGroups() }

// GroupRows is the number of rows of a row group.
func (r *File) GroupRows(g int) int { return int(r.file.MetaData().RowGroup(g).NumRows()) }

// Rows is the number of rows.
func (r *File) Rows() int { return int(r.file.NumRows()) }

// Meta is a value of the file's metadata, "" where it has none of that name.
func (r *File) Meta(key string) string {
	if v := r.file.MetaData().KeyValueMetadata().FindValue(key); v != nil {
		return *v
	}
	return ""
}

// Difference says how the file's columns are others than those of the fields.
type Difference struct {
	Missing []string // columns that the file lacks
	Unknown []string // columns that only the file has
	Retyped []string // columns of another type, each with both types
}

// Differs compares the columns. same means that row groups can be copied between the two as they are.
func (r *File) Differs(fields []Field) (d Difference, same bool, err error) {
	want := map[string]Leaf{}
	for _, l := range Leaves(fields) {
		want[l.Path] = l
		if _, ok := r.index[l.Path]; !ok {
			d.Missing = append(d.Missing, l.Path)
		}
	}
	for _, l := range r.leaves {
		w, ok := want[l.Path]
		// A text is a text, whether its writer said that it is JSON or not.
		if textual := l.Kind <= JSON && w.Kind <= JSON && l.Kind > 0; !ok {
			d.Unknown = append(d.Unknown, l.Path)
		} else if l.Kind != w.Kind && !textual || l.rep != w.rep {
			d.Retyped = append(d.Retyped, fmt.Sprintf("%s (%s instead of %s)", l.Path, l.Kind, w.Kind))
		}
	}
	top, err := root(fields)
	if err != nil {
		return d, false, err
	}
	return d, schema.NewSchema(top).Equals(r.file.MetaData().Schema), nil
}

func (k Kind) String() string {
	return map[Kind]string{Text: "string", JSON: "json", Int: "int64", Float: "double", Bool: "boolean", Time: "timestamp"}[k] + map[bool]string{true: "another type"}[k == 0]
}

// Range is the least and the greatest text of a column in a row group; ok is false where the file does not say, or the column is missing.
func (r *File) Range(g int, path string) (low, high string, ok bool) {
	i, ok := r.index[path]
	if !ok {
		return "", "", false
	}
	chunk, err := r.file.MetaData().RowGroup(g).ColumnChunk(i)
	if err != nil {
		return "", "", false
	}
	stats, err := chunk.Statistics()
	if err != nil || stats == nil || !stats.HasMinMax() {
		return "", "", false
	}
	b, ok := stats.(*metadata.ByteArrayStatistics)
	if !ok {
		return "", "", false
	}
	return string(b.Min()), string(b.Max()), true
}

// May says whether a row of the row group can have the text in the column.
func (r *File) May(g int, path, text string) bool {
	low, high, ok := r.Range(g, path)
	// A writer may cut a long greatest value short: then everything that begins with it is possible.
	return !ok || low <= text && (text <= high || strings.HasPrefix(text, high))
}

// batch is how many levels are read at once.
const batch = 4096

// leaf reads a column chunk to its end.
func (r *File) leaf(g, i int, c *column) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = fmt.Errorf("read %s: %w: column %s: %w", r.Path, ErrCorrupt, r.leaves[i].Path, err)
		}
	}()
	cr, err := r.file.RowGroup(g).Column(i)
	if err != nil {
		return err
	}
	l := r.leaves[i]
	var defs, reps []int16
	if l.def > 0 {
		defs = make([]int16, batch)
	}
	if l.rep > 0 {
		reps = make([]int16, batch)
	}
	for cr.HasNext() {
		var total int64
		var read int
		switch cr := cr.(type) {
		case *file.ByteArrayColumnChunkReader:
			total, read, err = into(&c.texts, func(v []parquet.ByteArray) (int64, int, error) { return cr.ReadBatch(batch, v, defs, reps) })
			for k := len(c.texts) - read; k < len(c.texts); k++ {
				c.texts[k] = bytes.Clone(c.texts[k]) // the page's memory is used again
			}
		case *file.Int64ColumnChunkReader:
			total, _, err = into(&c.ints, func(v []int64) (int64, int, error) { return cr.ReadBatch(batch, v, defs, reps) })
		case *file.Float64ColumnChunkReader:
			total, _, err = into(&c.floats, func(v []float64) (int64, int, error) { return cr.ReadBatch(batch, v, defs, reps) })
		case *file.BooleanColumnChunkReader:
			total, _, err = into(&c.bools, func(v []bool) (int64, int, error) { return cr.ReadBatch(batch, v, defs, reps) })
		default:
			return fmt.Errorf("no column of documents is read by %T", cr)
		}
		if err != nil {
			return err
		}
		if total == 0 {
			return errors.New("a page without values")
		}
		if l.def > 0 {
			c.defs = append(c.defs, defs[:total]...)
		}
		if l.rep > 0 {
			c.reps = append(c.reps, reps[:total]...)
		}
	}
	return cr.Err()
}

func into[T any](to *[]T, read func([]T) (int64, int, error)) (int64, int, error) {
	at := len(*to)
	*to = slices.Grow(*to, batch)
	total, n, err := read((*to)[at : at+batch])
	*to = (*to)[:at+n]
	return total, n, err
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
