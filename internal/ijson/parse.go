package ijson

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may be nested.
const MaxDepth = 128

// MaxSafe is the largest integer that a double holds together with both of its neighbours.
const MaxSafe = 1<<53 - 1

// Problem is one defect of a text.
type Problem struct {
	Offset       int // of its first byte
	Line, Column int // from 1; columns count code points
	Text         string
}

func (p Problem) String() string {
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
}

// Error is everything that is wrong with a text.
type Error []Problem

// Error lists the problems, one a line.
func (e Error) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Object parses a text whose top level must be an object. The error is an Error.
func Object(text []byte) (map[string]any, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, Error{{Line: 1, Column: 1, Text: "the document is " + kind(v) + " and must be an object"}}
	}
	return o, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	default:
		return "an array"
	}
}

// Parse reads one value. The error is an Error with every problem up to the first that leaves the rest without meaning.
func Parse(text []byte) (any, error) {
	p := parser{text: text}
	if i := invalid(text); i >= 0 {
		p.at = i
		p.problem("byte %d is not UTF-8", i)
		return nil, p.error()
	}
	if strings.HasPrefix(string(text[:min(3, len(text))]), "\ufeff") {
		p.problem("the text begins with a byte-order mark; save it without one")
		return nil, p.error()
	}
	v := p.value(0)
	p.space()
	if !p.broken && p.at < len(p.text) {
		p.syntax("there is more text after the value")
	}
	if len(p.problems) > 0 {
		return nil, p.error()
	}
	return v, nil
}

// invalid is the offset of the first byte that is not UTF-8, or -1.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

type parser struct {
	text     []byte
	at       int
	problems []Problem
	broken   bool // the rest cannot be read
}

func (p *parser) problem(format string, args ...any) { p.problemAt(p.at, format, args...) }

func (p *parser) problemAt(at int, format string, args ...any) {
	p.problems = append(p.problems, Problem{Offset: at, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) syntax(format string, args ...any) {
	if !p.broken {
		p.problem(format, args...)
		p.broken = true
	}
}

// error finds lines and columns in one pass.
func (p *parser) error() Error {
	order := make([]int, len(p.problems))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return p.problems[a].Offset - p.problems[b].Offset })
	line, start, at := 1, 0, 0
	for _, i := range order {
		for q := &p.problems[i]; ; at++ {
			if at == q.Offset {
				q.Line, q.Column = line, 1+utf8.RuneCount(p.text[start:at])
				break
			}
			if p.text[at] == '\n' {
				line, start = line+1, at+1
			}
		}
	}
	return p.problems
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next is the next byte after white space, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) value(depth int) any {
	c := p.next()
	switch {
	case p.at == len(p.text):
		p.syntax("the text ends where a value must be")
	case c == '{' || c == '[':
		if depth == MaxDepth {
			p.syntax("values are nested deeper than %d", MaxDepth)
			return nil
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case c == '"':
		return p.str()
	default:
		return p.word()
	}
	return nil
}

func (p *parser) object(depth int) map[string]any {
	out := map[string]any{}
	var again []Problem
	p.at++
	for first := true; !p.broken; first = false {
		c := p.next()
		if c == '}' && first {
			p.at++
			break
		}
		at := p.at
		if c != '"' {
			p.syntax("a member name in quotes must be here")
			break
		}
		name := p.str()
		if p.next() != ':' {
			p.syntax("a colon must follow the member name %q", name)
			break
		}
		p.at++
		v := p.value(depth + 1)
		if _, ok := out[name]; ok {
			again = append(again, Problem{Offset: at, Text: fmt.Sprintf("there is a second member %q in one object", name)})
		}
		out[name] = v
		if !p.more('}') {
			break
		}
	}
	p.problems = append(p.problems, again...)
	return out
}

func (p *parser) array(depth int) []any {
	out := []any{}
	p.at++
	if p.next() == ']' {
		p.at++
		return out
	}
	for !p.broken {
		out = append(out, p.value(depth+1))
		if !p.more(']') {
			break
		}
	}
	return out
}

// more takes the comma before another element, or the end.
func (p *parser) more(end byte) bool {
	if p.broken {
		return false
	}
	switch p.next() {
	case ',':
		p.at++
		return true
	case end:
		p.at++
	default:
		p.syntax("a comma or %q must be here", string(end))
	}
	return false
}

func (p *parser) str() string {
	var out strings.Builder
	start := p.at
	p.at++
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return out.String()
		case c < 0x20:
			p.syntax("a control character in a string; write it as \\u%04x", c)
			return ""
		case c != '\\':
			out.WriteByte(c)
			p.at++
		default:
			r, ok := p.escape()
			if !ok {
				return ""
			}
			out.WriteRune(r)
		}
	}
	p.at = start
	p.syntax("a string that does not end")
	return ""
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape() (rune, bool) {
	if p.at+1 < len(p.text) {
		if r, ok := escapes[p.text[p.at+1]]; ok {
			p.at += 2
			return r, true
		}
	}
	at := p.at
	r, ok := p.hex()
	if !ok {
		p.syntax("an escape that JSON does not have")
		return 0, false
	}
	if utf16.IsSurrogate(r) {
		low, ok := p.hex()
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			return pair, true
		}
		p.at = at
		p.syntax("half of a surrogate pair, which is no character")
		return 0, false
	}
	return r, true
}

// hex takes \uXXXX.
func (p *parser) hex() (rune, bool) {
	if p.at+6 > len(p.text) || p.text[p.at] != '\\' || p.text[p.at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.text[p.at+2:p.at+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	p.at += 6
	return rune(n), true
}

// word takes a number or a name.
func (p *parser) word() any {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n,:]}[{\"", p.text[p.at]) < 0 {
		p.at++
	}
	word := string(p.text[start:p.at])
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	case "NaN", "Infinity", "-Infinity":
		p.problemAt(start, "%s is no number of JSON", word)
		return nil
	}
	whole, ok := number(word)
	if !ok {
		p.at = start
		p.syntax("%s is no value", strconv.Quote(cut(word)))
		return nil
	}
	f, err := strconv.ParseFloat(word, 64)
	switch {
	case err != nil && math.IsInf(f, 0), whole && math.Abs(f) > MaxSafe, spelledOut(f):
		p.problemAt(start, "%s is beyond what a double holds exactly", cut(word))
		return nil
	case f == 0:
		return 0.0 // also -0, which has no text of its own
	}
	return f
}

// spelledOut says that the canonical text of a number is an integer that this package refuses, however it was written here: a document that holds
// it could not be read back from its own canonical text.
func spelledOut(f float64) bool {
	return math.Abs(f) > MaxSafe && math.Abs(f) < 1e21
}

func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// number says whether a word is a number of JSON, and whether it is written as an integer.
func number(s string) (whole, ok bool) {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	n := digits()
	if n == 0 || n > 1 && s[0] == '0' {
		return false, false
	}
	s, whole = s[n:], true
	if strings.HasPrefix(s, ".") {
		s, whole = s[1:], false
		if n = digits(); n == 0 {
			return false, false
		}
		s = s[n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s, whole = s[1:], false
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if n = digits(); n == 0 {
			return false, false
		}
		s = s[n:]
	}
	return whole, s == ""
}
