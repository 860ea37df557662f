// Package jsonschema describes the JSON form of a configuration as a JSON Schema (draft 2020-12).
//
// HCL has a JSON form (https://github.com/hashicorp/hcl/blob/main/json/spec.md): blocks are objects by label, and an expression is a
// string "${…}". Converters and editors write and lint it. flameox itself reads the native form only, so the schema is for tools around
// it; what it accepts, native or not, is a configuration whose names, labels and literal values are right. What an expression comes to
// is beyond it: `flameox validate` is the judge.
//
// The schema is made from the same registrations as the language's reference, never written by hand.
package jsonschema
