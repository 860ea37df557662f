package chrometrace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/flameox/flameox/formats/jsonscan"
)

// Limits bound what is read. A zero field is its default.
type Limits struct {
	Bytes int64 // of the document, after decompression; no bound where it is 0
	Event int   // bytes of one event, or of another member of the trace's object: 64 MiB
}

const defaultEvent = 64 << 20

// Summary is what is known of a trace that was read.
type Summary struct {
	Elements int64            // of the array of events, also those that were passed over
	Events   int64            // that were handed on
	Problems map[string]int64 // events that were passed over, by reason
	First    map[string]int64 // where the first of each reason stands, in bytes
	Twice    int64            // events whose arguments have a name twice
	Bytes    int64            // of the document, after decompression
	Open     bool             // the array lacks its end, which the format allows
	Cut      string           // what the trace breaks off in; "" where it does not
	Object   bool             // it is an object, with the events in traceEvents
	// Members are the other members of the object, as JSON, where they are no longer than 64 KiB.
	Members map[string][]byte
	Others  map[byte]int64 // events that Feed did not put into the timeline, by phase
	Samples Samples        // that Feed found
}

// The codes of errors.
const (
	NotJSON     = "not_json"         // a byte that JSON does not have there
	NotATrace   = "not_a_trace"      // JSON of something else
	CutBefore   = "cut_before_event" // it breaks off in front of the first event
	BadGzip     = "gzip_damaged"     // a checksum or a block is wrong
	TooLarge    = "input_budget"     // more bytes than may be read
	EventsTwice = "events_twice"     // two members of the object are called traceEvents
)

// Error says why a document is no trace that can be read.
type Error struct {
	Code   string
	Offset int64 // bytes in front of the place, after decompression
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the trace: %s", e.Offset, e.Text) }

const memberMost = 64 << 10

type scanner struct {
	w     window
	sum   Summary
	event Event
	ctx   context.Context
	fn    func(*Event) error
}

// Scan reads a trace and calls fn with each event. The error is an *Error where the document is at fault, ctx's, or fn's.
func Scan(ctx context.Context, src io.Reader, limits Limits, fn func(*Event) error) (Summary, error) {
	s := &scanner{ctx: ctx, fn: fn}
	s.sum.Problems, s.sum.First, s.sum.Members = map[string]int64{}, map[string]int64{}, map[string][]byte{}
	if limits.Event <= 0 {
		limits.Event = defaultEvent
	}
	plain, err := decompressed(src)
	if err != nil {
		return s.sum, err
	}
	s.w = window{src: plain, most: max(limits.Event, windowSize), limit: limits.Bytes}
	err = s.document()
	if err == nil && s.sum.Elements > 0 && s.sum.Problems[NoPhase]+s.sum.Problems[NotAnEvent] == s.sum.Elements {
		err = &Error{Code: NotATrace, Offset: min(s.sum.First[NoPhase], s.w.offset()), Text: "no element of the array has a ph, so they are no events: this is another kind of JSON"}
	}
	s.sum.Bytes = s.w.offset()
	return s.sum, located(err)
}

// decompressed is src, or what gzip made it of.
func decompressed(src io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(src, 64<<10)
	if head, _ := b.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, &Error{Code: BadGzip, Text: "the gzip header is damaged: " + err.Error()}
	}
	return z, nil
}

// located makes an *Error of what a layer below says about the document.
func located(err error) error {
	var own *Error
	var json *jsonscan.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.As(err, &json):
		return &Error{Code: NotJSON, Offset: json.Offset, Text: json.Text}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), strings.Contains(err.Error(), "flate"):
		return &Error{Code: BadGzip, Text: "the compressed data are damaged: " + err.Error()}
	}
	return err
}

func (s *scanner) document() error {
	c, err := s.w.next()
	if err == nil && c == 0xEF && s.w.offset() == 0 {
		for len(s.w.buf) < 3 && s.w.more() {
		}
		if bytes.HasPrefix(s.w.buf, []byte("\xEF\xBB\xBF")) {
			s.w.from = 3
			c, err = s.w.next()
		}
	}
	switch {
	case err != nil:
		return s.broken(err, "its first bytes")
	case c == 0:
		return &Error{Code: CutBefore, Offset: s.w.offset(), Text: "the file is empty"}
	case c == '[':
		s.w.from++
		if err := s.events(); err != nil || s.sum.Cut != "" || s.sum.Open {
			return err
		}
	case c == '{':
		s.w.from++
		s.sum.Object = true
		if err := s.members(); err != nil || s.sum.Cut != "" {
			return err
		}
	default:
		return &Error{Code: NotJSON, Offset: s.w.offset(), Text: fmt.Sprintf("%q is the beginning of no trace: it is an array of events, or an object with traceEvents", s.quote())}
	}
	switch c, err = s.w.next(); {
	case err != nil:
		return s.broken(err, "what stands behind the events")
	case c != 0:
		return &Error{Code: NotJSON, Offset: s.w.offset(), Text: fmt.Sprintf("%q stands behind the end of the trace", s.quote())}
	}
	return nil
}

func (s *scanner) quote() string {
	rest := s.w.buf[s.w.from:]
	return string(rest[:min(len(rest), 16)])
}

// broken ends the reading where the document breaks off: that costs nothing of what was in front of it. Other errors are err.
func (s *scanner) broken(err error, where string) error {
	var json *jsonscan.Error
	if !(errors.As(err, &json) && json.Cut) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if s.sum.Events == 0 {
		return &Error{Code: CutBefore, Offset: s.w.offset(), Text: "the trace breaks off in " + where + ", in front of its first event"}
	}
	s.sum.Cut = fmt.Sprintf("the trace breaks off at byte %d, in %s", s.w.base+int64(len(s.w.buf)), where)
	return nil
}

// members goes through the trace's object.
func (s *scanner) members() error {
	met := false
	for first := true; ; first = false {
		c, err := s.w.next()
		if err != nil || c == 0 {
			return s.broken(cutIfNil(err, s.w.offset()), "its object")
		}
		if c == '}' {
			s.w.from++
			if !met {
				return s.foreign()
			}
			return nil
		}
		if !first {
			if c != ',' {
				return &Error{Code: NotJSON, Offset: s.w.offset(), Text: fmt.Sprintf("%q stands where a comma or the end of the object is expected", s.quote())}
			}
			s.w.from++
		}
		var name string
		if err := s.w.read(func(r *jsonscan.Reader) { name = string(r.Name()) }); err != nil {
			return s.broken(err, "the name of a member")
		}
		if name == "traceEvents" {
			if met {
				return &Error{Code: EventsTwice, Offset: s.w.offset(), Text: "the object has two members called traceEvents"}
			}
			c, err := s.w.next()
			if err != nil || c == 0 {
				return s.broken(cutIfNil(err, s.w.offset()), "traceEvents")
			}
			if c != '[' {
				return &Error{Code: NotATrace, Offset: s.w.offset(), Text: fmt.Sprintf("traceEvents is %q and no array of events", s.quote())}
			}
			met = true
			s.w.from++
			if err := s.events(); err != nil || s.sum.Cut != "" {
				return err
			}
			if s.sum.Open { // an object that lacks the rest is cut
				s.sum.Open = false
				return s.broken(&jsonscan.Error{Cut: true}, "traceEvents")
			}
			continue
		}
		var value []byte
		if err := s.w.read(func(r *jsonscan.Reader) { value, _ = r.Raw() }); err != nil {
			return s.broken(err, "the member "+name)
		}
		if len(value) <= memberMost && len(s.sum.Members) < 256 {
			s.sum.Members[name] = bytes.Clone(value)
		}
	}
}

func cutIfNil(err error, offset int64) error {
	if err == nil {
		return &jsonscan.Error{Offset: offset, Cut: true}
	}
	return err
}

// foreign says what an object without events is instead.
func (s *scanner) foreign() error {
	var names []string
	for name := range s.sum.Members {
		names = append(names, fmt.Sprintf("%.40q", name))
	}
	sort.Strings(names)
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	what := "an object with the members " + strings.Join(names, ", ")
	if len(names) == 0 {
		what = "an object without small members"
	}
	if s.sum.Members["schema"] != nil && s.sum.Members["pid"] != nil {
		what += ", an execution trace of PyTorch's observer,"
	}
	return &Error{Code: NotATrace, Text: "this is " + what + " and no trace: traceEvents is missing"}
}

// events goes through the array behind its bracket, to behind the one that ends it.
func (s *scanner) events() error {
	for {
		c, err := s.w.next()
		switch {
		case err != nil:
			return s.broken(err, "the array of events")
		case c == 0:
			s.sum.Open = true
			if s.sum.Elements == 0 {
				return &Error{Code: CutBefore, Offset: s.w.offset(), Text: "the trace breaks off in front of its first event"}
			}
			return nil
		case c == ']':
			s.w.from++
			return nil
		}
		if err := s.element(); err != nil || s.sum.Cut != "" {
			return err
		}
		switch c, err = s.w.next(); {
		case err != nil:
			return s.broken(err, "the array of events")
		case c == ',':
			s.w.from++
		case c != ']' && c != 0:
			return &Error{Code: NotJSON, Offset: s.w.offset(), Text: fmt.Sprintf("%q stands where a comma or the end of the events is expected", s.quote())}
		}
	}
}

func (s *scanner) element() error {
	e := &s.event
	e.Ordinal = s.sum.Elements
	if err := s.w.read(e.parse); err != nil {
		return s.broken(err, fmt.Sprintf("event %d", s.sum.Elements+1))
	}
	s.sum.Elements++
	if s.sum.Elements%4096 == 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	if e.bad == nothing {
		return nil
	}
	if e.bad != "" {
		if e.bad == NotAnEvent && s.sum.Elements == 1 {
			return &Error{Code: NotATrace, Offset: e.Offset, Text: "the first element of the array is no event: this is another kind of JSON"}
		}
		if s.sum.Problems[e.bad]++; s.sum.Problems[e.bad] == 1 {
			s.sum.First[e.bad] = e.Offset
		}
		return nil
	}
	if e.Args.twice {
		if s.sum.Twice++; s.sum.Twice == 1 {
			s.sum.First[ArgsTwice] = e.Offset
		}
	}
	s.sum.Events++
	return s.fn(e)
}
