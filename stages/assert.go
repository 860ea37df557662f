package stages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/graph"
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
	Left    bool     // what is missing was left out on purpose, so that nothing can be said
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
	v, err := object(inst.Block.Schema.Results, results)
	if err == nil && slices.ContainsFunc(records, func(r *cache.Summary) bool { return graph.IsSensitive(r.Outputs) }) {
		v = v.Mark(sensitive{}) // whatever is made of it is marked, too
	}
	return v, err
}

// sensitive marks the values that a sensitive stage's results took part in.
type sensitive struct{}

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
	case map[string]float64:
		if len(x) == 0 {
			return cty.MapValEmpty(cty.Number), nil
		}
		vs := make(map[string]cty.Value, len(x))
		for k, f := range x {
			vs[k] = cty.NumberFloatVal(f)
		}
		return cty.MapVal(vs), nil
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

// read says what the deferred expressions need: the results function for evaluating them, and which stages that they read have no valid
// result, so that they must not be evaluated.
func (e *Experiment) read(current Current, list ...lang.Deferred) (results func(*lang.Instance) (cty.Value, error), missing []string) {
	have := map[*lang.Instance][]*cache.Summary{}
	for _, d := range list {
		for _, inst := range d.Instances() {
			if _, seen := have[inst]; seen {
				continue
			}
			have[inst] = current(inst)
			if len(have[inst]) == 0 && len(inst.Block.Schema.Results) > 0 {
				missing = append(missing, inst.Address().String())
			}
		}
	}
	return func(inst *lang.Instance) (cty.Value, error) { return e.value(inst, have[inst]) }, missing
}

// Outputs evaluates all outputs.
func (e *Experiment) Outputs(current Current) ([]OutputValue, hcl.Diagnostics) {
	var out []OutputValue
	var diags hcl.Diagnostics
	for _, o := range e.Expansion.Outputs {
		results, missing := e.read(current, o.Value)
		if len(missing) > 0 {
			out = append(out, OutputValue{Name: o.Name, Value: cty.DynamicVal, Sensitive: o.Sensitive, Missing: missing})
			continue
		}
		v, d := o.Value.Eval(results)
		diags = append(diags, d...)
		if !d.HasErrors() {
			// A value that a sensitive variable or result took part in is marked, and as sensitive as that.
			plain, marks := v.UnmarkDeep()
			out = append(out, OutputValue{Name: o.Name, Value: plain, Sensitive: o.Sensitive || len(marks) > 0})
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
			results, missing := e.read(current, a.Condition, a.ErrorMessage)
			if len(missing) > 0 {
				r.Missing = missing
				r.Message = "no valid result of " + strings.Join(missing, ", ")
				out = append(out, r)
				continue
			}
			var d hcl.Diagnostics
			r.Passed, r.Message, d = a.Eval(results)
			diags = append(diags, d...)
			if !d.HasErrors() {
				out = append(out, r)
			}
		}
	}
	return out, diags
}
