package render

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Options say what the reader's screen can show.
type Options struct {
	Color bool // ANSI colours; never the only carrier of a meaning
	Width int  // columns; 0 for no wrapping
	ASCII bool // only ASCII in what render adds; the source is shown as it is
	Limit int  // how many diagnostics are shown in full; 0 means 50
}

const defaultLimit = 50

// Text writes diagnostics in the order given, and how many there are. Files holds the sources by the names that ranges use; a
// diagnostic whose file is missing is shown without an excerpt.
func Text(w io.Writer, diags hcl.Diagnostics, files map[string]*hcl.File, o Options) error {
	if len(diags) == 0 {
		return nil
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	t := &text{Options: o, files: files, starts: map[string][]int{}}
	for i, d := range diags {
		if i == o.Limit {
			fmt.Fprintf(&t.b, "%s and %s more.\n\n", t.dots(), group(len(diags)-i))
			break
		}
		t.diagnostic(d)
	}
	t.b.WriteString(count(diags) + "\n")
	_, err := w.Write(t.b.Bytes())
	return err
}

// count is the last line: "2 errors." or "1 error, 3 warnings.".
func count(diags hcl.Diagnostics) string {
	n := map[hcl.DiagnosticSeverity]int{}
	for _, d := range diags {
		n[d.Severity]++
	}
	var parts []string
	for _, s := range []struct {
		severity hcl.DiagnosticSeverity
		name     string
	}{{hcl.DiagError, "error"}, {hcl.DiagWarning, "warning"}} {
		switch k := n[s.severity]; k {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.name)
		default:
			parts = append(parts, group(k)+" "+s.name+"s")
		}
	}
	return strings.Join(parts, ", ") + "."
}

// group writes 12345 as 12,345.
func group(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

type text struct {
	Options
	b      bytes.Buffer
	files  map[string]*hcl.File
	starts map[string][]int // offsets of the lines of a file
}

func (t *text) dots() string {
	if t.ASCII {
		return "..."
	}
	return "…"
}

func (t *text) paint(code, s string) string {
	if !t.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *text) diagnostic(d *hcl.Diagnostic) {
	head, code := "Error", "1;31"
	if d.Severity == hcl.DiagWarning {
		head, code = "Warning", "1;33"
	}
	fmt.Fprintf(&t.b, "%s %s\n\n", t.paint(code, head+":"), t.paint("1", visible(d.Summary)))
	if steps, ok := d.Extra.(Steps); ok {
		for _, s := range steps {
			fmt.Fprintf(&t.b, "  %s  (%s:%d)  needs  %s\n", visible(s.From), visible(s.Range.Filename), s.Range.Start.Line, visible(s.To))
		}
		t.b.WriteByte('\n')
	} else if d.Subject != nil && d.Subject.Filename != "" {
		t.excerpt(d, code)
	}
	if d.Detail != "" {
		for _, line := range strings.Split(strings.TrimRight(d.Detail, "\n"), "\n") {
			t.b.WriteString(wrap(visible(line), t.Width))
			t.b.WriteByte('\n')
		}
		t.b.WriteByte('\n')
	}
}

// excerpt shows where: file, line, block, the line with the range underlined, and the values of what the range mentions.
func (t *text) excerpt(d *hcl.Diagnostic, code string) {
	r := *d.Subject
	line, offset, ok := t.line(r)
	fmt.Fprintf(&t.b, "  on %s line %d", visible(r.Filename), r.Start.Line)
	if block := t.block(r); block != "" {
		fmt.Fprintf(&t.b, ", in %s", visible(block))
	}
	if !ok {
		t.b.WriteString("\n\n")
		return
	}
	t.b.WriteString(":\n")
	from := min(max(r.Start.Byte-offset, 0), len(line))
	to := min(max(r.End.Byte-offset, from), len(line))
	number := fmt.Sprintf("%3d: ", r.Start.Line)
	room := 1000 // a file on one line of megabytes is not printed whole
	if t.Width > 0 {
		room = max(t.Width-len(number)-1, 20)
	}
	source, under := t.underline(line, from, to, room)
	t.b.WriteString(t.paint("2", number) + source + "\n")
	t.b.WriteString(strings.Repeat(" ", len(number)) + strings.TrimRight(under, "^") +
		t.paint(code, under[len(strings.TrimRight(under, "^")):]) + "\n")
	if values := involved(d); len(values) > 0 {
		t.b.WriteByte('\n')
		for _, v := range values {
			t.b.WriteString("  " + visible(v) + "\n")
		}
	}
	t.b.WriteByte('\n')
}

// line is the source line in which r begins, without its end, and the offset at which it starts.
func (t *text) line(r hcl.Range) (line []byte, offset int, ok bool) {
	f := t.files[r.Filename]
	if f == nil || f.Bytes == nil || r.Start.Line < 1 {
		return nil, 0, false
	}
	starts, known := t.starts[r.Filename]
	if !known {
		starts = []int{0}
		for i, c := range f.Bytes {
			if c == '\n' {
				starts = append(starts, i+1)
			}
		}
		t.starts[r.Filename] = starts
	}
	if r.Start.Line > len(starts) {
		return nil, 0, false
	}
	offset = starts[r.Start.Line-1]
	line = f.Bytes[offset:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	return bytes.TrimSuffix(line, []byte{'\r'}), offset, true
}

// block is the header of the top-level block that r begins in.
func (t *text) block(r hcl.Range) string {
	f := t.files[r.Filename]
	if f == nil {
		return ""
	}
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		return ""
	}
	// Blocks are in the order of the source. The library's own search is linear, which is quadratic over many errors.
	i := sort.Search(len(body.Blocks), func(i int) bool { return body.Blocks[i].TypeRange.Start.Byte > r.Start.Byte }) - 1
	if i < 0 || r.Start.Byte > body.Blocks[i].CloseBraceRange.End.Byte {
		return ""
	}
	header := body.Blocks[i].Type
	for _, l := range body.Blocks[i].Labels {
		header += fmt.Sprintf(" %q", l)
	}
	return header
}

// underline makes the two lines of an excerpt. A tab stays a tab in both, so that they line up whatever its width. Where
// room is not 0, what is far from the range is left out.
func (t *text) underline(line []byte, from, to, room int) (source, under string) {
	const lead = 12 // characters shown before a range that begins far to the right
	skip := 0
	if room > 0 && columns(line[:to]) > room {
		skip = max(0, utf8.RuneCount(line[:from])-lead)
	}
	var s, u strings.Builder
	width, marked, i := 0, false, 0
	gap := utf8.RuneCountInString(t.dots())
	if skip > 0 {
		s.WriteString(t.dots())
		u.WriteString(strings.Repeat(" ", gap))
		width = gap
	}
	for n := 0; i < len(line); n++ {
		r, size := utf8.DecodeRune(line[i:])
		if n >= skip {
			w := runeWidth(r)
			if room > 0 && width+w > room-gap && width+columns(line[i:]) > room {
				s.WriteString(t.dots())
				break
			}
			width += w
			s.WriteString(visibleRune(r))
			switch {
			case i >= from && i < to:
				u.WriteString(strings.Repeat("^", max(w, btoi(w > 0 || !marked))))
				marked = true
			case i < from && r == '\t':
				u.WriteByte('\t')
			case i < from:
				u.WriteString(strings.Repeat(" ", w))
			}
		}
		i += size
	}
	if !marked {
		u.WriteByte('^') // an empty range: the end of the line, or a point between two characters
	}
	return s.String(), u.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func columns(b []byte) (n int) {
	for _, r := range string(b) {
		n += runeWidth(r)
	}
	return n
}

// wrap breaks a line at spaces so that no part is wider than width, where words allow it. An indent is kept.
func wrap(line string, width int) string {
	if width <= 0 || columns([]byte(line)) <= width {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(line) {
		w := columns([]byte(word))
		switch {
		case used == 0:
			b.WriteString(indent)
			used = len(indent)
		case used+1+w > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += w
	}
	return b.String()
}
