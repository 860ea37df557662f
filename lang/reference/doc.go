// Package reference is the language as data: every block with its arguments, nested blocks, runtime values and results, as they
// are registered. What documents the language (pages, JSON, JSON Schema) is rendered from it, so that it cannot say
// something else than the language does.
//
// The blocks of stages come from the registry. Those that every configuration has (flameox, variable, locals, output, check) are not
// registered with it and are described here; a test holds the description against what the language accepts.
//
// It renders nothing and reads no configuration.
package reference
