package gobench

import (
	"bytes"
	"fmt"

	"github.com/flameox/flameox/formats/jsonscan"
)

// event takes one line of go test -json.
func (l *lines) event(line []byte) {
	var e struct{ Action, Package, Output string }
	r := jsonscan.New(line)
	r.Object(func(name []byte) {
		switch string(name) {
		case "Action":
			e.Action = r.Text()
		case "Package":
			e.Package = r.Text()
		case "Output":
			e.Output = r.Text()
		default:
			r.Skip()
		}
	})
	r.End()
	if err := r.Err(); err != nil {
		l.err = &refusal{"json_unreadable", fmt.Sprintf("line %d is not an event of `go test -json`: %v", l.line, err)}
		return
	}
	l.testing++
	if e.Action != "output" || e.Output == "" {
		return
	}
	rest := []byte(e.Output)
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		line, p := rest[:i], l.part[e.Package]
		if p != nil {
			line = p.end(line)
			delete(l.part, e.Package)
		}
		l.of(e.Package, bytes.TrimRight(line, "\r"), true)
		rest = rest[i+1:]
	}
	if len(rest) > 0 {
		l.keep(e.Package, rest)
	}
}

// unfinished is a line of which the newline has not come yet. A test that prints byte by byte has an event for each, so
// what is there is neither copied nor searched again when more comes.
type unfinished struct {
	text []byte
	long bool // over maxLine, counted as such, and no longer kept
}

// end is the whole line, given its last piece; nil where it is too long.
func (p *unfinished) end(piece []byte) []byte {
	if p.long {
		return nil
	}
	return append(p.text, piece...)
}

// keep adds a piece without a newline to a package's unfinished line.
func (l *lines) keep(pkg string, piece []byte) {
	p := l.part[pkg]
	if p == nil {
		p = &unfinished{}
		if l.part == nil {
			l.part = map[string]*unfinished{}
		}
		l.part[pkg] = p
	}
	if p.long {
		return
	}
	if p.text = append(p.text, piece...); len(p.text) > maxLine {
		l.long++
		p.long, p.text = true, nil
	}
}

// of takes a line of a package's output. Packages run side by side, so the line may follow one of another
// package, and the configuration has to follow it.
func (l *lines) of(pkg string, line []byte, terminated bool) {
	if pkg != l.current && pkg != "" && bytes.HasPrefix(line, []byte("Benchmark")) {
		l.out = append(append(append(l.out, "pkg: "...), pkg...), '\n')
		l.current = pkg
	} else if after, ok := bytes.CutPrefix(line, []byte("pkg: ")); ok {
		l.current = string(after)
	}
	l.text(line, terminated)
}

// flushJSON says what is left of packages whose output ends without a newline.
func (l *lines) flushJSON() {
	for _, p := range l.part {
		if bytes.HasPrefix(p.text, []byte("Benchmark")) || lostResult.Match(p.text) {
			l.truncated = true
		}
	}
	l.part = nil
}

func jsonLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"Time":"`)) || bytes.HasPrefix(line, []byte(`{"Action":"`)) || bytes.HasPrefix(line, []byte(`{"ImportPath":"`))
}
