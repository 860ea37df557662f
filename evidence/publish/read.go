package publish

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/columns"
	"github.com/flameox/flameox/internal/digest"
)

// partReader reads what is to be published of one table. What it hands out has been read to its end before, so that a part
// comes into a segment as a whole or not at all.
type partReader struct {
	def  *evidence.Table
	load func(string) (*evidence.Run, error)
	buf  *columns.Buffer       // rows of a part
	runs *evidence.RunAppender // of the runs table
}

func newPartReader(def *evidence.Table, load func(string) (*evidence.Run, error)) *partReader {
	r := &partReader{def: def, load: load}
	if def.Name == evidence.RunsTable {
		r.runs = evidence.NewRunAppender()
	}
	return r
}

// part is one open file whose content is what its digest says and fits the table.
type part struct {
	*columns.Reader
	file *os.File
	buf  *columns.Buffer
	read int // the row group that is in buf; -1 for none
}

func (p *part) close() { p.file.Close() }

// keepValues is how many values of a row group are kept, so that they need not be read a second time. Most parts have fewer; one with deep stacks
// has hundreds of millions.
const keepValues = 4 << 20

// check reads a row group to its end.
func (p *part) check(g int) error {
	if p.Groups() > 1 || p.GroupValues(g) > keepValues {
		return p.Each(g, p.buf, func(*columns.Buffer) error { return nil })
	}
	p.buf.Reset()
	if err := p.Read(g, p.buf); err != nil {
		return err
	}
	p.read = g
	return nil
}

// each calls fn with the rows of a row group, some after the other.
func (p *part) each(g int, fn func(*columns.Buffer) error) error {
	if p.read == g {
		return fn(p.buf)
	}
	return p.Each(g, p.buf, fn)
}

// errLost says that the content is gone: it is what the planner calls lost evidence, and unlike a file that cannot be read at the moment.
var errLost = errors.New("lost")

// open opens a part, or says why it cannot be published.
func (r *partReader) open(s source) (*part, *LeftOut) {
	refuse := func(err error, try string) (*part, *LeftOut) {
		l := leftOut(r.def.Name, s, err.Error(), try)
		return nil, &l
	}
	f, why, err := openFile(s)
	switch {
	case errors.Is(err, errLost):
		_, l := refuse(errors.New(why), "`flameox plan` says evidence lost at its stage and `flameox apply` produces it again, as long as the configuration asks for it")
		l.Lost = true
		return nil, l
	case err != nil:
		return refuse(fmt.Errorf("its file cannot be read: %w", err), "make it readable (permissions, open files, the disk); every `flameox apply` tries it again")
	}
	p, err := r.decode(s, f)
	if err != nil {
		f.Close()
		return refuse(err, "its bytes are those that were stored: "+again(s.from)+", and report it if it comes back")
	}
	return p, nil
}

// openFile opens a file whose content is what its digest says. The digest is made of the open file: the name could be given to other
// bytes meanwhile. It neither follows a link nor waits for a FIFO. why is the clause of an errLost.
func openFile(s source) (_ *os.File, why string, err error) {
	f, err := os.OpenFile(s.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Sprintf("its file %s is not there", s.path), errLost
	case errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO):
		return nil, fmt.Sprintf("%s is no regular file", s.path), errLost
	case err != nil:
		return nil, "", err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Sprintf("%s is no regular file", s.path), errLost
	}
	d, n, err := digest.SumReader(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, "", err
	}
	if d != s.digest {
		return nil, fmt.Sprintf("its file %s is damaged: the SHA-256 of its %d bytes is %s, not %s", s.path, n, d.Short(), s.digest.Short()), errLost
	}
	return f, "", nil
}

// decode reads the whole file once. Of a small file of one row group, which most are, the rows are kept for the caller.
func (r *partReader) decode(s source, f *os.File) (*part, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	in, err := columns.NewReader(f, info.Size(), s.path)
	if err != nil {
		return nil, err
	}
	if name := in.Schema().Name; name != r.def.Name {
		return nil, fmt.Errorf("its file %s holds table %q", s.path, name)
	}
	if r.buf == nil {
		r.buf = columns.NewBuffer(r.def.PartSchema())
	}
	// Reading a row group says the same, but a file may have none.
	for _, c := range r.buf.Schema().Columns {
		i := in.Schema().Index(c.Name)
		if i < 0 {
			if !c.Nullable {
				return nil, fmt.Errorf("its file %s has no column %s", s.path, c.Name)
			}
			continue
		}
		if have := in.Schema().Columns[i]; have.Type != c.Type || have.Shape != c.Shape || (have.Nullable && !c.Nullable) {
			return nil, fmt.Errorf("in its file %s the column %s is %s, not %s", s.path, c.Name, have.ParquetType(), c.ParquetType())
		}
	}
	p := &part{Reader: in, file: f, buf: r.buf, read: -1}
	for g := range in.Groups() {
		if err := p.check(g); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// row appends a row of the runs table to a buffer of its published schema, or leaves the buffer as it was and says why.
func (r *partReader) row(s source, out *columns.Buffer) *LeftOut {
	row, err := r.load(s.run)
	if err == nil && row.Run != s.run {
		err = fmt.Errorf("its record is the one of run %s", row.Run)
	}
	if err == nil {
		err = r.runs.Append(out, row)
	}
	if err == nil {
		return nil
	}
	l := leftOut(r.def.Name, s, err.Error(), "`flameox fsck` says what of the journal is damaged; the next publication tries again")
	return &l
}

// examine is nil where the part or the row can be published.
func (r *partReader) examine(s source) *LeftOut {
	if r.runs != nil {
		return r.row(s, columns.NewBuffer(r.def.PublishedSchema()))
	}
	p, bad := r.open(s)
	if bad == nil {
		p.close()
	}
	return bad
}
