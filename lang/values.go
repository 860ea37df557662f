package lang

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/bounded"
)

// Values are where variables get theirs, from the strongest to the weakest: Vars, VarFiles, the environment, the default.
type Values struct {
	Vars     []string // -var name=value; of two for one name the later counts
	VarFiles []string // -var-file, HCL or .json; of two that set one name the later counts
	Environ  []string // the process's environment, NAME=value: FLAMEOX_VAR_name, and what env may read
}

const envPrefix = "FLAMEOX_VAR_"

// Variable is a declared variable with its value.
type Variable struct {
	Name        string
	Type        cty.Type // cty.DynamicPseudoType where none is declared
	Description string
	Sensitive   bool
	Nullable    bool // null is a value; otherwise it means the default
	// Value is what expressions see. For a sensitive variable that is the marked real value; arguments get the runtime token var.<name> instead.
	Value cty.Value
	// From says where the value comes from: "-var", "-var-file NAME", "environment" or "default".
	From  string
	Range hcl.Range

	broken   bool
	defaults *typeexpr.Defaults
	block    *hclsyntax.Block
}

// local is one value of a locals block.
type local struct {
	attr   *hclsyntax.Attribute
	info   exprInfo
	value  cty.Value // as arguments see it
	real   cty.Value // as outputs and checks see it
	state  int       // 0 untouched, 1 being evaluated, 2 done
	next   int       // how many of the locals it mentions were looked at
	broken bool
	secret bool // a sensitive variable takes part
}

// evaluated is what variables and locals came to.
type evaluated struct {
	vars   map[string]*Variable
	locals map[string]*local
	args   *hcl.EvalContext // for arguments: sensitive values are tokens
	late   *hcl.EvalContext // for outputs, checks and deferred arguments
}

// sensitive marks values that a sensitive variable took part in.
type sensitive struct{}

// Secret is the value of a sensitive variable, for whoever substitutes the runtime token "var.<name>" when a process
// starts. It must go nowhere else.
func (c *Config) Secret(name string) (string, bool) {
	v := c.values.vars[name]
	if v == nil || !v.Sensitive || v.broken {
		return "", false
	}
	real, _ := v.Value.Unmark()
	if real.IsNull() {
		return "", false
	}
	return real.AsString(), true
}

// secretIn says whether a sensitive variable takes part in an expression.
func (c *Config) secretIn(info *exprInfo) bool {
	for _, name := range info.vars {
		if c.values.vars[name].Sensitive {
			return true
		}
	}
	for _, name := range info.locals {
		if c.values.locals[name].secret {
			return true
		}
	}
	return false
}

func (c *Config) loadVariables(blocks []*hclsyntax.Block, in Values) {
	c.values.vars = map[string]*Variable{}
	for _, b := range blocks {
		c.declareVariable(b)
	}
	given := c.givenValues(in)
	for _, v := range c.Variables {
		c.valueOf(v, given[v.Name])
	}
	args, real := map[string]cty.Value{}, map[string]cty.Value{}
	for name, v := range c.values.vars {
		if v.broken {
			args[name], real[name] = cty.DynamicVal, cty.DynamicVal
			continue
		}
		args[name], real[name] = v.Value, v.Value
		if v.Sensitive && !v.Value.IsNull() {
			args[name] = cty.StringVal(token.Make("var." + name)).Mark(sensitive{})
		}
	}
	c.values.args = &hcl.EvalContext{Functions: c.funcs, Variables: map[string]cty.Value{"var": cty.ObjectVal(args)}}
	c.values.late = &hcl.EvalContext{Functions: c.funcs, Variables: map[string]cty.Value{"var": cty.ObjectVal(real)}}
	for _, v := range c.Variables {
		c.validate(v)
	}
}

type variableArgs struct {
	Description string `arg:"description,optional" doc:"what the variable is for"`
	Sensitive   bool   `arg:"sensitive" default:"false" doc:"its value enters no key, plan, log or document"`
	Nullable    bool   `arg:"nullable" default:"true" doc:"whether null is a value; where not, a null from outside means the default"`
}

var variableSchema = sync.OnceValue(func() *schema { return mustCompile(&Schema{Doc: "variable", Options: &variableArgs{}}) })

func (c *Config) declareVariable(b *hclsyntax.Block) {
	if !c.goodLabels(b, []string{"name"}) {
		return
	}
	v := &Variable{Name: b.Labels[0], Type: cty.DynamicPseudoType, Range: b.DefRange(), block: b}
	if first := c.values.vars[v.Name]; first != nil {
		c.report(errorAt(sumDuplicate, v.Range, "The variable %q is already declared at %s.", v.Name, place(first.Range)))
		return
	}
	c.values.vars[v.Name] = v
	c.Variables = append(c.Variables, v)
	args := body{sch: variableSchema(), also: []string{"type", "default"}}
	c.arguments(&args, b.Body, b, headerOf(b), func(a *hclsyntax.Attribute) bool { return a.Name == "type" || a.Name == "default" }, &v.broken)
	o := variableArgs{Nullable: true}
	c.literals(&args, &o)
	v.Description, v.Sensitive, v.Nullable = o.Description, o.Sensitive, o.Nullable
	if a := b.Body.Attributes["type"]; a != nil {
		t, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
		if diags.HasErrors() {
			c.report(fromHCL(sumInvalidValue, diags, "", false)...)
			v.broken = true
		} else {
			v.Type, v.defaults = t, defaults
		}
	}
	if v.Sensitive && v.Type != cty.String && v.Type != cty.DynamicPseudoType {
		c.report(errorAt(sumInvalidValue, v.Range, "A sensitive variable is a string, because it is handed to processes and never looked at: set type = string, or remove sensitive."))
		v.broken = true
	}
	for _, nb := range b.Body.Blocks {
		if nb.Type != "validation" {
			c.report(errorAt(sumUnknownNested, nb.TypeRange, "%s has no nested block %q.%s", headerOf(b), nb.Type, c.suggest.didYouMean(nb.Type, []string{"validation"})))
		}
	}
}

// valueOf decides a variable's value.
func (c *Config) valueOf(v *Variable, g given) {
	if v.broken {
		return
	}
	fail := func(d ...*hcl.Diagnostic) { c.report(d...); v.broken = true }
	def := v.block.Body.Attributes["default"]
	val := g.value
	switch {
	case g.from == "" && def == nil:
		fail(errorAt(sumNoValue, v.Range, "The variable %q has no default: give it with -var %s=…, in a -var-file, or as %s%s in the environment.", v.Name, v.Name, envPrefix, v.Name))
		return
	case g.from == "":
		g.from = "default"
		if info := c.analyse(def.Expr, nil, scopeDefault); info.broken {
			v.broken = true
			return
		}
		var diags hcl.Diagnostics
		if val, diags = c.budget.Value(def.Expr, nil); diags.HasErrors() {
			fail(fromHCL(sumExpression, diags, "", v.Sensitive)...)
			return
		}
	case g.text != nil:
		var why string
		if val, why = parseGiven(*g.text, v.Type); why != "" {
			if v.Sensitive {
				why = "it is not a value of that type."
			}
			fail(errorAt(sumBadVariable, v.Range, "The value of %q from %s does not fit its type, %s: %s", v.Name, g.from, typeexpr.TypeString(v.Type), why))
			return
		}
	}
	if v.Sensitive && v.Type == cty.DynamicPseudoType {
		v.Type = cty.String
	}
	if val.IsNull() && !v.Nullable {
		if g.from == "default" || def == nil {
			fail(errorAt(sumBadVariable, v.Range, "The value of %q from %s is null, and nullable = false says that null is no value of it.", v.Name, g.from))
			return
		}
		c.valueOf(v, given{}) // a null from outside means the default
		return
	}
	if v.defaults != nil && !val.IsNull() {
		val = v.defaults.Apply(val)
	}
	converted, err := bounded.Convert(val, v.Type)
	if err == nil {
		err = bounded.Check(converted)
	}
	if err != nil {
		why := err.Error()
		if v.Sensitive {
			why = "it has another type"
		}
		r := v.Range
		if g.from == "default" && !v.Sensitive { // the line of a sensitive default would show it
			r = def.Expr.Range()
		}
		fail(errorAt(sumBadVariable, r, "The value of %q from %s does not fit its type, %s: %s.", v.Name, g.from, typeexpr.TypeString(v.Type), why))
		return
	}
	if where := findNUL(converted); where {
		fail(errorAt(sumNUL, v.Range, "The value of %q from %s holds a NUL byte, which no argument of a program can have.", v.Name, g.from))
		return
	}
	v.Value, v.From = converted, g.from
	if v.Sensitive {
		v.Value = converted.Mark(sensitive{})
	}
}

// findNUL says whether a string in v, also a key, holds a NUL byte.
func findNUL(v cty.Value) bool {
	found := false
	v, _ = v.UnmarkDeep()
	cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		t := v.Type()
		switch {
		case v.IsNull() || !v.IsKnown():
			return false, nil
		case t == cty.String:
			found = found || token.Has(v.AsString())
		case t.IsMapType() || t.IsObjectType():
			for k := range v.AsValueMap() {
				found = found || token.Has(k)
			}
		}
		return !found, nil
	})
	return found
}

// validate checks the validation blocks of a variable against its value.
func (c *Config) validate(v *Variable) {
	for _, b := range v.block.Body.Blocks {
		if b.Type != "validation" || !c.goodLabels(b, nil) {
			continue
		}
		cond, msg, ok := c.conditionOf(b, func(e hclsyntax.Expression) bool { return !c.analyse(e, nil, scopeVars).broken })
		if !ok || v.broken {
			continue
		}
		hide := v.Sensitive || c.mentionsSecret(cond) || c.mentionsSecret(msg)
		val, diags := c.budget.Value(cond, c.values.late)
		if diags.HasErrors() {
			c.report(fromHCL(sumExpression, diags, "", hide)...)
			continue
		}
		val, _ = val.UnmarkDeep()
		holds, err := convert.Convert(val, cty.Bool)
		if err != nil || holds.IsNull() || !holds.IsKnown() {
			c.report(errorAt(sumInvalidValue, cond.Range(), "A condition is true or false, and this is neither."))
			continue
		}
		if holds.True() {
			continue
		}
		text := "It does not satisfy this condition."
		if m, diags := c.budget.Value(msg, c.values.late); !diags.HasErrors() {
			if m.ContainsMarked() {
				text = "The message is not shown, because a sensitive variable takes part in it."
			} else if s, err := convert.Convert(m, cty.String); err == nil && !s.IsNull() && s.IsKnown() {
				text = s.AsString()
			}
		} else {
			c.report(fromHCL(sumExpression, diags, "", hide)...)
		}
		d := errorAt(sumBadVariable, cond.Range(), "%s\nThe value of %q comes from %s.", text, v.Name, v.From)
		d.Expression, d.EvalContext = cond, c.values.late
		c.report(d)
		v.broken = true
	}
}

// mentionsSecret says whether a sensitive variable is mentioned in an expression that may mention variables only.
func (c *Config) mentionsSecret(expr hclsyntax.Expression) bool {
	return slices.ContainsFunc(hclsyntax.Variables(expr), func(t hcl.Traversal) bool {
		name, _ := attrAt(t, 1)
		v := c.values.vars[name]
		return v != nil && v.Sensitive
	})
}

// conditionOf reads condition and error_message of a validation or assert block.
func (c *Config) conditionOf(b *hclsyntax.Block, good func(hclsyntax.Expression) bool) (cond, msg hclsyntax.Expression, ok bool) {
	ok = true
	for _, name := range []string{"condition", "error_message"} {
		a := b.Body.Attributes[name]
		if a == nil {
			c.report(errorAt(sumMissingArg, b.DefRange(), "%s needs the argument %q.", b.Type, name))
			ok = false
			continue
		}
		ok = good(a.Expr) && ok
		if name == "condition" {
			cond = a.Expr
		} else {
			msg = a.Expr
		}
	}
	for _, a := range b.Body.Attributes {
		if a.Name != "condition" && a.Name != "error_message" {
			c.report(errorAt(sumUnknownArg, a.NameRange, "%s has no argument %q. Known are \"condition\" and \"error_message\".", b.Type, a.Name))
			ok = false
		}
	}
	for _, nb := range b.Body.Blocks {
		c.report(errorAt(sumUnknownNested, nb.TypeRange, "%s has no nested blocks.", b.Type))
		ok = false
	}
	return cond, msg, ok
}

// byPosition orders attributes, which come from a map.
func byPosition(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
}
