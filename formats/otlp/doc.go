// Package otlp reads traces in the two encodings of the OpenTelemetry protocol: protobuf and JSON.
//
// A payload is one TracesData message (which an ExportTraceServiceRequest equals on the wire), or a file of the collector's file exporter: in JSON one
// document a line, in protobuf one message behind each big-endian length of four bytes. Both are streamed down to the single span, in whatever
// order fields stand, so memory does not grow with the file, whatever share of it one resource has.
//
// Relied on is opentelemetry-proto 1.x: the messages TracesData, ResourceSpans, ScopeSpans, Span, Event, Link, Status, KeyValue, AnyValue, and for JSON
// the rules of the OTLP specification: hexadecimal ids, whole numbers as text or numbers, enums as numbers. What deviates and can be read without
// a guess is read and counted: ids in base64 (never beside hexadecimal ones), names of enums, fields that are not known. A record that cannot be read is
// left out and counted; a structure that cannot be read is an *Error with its offset.
//
// Nothing is repaired: an end before its begin, an id of another length, a parent that is not there stay what they are. Of an attribute that stands twice
// the last value is kept, as a protobuf map would, and that is counted.
//
// What it never does: look at a file's name, decompress, receive anything, or build a tree of spans.
package otlp
