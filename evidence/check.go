package evidence

import "fmt"

// checker is a row that can contradict itself.
type checker interface{ check() error }

// check holds a measurement to its one value.
func (m *Measurement) check() error {
	switch {
	case m.ValueInt == nil && m.ValueFloat == nil:
		return fmt.Errorf("%s has neither value_int nor value_float; a sample without a value is no row", m.Name)
	case m.ValueInt != nil && m.ValueFloat != nil:
		return fmt.Errorf("%s has both value_int and value_float", m.Name)
	}
	return nil
}

// check holds a resource to one value, or to the reason why there is none.
func (r *Resource) check() error {
	switch {
	case r.ValueInt != nil && r.ValueFloat != nil:
		return fmt.Errorf("%s has both value_int and value_float", r.Metric)
	case r.ValueInt == nil && r.ValueFloat == nil && r.Unavailable == nil:
		return fmt.Errorf("%s has no value and does not say why", r.Metric)
	}
	return nil
}
