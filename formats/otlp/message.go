package otlp

import "math"

// The messages that are small enough to be in memory: everything but TracesData, ResourceSpans and ScopeSpans. Each function
// returns why its message cannot be read, or "". The numbers are those of opentelemetry-proto.

func (s *state) resourceMessage(b []byte) string {
	c := cursor{b: b}
	s.attrs.begin()
	first, at := s.attrs.open()
	for c.next() {
		switch c.num {
		case 1:
			c.is(bytesOf)
			c.fail(s.keyValue(c.data, first, 0))
		case 2:
			c.is(varint)
			s.resource.Dropped = uint64(uint32(c.v))
		case 3: // entity references, of which there is no table
		default:
			s.note(UnknownField, "")
		}
	}
	s.attrs.close(first, at)
	s.resource.Attributes = s.attrs.text()
	return c.bad
}

func (s *state) scopeMessage(b []byte) string {
	c := cursor{b: b}
	s.attrs.begin()
	first, at := s.attrs.open()
	for c.next() {
		switch c.num {
		case 1:
			c.is(bytesOf)
			s.scope.Name = s.intern(c.data)
		case 2:
			c.is(bytesOf)
			s.scope.Version = s.intern(c.data)
		case 3:
			c.is(bytesOf)
			c.fail(s.keyValue(c.data, first, 0))
		case 4:
			c.is(varint)
			s.scope.Dropped = uint64(uint32(c.v))
		default:
			s.note(UnknownField, "")
		}
	}
	s.attrs.close(first, at)
	s.scope.Attributes = s.attrs.text()
	return c.bad
}

// spanMessage reads a span.
func (s *state) spanMessage(b []byte) (trace, span, parent []byte, bad string) {
	p := &s.span
	p.reset()
	c := cursor{b: b}
	s.own.begin()
	first, at := s.own.open()
	for c.next() {
		switch c.num {
		case 1, 2, 3, 4, 5, 9, 11, 13, 15:
			if !c.is(bytesOf) {
				continue
			}
		case 7, 8:
			c.is(fixed64)
		case 6, 10, 12, 14:
			c.is(varint)
		case 16:
			c.is(fixed32)
		}
		switch c.num {
		case 1:
			trace = c.data
		case 2:
			span = c.data
		case 3:
			p.TraceState = s.intern(c.data)
		case 4:
			parent = c.data
		case 5:
			p.Name = s.intern(c.data)
		case 6:
			p.Kind = int64(int32(c.v))
		case 7:
			p.Start = c.v
		case 8:
			p.End = c.v
		case 9:
			s.attrs, s.own = s.own, s.attrs
			c.fail(s.keyValue(c.data, first, 0))
			s.attrs, s.own = s.own, s.attrs
		case 10:
			p.DroppedAttributes = uint64(uint32(c.v))
		case 11:
			c.fail(s.eventMessage(c.data))
		case 12:
			p.DroppedEvents = uint64(uint32(c.v))
		case 13:
			c.fail(s.linkMessage(c.data))
		case 14:
			p.DroppedLinks = uint64(uint32(c.v))
		case 15:
			c.fail(s.statusMessage(c.data))
		case 16:
			p.Flags = c.v
		default:
			s.note(UnknownField, "")
		}
	}
	s.own.close(first, at)
	p.Attributes = s.own.text()
	return trace, span, parent, c.bad
}

func (s *state) statusMessage(b []byte) string {
	c := cursor{b: b}
	for c.next() {
		switch c.num {
		case 2:
			c.is(bytesOf)
			s.span.StatusMessage = s.intern(c.data)
		case 3:
			c.is(varint)
			s.span.StatusCode = int64(int32(c.v))
		default:
			s.note(UnknownField, "")
		}
	}
	return c.bad
}

func (s *state) eventMessage(b []byte) string {
	c := cursor{b: b}
	e := Event{Attributes: none}
	s.attrs.begin()
	first, at := s.attrs.open()
	for c.next() {
		switch c.num {
		case 1:
			c.is(fixed64)
			e.Time = c.v
		case 2:
			c.is(bytesOf)
			e.Name = s.intern(c.data)
		case 3:
			c.is(bytesOf)
			c.fail(s.keyValue(c.data, first, 0))
		case 4:
			c.is(varint)
			e.Dropped = uint64(uint32(c.v))
		default:
			s.note(UnknownField, "")
		}
	}
	s.attrs.close(first, at)
	e.Attributes = s.attrs.text()
	s.span.Events = append(s.span.Events, e)
	return c.bad
}

func (s *state) linkMessage(b []byte) string {
	c := cursor{b: b}
	l := Link{Attributes: none}
	var trace, span []byte
	s.attrs.begin()
	first, at := s.attrs.open()
	for c.next() {
		switch c.num {
		case 1:
			c.is(bytesOf)
			trace = c.data
		case 2:
			c.is(bytesOf)
			span = c.data
		case 3:
			c.is(bytesOf)
			l.TraceState = s.intern(c.data)
		case 4:
			c.is(bytesOf)
			c.fail(s.keyValue(c.data, first, 0))
		case 5:
			c.is(varint)
			l.Dropped = uint64(uint32(c.v))
		case 6:
			c.is(fixed32)
			l.Flags = c.v
		default:
			s.note(UnknownField, "")
		}
	}
	s.attrs.close(first, at)
	l.Attributes = s.attrs.text()
	s.addLink(l, trace, span)
	return c.bad
}

func (s *state) addLink(l Link, trace, span []byte) {
	l.TraceID, l.SpanID = s.id(trace, 16, InvalidLinkID), s.id(span, 8, InvalidLinkID)
	s.span.Links = append(s.span.Links, l)
}

// deepest is how many values may lie in each other, as protobuf's own readers bound it.
const deepest = 100

// keyValue writes one attribute.
func (s *state) keyValue(b []byte, first, depth int) string {
	c := cursor{b: b}
	var key, value []byte
	for c.next() {
		switch c.num {
		case 1:
			c.is(bytesOf)
			key = c.data
		case 2:
			c.is(bytesOf)
			value = c.data
		default:
			s.note(UnknownField, "")
		}
	}
	if c.bad != "" {
		return c.bad
	}
	p := s.attrs.key(first, key)
	c.fail(s.anyValue(value, depth))
	s.attrs.done(p)
	return c.bad
}

// anyValue writes one value: the last of its alternatives, as protobuf's own readers take it.
func (s *state) anyValue(b []byte, depth int) string {
	if depth > deepest {
		return "its values lie more than 100 deep in each other"
	}
	c := cursor{b: b}
	var last cursor
	for c.next() {
		switch c.num {
		case 1, 5, 6, 7:
			c.is(bytesOf)
		case 2, 3:
			c.is(varint)
		case 4:
			c.is(fixed64)
		default:
			s.note(UnknownField, "")
			continue
		}
		last = c
	}
	if c.bad != "" {
		return c.bad
	}
	switch last.num {
	case 1:
		s.attrs.string(last.data)
	case 2:
		s.attrs.bool(last.v != 0)
	case 3:
		s.attrs.int(int64(last.v))
	case 4:
		s.attrs.double(math.Float64frombits(last.v))
	case 5:
		return s.list(last.data, depth)
	case 6:
		list := cursor{b: last.data}
		first, at := s.attrs.open()
		for list.next() {
			if list.num != 1 {
				s.note(UnknownField, "")
				continue
			}
			list.is(bytesOf)
			list.fail(s.keyValue(list.data, first, depth+1))
		}
		s.attrs.close(first, at)
		return list.bad
	case 7:
		s.attrs.bytes(last.data)
	default:
		s.attrs.null()
	}
	return ""
}

func (s *state) list(b []byte, depth int) string {
	c := cursor{b: b}
	s.attrs.buf = append(s.attrs.buf, '[')
	some := false
	for c.next() {
		if c.num != 1 {
			s.note(UnknownField, "")
			continue
		}
		c.is(bytesOf)
		if some {
			s.attrs.buf = append(s.attrs.buf, ',')
		}
		some = true
		c.fail(s.anyValue(c.data, depth+1))
	}
	s.attrs.buf = append(s.attrs.buf, ']')
	return c.bad
}
