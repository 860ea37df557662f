package columns

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Type is the type of one value.
type Type uint8

// The types of values.
const (
	String    Type = iota + 1 // UTF-8
	Bool                      //
	Int64                     //
	Uint64                    // unsigned 64 bits
	Float64                   // finite
	Timestamp                 // microseconds since 1970-01-01 UTC
)

// Shape says how many values a row has in a column.
type Shape uint8

// The shapes. A map's keys and values are strings, its entries in ascending order of key.
const (
	Scalar Shape = iota
	List
	Map
)

// Column is one column of a table.
type Column struct {
	Name     string
	Type     Type // of the value, of an element, of a map's values
	Shape    Shape
	Nullable bool   // the value, or the whole list or map, may be missing
	Unit     string // of a number; "" for counts and names
	Doc      string // what the value is
	Source   string // the producers' fields it comes from
	Distinct bool   // most rows have a text of their own, so a dictionary of them would only cost time
}

// Schema is the columns of a table in order.
type Schema struct {
	Name    string
	Columns []Column
}

// Index is the position of the column called name, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// TypeName is the column's type as people and tables of documentation write it: list<string>.
func (c *Column) TypeName() string {
	var t string
	switch c.Type {
	case String:
		t = "string"
	case Bool:
		t = "bool"
	case Int64:
		t = "int64"
	case Uint64:
		t = "uint64"
	case Float64:
		t = "float64"
	case Timestamp:
		t = "timestamp"
	}
	switch c.Shape {
	case List:
		return "list<" + t + ">"
	case Map:
		return "map<string,string>"
	}
	return t
}

// ParquetType is the column's type as a Parquet tool prints it: "required int64 (uint64)".
func (c *Column) ParquetType() string {
	rep := "required "
	if c.Nullable {
		rep = "optional "
	}
	t := map[Type]string{
		String: "binary (utf8)", Bool: "boolean", Int64: "int64", Uint64: "int64 (uint64)",
		Float64: "double", Timestamp: "int64 (timestamp, utc, us)",
	}[c.Type]
	switch c.Shape {
	case List:
		return rep + "group (list) of required " + t
	case Map:
		return rep + "group (map) of required binary (utf8), required binary (utf8)"
	}
	return rep + t
}

// Check says what is wrong with the schema, or nil.
func (s *Schema) Check() error {
	seen := map[string]bool{}
	for i := range s.Columns {
		c := &s.Columns[i]
		switch {
		case c.Name == "" || strings.ContainsAny(c.Name, ". \"'`"):
			return fmt.Errorf("table %s: %q cannot be the name of a column", s.Name, c.Name)
		case seen[c.Name]:
			return fmt.Errorf("table %s has the column %s twice", s.Name, c.Name)
		case c.Type < String || c.Type > Timestamp:
			return fmt.Errorf("table %s: column %s has no type", s.Name, c.Name)
		case c.Shape == Map && c.Type != String:
			return fmt.Errorf("table %s: column %s is a map of something other than strings", s.Name, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// group is the schema as Parquet has it.
func (s *Schema) group() (*schema.GroupNode, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var fields schema.FieldList
	for i := range s.Columns {
		n, err := s.Columns[i].node()
		if err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", s.Name, s.Columns[i].Name, err)
		}
		fields = append(fields, n)
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
}

func (c *Column) node() (schema.Node, error) {
	rep := parquet.Repetitions.Required
	if c.Nullable {
		rep = parquet.Repetitions.Optional
	}
	switch c.Shape {
	case List:
		element, err := c.Type.node("element", parquet.Repetitions.Required)
		if err != nil {
			return nil, err
		}
		return schema.ListOfWithName(c.Name, element, rep, -1)
	case Map:
		key, err := String.node("key", parquet.Repetitions.Required)
		if err != nil {
			return nil, err
		}
		value, err := String.node("value", parquet.Repetitions.Required)
		if err != nil {
			return nil, err
		}
		return schema.MapOf(c.Name, key, value, rep, -1)
	}
	return c.Type.node(c.Name, rep)
}

func (t Type) node(name string, rep parquet.Repetition) (schema.Node, error) {
	switch t {
	case String:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
	case Bool:
		return schema.NewBooleanNode(name, rep, -1), nil
	case Int64:
		return schema.NewInt64Node(name, rep, -1), nil
	case Uint64:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.NewIntLogicalType(64, false), parquet.Types.Int64, -1, -1)
	case Float64:
		return schema.NewFloat64Node(name, rep, -1), nil
	case Timestamp:
		return schema.NewPrimitiveNodeLogical(name, rep, schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, -1, -1)
	}
	return nil, fmt.Errorf("type %d is unknown", t)
}

// leaves is the number of Parquet columns that hold the column.
func (c *Column) leaves() int {
	if c.Shape == Map {
		return 2
	}
	return 1
}

// levels are the largest definition and repetition level of the column's leaves.
func (c *Column) levels() (def, rep int16) {
	if c.Nullable {
		def++
	}
	if c.Shape != Scalar {
		def++
		rep = 1
	}
	return def, rep
}

// paths are the dotted names of the column's leaves.
func (c *Column) paths() []string {
	switch c.Shape {
	case List:
		return []string{c.Name + ".list.element"}
	case Map:
		return []string{c.Name + ".key_value.key", c.Name + ".key_value.value"}
	}
	return []string{c.Name}
}
