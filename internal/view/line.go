package view

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is text of one style, without line breaks.
type span struct {
	s  string
	st style
}

// line is a sequence of spans.
type line []span

func (l line) add(st style, s string) line {
	if s == "" {
		return l
	}
	return append(l, span{s, st})
}

func (l line) width() (n int) {
	for _, s := range l {
		n += utf8.RuneCountInString(s.s)
	}
	return n
}

// pad adds spaces until l is n columns wide.
func (l line) pad(n int) line {
	if d := n - l.width(); d > 0 {
		return append(l, span{strings.Repeat(" ", d), plain})
	}
	return l
}

// page collects lines and writes them at once.
type page struct {
	o Options
	g glyphs
	b strings.Builder
}

func newPage(o Options) *page { return &page{o: o, g: o.glyphs()} }

func (p *page) writeTo(w io.Writer) error {
	if p.b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (p *page) blank() { p.b.WriteByte('\n') }

// put writes l; what does not fit goes on below, hang columns in.
func (p *page) put(hang int, l line) {
	for _, part := range wrap(l, p.o.Width, hang, p.g.ellipsis) {
		part = join(part)
		for i, s := range part {
			text := strings.ReplaceAll(s.s, nbsp, " ")
			if i == len(part)-1 {
				text = strings.TrimRight(text, " ")
			}
			p.b.WriteString(p.o.paint(s.st, text))
		}
		p.b.WriteByte('\n')
	}
}

// nbsp keeps two words on one line; it is written as a space.
const nbsp = "\u00a0"

// join puts neighbours of one style together, also over spaces, and drops spaces at the end.
func join(l line) (out line) {
	gap := ""
	for _, s := range l {
		if strings.Trim(s.s, " ") == "" {
			gap += s.s
			continue
		}
		last := len(out) - 1
		if last >= 0 && out[last].st == s.st {
			out[last].s += gap + s.s
		} else {
			out = out.add(plain, gap)
			out = append(out, s)
		}
		gap = ""
	}
	return out
}

// word is a run of characters without spaces, with the spaces before it. It may change style inside.
type word struct {
	gap   int
	spans line
}

func words(l line) (out []word) {
	w := word{}
	flush := func() {
		if len(w.spans) > 0 {
			out = append(out, w)
			w = word{}
		}
	}
	for _, s := range l {
		rest := s.s
		for rest != "" {
			i := strings.IndexByte(rest, ' ')
			if i == 0 {
				flush()
				w.gap++
				rest = rest[1:]
				continue
			}
			if i < 0 {
				i = len(rest)
			}
			w.spans = append(w.spans, span{rest[:i], s.st})
			rest = rest[i:]
		}
	}
	flush()
	return out
}

// wrap breaks l at spaces so that no line is wider than width; 0 is no limit. A word that is wider than a line loses its middle.
func wrap(l line, width, hang int, ellipsis string) []line {
	if width <= 0 || l.width() <= width {
		return []line{l}
	}
	hang = min(hang, width/2)
	var out []line
	var cur line
	at := 0
	for _, w := range words(l) {
		n := w.spans.width()
		if at > 0 && len(out) == 0 || at > hang {
			// What fits on no line is cut where it stands, if enough of it remains.
			hopeless := n > width-hang && width-at-w.gap >= worthCutting
			if at+w.gap+n > width && !hopeless {
				out = append(out, cur)
				cur = line{{strings.Repeat(" ", hang), plain}}
				at = hang
				w.gap = 0
			}
		}
		if at+w.gap+n > width {
			w.gap = min(w.gap, width/2)
			w.spans = cutSpans(w.spans, width-at-w.gap, ellipsis)
			n = w.spans.width()
		}
		if w.gap > 0 {
			cur = append(cur, span{strings.Repeat(" ", w.gap), plain})
		}
		cur = append(cur, w.spans...)
		at += w.gap + n
	}
	return append(out, cur)
}

// worthCutting is the least room for a word that loses its middle.
const worthCutting = 24

func cutSpans(l line, n int, ellipsis string) line {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.s)
	}
	return line{{cutMiddle(b.String(), n, ellipsis), l[0].st}}
}

// cutMiddle shortens s to n columns and keeps its end, which tells files apart, longer than its beginning.
func cutMiddle(s string, n int, ellipsis string) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	e := utf8.RuneCountInString(ellipsis)
	if n <= e {
		return string(r[:max(n, 0)])
	}
	head := (n - e) / 3
	return string(r[:head]) + ellipsis + string(r[len(r)-(n-e-head):])
}

// cutEnd shortens s to n columns.
func cutEnd(s string, n int, ellipsis string) string {
	r := []rune(s)
	e := utf8.RuneCountInString(ellipsis)
	if len(r) <= n || n <= e {
		return string(r[:min(len(r), max(n, 0))])
	}
	return string(r[:n-e]) + ellipsis
}

// cutLine shortens l to n columns, for lines that are redrawn and must not wrap.
func cutLine(l line, n int, ellipsis string) line {
	if n <= 0 || l.width() <= n {
		return l
	}
	var out line
	for _, s := range l {
		room := n - out.width()
		if w := utf8.RuneCountInString(s.s); w <= room-utf8.RuneCountInString(ellipsis) {
			out = append(out, s)
			continue
		}
		return append(out, span{cutEnd(s.s, room, ellipsis), s.st})
	}
	return out
}

// Lines is text from outside, such as an error, that may have several lines: nothing in it controls the terminal.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// clean makes text from outside safe to print on one line: escape sequences go, line breaks and tabs become spaces, other
// control characters are written out.
func clean(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := escapeSequence(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// escapeSequence is the length of the terminal sequence that s begins with: CSI ("ESC [ … letter") or OSC ("ESC ] … BEL"), or 0.
func escapeSequence(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
	case ']':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	}
	return 0
}

// ShellQuote is s as one word of a POSIX shell.
func ShellQuote(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
