package bounded

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// short is a number of elements for which the library's conversion, whose cost grows with its square, is fast enough.
const short = 64

// maxKinds is how many types the elements of one long list may have.
const maxKinds = 64

// MaxSet is how many elements a set may have. The library sorts a set whenever it is walked, and compares slowly.
const MaxSet = 20_000

// Convert is convert.Convert at a cost that grows with the number of elements: the library compares the type of each element of
// a tuple with that of every other.
func Convert(v cty.Value, want cty.Type) (cty.Value, error) {
	if want.IsSetType() && !v.IsNull() && v.IsKnown() && !v.IsMarked() && v.CanIterateElements() && v.LengthInt() > MaxSet {
		return cty.NilVal, fmt.Errorf("a set has at most %d elements, and this has %d; distinct makes a list without doubles", MaxSet, v.LengthInt())
	}
	elems, ok := longElements(v)
	if !ok || !want.IsCollectionType() {
		return convert.Convert(v, want)
	}
	if v.Type().IsTupleType() == want.IsMapType() {
		return convert.Convert(v, want) // a list is no map, nor a map a list: it fails at once
	}
	if elem := want.ElementType(); elem != cty.DynamicPseudoType && elem.HasDynamicTypes() {
		// list(list(any)): what each element comes to decides the type of all.
		for k, e := range elems {
			c, err := Convert(e, elem)
			if err != nil {
				return cty.NilVal, fmt.Errorf("element %s: %w", k.shown(), err)
			}
			elems[k] = c
		}
	}
	elem, err := elementType(elems, want.ElementType())
	if err != nil {
		return cty.NilVal, err
	}
	for k, e := range elems {
		c, err := Convert(e, elem)
		if err != nil {
			return cty.NilVal, fmt.Errorf("element %s: %w", k.shown(), err)
		}
		elems[k] = c
	}
	if want.IsMapType() {
		m := make(map[string]cty.Value, len(elems))
		for k, e := range elems {
			m[k.name] = e
		}
		return cty.MapVal(m), nil
	}
	list := make([]cty.Value, len(elems))
	for k, e := range elems {
		list[k.index] = e
	}
	if want.IsSetType() {
		return cty.SetVal(list), nil
	}
	return cty.ListVal(list), nil
}

// Long says whether converting v with the library would be slow.
func Long(v cty.Value) bool {
	_, long := longElements(v)
	return long
}

// key is the place of an element: a name in an object, or else a number.
type key struct {
	name  string
	index int
}

func (k key) shown() string {
	if k.name != "" {
		return fmt.Sprintf("%q", k.name)
	}
	return fmt.Sprint(k.index)
}

// longElements are the elements of a tuple or object that is known and long.
func longElements(v cty.Value) (map[key]cty.Value, bool) {
	t := v.Type()
	if v.IsNull() || !v.IsKnown() || v.IsMarked() || !t.IsTupleType() && !t.IsObjectType() || v.LengthInt() <= short {
		return nil, false
	}
	elems := make(map[key]cty.Value, v.LengthInt())
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		k, e := it.Element()
		if t.IsTupleType() {
			elems[key{index: i}] = e
		} else {
			elems[key{name: k.AsString()}] = e
		}
	}
	return elems, true
}

// elementType is the type that all elements get where want is the type of the collection's elements.
func elementType(elems map[key]cty.Value, want cty.Type) (cty.Type, error) {
	if !want.HasDynamicTypes() {
		return want, nil
	}
	kinds := map[string]cty.Type{}
	for _, e := range elems {
		t := e.Type()
		name := ""
		if t.IsPrimitiveType() {
			name = t.FriendlyName()
		} else {
			name = t.GoString()
		}
		if kinds[name] = t; len(kinds) > maxKinds {
			return cty.NilType, fmt.Errorf("the %d elements have more than %d types, and one type is needed for all", len(elems), maxKinds)
		}
	}
	var list []cty.Type
	for _, t := range kinds {
		list = append(list, t)
	}
	one, _ := convert.UnifyUnsafe(list)
	if one == cty.NilType || one.HasDynamicTypes() {
		return cty.NilType, fmt.Errorf("all elements must have the same type")
	}
	return one, nil
}

// List is v, or where v is a long tuple whose elements have one type, a list of them.
func List(v cty.Value) cty.Value {
	if _, long := longElements(v); !long || !v.Type().IsTupleType() {
		return v
	}
	if c, err := Convert(v, cty.List(cty.DynamicPseudoType)); err == nil {
		return c
	}
	return v
}
