package bounded

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// The bounds of one value.
const (
	MaxText     = 16 << 20  // bytes of all its texts together
	MaxElements = 1_000_000 // of all its lists and maps together
	maxBits     = 1100      // of a number's exponent; what a float64 can hold is within
)

// Check is an error where v is larger than a value of a configuration may be, or holds a number that nobody can mean. Its text
// says which bound, and never holds anything of the value.
func Check(v cty.Value) error {
	v, _ = v.UnmarkDeep()
	c := counter{text: MaxText, elems: MaxElements}
	return c.count(v)
}

// Number is an error where a number has more digits than any use.
func Number(v cty.Value) error {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	n := v.AsBigFloat()
	if e := n.MantExp(nil); n.IsInf() || e > maxBits || e < -maxBits {
		return fmt.Errorf("the number is too large or too small: powers of ten go from -308 to 308")
	}
	return nil
}

// Text is the bytes of all texts in v, at most limit+1.
func Text(v cty.Value, limit int) int {
	c := counter{text: limit, elems: 1 << 40}
	if c.count(v) != nil || c.text < 0 {
		return limit + 1
	}
	return limit - c.text
}

// Elements is an error where the lists in args have more than limit elements, counted at every depth.
func Elements(args []cty.Value, limit int) error {
	c := counter{text: 1 << 50, elems: limit}
	for _, a := range args {
		a, _ = a.UnmarkDeep()
		if c.count(a); c.elems < 0 {
			return fmt.Errorf("there are more than %d elements", limit)
		}
	}
	return nil
}

type counter struct{ text, elems int }

func (c *counter) count(v cty.Value) error {
	t := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case t == cty.String:
		if c.text -= len(v.AsString()); c.text < 0 {
			return fmt.Errorf("the text is longer than %d MiB", MaxText>>20)
		}
	case t == cty.Number:
		return Number(v)
	case v.CanIterateElements():
		if c.elems -= v.LengthInt(); c.elems < 0 {
			return fmt.Errorf("it has more than %d elements", MaxElements)
		}
		named := t.IsMapType() || t.IsObjectType()
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			if named {
				c.text -= len(k.AsString())
			}
			if err := c.count(e); err != nil {
				return err
			}
		}
	}
	return nil
}
