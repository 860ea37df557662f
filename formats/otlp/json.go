package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/formats/jsonscan"
)

// JSON reads a payload: one document, or several, as the collector writes them one a line. largest is how many bytes one span, resource or scope
// may have. Errors are as those of Protobuf.
func JSON(r io.Reader, largest int64, h Handler) (*Summary, error) {
	d := &documents{state: newState(h), source: newSource(r, largest)}
	err := d.read()
	return d.summary(), err
}

type documents struct {
	*state
	*source
	lost       string // why the record that is read cannot be
	hex, b64   bool   // forms of ids that were met
	number     int64  // of documents before this one
	traces     int64  // documents with resourceSpans
	inResource bool
	inScope    bool
	idBytes    []byte
}

func (d *documents) read() error {
	if _, err := d.peek(); err != nil {
		return err
	}
	if bytes.HasPrefix(d.buf[d.at:], []byte("\xEF\xBB\xBF")) {
		d.at += 3
	}
	for {
		c, err := d.peek()
		if err != nil {
			return err
		}
		if c == 0 && d.at >= len(d.buf) {
			break
		}
		if c != '{' {
			return d.source.error(Malformed, "%q stands where a document of OTLP begins with {", d.buf[d.at:min(len(d.buf), d.at+20)])
		}
		if err := d.document(); err != nil {
			return d.cutDocument(err)
		}
		d.number++
	}
	if d.traces == 0 {
		return d.source.error(NotTraces, "it has no resourceSpans, so it is no OTLP traces")
	}
	return nil
}

// cutDocument keeps what came before where the last of several documents breaks off, and of that its whole spans.
func (d *documents) cutDocument(err error) error {
	var bad *Error
	if d.number == 0 || d.sum.Spans == 0 || !errors.As(err, &bad) || bad.Code != Truncated {
		return err
	}
	d.sum.Cut = true
	d.note(LastCut, bad.Text)
	if d.inScope {
		if err := d.h.Scope(&d.scope); err != nil {
			return err
		}
	}
	if d.inResource {
		return d.h.Resource(&d.resource)
	}
	return nil
}

func (d *documents) document() error {
	other, spans := false, false
	err := d.source.object(func(name string) error {
		switch name {
		case "resourceSpans":
			spans = true
			if null, err := d.null(); null || err != nil {
				return err
			}
			return d.source.list('[', ']', d.resourceSpans)
		case "resourceMetrics", "resourceLogs", "resourceProfiles":
			other = true
		default:
			d.note(UnknownField, name)
		}
		return d.skip()
	})
	if spans {
		d.traces++
	}
	if other && err == nil {
		d.note(OtherSignals, "")
	}
	return err
}

// null passes over null if it comes next.
func (d *documents) null() (bool, error) {
	c, err := d.peek()
	if err != nil || c != 'n' {
		return false, err
	}
	return true, d.skip()
}

func (d *documents) resourceSpans() error {
	d.openResource()
	d.inResource = true
	err := d.source.object(func(name string) error {
		if null, err := d.null(); null || err != nil {
			return err
		}
		switch name {
		case "resource":
			return d.part("resource", d.resourceObject)
		case "scopeSpans":
			return d.source.list('[', ']', d.scopeSpans)
		case "schemaUrl":
			return d.part("schemaUrl", func(r *jsonscan.Reader) { d.resource.SchemaURL = d.str(r) })
		case "instrumentationLibrarySpans":
			return d.source.error(Deprecated, "its spans stand in instrumentationLibrarySpans, which opentelemetry-proto has no more since 0.15; write it with a newer SDK or collector")
		}
		d.note(UnknownField, name)
		return d.skip()
	})
	if err != nil {
		return err
	}
	d.inResource = false
	return d.h.Resource(&d.resource)
}

func (d *documents) scopeSpans() error {
	d.openScope()
	d.inScope = true
	err := d.source.object(func(name string) error {
		if null, err := d.null(); null || err != nil {
			return err
		}
		switch name {
		case "scope":
			return d.part("scope", d.scopeObject)
		case "spans":
			return d.source.list('[', ']', d.oneSpan)
		case "schemaUrl":
			return d.part("schemaUrl", func(r *jsonscan.Reader) { d.scope.SchemaURL = d.str(r) })
		}
		d.note(UnknownField, name)
		return d.skip()
	})
	if err != nil {
		return err
	}
	d.inScope = false
	return d.h.Scope(&d.scope)
}

// part reads a value that is in memory and that everything behind it depends on.
func (d *documents) part(what string, read func(r *jsonscan.Reader)) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	from := d.offset() - int64(len(raw))
	d.value.Reset(raw, from)
	d.lost = ""
	read(&d.value)
	d.value.End()
	switch err := d.value.Err(); {
	case err != nil:
		return d.scan(err)
	case d.lost != "":
		return &Error{Code: Malformed, Offset: from, Text: fmt.Sprintf("byte %d: the %s cannot be read: %s", from, what, d.lost)}
	}
	if n := surrogates(raw); n > 0 {
		d.note(LoneSurrogate, "")
	}
	return nil
}

func (d *documents) oneSpan() error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	from := d.offset() - int64(len(raw))
	d.value.Reset(raw, from)
	d.lost = ""
	ids := d.spanObject(&d.value)
	d.value.End()
	if err := d.value.Err(); err != nil {
		return d.scan(err)
	}
	if d.hex && d.b64 {
		return &Error{Code: Ambiguous, Offset: from, Text: fmt.Sprintf("byte %d: some ids are hexadecimal and some base64, so it cannot be said which text is what", from)}
	}
	if bytes.Contains(raw, []byte(`\u`)) && surrogates(raw) > 0 {
		d.note(LoneSurrogate, "")
	}
	if d.lost != "" {
		d.sum.Lost++
		d.note(RecordLost, d.lost)
		return nil
	}
	return d.emit(ids.trace, ids.span, ids.parent)
}
