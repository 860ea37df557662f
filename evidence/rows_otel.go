package evidence

// OtelResource is one entity that produced spans, as one entry of an OTLP payload names it.
type OtelResource struct {
	Resource   int64   `col:"resource_ordinal" doc:"ordinal of the entry in the payload, from 0" source:"resource_spans"`
	SchemaURL  *string `col:"schema_url,null" doc:"schema of the entry, where it has one" source:"ResourceSpans.schema_url"`
	Attributes string  `col:"attributes_json" doc:"attributes as a JSON object with typed values: bytes are {\"type\":\"bytes\",\"base64\":…}, a number that JSON has no form for is {\"type\":\"double\",\"value\":\"NaN\"}; of a key that stands twice the last value" source:"Resource.attributes"`
	Dropped    uint64  `col:"dropped_attributes" doc:"attributes that the producer left out" source:"Resource.dropped_attributes_count"`
}

// OtelScope is one instrumentation scope of a resource.
type OtelScope struct {
	Resource   int64   `col:"resource_ordinal" doc:"otel_resources.resource_ordinal" source:"resource_spans"`
	Scope      int64   `col:"scope_ordinal" doc:"ordinal of the scope in the payload, from 0" source:"scope_spans"`
	Name       string  `col:"name" doc:"name of the instrumentation, empty where it has none" source:"InstrumentationScope.name"`
	Version    *string `col:"version,null" doc:"its version, where it has one" source:"InstrumentationScope.version"`
	SchemaURL  *string `col:"schema_url,null" doc:"schema of the entry, where it has one" source:"ScopeSpans.schema_url"`
	Attributes string  `col:"attributes_json" doc:"as in otel_resources" source:"InstrumentationScope.attributes"`
	Dropped    uint64  `col:"dropped_attributes" doc:"attributes that the producer left out" source:"InstrumentationScope.dropped_attributes_count"`
}

// OtelSpan is one operation.
type OtelSpan struct {
	Resource          int64   `col:"resource_ordinal" doc:"otel_resources.resource_ordinal" source:"resource_spans"`
	Scope             int64   `col:"scope_ordinal" doc:"otel_scopes.scope_ordinal" source:"scope_spans"`
	Span              int64   `col:"source_ordinal" doc:"ordinal of the span in the payload, from 0: its identity here, also where ids are not unique" source:"spans"`
	TraceID           string  `col:"trace_id" values:"distinct" doc:"lower-case hexadecimal; invalid-<hex> where it has not 16 bytes" source:"Span.trace_id"`
	SpanID            string  `col:"span_id" values:"distinct" doc:"lower-case hexadecimal; invalid-<hex> where it has not 8 bytes" source:"Span.span_id"`
	ParentSpanID      *string `col:"parent_span_id,null" values:"distinct" doc:"the span's parent; missing of a root" source:"Span.parent_span_id"`
	Name              string  `col:"name" doc:"what the operation is called" source:"Span.name"`
	Kind              int64   `col:"kind" doc:"0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer" source:"Span.kind"`
	Start             *uint64 `col:"start_time_unix_nano,null" unit:"ns" doc:"begin, since 1970; missing where the producer wrote 0" source:"Span.start_time_unix_nano"`
	End               *uint64 `col:"end_time_unix_nano,null" unit:"ns" doc:"end, since 1970; missing where the producer wrote 0" source:"Span.end_time_unix_nano"`
	Duration          *int64  `col:"duration_ns,null" unit:"ns" doc:"end less begin; missing where either is, or where the end lies before the begin"`
	TraceState        string  `col:"trace_state" doc:"W3C trace state" source:"Span.trace_state"`
	Flags             uint64  `col:"flags" doc:"W3C trace flags in the lowest 8 bits, then whether the parent is remote" source:"Span.flags"`
	StatusCode        int64   `col:"status_code" doc:"0 unset, 1 ok, 2 error" source:"Status.code"`
	StatusMessage     string  `col:"status_message" doc:"what the producer says of an error" source:"Status.message"`
	Attributes        string  `col:"attributes_json" values:"distinct" doc:"as in otel_resources" source:"Span.attributes"`
	DroppedAttributes uint64  `col:"dropped_attributes" doc:"attributes that the producer left out" source:"Span.dropped_attributes_count"`
	DroppedEvents     uint64  `col:"dropped_events" doc:"events that the producer left out" source:"Span.dropped_events_count"`
	DroppedLinks      uint64  `col:"dropped_links" doc:"links that the producer left out" source:"Span.dropped_links_count"`
}

// OtelEvent is something that happened within a span.
type OtelEvent struct {
	Span       int64   `col:"source_ordinal" doc:"otel_spans.source_ordinal" source:"spans"`
	Event      int64   `col:"event_ordinal" doc:"ordinal within the span, from 0" source:"Span.events"`
	TraceID    string  `col:"trace_id" values:"distinct" doc:"as of the span" source:"Span.trace_id"`
	SpanID     string  `col:"span_id" values:"distinct" doc:"as of the span" source:"Span.span_id"`
	Time       *uint64 `col:"time_unix_nano,null" unit:"ns" doc:"when, since 1970; missing where the producer wrote 0" source:"Event.time_unix_nano"`
	Name       string  `col:"name" doc:"what happened" source:"Event.name"`
	Attributes string  `col:"attributes_json" values:"distinct" doc:"as in otel_resources" source:"Event.attributes"`
	Dropped    uint64  `col:"dropped_attributes" doc:"attributes that the producer left out" source:"Event.dropped_attributes_count"`
}

// OtelLink is a span's reference to another one.
type OtelLink struct {
	Span          int64  `col:"source_ordinal" doc:"otel_spans.source_ordinal of the span that refers" source:"spans"`
	Link          int64  `col:"link_ordinal" doc:"ordinal within the span, from 0" source:"Span.links"`
	TraceID       string `col:"trace_id" values:"distinct" doc:"of the span that refers" source:"Span.trace_id"`
	SpanID        string `col:"span_id" values:"distinct" doc:"of the span that refers" source:"Span.span_id"`
	LinkedTraceID string `col:"linked_trace_id" values:"distinct" doc:"trace of the span that is referred to, which may be in no payload" source:"Link.trace_id"`
	LinkedSpanID  string `col:"linked_span_id" values:"distinct" doc:"the span that is referred to" source:"Link.span_id"`
	TraceState    string `col:"trace_state" doc:"W3C trace state of the link" source:"Link.trace_state"`
	Flags         uint64 `col:"flags" doc:"as in otel_spans" source:"Link.flags"`
	Attributes    string `col:"attributes_json" values:"distinct" doc:"as in otel_resources" source:"Link.attributes"`
	Dropped       uint64 `col:"dropped_attributes" doc:"attributes that the producer left out" source:"Link.dropped_attributes_count"`
}
