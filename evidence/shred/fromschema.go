package shred

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// FromSchema makes the fields of a JSON Schema's object. resolve finds what a $ref names, with the schema that it stands in. first are the names that come first, in
// their order; others follow by name. The error names what a table cannot hold.
func FromSchema(s Schema, first []string) ([]Field, error) {
	f, err := s.field("", 0)
	if err != nil {
		return nil, err
	}
	if f.Kind != Group {
		return nil, fmt.Errorf("the schema describes no closed object")
	}
	rank := func(f Field) int {
		if i := slices.Index(first, f.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(f.Fields, func(a, b Field) int { return rank(a) - rank(b) })
	return f.Fields, nil
}

// Schema is a JSON Schema, or a part of one, with the documents that it may refer to, by their $id.
type Schema struct {
	Node      map[string]any
	Document  map[string]any
	Documents map[string]map[string]any
}

func (s Schema) at(node any) Schema {
	m, _ := node.(map[string]any)
	return Schema{m, s.Document, s.Documents}
}

// resolved follows $ref.
func (s Schema) resolved() (Schema, error) {
	for range 32 {
		ref, ok := s.Node["$ref"].(string)
		if !ok {
			return s, nil
		}
		id, path, _ := strings.Cut(ref, "#")
		if id != "" {
			if s.Document = s.Documents[id]; s.Document == nil {
				return s, fmt.Errorf("there is no schema %s", id)
			}
		}
		node := any(s.Document)
		for _, name := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
			if m, ok := node.(map[string]any); ok && name != "" {
				node = m[name]
			}
		}
		if s = s.at(node); s.Node == nil {
			return s, fmt.Errorf("nothing is at %s", ref)
		}
	}
	return s, fmt.Errorf("the references go round in a circle")
}

// deepest bounds how far a schema may nest.
const deepest = 32

func (s Schema) field(name string, depth int) (f Field, err error) {
	if s, err = s.resolved(); err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	if depth > deepest {
		return f, fmt.Errorf("%s: the schema nests without an end", name)
	}
	f = Field{Name: name}
	n := s.Node
	kind, _ := n["type"].(string)
	if kind == "" {
		kind = s.typeOfValues()
	}
	if variants := s.variants(); kind != "array" && len(variants) > 0 && (kind == "object" || kind == "") {
		return s.union(f, variants, depth)
	}
	switch kind {
	case "string":
		if f.Kind = Text; n["format"] == "date-time" {
			f.Kind = Time
		}
	case "integer":
		f.Kind = Int
	case "number":
		f.Kind = Float
	case "boolean":
		f.Kind = Bool
	case "array":
		f.Kind = List
		element, err := s.at(n["items"]).field("", depth+1)
		if err != nil {
			return f, fmt.Errorf("%s: %w", name, err)
		}
		element.Required = true
		f.Fields = []Field{element}
	case "object":
		return s.object(f, depth)
	case "":
		if _, several := n["type"].([]any); !several && len(n) > 0 && n["description"] == nil {
			return f, fmt.Errorf("%s: a table cannot hold what the schema says of it: %v", name, slices.Sorted(maps.Keys(n)))
		}
		f.Kind = JSON
	default:
		return f, fmt.Errorf("%s: a table cannot hold the type %s", name, kind)
	}
	return f, nil
}

// typeOfValues is the type of a const or an enum.
func (s Schema) typeOfValues() string {
	values, _ := s.Node["enum"].([]any)
	if v, ok := s.Node["const"]; ok {
		values = []any{v}
	}
	kind := ""
	for _, v := range values {
		k := "string"
		switch v := v.(type) {
		case float64:
			if k = "number"; v == float64(int64(v)) {
				k = "integer"
			}
		case bool:
			k = "boolean"
		}
		if kind != "" && k != kind {
			return ""
		}
		kind = k
	}
	return kind
}

// object is a struct where the schema is closed, and else a text.
func (s Schema) object(f Field, depth int) (Field, error) {
	members, _ := s.Node["properties"].(map[string]any)
	if s.Node["additionalProperties"] != false {
		f.Kind = JSON
		return f, nil
	}
	f.Kind = Group
	required, _ := s.Node["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		child, err := s.at(members[name]).field(name, depth+1)
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.Name, err)
		}
		child.Required = slices.Contains(required, any(name))
		f.Fields = append(f.Fields, child)
	}
	return f, nil
}

// variants are the shapes of which a value has one. What only narrows members that stand elsewhere is none.
func (s Schema) variants() []Schema {
	var out []Schema
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := s.Node[word].([]any)
		for _, v := range list {
			m, _ := v.(map[string]any)
			if then, ok := m["then"].(map[string]any); ok {
				m = then
			}
			if m["$ref"] != nil || m["type"] != nil {
				out = append(out, s.at(m))
			}
		}
	}
	return out
}

// union is the struct with all members of the variants. One that a variant lacks may be missing.
func (s Schema) union(f Field, variants []Schema, depth int) (Field, error) {
	f.Kind = Group
	seen, required, groups := map[string]int{}, map[string]int{}, 0
	for _, v := range variants {
		one, err := v.field(f.Name, depth+1)
		switch {
		case err != nil:
			return f, err
		case one.Kind != Group:
			f.Alone = "value"
			continue
		}
		groups++
		for _, child := range one.Fields {
			if child.Required {
				required[child.Name]++
			}
			i, there := seen[child.Name]
			if !there {
				seen[child.Name] = len(f.Fields)
				f.Fields = append(f.Fields, child)
			} else if f.Fields[i].Kind != child.Kind {
				return f, fmt.Errorf("%s: the member %s has two types", f.Name, child.Name)
			}
		}
	}
	for i := range f.Fields {
		f.Fields[i].Required = required[f.Fields[i].Name] == groups
	}
	if f.Alone != "" && (groups == 0 || seen[f.Alone] == 0 && f.Fields[0].Name != f.Alone) {
		return f, fmt.Errorf("%s: a table cannot hold values of several types", f.Name)
	}
	slices.SortFunc(f.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}
