package columns

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// A piece of a row group ends at the first of these, and has at least one row. Rows alone do not bound it: a list may have a million
// elements, and levels and dictionaries pack them so well that a row group of some megabytes holds gigabytes of them.
const (
	pieceRows   = 4096
	pieceLevels = 1 << 18 // elements of a list column
	pieceText   = 8 << 20 // bytes of a text column, each text counted as often as it stands there
)

// batch is how many levels are read at once.
const batch = 4096

// maxElements bounds the elements of all lists of one row group: levels compress so well that a damaged page
// of a few bytes can announce billions.
const maxElements = 1 << 27

// mostKnown bounds the texts of a chunk that are kept to be met again.
const mostKnown = 1 << 20

// pieces reads row group g into b, piece after piece, and calls fn after each.
func (r *Reader) pieces(g int, b *Buffer, fn func() error) (err error) {
	var foreign error // of fn
	defer func() {
		if p := recover(); p != nil {
			if foreign != nil {
				panic(p)
			}
			err = fmt.Errorf("%v", p)
		}
		if err != nil && err != foreign {
			err = corrupt(r.name, err)
		}
	}()
	streams, missing, err := r.open(g, b)
	if err != nil {
		return err
	}
	rows := int(r.GroupRows(g))
	for done := 0; done < rows; {
		// Everything the file has comes first: its real values say whether the claimed row count can be true.
		n := min(pieceRows, rows-done)
		for _, s := range streams {
			if n, err = s.fill(n); err != nil {
				return s.about(err)
			}
		}
		for _, s := range streams {
			s.cut(n)
		}
		for _, s := range streams {
			if s.l == &s.v.leaves[0] {
				if err := s.v.sameShape(s.from.level); err != nil {
					return s.about(err)
				}
			}
		}
		for _, v := range missing {
			for range n {
				v.Null()
			}
		}
		b.rows += n
		done += n
		foreign = errCaller // a panic of fn is not the file's
		foreign = fn()
		if foreign != nil {
			return foreign
		}
	}
	for _, s := range streams {
		if err := s.end(); err != nil {
			return s.about(err)
		}
	}
	return nil
}

// errCaller stands for whatever the function that gets the pieces does.
var errCaller = errors.New("the caller's function")

// open opens the column chunks of the columns of b, and tells which of them the file lacks.
func (r *Reader) open(g int, b *Buffer) (streams []*stream, missing []*Vector, err error) {
	group := r.file.RowGroup(g)
	leaf := make([]int, len(r.schema.Columns))
	n := 0
	for i := range r.schema.Columns {
		leaf[i] = n
		n += r.schema.Columns[i].leaves()
	}
	for i := range b.vectors {
		v := &b.vectors[i]
		at := r.schema.Index(v.column.Name)
		if at < 0 {
			if !v.column.Nullable {
				return nil, nil, fmt.Errorf("table %s has no column %s", r.schema.Name, v.column.Name)
			}
			missing = append(missing, v)
			continue
		}
		have := &r.schema.Columns[at]
		if err := compatible(have, v.column); err != nil {
			return nil, nil, err
		}
		v.varied = true // it may be
		for j := range v.leaves {
			cr, err := group.Column(leaf[at] + j)
			if err != nil {
				return nil, nil, err
			}
			s := &stream{cr: cr, v: v, l: &v.leaves[j], rows: int(group.NumRows())}
			s.fileDef, s.fileRep = cr.Descriptor().MaxDefinitionLevel(), cr.Descriptor().MaxRepetitionLevel()
			if v.column.Nullable && !have.Nullable {
				s.raise = 1 // present in the file is one level deeper here
			}
			if s.fileDef+s.raise != v.maxDef || s.fileRep != v.maxRep {
				return nil, nil, s.about(fmt.Errorf("levels %d and %d are not those of its type", s.fileDef, s.fileRep))
			}
			if meta, err := group.MetaData().ColumnChunk(leaf[at] + j); err == nil && meta.HasDictionaryPage() {
				s.known = map[*byte]parquet.ByteArray{}
			}
			streams = append(streams, s)
		}
	}
	return streams, missing, nil
}

// stream reads one column chunk into a leaf. A chunk is read by levels and pages, which end anywhere, and handed out by rows: what was read
// beyond a piece waits in rest.
type stream struct {
	cr        file.ColumnChunkReader
	v         *Vector
	l         *leaf
	fileDef   int16
	fileRep   int16
	raise     int16 // added to the file's definition levels
	rows      int   // of the row group
	seen, got int   // rows that began, and levels, of the row group
	from      place // where the piece begins in the leaf; row is not used
	begun     int   // rows of the piece that began; where rows have several levels, the last may go on
	ended     bool  // the chunk has nothing more
	text      int   // bytes of the piece's texts
	rest      leaf
	restRows  int
	known     map[*byte]parquet.ByteArray // texts of the dictionary by where arrow-go has them; nil without one
}

func (s *stream) about(err error) error { return fmt.Errorf("column %s: %w", s.v.column.Name, err) }

// fill reads rows into the leaf until it has want of them, or as many as a piece may have: how many that are is returned. There may be more, for cut.
func (s *stream) fill(want int) (int, error) {
	l := s.l
	s.from = place{level: len(l.defs), value: l.values(s.v.column.Type)}
	l.add(&s.rest)
	s.begun, s.restRows, s.text = s.restRows, 0, 0
	s.rest.clear()
	for {
		whole := s.begun
		if s.fileRep > 0 && !s.ended && whole > 0 {
			whole--
		}
		switch {
		case whole >= want:
			return want, nil
		case whole > 0 && (s.text >= pieceText || len(l.defs)-s.from.level >= pieceLevels):
			return whole, nil
		case s.ended:
			return 0, fmt.Errorf("%d rows where the row group has %d", s.seen, s.rows)
		}
		if !s.cr.HasNext() {
			if err := s.cr.Err(); err != nil {
				return 0, err
			}
			s.ended = true
			continue
		}
		n := batch
		if s.fileRep == 0 {
			n = min(n, want-s.begun)
		}
		if err := s.read(n); err != nil {
			return 0, err
		}
	}
}

// read reads up to n levels.
func (s *stream) read(n int) error {
	v, l := s.v, s.l
	var defs, reps []int16
	if s.fileDef > 0 {
		v.defs = slices.Grow(v.defs[:0], n)
		defs = v.defs[:n]
	}
	if s.fileRep > 0 {
		v.reps = slices.Grow(v.reps[:0], n)
		reps = v.reps[:n]
	}
	levels, values, err := s.batch(n, defs, reps)
	if err != nil {
		return err
	}
	total := int(levels)
	if total == 0 {
		return errors.New("a page without values")
	}
	present := total
	if s.fileDef > 0 {
		present = 0
		for _, d := range defs[:total] {
			if d < 0 || d > s.fileDef {
				return fmt.Errorf("definition level %d", d)
			}
			if d == s.fileDef {
				present++
			}
			l.defs = append(l.defs, d+s.raise)
		}
	} else if v.maxDef > 0 {
		for range total {
			l.defs = append(l.defs, v.maxDef)
		}
	}
	if present != values {
		return fmt.Errorf("%d values where %d are announced", values, present)
	}
	before := s.seen
	if s.fileRep > 0 {
		for i, rep := range reps[:total] {
			switch {
			case rep < 0 || rep > s.fileRep || rep > 0 && s.seen == 0 || rep > 0 && defs[i] < s.fileDef:
				return fmt.Errorf("repetition level %d", rep)
			case rep == 0:
				s.seen++
			}
			l.reps = append(l.reps, rep)
		}
	} else {
		s.seen += total
	}
	s.begun += s.seen - before
	s.got += total
	if s.seen > s.rows || s.got > s.rows+maxElements {
		return fmt.Errorf("more values than %d rows can have", s.rows)
	}
	return nil
}

// batch reads up to n levels of one page and appends the values that are there.
func (s *stream) batch(n int, defs, reps []int16) (levels int64, values int, err error) {
	l := s.l
	switch cr := s.cr.(type) {
	case *file.ByteArrayColumnChunkReader:
		at := len(l.bytes)
		l.bytes = slices.Grow(l.bytes, n)
		// The texts are arrow-go's own until they are kept: it uses a page's memory again for the next.
		levels, values, err = cr.ReadBatchInPage(int64(n), l.bytes[at:at+n], defs, reps)
		l.bytes = l.bytes[:at+values]
		if err == nil {
			s.keep(l.bytes[at:])
		}
	case *file.Int64ColumnChunkReader:
		at := len(l.ints)
		l.ints = slices.Grow(l.ints, n)
		levels, values, err = cr.ReadBatchInPage(int64(n), l.ints[at:at+n], defs, reps)
		l.ints = l.ints[:at+values]
	case *file.Float64ColumnChunkReader:
		at := len(l.floats)
		l.floats = slices.Grow(l.floats, n)
		levels, values, err = cr.ReadBatchInPage(int64(n), l.floats[at:at+n], defs, reps)
		l.floats = l.floats[:at+values]
	case *file.BooleanColumnChunkReader:
		at := len(l.bools)
		l.bools = slices.Grow(l.bools, n)
		levels, values, err = cr.ReadBatchInPage(int64(n), l.bools[at:at+n], defs, reps)
		l.bools = l.bools[:at+values]
	default:
		err = fmt.Errorf("no column of a table is read by %T", cr)
	}
	return levels, values, err
}

// keep replaces texts by ones that stay. One of a dictionary is copied once, and is the same memory wherever it is met: profiles
// name a frame in every stack.
func (s *stream) keep(list []parquet.ByteArray) {
	size := 0
	for _, b := range list {
		size += len(b)
	}
	s.text += size
	if s.known == nil {
		all := make([]byte, 0, size)
		for i, b := range list {
			at := len(all)
			all = append(all, b...)
			list[i] = all[at:len(all):len(all)]
		}
		return
	}
	for i, b := range list {
		if len(b) == 0 {
			list[i] = parquet.ByteArray{}
			continue
		}
		have, ok := s.known[&b[0]]
		// By content, too: after a page without the dictionary, other text may lie there.
		if !ok || !bytes.Equal(have, b) {
			if len(s.known) >= mostKnown {
				clear(s.known)
			}
			have = bytes.Clone(b)
			s.known[&b[0]] = have
		}
		list[i] = have
	}
}

// cut keeps the first n rows of the piece in the leaf and puts what was read beyond them aside.
func (s *stream) cut(n int) {
	l := s.l
	if over := s.begun - n; over > 0 {
		to := place{level: len(l.defs), value: l.values(s.v.column.Type)}
		switch {
		case s.v.maxRep > 0:
			for rows := 0; rows < over; {
				to.level--
				if l.defs[to.level] == s.v.maxDef {
					to.value--
				}
				if l.reps[to.level] == 0 {
					rows++
				}
			}
		case s.v.maxDef > 0:
			for range over {
				to.level--
				if l.defs[to.level] == s.v.maxDef {
					to.value--
				}
			}
		default:
			to.value -= over
		}
		l.split(to, &s.rest)
		s.restRows = over
	}
	for _, b := range l.bytes[min(s.from.value, len(l.bytes)):] {
		s.v.text += int64(len(b))
	}
}

// end refuses what stands behind the last row.
func (s *stream) end() error {
	if s.restRows > 0 || !s.ended && s.cr.HasNext() {
		return fmt.Errorf("more values than %d rows can have", s.rows)
	}
	return s.cr.Err()
}

// values is the number of values of a leaf whose column is of type t.
func (l *leaf) values(t Type) int {
	switch t {
	case String:
		return len(l.bytes)
	case Bool:
		return len(l.bools)
	case Float64:
		return len(l.floats)
	}
	return len(l.ints)
}

// add appends all of src.
func (l *leaf) add(src *leaf) {
	l.defs, l.reps = append(l.defs, src.defs...), append(l.reps, src.reps...)
	l.bools, l.ints, l.floats = append(l.bools, src.bools...), append(l.ints, src.ints...), append(l.floats, src.floats...)
	l.bytes = append(l.bytes, src.bytes...)
}

// split moves what stands from at on to dst.
func (l *leaf) split(at place, dst *leaf) {
	if len(l.defs) > 0 {
		dst.defs, l.defs = append(dst.defs, l.defs[at.level:]...), l.defs[:at.level]
	}
	if len(l.reps) > 0 {
		dst.reps, l.reps = append(dst.reps, l.reps[at.level:]...), l.reps[:at.level]
	}
	switch {
	case len(l.bytes) > 0:
		dst.bytes, l.bytes = append(dst.bytes, l.bytes[at.value:]...), l.bytes[:at.value]
	case len(l.ints) > 0:
		dst.ints, l.ints = append(dst.ints, l.ints[at.value:]...), l.ints[:at.value]
	case len(l.floats) > 0:
		dst.floats, l.floats = append(dst.floats, l.floats[at.value:]...), l.floats[:at.value]
	case len(l.bools) > 0:
		dst.bools, l.bools = append(dst.bools, l.bools[at.value:]...), l.bools[:at.value]
	}
}

// clear empties the leaf and keeps its memory.
func (l *leaf) clear() {
	l.at = place{}
	clear(l.bytes) // so that the strings can be collected
	l.defs, l.reps, l.bools = l.defs[:0], l.reps[:0], l.bools[:0]
	l.ints, l.floats, l.bytes = l.ints[:0], l.floats[:0], l.bytes[:0]
}
