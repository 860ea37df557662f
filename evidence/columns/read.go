package columns

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// maxPage bounds what one page may claim to unpack to, so that a damaged header costs no more memory than
// this. Our own pages are about 1 MiB; other writers' go further.
const maxPage = 64 << 20

// maxGroupRows bounds what a footer may claim, a hundred times what Writer makes.
const maxGroupRows = 100 * GroupRows

// ErrCorrupt is in every error about a file that is no Parquet file, or a damaged one.
var ErrCorrupt = errors.New("damaged Parquet file")

// Reader reads one Parquet file that NewWriter could have written.
type Reader struct {
	name   string
	closer io.Closer
	file   *file.Reader
	schema *Schema
	meta   map[string]string
}

// Open opens a file. The caller closes the reader.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the table file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the table file %s: %w", path, err)
	}
	r, err := NewReader(f, info.Size(), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader reads size bytes of r; name is what errors call them.
func NewReader(r io.ReaderAt, size int64, name string) (_ *Reader, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			err = corrupt(name, err)
		}
	}()
	if size < 12 {
		return nil, fmt.Errorf("%d bytes are too few", size)
	}
	props := parquet.NewReaderProperties(nil)
	props.MaxUncompressedPageSize = maxPage
	props.MaxCompressedPageSize = maxPage
	fr, err := file.NewParquetReader(io.NewSectionReader(r, 0, size), file.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	if err := checkChunks(fr, size); err != nil {
		return nil, err
	}
	rd := &Reader{name: name, file: fr, meta: map[string]string{}}
	kv := fr.MetaData().KeyValueMetadata()
	values := kv.Values()
	for i, k := range kv.Keys() {
		rd.meta[k] = values[i]
	}
	if rd.schema, err = schemaOf(fr.MetaData().Schema.Root(), rd.meta); err != nil {
		return nil, err
	}
	return rd, nil
}

func corrupt(name string, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("reading %s: %w: %w", name, ErrCorrupt, err)
}

// checkChunks refuses offsets outside the file: arrow-go allocates what a footer claims before it reads.
func checkChunks(fr *file.Reader, size int64) error {
	for g := range fr.NumRowGroups() {
		rg := fr.MetaData().RowGroup(g)
		if rg.NumRows() < 0 || rg.NumRows() > maxGroupRows {
			return fmt.Errorf("row group %d claims %d rows", g, rg.NumRows())
		}
		for c := range rg.NumColumns() {
			chunk, err := rg.ColumnChunk(c)
			if err != nil {
				return err
			}
			start := chunk.DataPageOffset()
			if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() < start {
				start = chunk.DictionaryPageOffset()
			}
			n := chunk.TotalCompressedSize()
			if start < 0 || n < 0 || start > size || n > size-start {
				return fmt.Errorf("column chunk %d of row group %d lies outside the file", c, g)
			}
		}
	}
	return nil
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// Schema is the file's columns, with units and documentation where the writer left them.
func (r *Reader) Schema() *Schema { return r.schema }

// Meta is the file's key-value metadata.
func (r *Reader) Meta() map[string]string { return r.meta }

// Groups is the number of row groups.
func (r *Reader) Groups() int { return r.file.NumRowGroups() }

// Rows is the number of rows of the file.
func (r *Reader) Rows() int64 {
	var n int64
	for g := range r.Groups() {
		n += r.GroupRows(g)
	}
	return n
}

// GroupRows is the number of rows of one row group.
func (r *Reader) GroupRows(g int) int64 { return r.file.MetaData().RowGroup(g).NumRows() }

// GroupValues is the number of values that the footer claims for one row group: of every column, and of every element of a list.
func (r *Reader) GroupValues(g int) (n int64) {
	group := r.file.MetaData().RowGroup(g)
	for i := range group.NumColumns() {
		if chunk, err := group.ColumnChunk(i); err == nil {
			n += max(0, chunk.NumValues())
		}
	}
	return n
}

// Read appends row group g to b: the columns of b's schema, found by name. A nullable column that the file
// lacks is filled with nulls; columns that b lacks are not read.
func (r *Reader) Read(g int, b *Buffer) error {
	return r.pieces(g, b, func() error { return nil })
}

// Each reads row group g as Read does, but a piece at a time: fn is called with b when it holds the next rows and nothing
// else, so that what is held at once stays small however long a row group's texts and lists are. An error of fn ends the
// reading and is returned as it is.
func (r *Reader) Each(g int, b *Buffer, fn func(*Buffer) error) error {
	b.Reset()
	return r.pieces(g, b, func() error {
		err := fn(b)
		b.Reset()
		return err
	})
}

func compatible(have, want *Column) error {
	if have.Type != want.Type || have.Shape != want.Shape {
		return fmt.Errorf("column %s is %s, not %s", have.Name, have.TypeName(), want.TypeName())
	}
	if have.Nullable && !want.Nullable {
		return fmt.Errorf("column %s may be missing in the file and must not be", have.Name)
	}
	return nil
}

// sameShape holds a map's keys and values against each other, from the level from on.
func (v *Vector) sameShape(from int) error {
	if len(v.leaves) < 2 {
		return nil
	}
	k, x := &v.leaves[0], &v.leaves[1]
	if len(k.defs) != len(x.defs) || len(k.bytes) != len(x.bytes) {
		return errors.New("keys and values of the map do not pair")
	}
	for i := from; i < len(k.defs); i++ {
		if k.defs[i] != x.defs[i] || k.reps[i] != x.reps[i] {
			return errors.New("keys and values of the map do not pair")
		}
	}
	return nil
}

// schemaOf reads the columns from a Parquet schema; a type that no table has is an error.
func schemaOf(root *schema.GroupNode, meta map[string]string) (*Schema, error) {
	s := &Schema{Name: meta[MetaTable]}
	for i := range root.NumFields() {
		n := root.Field(i)
		c, err := columnOf(n)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", n.Name(), err)
		}
		c.Unit, c.Doc = meta["flameox.unit."+c.Name], meta["flameox.doc."+c.Name]
		s.Columns = append(s.Columns, c)
	}
	return s, s.Check()
}

// MetaTable is the key under which a file's metadata holds the name of its table.
const MetaTable = "flameox.table"

func columnOf(n schema.Node) (Column, error) {
	c := Column{Name: n.Name(), Nullable: n.RepetitionType() == parquet.Repetitions.Optional}
	if n.RepetitionType() == parquet.Repetitions.Repeated {
		return c, errors.New("a repeated field that is no list")
	}
	group, ok := n.(*schema.GroupNode)
	if !ok {
		t, err := typeOf(n)
		c.Type = t
		return c, err
	}
	if group.NumFields() != 1 {
		return c, errors.New("a group that is neither a list nor a map")
	}
	inner, ok := group.Field(0).(*schema.GroupNode)
	if !ok || inner.RepetitionType() != parquet.Repetitions.Repeated {
		return c, errors.New("a group that is neither a list nor a map")
	}
	for i := range inner.NumFields() {
		t, err := typeOf(inner.Field(i))
		if err != nil {
			return c, err
		}
		if inner.Field(i).RepetitionType() != parquet.Repetitions.Required {
			return c, errors.New("a list or a map whose values may be missing")
		}
		c.Type = t
	}
	switch logical := group.LogicalType(); {
	case logical.Equals(schema.ListLogicalType{}) && inner.NumFields() == 1:
		c.Shape = List
	case logical.Equals(schema.MapLogicalType{}) && inner.NumFields() == 2:
		if t, _ := typeOf(inner.Field(0)); t != String {
			return c, errors.New("a map whose keys are no strings")
		}
		c.Shape = Map
	default:
		return c, fmt.Errorf("a group of the type %s", logical)
	}
	return c, nil
}

func typeOf(n schema.Node) (Type, error) {
	p, ok := n.(*schema.PrimitiveNode)
	if !ok {
		return 0, errors.New("nested deeper than a list or a map")
	}
	for t := String; t <= Timestamp; t++ {
		want, err := t.node("", parquet.Repetitions.Required)
		if err != nil {
			return 0, err
		}
		if p.PhysicalType() == want.(*schema.PrimitiveNode).PhysicalType() && p.LogicalType().Equals(want.LogicalType()) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("type %s %s is in no table of flameox", p.PhysicalType(), p.LogicalType())
}
