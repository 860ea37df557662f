package memray

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/providers"
)

// maxLine is the number of bytes of one line of the stream: a stack of the deepest kind has fewer.
const maxLine = 4 << 20

// view is a set of records that memray makes of a capture.
type view int

// The views, in the order of the script's numbers and of the metrics.
const (
	highWaterMark view = iota
	retained
	temporary
	allocated
	views
)

func (v view) String() string {
	return [...]string{"high_watermark", "retained_end", "temporary", "allocated"}[v]
}

// capture is what one capture says of itself.
type capture struct {
	Capture    int    `json:"capture"`
	StartUS    int64  `json:"start_us"` // UTC, microseconds since 1970
	Records    int64  `json:"records"`  // allocations and frees that were recorded, or rows of an aggregated capture
	Peak       int64  `json:"peak"`     // bytes
	PID        int64  `json:"pid"`
	Allocator  string `json:"allocator"` // Python's own
	Native     bool   `json:"native"`
	Aggregated bool   `json:"aggregated"`
}

// frame is one place as memray names it.
type frame struct {
	function, file string
	line           int64
	python         bool
}

// stack is the allocations of one call stack in one view.
type stack struct {
	capture int
	view    view
	bytes   int64
	count   uint64
	thread  string
	frames  []int // from the leaf
}

type without struct {
	Capture int    `json:"capture"`
	View    view   `json:"view"`
	Text    string `json:"text"`
}

type totals struct {
	Capture    int   `json:"capture"`
	Operations int64 `json:"operations"`
	Bytes      int64 `json:"bytes"`
}

// handler is told what the stream says, in its order. Numbers of captures, views and frames are ones that the stream has named before.
type handler struct {
	capture func(capture) error
	frame   func(frame) error
	stack   func(*stack) error // not kept
	without func(without) error
	totals  func(totals) error
}

// line is one line of the stream; exactly one field is set.
type line struct {
	Reader *struct {
		Protocol int
		Library  string
		Version  string
		Runtime  string
		Error    string
	}
	Refused *struct {
		Capture int
		Text    string
	}
	Capture *capture
	Frame   *[4]json.RawMessage
	Stack   *[6]json.RawMessage
	Without *without
	Totals  *totals
	End     *int
}

// parseStream reads a whole stream of a reading over n captures and returns the version of memray that made it.
// An error is a *providers.Refusal where the payload or the reader is at fault.
func parseStream(r io.Reader, reading *providers.Reading, name func(int) string, n int, h handler) (version string, err error) {
	p := parser{in: bufio.NewReaderSize(r, 1<<16), h: h, n: n, name: name}
	err = p.run(reading.Version)
	var bad *providers.Refusal
	if err != nil && reading.Failure != "" && !errors.As(err, &bad) {
		err = providers.Refuse(ReaderBroke, "memray's reader broke off: %s; the capture is damaged, or of a kind that this version of memray fails on", reading.Failure)
	}
	var cut *streamError
	if errors.As(err, &cut) {
		err = providers.Refuse(ReaderBroke, "what memray's reader printed cannot be used: %s", cut.text)
	}
	return p.version, err
}

// streamError says that the stream is not one.
type streamError struct{ text string }

func (e *streamError) Error() string { return e.text }

func broken(format string, args ...any) error { return &streamError{fmt.Sprintf(format, args...)} }

type parser struct {
	in       *bufio.Reader
	h        handler
	n        int // captures
	name     func(int) string
	lines    int
	buf      []byte
	version  string
	captures int
	frames   int
	s        stack
}

func (p *parser) run(want string) error {
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
			if *l.End != p.lines || p.captures != p.n {
				return broken("lines are missing from it")
			}
			return nil
		}
		if err := p.line(&l, want); err != nil {
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
		if err == io.EOF || !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (p *parser) line(l *line, want string) error {
	switch {
	case l.Reader != nil:
		return p.reader(l, want)
	case l.Refused != nil:
		if l.Refused.Capture < 0 || l.Refused.Capture >= p.n {
			return broken("line %d names a capture that there is not", p.lines+1)
		}
		code := Unreadable
		if strings.Contains(l.Refused.Text, "incompatible") {
			code = Incompatible
		}
		return providers.Refuse(code, "memray %s does not read %s: %s", p.version, p.name(l.Refused.Capture), l.Refused.Text)
	case l.Capture != nil:
		if l.Capture.Capture != p.captures || p.captures == p.n || l.Capture.Records < 0 || l.Capture.Peak < 0 {
			return broken("line %d describes a capture that cannot be", p.lines+1)
		}
		p.captures++
		return p.h.capture(*l.Capture)
	case l.Frame != nil:
		return p.frame(l.Frame)
	case l.Stack != nil:
		return p.stack(l.Stack)
	case l.Without != nil:
		if !p.known(l.Without.Capture, l.Without.View) {
			return broken("line %d leaves out a view that there is not", p.lines+1)
		}
		return p.h.without(*l.Without)
	case l.Totals != nil:
		if !p.known(l.Totals.Capture, allocated) || l.Totals.Operations < 0 || l.Totals.Bytes < 0 {
			return broken("line %d has totals that cannot be", p.lines+1)
		}
		return p.h.totals(*l.Totals)
	}
	return broken("line %d says nothing that is known", p.lines+1)
}

// release is what versions of Python packages look like (PEP 440).
var release = pattern.Lazy{Expr: `^([0-9]+!)?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?$`}

func (p *parser) reader(l *line, want string) error {
	r := l.Reader
	p.version = r.Version
	switch {
	case r.Protocol != protocol:
		return broken("it is of version %d and not %d", r.Protocol, protocol)
	case r.Library != "memray" || r.Version != "" && !release.MatchString(r.Version):
		return broken("it is of %q in version %q, and not of a memray that has a version as Python packages have", r.Library, r.Version)
	case r.Version == "":
		return &providers.Refusal{Missing: true, Limitation: limitation(NoReader, "the interpreter (%s) has no memray that works (%s), and nothing else reads its captures; install %s there, or name another one with interpreter in the extraction",
			r.Runtime, r.Error, requirement(want))}
	case want != "" && r.Version != want:
		return &providers.Refusal{Missing: true, Limitation: limitation(ReaderOther, "the capture was written by memray %s and the reader is %s: they have to be one version, because the format is private to each; install %s, or name an interpreter that has it with interpreter in the extraction",
			want, r.Version, requirement(want))}
	}
	return nil
}

func requirement(version string) string {
	if version == "" {
		return "memray"
	}
	return "memray==" + version
}

// known says whether the stream may speak of a view of a capture here.
func (p *parser) known(capture int, v view) bool {
	return p.captures == p.n && capture >= 0 && capture < p.n && v >= 0 && v < views
}

func (p *parser) frame(f *[4]json.RawMessage) error {
	var out frame
	if unmarshal(f[0], &out.function) != nil || unmarshal(f[1], &out.file) != nil || unmarshal(f[2], &out.line) != nil || unmarshal(f[3], &out.python) != nil {
		return broken("line %d has a frame that is none", p.lines+1)
	}
	p.frames++
	return p.h.frame(out)
}

func (p *parser) stack(f *[6]json.RawMessage) error {
	s := &p.s
	*s = stack{frames: s.frames[:0]}
	if unmarshal(f[0], &s.capture) != nil || unmarshal(f[1], &s.view) != nil || unmarshal(f[2], &s.bytes) != nil ||
		unmarshal(f[3], &s.count) != nil || unmarshal(f[4], &s.thread) != nil || unmarshal(f[5], &s.frames) != nil {
		return broken("line %d has a stack that is none", p.lines+1)
	}
	if !p.known(s.capture, s.view) || s.bytes < 0 {
		return broken("line %d has a stack that cannot be", p.lines+1)
	}
	for _, i := range s.frames {
		if i < 0 || i >= p.frames {
			return broken("line %d has a frame that was not named", p.lines+1)
		}
	}
	return p.h.stack(s)
}

// unmarshal refuses what is not there; json.Unmarshal would leave the value of the line before.
func unmarshal(b json.RawMessage, v any) error {
	if len(b) == 0 {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, v)
}
