// Package ijson reads JSON as strictly as its hash needs it, and writes the one text that is hashed.
//
// Two programs agree about a document's digest only if they agree about its value. An ordinary parser lets defects through that make them disagree: of two
// members of one name it keeps either, it rounds an integer that a double cannot hold, it repairs text that is not UTF-8. Parse refuses all of those (I-JSON,
// RFC 7493) before any schema is asked, since a parsed value no longer shows them, and reports every one that it finds, not only the first.
// Canonical is RFC 8785.
//
// A value is nil, bool, float64, string, []any or map[string]any. The package knows no document.
package ijson
