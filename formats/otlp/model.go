package otlp

// Handler takes what a payload holds, in its order, but for resources and scopes: they come behind what they hold, since their fields may. The
// values are valid until the call returns; their texts stay. An error ends the reading and is returned.
type Handler interface {
	Span(*Span) error
	Scope(*Scope) error
	Resource(*Resource) error
}

// Resource is what produced spans.
type Resource struct {
	Ordinal    int64
	SchemaURL  string
	Attributes string // a JSON object
	Dropped    uint64
}

// Scope is the instrumentation that made spans.
type Scope struct {
	Resource, Ordinal        int64
	Name, Version, SchemaURL string
	Attributes               string
	Dropped                  uint64
}

// Span is one operation. Times are nanoseconds since 1970, 0 where there is none.
type Span struct {
	Resource, Scope, Ordinal                       int64
	TraceID, SpanID, Parent                        string // lower-case hexadecimal or invalid-…; Parent is "" of a root
	Name, TraceState, StatusMessage                string
	Kind, StatusCode                               int64
	Start, End                                     uint64
	Flags                                          uint64
	Attributes                                     string
	DroppedAttributes, DroppedEvents, DroppedLinks uint64
	Events                                         []Event
	Links                                          []Link
}

// Event is a point within a span.
type Event struct {
	Time       uint64
	Name       string
	Attributes string
	Dropped    uint64
}

// Link refers to another span.
type Link struct {
	TraceID, SpanID, TraceState string
	Flags                       uint64
	Attributes                  string
	Dropped                     uint64
}

// reset makes the span empty and keeps its memory.
func (s *Span) reset() {
	events, links := s.Events[:0], s.Links[:0]
	*s = Span{Events: events, Links: links, Attributes: none}
}

// none are no attributes.
const none = "{}"

// Summary is what a payload held.
type Summary struct {
	Resources, Scopes, Spans, Events, Links int64
	Lost                                    int64 // spans and links that could not be read
	Cut                                     bool  // the last document of several breaks off
	Notes                                   []Note
}

// Note is something that a payload says in a way of its own, and how often. Codes are the constants of this package.
type Note struct {
	Code  string
	Count int64
	First []int64 // ordinals of the first few spans it is about
	Text  string  // of the first case, where there is more to say
}

// The codes of notes.
const (
	InvalidTraceID   = "otlp_trace_id_invalid_length"
	InvalidSpanID    = "otlp_span_id_invalid_length"
	InvalidParentID  = "otlp_parent_span_id_invalid_length"
	InvalidLinkID    = "otlp_link_id_invalid_length"
	ZeroID           = "otlp_id_zero"
	MissingTimestamp = "otlp_missing_timestamp"
	EndBeforeStart   = "otlp_end_before_start"
	TooLong          = "otlp_duration_overflow"
	OwnParent        = "otlp_span_is_its_own_parent"
	DuplicateKey     = "otlp_attribute_twice"
	NullAttribute    = "otlp_attribute_null"
	UnknownField     = "otlp_unknown_fields"
	EnumName         = "otlp_enum_names"
	Base64ID         = "otlp_ids_base64"
	LoneSurrogate    = "otlp_text_lone_surrogates"
	RecordLost       = "otlp_record_unreadable"
	OtherSignals     = "otlp_other_signals"
	LastCut          = "otlp_last_document_cut"
)

// Error says why a payload was not read.
type Error struct {
	Code   string // one of those below
	Offset int64  // bytes before the place
	Text   string
}

// The codes of errors.
const (
	NotTraces  = "otlp_not_traces"
	Malformed  = "otlp_malformed"
	Truncated  = "payload_truncated"
	Deprecated = "otlp_version_too_old"
	Ambiguous  = "otlp_ambiguous"
	TooDeep    = "otlp_too_deep"
	TooLarge   = "otlp_record_too_large"
)

func (e *Error) Error() string { return e.Text }
