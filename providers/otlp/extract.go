package otlp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/otlp"
	"github.com/flameox/flameox/providers"
)

// magics are the first bytes of what an exporter compresses with.
var magics = []struct{ name, bytes string }{{"gzip", "\x1F\x8B"}, {"zstd", "\x28\xB5\x2F\xFD"}}

// begins says what a payload is that is not of its encoding, as far as its first bytes say it, and why that cannot be read.
func begins(f io.Reader, role string) (r io.Reader, hint string, err error) {
	b := bufio.NewReaderSize(f, 16)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return b, "", providers.Refuse(Compressed, "the payload is compressed (%s), and OTLP is imported as it is on the wire: decompress it first", m.name)
		}
	}
	switch {
	case len(head) == 0:
	case role == Protobuf && head[0] == '{':
		hint = "; it begins like JSON, which is the format " + JSON
	case role == JSON && (head[0] == '\n' && len(head) > 1 && head[1] >= 0x80 || head[0] == 0):
		hint = "; it begins like protobuf, which is the format " + Protobuf
	}
	return b, hint, nil
}

// Extract fills the tables of OTLP in one pass, and looks once more at the spans whose identities seem not to be unique.
func (Provider) Extract(ctx context.Context, in providers.Input, _ any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	w := &rows{counter: counter{ctx: ctx}, sink: sink}
	sum, err := read(ctx, in, budget, w)
	var bad *providers.Refusal
	if errors.As(err, &bad) {
		sink.Restart()
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{bad.Limitation}}, nil
	}
	if err != nil {
		return evidence.Outcome{}, err
	}
	refused := func(l evidence.Limitation) (evidence.Outcome, error) {
		sink.Restart()
		return evidence.Outcome{State: evidence.Incompatible, Limitations: []evidence.Limitation{l}}, nil
	}
	switch {
	case w.full != nil:
		return refused(evidence.Limitation{Code: RowLimit, Text: fmt.Sprintf(
			"the payload has %d rows (%d spans, %d events, %d links, %d scopes, %d resources), which pass the extraction's budget of %d %s; spans have no weight by which some could be left out, so nothing is extracted: export fewer spans into one file",
			w.total(sum), sum.Spans, sum.Events, sum.Links, sum.Scopes, sum.Resources, w.full.Limit, w.full.What)})
	case sum.Spans == 0 && sum.Lost > 0:
		return refused(unreadable(sum))
	case sum.Spans == 0:
		sink.Restart()
		return evidence.Outcome{State: evidence.Empty, Limitations: append(limitations(sum), evidence.Limitation{Code: NoSpans, Text: "the payload is OTLP and holds no span"}), Results: results(sum)}, nil
	}
	out := evidence.Outcome{State: evidence.Complete, Limitations: limitations(sum), Results: results(sum)}
	if sum.Lost > 0 || sum.Cut {
		out.State = evidence.Partial
	}
	if l, err := w.ids.duplicates(func(h otlp.Handler) error {
		_, err := read(ctx, in, budget, h)
		return err
	}); err != nil {
		return evidence.Outcome{}, err
	} else if l != nil {
		out.Limitations = append(out.Limitations, *l)
	}
	return out, nil
}

func results(sum *otlp.Summary) map[string]any {
	return map[string]any{"spans": sum.Spans, "events": sum.Events, "links": sum.Links, "resources": sum.Resources}
}

// rows puts what is read into the tables.
type rows struct {
	counter
	sink *evidence.Sink
	ids  identities
	full *evidence.BudgetError // the bound that was crossed; rows behind it are only counted
}

func (w *rows) total(sum *otlp.Summary) int64 {
	return sum.Resources + sum.Scopes + sum.Spans + sum.Events + sum.Links
}

// put is what became of one row.
func (w *rows) put(err error) error {
	var full *evidence.BudgetError
	if errors.As(err, &full) {
		w.full = full
		return nil
	}
	return err
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func moment(ns uint64) *uint64 {
	if ns == 0 {
		return nil
	}
	return &ns
}

func (w *rows) Resource(r *otlp.Resource) error {
	if w.full != nil {
		return nil
	}
	return w.put(w.sink.OtelResources.Put(&evidence.OtelResource{Resource: r.Ordinal, SchemaURL: optional(r.SchemaURL), Attributes: r.Attributes, Dropped: r.Dropped}))
}

func (w *rows) Scope(s *otlp.Scope) error {
	if w.full != nil {
		return nil
	}
	return w.put(w.sink.OtelScopes.Put(&evidence.OtelScope{
		Resource: s.Resource, Scope: s.Ordinal, Name: s.Name, Version: optional(s.Version), SchemaURL: optional(s.SchemaURL), Attributes: s.Attributes, Dropped: s.Dropped,
	}))
}

func (w *rows) Span(s *otlp.Span) error {
	if err := w.counter.Span(s); err != nil || w.full != nil {
		return err
	}
	w.ids.add(s)
	row := evidence.OtelSpan{
		Resource: s.Resource, Scope: s.Scope, Span: s.Ordinal, TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: optional(s.Parent),
		Name: s.Name, Kind: s.Kind, Start: moment(s.Start), End: moment(s.End), TraceState: s.TraceState, Flags: s.Flags,
		StatusCode: s.StatusCode, StatusMessage: s.StatusMessage, Attributes: s.Attributes,
		DroppedAttributes: s.DroppedAttributes, DroppedEvents: s.DroppedEvents, DroppedLinks: s.DroppedLinks,
	}
	if s.Start != 0 && s.End >= s.Start && s.End-s.Start <= 1<<63-1 {
		d := int64(s.End - s.Start)
		row.Duration = &d
	}
	if err := w.put(w.sink.OtelSpans.Put(&row)); err != nil {
		return err
	}
	for i := range s.Events {
		if w.full != nil {
			return nil
		}
		e := &s.Events[i]
		if err := w.put(w.sink.OtelEvents.Put(&evidence.OtelEvent{
			Span: s.Ordinal, Event: int64(i), TraceID: s.TraceID, SpanID: s.SpanID, Time: moment(e.Time), Name: e.Name, Attributes: e.Attributes, Dropped: e.Dropped,
		})); err != nil {
			return err
		}
	}
	for i := range s.Links {
		if w.full != nil {
			return nil
		}
		l := &s.Links[i]
		if err := w.put(w.sink.OtelLinks.Put(&evidence.OtelLink{
			Span: s.Ordinal, Link: int64(i), TraceID: s.TraceID, SpanID: s.SpanID, LinkedTraceID: l.TraceID, LinkedSpanID: l.SpanID,
			TraceState: l.TraceState, Flags: l.Flags, Attributes: l.Attributes, Dropped: l.Dropped,
		})); err != nil {
			return err
		}
	}
	return nil
}
