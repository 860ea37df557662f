package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/lang/reference"
)

type object = map[string]any

// identifier is a name that can be part of a reference, as a regular expression.
const identifier = `^[\p{L}_][\p{L}\p{N}_-]*$`

// Of is the JSON Schema of the language. Its identity is id.
func Of(d *reference.Document, id string) ([]byte, error) {
	b := &builder{defs: object{}}
	b.define()
	properties := object{"//": comment()}
	for _, typ := range d.Types() {
		p, err := b.blockType(d.Find(typ, ""))
		if err != nil {
			return nil, err
		}
		properties[typ] = p
	}
	root := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     id,
		"title":   "The JSON form of a flameox configuration",
		"description": "For converters between HCL and JSON, and for linting in editors. flameox reads the native form, flameox.hcl; " +
			"expressions are strings such as \"${matrix.n}\".",
		"type": "object", "properties": properties, "additionalProperties": false, "$defs": b.defs,
	}
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

type builder struct{ defs object }

// define makes the types of arguments. Whatever a type takes, an expression may stand for.
func (b *builder) define() {
	scalar := []string{"string", "number", "boolean"}
	b.defs["expression"] = object{"type": "string", "pattern": `[$%]\{`, "description": "a template, such as \"${var.n}\""}
	or := func(more ...any) object { return object{"anyOf": append(more, ref("expression"))} }
	b.defs["string"] = object{"type": scalar}
	b.defs["bool"] = or(object{"type": "boolean"}, object{"enum": []string{"true", "false"}})
	b.defs["whole number"] = or(object{"type": "integer"}, object{"type": "string", "pattern": `^-?[0-9]+$`})
	b.defs["number"] = or(object{"type": "number"}, object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`})
	b.defs["list of strings"] = or(object{"type": "array", "items": ref("string")})
	b.defs["list of whole numbers"] = or(object{"type": "array", "items": ref("whole number")})
	b.defs["strings by name"] = or(object{"type": "object", "additionalProperties": ref("string")})
	b.defs["duration"] = or(object{"type": "string", "pattern": `^\s*(0|([0-9][0-9._]*\s*(ns|us|µs|μs|ms|s|m|h|d|w)\s*)+)\s*$`, "description": "such as \"250ms\", \"1m30s\" or \"24h\""})
	b.defs["size"] = or(object{"type": "string", "pattern": `^\s*(0|[0-9][0-9._]*\s*([kKMGTP]?B|[KMGTP]iB))\s*$`, "description": "such as \"512 MiB\" or \"4GB\""})
	b.defs["lists by name"] = or(object{
		"type": "object", "propertyNames": object{"pattern": identifier + `|[$%]\{`},
		"additionalProperties": or(object{"type": "array", "items": object{"type": []string{"string", "number"}}}),
	})
	b.defs["map, or list or set of strings"] = or(object{"type": "object"}, object{"type": "array", "items": ref("string")})
	b.defs["type"] = object{"type": "string", "description": "a type constraint, such as \"list(string)\""}
	b.defs["any value"] = object{}
	b.defs["expression over results"] = object{}
}

func ref(name string) object {
	return object{"$ref": "#/$defs/" + strings.ReplaceAll(name, " ", "%20")}
}

func comment() object { return object{"description": "a comment; it means nothing"} }

// blockType is all blocks of one type: objects by label. At each level an array of objects is the same as one object.
func (b *builder) blockType(kinds []*reference.Block) (object, error) {
	first := kinds[0]
	if first.Kind == "" {
		name, err := b.block(first)
		if err != nil {
			return nil, err
		}
		out := several(ref(name), first.Once || len(first.Labels) > 0) // an address is there once
		for range first.Labels {
			out = several(named(out), false)
		}
		return described(out, first.Doc), nil
	}
	byKind := object{}
	for _, k := range kinds {
		name, err := b.block(k)
		if err != nil {
			return nil, err
		}
		byKind[k.Kind] = described(several(named(several(ref(name), true)), false), k.Doc)
	}
	return several(object{"type": "object", "properties": byKind, "additionalProperties": false}, false), nil
}

func described(o object, doc string) object {
	o["description"] = doc
	return o
}

// several is one s or an array of them; of a block that may be there once, an array of one.
func several(s object, once bool) object {
	list := object{"type": "array", "items": s}
	if once {
		list["maxItems"] = 1
	}
	return object{"anyOf": []any{s, list}}
}

func named(s object) object {
	return object{"type": "object", "patternProperties": object{identifier: s}, "additionalProperties": false}
}

// block defines the body of a block and returns the name of its definition.
func (b *builder) block(k *reference.Block) (string, error) {
	name := strings.TrimSuffix(k.Type+"."+k.Kind, ".")
	body, err := b.body(k.Arguments, k.Nested)
	if err != nil {
		return "", fmt.Errorf("%s: %w", k.Header(), err)
	}
	if k.Any != "" {
		body["additionalProperties"] = described(ref("any value"), k.Any)
	}
	b.defs[name] = described(body, k.Doc)
	return name, nil
}

func (b *builder) body(args []reference.Argument, nested []reference.Nested) (object, error) {
	properties, required := object{"//": comment()}, []string{}
	for _, a := range args {
		p, err := b.argument(a)
		if err != nil {
			return nil, err
		}
		properties[a.Name] = p
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, n := range nested {
		inner, err := b.body(n.Arguments, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Type, err)
		}
		properties[n.Type] = described(several(inner, !n.Repeated), n.Doc)
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, nil
}

func (b *builder) argument(a reference.Argument) (object, error) {
	var s object
	switch {
	case a.Arity == reference.One:
		s = reference1(a.Kinds)
	case a.Arity == reference.All:
		one := reference1(a.Kinds)
		s = object{"anyOf": []any{one, object{"type": "array", "items": one}}}
	case b.defs[a.Type] == nil:
		return nil, fmt.Errorf("the argument %s takes %s, which has no JSON form here", a.Name, a.Type)
	default:
		s = ref(a.Type)
	}
	if !a.Required { // null is what is not given
		s = object{"anyOf": []any{s, object{"type": "null"}}}
	}
	s = described(s, a.Doc)
	if a.Default != "" {
		var v any
		if json.Unmarshal([]byte(a.Default), &v) == nil { // literals are written alike in HCL and JSON
			s["default"] = v
		}
	}
	return s, nil
}

// reference1 is one reference, in a template or bare, to one of the kinds.
func reference1(kinds []string) object {
	begin := `[A-Za-z_][A-Za-z0-9_-]*`
	if len(kinds) > 0 {
		quoted := slices.Clone(kinds)
		for i := range quoted {
			quoted[i] = strings.ReplaceAll(quoted[i], ".", `\.`)
		}
		begin = "(" + strings.Join(quoted, "|") + ")"
	}
	return object{"type": "string", "pattern": `^(\$\{[\s(]*)?` + begin + `\.`}
}
