package otlp

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// state is what both encodings share while they read.
type state struct {
	sum      Summary
	h        Handler
	notes    map[string]*Note
	attrs    *attributes
	own      *attributes // of the span, whose attributes may stand between its events
	span     Span
	resource Resource
	scope    Scope
	interned map[string]string
	ids      [96]byte
}

func newState(h Handler) *state {
	s := &state{h: h, notes: map[string]*Note{}, interned: map[string]string{}}
	s.resource.Ordinal, s.scope.Ordinal = -1, -1
	s.attrs, s.own = &attributes{note: s.note}, &attributes{note: s.note}
	return s
}

// firsts is how many spans a note names.
const firsts = 5

// note counts one case, of the span that is read.
func (s *state) note(code, text string) {
	n := s.notes[code]
	if n == nil {
		n = &Note{Code: code, Text: text}
		s.notes[code] = n
	}
	n.Count++
	if last := len(n.First) - 1; last < firsts-1 && (last < 0 || n.First[last] != s.sum.Spans) {
		n.First = append(n.First, s.sum.Spans)
	}
}

func (s *state) count(code string) int64 {
	if n := s.notes[code]; n != nil {
		return n.Count
	}
	return 0
}

func (s *state) summary() *Summary {
	for _, n := range s.notes {
		s.sum.Notes = append(s.sum.Notes, *n)
	}
	slices.SortFunc(s.sum.Notes, func(a, b Note) int { return strings.Compare(a.Code, b.Code) })
	return &s.sum
}

// intern is b as a string, of which equal ones share their memory while there are few.
func (s *state) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if t, ok := s.interned[string(b)]; ok {
		return t
	}
	t := string(b)
	if len(s.interned) < 4096 && len(b) <= 256 {
		s.interned[t] = t
	}
	return t
}

func (s *state) openResource() {
	s.sum.Resources++
	s.resource = Resource{Ordinal: s.resource.Ordinal + 1, Attributes: none}
}

func (s *state) openScope() {
	s.sum.Scopes++
	s.scope = Scope{Resource: s.resource.Ordinal, Ordinal: s.scope.Ordinal + 1, Attributes: none}
}

// emit hands over the span that was read, whose ids are raw.
func (s *state) emit(trace, span, parent []byte) error {
	p := &s.span
	p.Resource, p.Scope, p.Ordinal = s.resource.Ordinal, s.scope.Ordinal, s.sum.Spans
	if len(parent) > 0 && zero(parent) {
		s.note(ZeroID, "")
		parent = nil
	}
	if len(trace) == 16 && len(span) == 8 && (len(parent) == 0 || len(parent) == 8) { // one string for all three
		n := hex.Encode(s.ids[:], trace)
		n += hex.Encode(s.ids[n:], span)
		n += hex.Encode(s.ids[n:], parent)
		all := string(s.ids[:n])
		p.TraceID, p.SpanID, p.Parent = all[:32], all[32:48], all[48:]
	} else {
		p.TraceID, p.SpanID = s.id(trace, 16, InvalidTraceID), s.id(span, 8, InvalidSpanID)
		if len(parent) > 0 {
			p.Parent = s.id(parent, 8, InvalidParentID)
		}
	}
	if len(trace) == 16 && zero(trace) || len(span) == 8 && zero(span) {
		s.note(ZeroID, "")
	}
	if p.Parent != "" && p.Parent == p.SpanID {
		s.note(OwnParent, "")
	}
	switch {
	case p.Start == 0 || p.End == 0:
		s.note(MissingTimestamp, "")
	case p.End < p.Start:
		s.note(EndBeforeStart, "")
	case p.End-p.Start > 1<<63-1:
		s.note(TooLong, "")
	}
	err := s.h.Span(p)
	s.sum.Spans++
	s.sum.Events += int64(len(p.Events))
	s.sum.Links += int64(len(p.Links))
	return err
}

// id is an id's text; one of another length says so.
func (s *state) id(raw []byte, want int, code string) string {
	if len(raw) == want {
		return hex.EncodeToString(raw)
	}
	s.note(code, fmt.Sprintf("invalid_length:%d", len(raw)))
	return "invalid-" + hex.EncodeToString(raw)
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
