package stages

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/lang"
)

// OutputValue is one evaluated output.
type OutputValue struct {
	Name      string
	Value     cty.Value // unknown where a stage it reads has no valid result
	Sensitive bool
	Missing   []string // addresses that have no valid result
}

// CheckResult is one evaluated assertion.
type CheckResult struct {
	Check   string
	Passed  bool
	Message string   // why not
	Missing []string // addresses that have no valid result: a check never passes on missing evidence
}

// Current are the records that stand for a stage now; empty where it is stale.
type Current func(inst *lang.Instance) []*cache.Summary

// CurrentOf reads them from decisions.
func (e *Experiment) CurrentOf(records func(node string) []*cache.Summary) Current {
	return func(inst *lang.Instance) []*cache.Summary { return records(inst.Address().String()) }
}

// value is the result object of an instance.
func (e *Experiment) value(inst *lang.Instance, records []*cache.Summary) (cty.Value, error) {
	c := e.compiled.Of(inst)
	if c == nil || c.Results == nil {
		return cty.DynamicVal, nil
	}
	results, err := c.Results(records)
	if err != nil {
		return cty.NilVal, fmt.Errorf("read the results of %s: %w", inst.Address(), err)
	}
	return object(inst.Block.Schema.Results, results)
}

// object makes nested objects of dotted attributes; a missing one is null.
func object(attrs []lang.Attr, values map[string]any) (cty.Value, error) {
	nested := map[string][]lang.Attr{}
	out := map[string]cty.Value{}
	for _, a := range attrs {
		head, rest, dotted := strings.Cut(a.Name, ".")
		if dotted {
			nested[head] = append(nested[head], lang.Attr{Name: rest, Type: a.Type, Doc: a.Doc})
			continue
		}
		v, ok := values[a.Name]
		if !ok {
			out[a.Name] = cty.NullVal(a.Type)
			continue
		}
		cv, err := ctyValue(v)
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s: %w", a.Name, err)
		}
		out[a.Name] = cv
	}
	for head, attrs := range nested {
		below := map[string]any{}
		for k, v := range values {
			if rest, ok := strings.CutPrefix(k, head+"."); ok {
				below[rest] = v
			}
		}
		v, err := object(attrs, below)
		if err != nil {
			return cty.NilVal, err
		}
		out[head] = v
	}
	return cty.ObjectVal(out), nil
}

func ctyValue(v any) (cty.Value, error) {
	switch x := v.(type) {
	case string:
		return cty.StringVal(x), nil
	case bool:
		return cty.BoolVal(x), nil
	case int:
		return cty.NumberIntVal(int64(x)), nil
	case int64:
		return cty.NumberIntVal(x), nil
	case float64:
		return cty.NumberFloatVal(x), nil
	case []string:
		if len(x) == 0 {
			return cty.ListValEmpty(cty.String), nil
		}
		vs := make([]cty.Value, len(x))
		for i, s := range x {
			vs[i] = cty.StringVal(s)
		}
		return cty.ListVal(vs), nil
	}
	return cty.NilVal, fmt.Errorf("a result of type %T has no value in the language", v)
}

// eval evaluates a deferred expression; missing lists what it reads that has no valid result.
func (e *Experiment) eval(d lang.Deferred, current Current) (v cty.Value, missing []string, diags hcl.Diagnostics) {
	have := map[*lang.Instance][]*cache.Summary{}
	for _, inst := range d.Instances() {
		recs := current(inst)
		if len(recs) == 0 && len(inst.Block.Schema.Results) > 0 {
			missing = append(missing, inst.Address().String())
		}
		have[inst] = recs
	}
	if len(missing) > 0 {
		return cty.DynamicVal, missing, nil
	}
	v, diags = d.Eval(func(inst *lang.Instance) (cty.Value, error) { return e.value(inst, have[inst]) })
	return v, nil, diags
}

// Outputs evaluates all outputs.
func (e *Experiment) Outputs(current Current) ([]OutputValue, hcl.Diagnostics) {
	var out []OutputValue
	var diags hcl.Diagnostics
	for _, o := range e.Expansion.Outputs {
		v, missing, d := e.eval(o.Value, current)
		diags = append(diags, d...)
		if !d.HasErrors() {
			out = append(out, OutputValue{Name: o.Name, Value: v, Sensitive: o.Sensitive, Missing: missing})
		}
	}
	return out, diags
}

// Checks evaluates all assertions. An assertion about missing evidence does not pass.
func (e *Experiment) Checks(current Current) ([]CheckResult, hcl.Diagnostics) {
	var out []CheckResult
	var diags hcl.Diagnostics
	for _, c := range e.Expansion.Checks {
		for _, a := range c.Asserts {
			r := CheckResult{Check: c.Name}
			v, missing, d := e.eval(a.Condition, current)
			diags = append(diags, d...)
			switch {
			case d.HasErrors():
				continue
			case len(missing) > 0:
				r.Missing = missing
				r.Message = "no valid result of " + strings.Join(missing, ", ")
			case v.IsNull() || !v.IsKnown() || v.Type() != cty.Bool:
				r.Message = "the condition is not true or false"
			case v.True():
				r.Passed = true
			default:
				r.Message = e.message(a.ErrorMessage, current)
			}
			out = append(out, r)
		}
	}
	return out, diags
}

func (e *Experiment) message(d lang.Deferred, current Current) string {
	v, missing, diags := e.eval(d, current)
	if len(missing) > 0 || diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "the condition is false"
	}
	return v.AsString()
}
