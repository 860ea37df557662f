package evidence

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/flameox/flameox/evidence/columns"
)

// columnsOf reads the columns of a row struct. A struct that cannot be a row is a mistake in this package
// and panics when the program starts, which any test finds.
func columnsOf(t reflect.Type) []Column {
	var out []Column
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("col")
		if !ok {
			panic(fmt.Sprintf("evidence: %s.%s has no col tag", t.Name(), f.Name))
		}
		name, nullable := strings.CutSuffix(tag, ",null")
		c := Column{Name: name, Nullable: nullable, Unit: f.Tag.Get("unit"), Doc: f.Tag.Get("doc"), Source: f.Tag.Get("source"), Distinct: f.Tag.Get("values") == "distinct"}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		} else if nullable && ft.Kind() != reflect.Slice && ft.Kind() != reflect.Map {
			panic(fmt.Sprintf("evidence: %s.%s may be missing and is no pointer", t.Name(), f.Name))
		}
		if (f.Type.Kind() == reflect.Pointer) && !nullable {
			panic(fmt.Sprintf("evidence: %s.%s is a pointer and must not be missing", t.Name(), f.Name))
		}
		switch ft.Kind() {
		case reflect.Slice:
			c.Shape = columns.List
			c.Type = typeOf(ft.Elem())
		case reflect.Map:
			if ft != reflect.TypeFor[map[string]string]() {
				panic(fmt.Sprintf("evidence: %s.%s is a map of something other than strings", t.Name(), f.Name))
			}
			c.Shape, c.Type = columns.Map, columns.String
		default:
			c.Type = typeOf(ft)
		}
		out = append(out, c)
	}
	return out
}

func typeOf(t reflect.Type) columns.Type {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return columns.Timestamp
	case t.Kind() == reflect.String:
		return columns.String
	case t.Kind() == reflect.Bool:
		return columns.Bool
	case t.Kind() == reflect.Int64:
		return columns.Int64
	case t.Kind() == reflect.Uint64:
		return columns.Uint64
	case t.Kind() == reflect.Float64:
		return columns.Float64
	}
	panic(fmt.Sprintf("evidence: no column holds a %s", t))
}

// put appends one field of the row at p to the buffer.
type put func(b *columns.Buffer, p unsafe.Pointer) error

// plan is how the fields of a row struct are appended: one closure a field over the field's offset, so that
// a row costs no reflection.
func plan(t reflect.Type, s *columns.Schema) []put {
	var out []put
	for i := range t.NumField() {
		f := t.Field(i)
		name, _ := strings.CutSuffix(f.Tag.Get("col"), ",null")
		out = append(out, accessor(f.Type, f.Offset, s.Index(name), strings.HasSuffix(f.Tag.Get("col"), ",null")))
	}
	return out
}

func at[T any](p unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(p, offset)) }

func accessor(t reflect.Type, off uintptr, col int, nullable bool) put {
	switch t.Kind() {
	case reflect.Pointer:
		return pointer(t.Elem(), off, col)
	case reflect.Slice:
		return slice(t.Elem(), off, col, nullable)
	case reflect.Map:
		return func(b *columns.Buffer, p unsafe.Pointer) error {
			m := *at[map[string]string](p, off)
			if nullable && m == nil {
				b.Vector(col).Null()
			} else {
				b.Vector(col).Map(m)
			}
			return nil
		}
	}
	return scalar(t, off, col)
}

func scalar(t reflect.Type, off uintptr, col int) put {
	switch typeOf(t) {
	case columns.String:
		return func(b *columns.Buffer, p unsafe.Pointer) error { b.Vector(col).String(*at[string](p, off)); return nil }
	case columns.Bool:
		return func(b *columns.Buffer, p unsafe.Pointer) error { b.Vector(col).Bool(*at[bool](p, off)); return nil }
	case columns.Float64:
		return func(b *columns.Buffer, p unsafe.Pointer) error { return b.Vector(col).Float64(*at[float64](p, off)) }
	case columns.Timestamp:
		return func(b *columns.Buffer, p unsafe.Pointer) error {
			b.Vector(col).Int64(at[time.Time](p, off).UnixMicro())
			return nil
		}
	}
	// A uint64 is held in the bits of an int64.
	return func(b *columns.Buffer, p unsafe.Pointer) error { b.Vector(col).Int64(*at[int64](p, off)); return nil }
}

func pointer(t reflect.Type, off uintptr, col int) put {
	value := scalar(t, 0, col)
	return func(b *columns.Buffer, p unsafe.Pointer) error {
		q := *at[unsafe.Pointer](p, off)
		if q == nil {
			b.Vector(col).Null()
			return nil
		}
		return value(b, q)
	}
}

func slice(t reflect.Type, off uintptr, col int, nullable bool) put {
	null := func(b *columns.Buffer, missing bool) bool {
		if nullable && missing {
			b.Vector(col).Null()
			return true
		}
		return false
	}
	switch typeOf(t) {
	case columns.String:
		return func(b *columns.Buffer, p unsafe.Pointer) error {
			if s := *at[[]string](p, off); !null(b, s == nil) {
				b.Vector(col).Strings(s)
			}
			return nil
		}
	case columns.Float64:
		return func(b *columns.Buffer, p unsafe.Pointer) error {
			s := *at[[]float64](p, off)
			if null(b, s == nil) {
				return nil
			}
			return b.Vector(col).Float64s(s)
		}
	case columns.Int64, columns.Uint64:
		return func(b *columns.Buffer, p unsafe.Pointer) error {
			if s := *at[[]int64](p, off); !null(b, s == nil) {
				b.Vector(col).Int64s(s)
			}
			return nil
		}
	}
	panic(fmt.Sprintf("evidence: no column holds a list of %s", t))
}
