package shred

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Kind is what a field holds.
type Kind uint8

// The kinds.
const (
	Text  Kind = iota + 1 // a string
	JSON                  // any value, as its canonical text
	Int                   // 64 bits
	Float                 // finite
	Bool                  //
	Time                  // RFC 3339 in UTC, kept to the microsecond
	Group                 // members by name
	List                  // of the one field below
)

// Field is one column, or what columns stand below.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Distinct bool    // most rows have a text of their own: no dictionary, no statistics
	Fields   []Field // of a group its members, of a list its element
	Alone    string  // of a group: a value that is no object stands for this member alone
}

// Leaf is one column of the file.
type Leaf struct {
	Path     string // members with dots between; nothing for lists: measurement.observations.value
	Kind     Kind
	Distinct bool
	def, rep int16 // the largest levels
}

// Leaves are the columns in their order.
func Leaves(fields []Field) []Leaf {
	var out []Leaf
	for i := range fields {
		fields[i].leaves("", 0, 0, &out)
	}
	return out
}

func (f *Field) leaves(at string, def, rep int16, out *[]Leaf) {
	if at != "" && f.Name != "" {
		at += "."
	}
	at += f.Name
	if !f.Required {
		def++
	}
	switch f.Kind {
	case Group:
		for i := range f.Fields {
			f.Fields[i].leaves(at, def, rep, out)
		}
	case List:
		f.Fields[0].leaves(at, def+1, rep+1, out)
	default:
		*out = append(*out, Leaf{at, f.Kind, f.Distinct, def, rep})
	}
}

// Mark says of the leaves with these paths that most rows have a text of their own.
func Mark(fields []Field, paths ...string) {
	var walk func(fields []Field, at string)
	walk = func(fields []Field, at string) {
		for i := range fields {
			f, path := &fields[i], at
			if path != "" && f.Name != "" {
				path += "."
			}
			path += f.Name
			f.Distinct = f.Distinct || slices.Contains(paths, path)
			walk(f.Fields, path)
		}
	}
	walk(fields, "")
}

// root is the fields as Parquet has them.
func root(fields []Field) (*schema.GroupNode, error) {
	list, err := nodes(fields)
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, list, -1)
}

func nodes(fields []Field) (schema.FieldList, error) {
	out := make(schema.FieldList, len(fields))
	for i := range fields {
		n, err := fields[i].node(fields[i].Name)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func (f *Field) node(name string) (schema.Node, error) {
	rep := parquet.Repetitions.Optional
	if f.Required {
		rep = parquet.Repetitions.Required
	}
	switch f.Kind {
	case Text:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
	case JSON:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.JSONLogicalType{}, parquet.Types.ByteArray, -1, -1)
	case Int:
		return schema.NewInt64Node(name, rep, -1), nil
	case Float:
		return schema.NewFloat64Node(name, rep, -1), nil
	case Bool:
		return schema.NewBooleanNode(name, rep, -1), nil
	case Time:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, -1, -1)
	case Group:
		list, err := nodes(f.Fields)
		if err != nil {
			return nil, err
		}
		return schema.NewGroupNode(name, rep, list, -1)
	case List:
		element, err := f.Fields[0].node("element")
		if err != nil {
			return nil, err
		}
		return schema.ListOfWithName(name, element, rep, -1)
	}
	return nil, fmt.Errorf("the field %s has no kind", f.Name)
}
