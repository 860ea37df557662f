package kernelvalidation

import (
	"fmt"

	"github.com/flameox/flameox/providers"
)

// check computes every status again and holds the document to it. An error is a *providers.Refusal.
func (doc *document) check() error {
	var parts []Status
	seen := map[string]bool{}
	for i := range doc.cases {
		c := &doc.cases[i]
		if seen[c.id] {
			return providers.Refuse(Contradiction, "the document has two cases called %q", cut(c.id))
		}
		seen[c.id] = true
		if err := c.check(); err != nil {
			return providers.Refuse(Contradiction, "case %q: %v", cut(c.id), err)
		}
		parts = append(parts, c.status)
	}
	want := aggregate(parts)
	switch {
	case !doc.complete && len(doc.limitations) == 0:
		return providers.Refuse(Contradiction, "the document says that its coverage is not complete and not why; it needs a limitation")
	case !doc.complete && want == Pass:
		want = Inconclusive
	}
	if doc.status != want {
		why := ""
		if !doc.complete && want == Inconclusive {
			why = ", because its coverage is not complete"
		}
		return providers.Refuse(Contradiction, "the document says %s, and its cases make it %s%s", doc.status, want, why)
	}
	return nil
}

func (c *testCase) check() error {
	var parts []Status
	seen := map[string]bool{}
	for i := range c.outputs {
		o := &c.outputs[i]
		if seen[o.name] {
			return fmt.Errorf("it has two outputs called %q", cut(o.name))
		}
		seen[o.name] = true
		if err := o.check(); err != nil {
			return fmt.Errorf("output %q: %w", cut(o.name), err)
		}
		parts = append(parts, o.status)
	}
	if want := aggregate(parts); c.status != want {
		return fmt.Errorf("it says %s, and its outputs make it %s", c.status, want)
	}
	return nil
}

func (o *output) check() error {
	var parts []Status
	seen := map[string]bool{}
	exact := false // an evaluated mse of zero is among the metrics
	for i := range o.metrics {
		m := &o.metrics[i]
		if seen[m.name] {
			return fmt.Errorf("it has the metric %s twice", m.name)
		}
		seen[m.name] = true
		if err := m.check(); err != nil {
			return fmt.Errorf("metric %s: %w", m.name, err)
		}
		exact = exact || m.name == "mse" && m.status.evaluated() && m.value != nil && *m.value == 0
		parts = append(parts, m.status)
	}
	for i := range o.metrics {
		if o.metrics[i].infinite && !exact {
			return fmt.Errorf("metric %s: it is positive infinity, which stands for an mse of exactly 0, and no such mse was evaluated beside it", o.metrics[i].name)
		}
	}
	want := aggregate(parts)
	switch {
	case len(o.metrics) == 0 && o.status.evaluated():
		return fmt.Errorf("it says %s without a metric that says so; without metrics it is inconclusive or unsupported", o.status)
	case len(o.metrics) == 0 && len(o.limitations) == 0:
		return fmt.Errorf("it has neither a metric nor a limitation that says why")
	case len(o.metrics) > 0 && o.status != want:
		return fmt.Errorf("it says %s, and its metrics make it %s", o.status, want)
	case o.status == Fail && len(o.failures) == 0:
		return fmt.Errorf("it fails and has no representative failure that shows how")
	case o.status != Fail && len(o.failures) > 0:
		return fmt.Errorf("it says %s and has representative failures", o.status)
	}
	return nil
}

func (m *metric) check() error {
	l := laws[m.name]
	if m.profile != nil && m.name != psnr {
		return fmt.Errorf("it has a profile, which only %s has", psnr)
	}
	if !m.status.evaluated() {
		switch {
		case m.value != nil || m.infinite || m.comparator != nil || m.threshold != nil:
			return fmt.Errorf("it is %s and has a value, a comparator or a threshold; those are null where nothing was evaluated", m.status)
		case m.limitation == nil:
			return fmt.Errorf("it is %s and has no limitation that says why", m.status)
		}
		return nil
	}
	switch {
	case m.value == nil && !m.infinite:
		return fmt.Errorf("it says %s and has no value", m.status)
	case m.infinite && m.name != psnr:
		return fmt.Errorf("it is positive infinity, which only %s can be", psnr)
	case m.comparator == nil || *m.comparator != l.comparator:
		return fmt.Errorf("its comparator is not %q, and no other means anything for it", l.comparator)
	case m.threshold == nil:
		return fmt.Errorf("it says %s and has no threshold", m.status)
	case m.profile == nil && m.name == psnr:
		return fmt.Errorf("it has no profile, without which nobody knows what it is relative to")
	}
	for _, f := range []struct {
		what  string
		value *float64
	}{{"value", m.value}, {"threshold", m.threshold}} {
		if f.value != nil && (*f.value < l.min || *f.value > l.max) {
			return fmt.Errorf("its %s is %s, which it cannot be", f.what, number(*f.value))
		}
	}
	if want := map[bool]Status{true: Pass, false: Fail}[m.holds()]; m.status != want {
		value := "positive infinity"
		if m.value != nil {
			value = number(*m.value)
		}
		return fmt.Errorf("it says %s, and %s %s %s makes it %s", m.status, value, *m.comparator, number(*m.threshold), want)
	}
	return nil
}
