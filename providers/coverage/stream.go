package coverage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// line is one line of what reader.py prints. Exactly one field is set.
type line struct {
	Reader *struct {
		Protocol                         int
		Library, Version, Runtime, Error string
	}
	Refused, Unread *refused
	Data            *struct {
		Data    int
		Version *string
		Arcs    *bool
	}
	File    *[2]*string
	Context *string
	Lines   *[3]json.RawMessage
	Arcs    *[3]json.RawMessage
	Totals  *totals
	End     *int
}

type refused struct {
	Data       int
	Code, Text string
}

type totals struct{ Files, Contexts, Lines, Arcs int64 }

// block is what ran of one file in one context.
type block struct {
	file, context int     // context is -1 where none was recorded
	numbers       []int64 // lines, or arcs as pairs
	arcs          bool
}

// file is a file that was measured.
type file struct {
	name   string
	tracer *string
}

// content is what a stream says.
type content struct {
	version  string    // of the coverage that read
	seen     int       // data files that it spoke of
	writers  []*string // versions that the files say they were written by
	unread   []refused // of several files those that are left out
	arcs     bool
	files    []file
	contexts []string
	blocks   []block
	rows     int64
	totals   totals
}

// maxLine bounds one line of the stream. A block has a number or two for each line of one source file.
const maxLine = 64 << 20

// parse reads what reader.py printed of n data files, of at most rows lines and arcs (0 for any number). An error is a *providers.Refusal where a file or the
// reader is at fault. name is that of a file.
func parse(r io.Reader, reading *providers.Reading, n int, name func(int) string, rows int64) (*content, error) {
	p := parser{in: bufio.NewReaderSize(r, 1<<16), n: n, name: name, rows: rows, want: reading.Version, out: &content{}}
	err := p.run()
	var bad *providers.Refusal
	if err != nil && reading.Failure != "" && !errors.As(err, &bad) {
		err = providers.Refuse(ReaderBroke, "coverage's reader broke off: %s; the file is damaged, or of a kind that this version of coverage fails on", reading.Failure)
	}
	var cut *streamError
	if errors.As(err, &cut) {
		err = providers.Refuse(ReaderBroke, "what coverage's reader printed cannot be used: %s", cut.text)
	}
	return p.out, err
}

// streamError says that the stream is not one.
type streamError struct{ text string }

func (e *streamError) Error() string { return e.text }

func broken(format string, args ...any) error { return &streamError{fmt.Sprintf(format, args...)} }

type parser struct {
	in    *bufio.Reader
	out   *content
	n     int
	name  func(int) string
	rows  int64
	want  string
	lines int
	buf   []byte
}

func (p *parser) run() error {
	for {
		text, err := p.next()
		if err == io.EOF {
			return broken("it breaks off after %d lines", p.lines)
		}
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return broken("line %d is not as it should be: %v", p.lines+1, err)
		}
		if (p.lines == 0) != (l.Reader != nil) {
			return broken("line %d is not one that can stand there", p.lines+1)
		}
		if l.End != nil {
			if *l.End != p.lines || p.out.seen != p.n {
				return broken("lines are missing from it")
			}
			return nil
		}
		if err := p.line(&l); err != nil {
			return err
		}
		p.lines++
	}
}

// next is the next line, valid until the one after it is read.
func (p *parser) next() ([]byte, error) {
	p.buf = p.buf[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		if len(p.buf)+len(part) > maxLine {
			return nil, broken("line %d is longer than %d bytes", p.lines+1, maxLine)
		}
		if err == nil && len(p.buf) == 0 {
			return part, nil
		}
		p.buf = append(p.buf, part...)
		if err == nil {
			return p.buf, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (p *parser) line(l *line) error {
	out := p.out
	switch {
	case l.Reader != nil:
		return p.reader(l)
	case l.Refused != nil:
		if l.Refused.Data < 0 || l.Refused.Data >= p.n || l.Refused.Code == "" {
			return broken("line %d names a file that there is not", p.lines+1)
		}
		return providers.Refuse(l.Refused.Code, "coverage %s does not read %s: %s", out.version, p.name(l.Refused.Data), l.Refused.Text)
	case l.Data != nil:
		if l.Data.Data != out.seen || l.Data.Data >= p.n {
			return broken("line %d describes a file that cannot be", p.lines+1)
		}
		out.seen++
		out.writers = append(out.writers, l.Data.Version)
		out.arcs = out.arcs || l.Data.Arcs != nil && *l.Data.Arcs
		return nil
	case l.Unread != nil:
		if l.Unread.Data != out.seen || l.Unread.Data >= p.n || p.n == 1 {
			return broken("line %d leaves out a file that there is not", p.lines+1)
		}
		out.seen++
		out.unread = append(out.unread, *l.Unread)
		return nil
	case out.seen != p.n:
		return broken("line %d comes before all files were read", p.lines+1)
	case l.File != nil && l.File[0] != nil:
		out.files = append(out.files, file{*l.File[0], l.File[1]})
		return nil
	case l.Context != nil:
		out.contexts = append(out.contexts, *l.Context)
		return nil
	case l.Lines != nil:
		return p.block(l.Lines, false)
	case l.Arcs != nil:
		return p.block(l.Arcs, true)
	case l.Totals != nil:
		out.totals = *l.Totals
		return nil
	}
	return broken("line %d says nothing that is known", p.lines+1)
}

// release is what versions of Python packages look like (PEP 440).
var release = pattern.Lazy{Expr: `^([0-9]+!)?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?$`}

func (p *parser) reader(l *line) error {
	r := l.Reader
	p.out.version = r.Version
	switch {
	case r.Protocol != protocol:
		return broken("it is of version %d and not %d", r.Protocol, protocol)
	case r.Library != "coverage" || r.Version != "" && !release.MatchString(r.Version):
		return broken("it is of %q in version %q, and not of a coverage that has a version as Python packages have", r.Library, r.Version)
	case r.Version == "":
		return &providers.Refusal{Missing: true, Limitation: limitation(NoReader, "the interpreter (%s) has no coverage that works (%s), and nothing else reads its data; install %s there, or name another one with interpreter in the extraction",
			r.Runtime, r.Error, requirement(p.want))}
	case p.want != "" && r.Version != p.want:
		return &providers.Refusal{Missing: true, Limitation: limitation(ReaderOther, "the data is to be read by coverage %s and the reader is %s; install %s, or name an interpreter that has it with interpreter in the extraction",
			p.want, r.Version, requirement(p.want))}
	}
	return nil
}

func (p *parser) block(f *[3]json.RawMessage, arcs bool) error {
	b := block{arcs: arcs}
	if unmarshal(f[0], &b.file) != nil || unmarshal(f[1], &b.context) != nil || unmarshal(f[2], &b.numbers) != nil {
		return broken("line %d has a block that is none", p.lines+1)
	}
	if b.file < 0 || b.file >= len(p.out.files) || b.context < -1 || b.context >= len(p.out.contexts) || arcs && len(b.numbers)%2 != 0 {
		return broken("line %d has a block that cannot be", p.lines+1)
	}
	n := int64(len(b.numbers))
	if arcs {
		n /= 2
	}
	if p.out.rows += n; p.rows > 0 && p.out.rows > p.rows {
		return providers.Refuse(RowBudget, "the data has more lines and arcs than the %d rows that the extraction may write, and none has a weight by which it could be left out; measure less in one capture with source, or without dynamic_context", p.rows)
	}
	p.out.blocks = append(p.out.blocks, b)
	return nil
}

// unmarshal refuses what is not there; json.Unmarshal would leave the value as it is.
func unmarshal(b json.RawMessage, v any) error {
	if len(b) == 0 {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, v)
}
