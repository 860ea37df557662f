package lang

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang/bounded"
	"github.com/flameox/flameox/lang/source"
)

// given is a value from outside for one variable: a text that is a literal or an expression, or a value.
type given struct {
	from  string
	text  *string
	value cty.Value
}

// givenValues collects the values from outside, the strongest for each name.
func (c *Config) givenValues(in Values) map[string]given {
	m := map[string]given{}
	names := slices.Sorted(maps.Keys(c.values.vars))
	for _, name := range names {
		if v, ok := c.reader.Getenv(envPrefix + name); ok {
			m[name] = given{from: "environment", text: &v}
		}
	}
	for _, file := range in.VarFiles {
		values := c.varFile(file)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if c.values.vars[name] == nil {
				c.report(errorNowhere(sumUnknownVariable, "The variable file %s sets %q, which is not declared.%s", file, token.Display(name), c.suggest.didYouMean(name, names)))
				continue
			}
			m[name] = given{from: "-var-file " + file, value: values[name]}
		}
	}
	for _, set := range in.Vars {
		name, text, ok := strings.Cut(set, "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok || name == "":
			// The text may be a secret that was typed without its name: it is not repeated.
			c.report(errorNowhere(sumBadVariable, "A -var is written name=value, and one of them has no name or no =."))
		case c.values.vars[name] == nil:
			c.report(errorNowhere(sumUnknownVariable, "-var sets %q, which is not declared.%s", name, c.suggest.didYouMean(name, names)))
		default:
			m[name] = given{from: "-var", text: &text}
		}
	}
	return m
}

// varFile reads the values in a file: arguments at the top level, or a JSON object.
func (c *Config) varFile(path string) map[string]cty.Value {
	bad := func(format string, args ...any) map[string]cty.Value {
		c.report(errorNowhere(sumBadVarFile, format, args...))
		return nil
	}
	src, err := c.reader.ReadOutside(path)
	if err != nil {
		return bad("%s.", capital(err.Error()))
	}
	if filepath.Ext(path) == ".json" {
		if p := source.CheckText(src, path); p != nil {
			return bad("The variable file %s is not a text at line %d: %s", path, p.Range.Start.Line, p.Why)
		}
		if err := source.CheckJSON(string(src)); err != nil {
			return bad("The variable file %s is nested too deeply: %s.", path, err)
		}
		t, err := ctyjson.ImpliedType(src)
		if err != nil || !t.IsObjectType() {
			return bad("The variable file %s is not a JSON object: names and values are expected, such as {\"rows\": 1000}.", path)
		}
		v, err := ctyjson.Unmarshal(src, t)
		if err != nil {
			return bad("The variable file %s is not valid JSON.", path)
		}
		return v.AsValueMap()
	}
	// An excerpt of a file that may hold a secret is not shown.
	secrets := slices.ContainsFunc(c.Variables, func(v *Variable) bool { return v.Sensitive })
	if !secrets {
		c.Files[path] = &hcl.File{Bytes: src}
	}
	if !c.acceptable(src, path) {
		return nil
	}
	f, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		c.report(fromHCL(sumSyntax, diags, "", false)...)
		return nil
	}
	if !secrets {
		c.Files[path] = f
	}
	b := f.Body.(*hclsyntax.Body)
	bounded.Watch(b, &c.budget)
	for _, nb := range b.Blocks {
		c.report(errorAt(sumBadVarFile, nb.TypeRange, "A variable file has only names and values, such as rows = 1000."))
	}
	m := map[string]cty.Value{}
	for _, a := range byPosition(b.Attributes) {
		name := a.Name
		v, diags := c.budget.Value(a.Expr, nil)
		if diags.HasErrors() {
			secret := c.values.vars[name] != nil && c.values.vars[name].Sensitive
			c.report(fromHCL(sumBadVarFile, diags, "", secret)...)
			if d := c.values.vars[name]; d != nil {
				d.broken = true
			}
			continue
		}
		m[name] = v
	}
	return m
}

// parseGiven reads a value from the command line or the environment: the text itself for a string, an expression otherwise.
func parseGiven(text string, t cty.Type) (cty.Value, string) {
	if t == cty.String || t == cty.DynamicPseudoType {
		return cty.StringVal(text), ""
	}
	src := []byte(text)
	if p := source.CheckText(src, ""); p != nil {
		return cty.NilVal, p.Why
	}
	if p := source.CheckExpression(src, ""); len(p) > 0 {
		return cty.NilVal, p[0].Why
	}
	expr, diags := hclsyntax.ParseExpression(src, "", hcl.InitialPos)
	if !diags.HasErrors() {
		var b bounded.Budget
		bounded.Watch(expr, &b)
		var v cty.Value
		if v, diags = b.Value(expr, nil); !diags.HasErrors() {
			return v, ""
		}
	}
	return cty.NilVal, "write it as in the configuration, such as " + exampleOf(t) + "."
}

func exampleOf(t cty.Type) string {
	switch {
	case t == cty.Number:
		return "1000"
	case t == cty.Bool:
		return "true"
	case t.IsMapType() || t.IsObjectType():
		return `{ name = "value" }`
	}
	return `["a", "b"]`
}
