package lang

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/flameox/flameox/lang/funcs"
	"github.com/flameox/flameox/lang/render"
	"github.com/flameox/flameox/lang/source"
)

// RenderOptions say what the reader's screen can show.
type RenderOptions = render.Options

// Render writes diagnostics for people: what is wrong, where, with the source underlined, and what to do.
func Render(w io.Writer, diags hcl.Diagnostics, files map[string]*hcl.File, o RenderOptions) error {
	return render.Text(w, diags, files, o)
}

// RenderJSON writes diagnostics for editors, as one JSON document.
func RenderJSON(w io.Writer, diags hcl.Diagnostics, files map[string]*hcl.File) error {
	return render.JSON(w, diags, files)
}

// Fmt is src in the canonical layout. Formatting again changes nothing, and the meaning stays: where the formatter would
// change more than white space, src is returned as it is. With errors, src is returned, too.
func Fmt(src []byte) ([]byte, hcl.Diagnostics) {
	const name = "input"
	if p := source.CheckText(src, name); p != nil {
		return src, hcl.Diagnostics{fromProblem(*p)}
	}
	for _, p := range source.CheckConfig(src, name) {
		return src, hcl.Diagnostics{fromProblem(p)}
	}
	if _, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos); diags.HasErrors() {
		return src, fromHCL(sumSyntax, diags, "", false)
	}
	// The formatter aligns what it sees, and what it sees can change once it has aligned: it is run until nothing moves.
	out := src
	for range 8 {
		next := hclwrite.Format(out)
		if bytes.Equal(next, out) {
			if !sameTokens(src, out) {
				return src, nil
			}
			return out, nil
		}
		out = next
	}
	return src, nil
}

// sameTokens says whether two sources differ only in white space between tokens.
func sameTokens(a, b []byte) bool {
	x, _ := hclsyntax.LexConfig(a, "", hcl.InitialPos)
	y, _ := hclsyntax.LexConfig(b, "", hcl.InitialPos)
	return slices.EqualFunc(x, y, func(s, t hclsyntax.Token) bool {
		return s.Type == t.Type && bytes.Equal(bytes.TrimRight(s.Bytes, " \t\r\n"), bytes.TrimRight(t.Bytes, " \t\r\n"))
	})
}

// Functions lists the functions that expressions may call, sorted.
func Functions() []string { return funcs.Names() }

// Argument documents one argument of a block.
type Argument struct {
	Name     string
	Type     string // "string", "list of strings", "duration", "reference" …
	Required bool
	Default  string // as HCL writes it; "" where there is none
	Kinds    []string
	Doc      string
	Facet    string
}

// Arguments documents the arguments of a schema: its own in the order of their fields, then those that every stage has.
// It panics where Register would.
func Arguments(s *Schema) []Argument {
	own := mustCompile(s).arguments()
	if !s.Stage {
		return own
	}
	for _, a := range metaSchema().arguments() {
		if s.Measurement || !slices.Contains(measurementOnly, a.Name) {
			own = append(own, a)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(structuralDocs)) {
		if s.Measurement || !slices.Contains(measurementOnly, name) {
			own = append(own, structuralDocs[name])
		}
	}
	return own
}

var structuralDocs = map[string]Argument{
	"matrix":     {Name: "matrix", Type: "lists by name", Doc: "axes and their values: one instance for each combination; in expressions matrix.<axis>", Facet: "exempt: the values enter through the arguments that use them"},
	"for_each":   {Name: "for_each", Type: "map, or list or set of strings", Doc: "one axis named after the block: one instance for each key; in expressions each.key and each.value", Facet: "exempt: the values enter through the arguments that use them"},
	"depends_on": {Name: "depends_on", Type: "references", Doc: "blocks that must be done before; where axes are shared, instance by instance", Facet: "exempt: order only"},
	"profile_of": {Name: "profile_of", Type: "reference", Doc: "the unprofiled run that a profiling capture belongs to", Facet: "exempt: order only"},
}

var kindNames = map[fieldKind]string{
	kindString: "string", kindBool: "bool", kindInt: "whole number", kindFloat: "number", kindStrings: "list of strings", kindInts: "list of whole numbers",
	kindMap: "strings by name", kindDuration: "duration", kindBytes: "size", kindRef: "reference", kindRefs: "references", kindDeferred: "expression over results",
}

func (c *schema) arguments() []Argument {
	var list []Argument
	for _, f := range c.fields {
		tag := c.typ.Field(f.index).Tag
		list = append(list, Argument{
			Name: f.name, Type: kindNames[f.kind], Required: f.required, Default: tag.Get("default"), Kinds: slices.Clone(f.kinds),
			Doc: tag.Get("doc"), Facet: tag.Get("facet"),
		})
	}
	return list
}
