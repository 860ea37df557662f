// Package schemas holds the JSON Schemas of flameox's documents: what every command prints with -json, and what it saves. They are
// generated from the Go types (go test ./cmd/flameox -run Schemas -update) and embedded.
package schemas

import "embed"

// Files are the schemas, one a document: plan.schema.json.
//
//go:embed *.schema.json
var Files embed.FS

// Measurement are the schemas of the documents of measuring and comparing. They are written by hand: they are a contract with other programs.
//
//go:embed measurement/*.schema.json
var Measurement embed.FS

// Base is what the $id of every schema begins with.
const Base = "https://flameox.dev/schemas/"
