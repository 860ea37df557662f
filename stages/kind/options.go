package kind

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/lang"
)

// Definition is the definition facet of a stage: its kind, its implementation version, and every option
// that is tagged facet:"definition", defaults filled in. Names are arguments', so the block's own name does not matter.
func Definition(kind string, version int, options ...any) facet.Facet {
	f := facet.Facet{Name: facet.Definition}
	f.Add("kind", kind)
	f.Add("version", strconv.Itoa(version))
	for _, o := range options {
		if o != nil {
			addOptions(&f, o)
		}
	}
	return f
}

func addOptions(f *facet.Facet, options any) {
	v := reflect.Indirect(reflect.ValueOf(options))
	if !v.IsValid() {
		return
	}
	for _, d := range defining(v.Type()) {
		f.Add(d.name, encode(v.Field(d.index)))
	}
}

// definingField is an option that is in the definition facet.
type definingField struct {
	name  string
	index int
}

// fields remembers what the tags of an options struct say: they are a property of the type, and a plan asks for
// each instance of it.
var fields sync.Map // reflect.Type → []definingField

func defining(t reflect.Type) []definingField {
	if known, ok := fields.Load(t); ok {
		return known.([]definingField)
	}
	var out []definingField
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if tag.Get("facet") != string(facet.Definition) {
			continue
		}
		name, _, _ := strings.Cut(tag.Get("arg"), ",")
		out = append(out, definingField{name, i})
	}
	fields.Store(t, out)
	return out
}

// Arguments are options by the names of their arguments, for a document: durations as they are written, references left out.
func Arguments(options any) map[string]any {
	v := reflect.Indirect(reflect.ValueOf(options))
	if !v.IsValid() {
		return nil
	}
	out := map[string]any{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("arg"), ",")
		switch x := v.Field(i).Interface().(type) {
		case lang.Ref, lang.Refs, lang.Deferred:
		case time.Duration:
			out[name] = x.String()
		default:
			out[name] = x
		}
	}
	return out
}

// encode is the canonical text of an option: the same for equal values, different for different ones.
func encode(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case time.Duration:
		return x.String()
	case lang.Bytes:
		return strconv.FormatInt(int64(x), 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return "=" + encode(v.Elem())
	case reflect.Slice, reflect.Map: // json.Marshal sorts the keys of maps
		if v.IsNil() {
			return "null"
		}
		b, err := json.Marshal(v.Interface())
		if err == nil {
			return string(b)
		}
	}
	panic(fmt.Sprintf("kind: an option of type %s has no canonical text", v.Type()))
}

// Merged is one options struct made of several, for a block whose arguments come from its kind and from its provider.
type Merged struct {
	Options any // pointer to a zero struct with the fields of all parts
	parts   []reflect.Type
}

// Merge makes one struct of the parts, which are pointers to structs; a nil part has no fields.
func Merge(parts ...any) Merged {
	var fields []reflect.StructField
	m := Merged{parts: make([]reflect.Type, len(parts))}
	for n, p := range parts {
		if p == nil {
			continue
		}
		m.parts[n] = reflect.TypeOf(p).Elem()
		for i := range m.parts[n].NumField() {
			f := m.parts[n].Field(i)
			fields = append(fields, reflect.StructField{Name: fmt.Sprintf("P%d%s", n, f.Name), Type: f.Type, Tag: f.Tag})
		}
	}
	m.Options = reflect.New(reflect.StructOf(fields)).Interface()
	return m
}

// Split makes filled parts of a filled struct; a nil part stays nil.
func (m Merged) Split(options any) []any {
	from := reflect.ValueOf(options).Elem()
	out := make([]any, len(m.parts))
	next := 0
	for n, t := range m.parts {
		if t == nil {
			continue
		}
		v := reflect.New(t)
		for i := range t.NumField() {
			v.Elem().Field(i).Set(from.Field(next))
			next++
		}
		out[n] = v.Interface()
	}
	return out
}
