// Package otlp is the provider for traces of OpenTelemetry: it imports payloads of its protocol and normalizes their resources, scopes, spans, events and
// links as they are.
//
// It only reads files. Which encoding a file has is declared, by the format otlp-json or otlp-protobuf of an import, and never guessed: protobuf has no magic
// number, and JSON of OTLP is JSON of anybody. formats/otlp says what of the protocol is relied on, and how files of the collector are told from single messages.
//
// A span keeps what its producer wrote: an end before its begin, an id of another length, a parent that is in no payload. Such spans have no duration where there
// can be none, and the limitations count them. Spans have no weight, so a payload with more rows than the budget is refused whole, with the counts.
//
// What it never does: receive spans, decompress, sniff, build trees, or repair nesting. What follows from the rows (operations, transitions, sequences, gaps) are queries.
package otlp
