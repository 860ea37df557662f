package lang

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/pattern"
)

// Registry is the block types a configuration may use. It is filled once, before the first Load, and safe for concurrent reading.
type Registry struct {
	types map[string]*blockType
	own   map[string]bool // first parts of the names of own runtime tokens: "out", "self_port"
}

// NewRegistry is a registry without block types.
func NewRegistry() *Registry {
	return &Registry{types: map[string]*blockType{}, own: map[string]bool{}}
}

type blockType struct {
	BlockType
	schemas map[string]*schema
}

// reserved cannot be block types: they mean something in every configuration.
var reserved = []string{"flameox", "variable", "locals", "output", "check", "var", "local", "matrix", "each", "true", "false", "null", "for", "if", "in"}

// Register adds a block type. It panics on mistakes of the programmer: a type that exists, a reserved name, labels other
// than one or two of which the last is "name", a field of unknown type, two fields with one argument, a field without doc or
// facet, a default that does not fit.
func (r *Registry) Register(t BlockType) {
	fail := func(format string, args ...any) {
		panic("lang: block type " + t.Type + ": " + fmt.Sprintf(format, args...))
	}
	switch {
	case !hclsyntax.ValidIdentifier(t.Type) || slices.Contains(reserved, t.Type):
		fail("the name is reserved or not an identifier")
	case r.types[t.Type] != nil:
		fail("registered twice")
	case r.own[t.Type]:
		fail("the name is that of an own runtime token")
	case len(t.Labels) < 1 || len(t.Labels) > 2 || t.Labels[len(t.Labels)-1] != "name":
		fail("labels must be one or two, the last called name")
	case t.Doc == "" || len(t.Schemas) == 0:
		fail("without doc or schema")
	}
	bt := &blockType{t, map[string]*schema{}}
	for label, s := range t.Schemas {
		if (label == "") != (len(t.Labels) == 1) {
			fail("schema %q does not fit %d labels", label, len(t.Labels))
		}
		c, err := compile(s, true)
		if err != nil {
			fail("schema %q: %v", label, err)
		}
		for _, a := range s.Own {
			root, _, _ := strings.Cut(a.Name, ".")
			if r.types[root] != nil || root == t.Type || slices.Contains(reserved, root) {
				fail("own runtime token %s has the name of a block type", a.Name)
			}
			r.own[root] = true
		}
		bt.schemas[label] = c
	}
	r.types[t.Type] = bt
}

// Types lists the registered block types, sorted by type, for documentation.
func (r *Registry) Types() []BlockType {
	var list []BlockType
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		list = append(list, r.types[name].BlockType)
	}
	return list
}

// schema is a Schema made ready for decoding.
type schema struct {
	*Schema
	typ     reflect.Type  // of the options, or nil
	proto   reflect.Value // a struct with the defaults filled in
	fields  []*field
	byName  map[string]*field
	names   []string // of arguments, sorted
	nested  map[string]*schema
	tokens  map[string]bool
	own     map[string]bool
	results *attrTree
}

type field struct {
	name     string
	index    int
	kind     fieldKind
	ptr      bool
	required bool
	kinds    []string
}

type fieldKind int

const (
	kindString fieldKind = iota + 1
	kindBool
	kindInt
	kindFloat
	kindStrings
	kindInts
	kindMap
	kindDuration
	kindBytes
	kindRef
	kindRefs
	kindDeferred
)

var fieldKinds = map[reflect.Type]fieldKind{
	reflect.TypeFor[string]():            kindString,
	reflect.TypeFor[bool]():              kindBool,
	reflect.TypeFor[int]():               kindInt,
	reflect.TypeFor[int64]():             kindInt,
	reflect.TypeFor[float64]():           kindFloat,
	reflect.TypeFor[[]string]():          kindStrings,
	reflect.TypeFor[[]int]():             kindInts,
	reflect.TypeFor[map[string]string](): kindMap,
	durationType:                         kindDuration,
	reflect.TypeFor[Bytes]():             kindBytes,
	reflect.TypeFor[Ref]():               kindRef,
	reflect.TypeFor[Refs]():              kindRefs,
	reflect.TypeFor[Deferred]():          kindDeferred,
}

func (k fieldKind) scalar() bool {
	return k != kindStrings && k != kindInts && k != kindMap && k < kindRef
}

var attrName = pattern.Lazy{Expr: `^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*$`}

// compile checks a schema and makes it ready. Fields need a facet where strict.
func compile(s *Schema, strict bool) (*schema, error) {
	c := &schema{Schema: s, byName: map[string]*field{}, nested: map[string]*schema{}, tokens: map[string]bool{}, own: map[string]bool{}, results: &attrTree{}}
	if err := c.compileOptions(strict); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Nested)) {
		n := s.Nested[name]
		if len(n.Nested) > 0 || n.Stage || n.Measurement || len(n.Tokens)+len(n.Results)+len(n.Own) > 0 {
			return nil, fmt.Errorf("nested block %s may have only a doc and options", name)
		}
		nc, err := compile(&n, strict)
		if err != nil {
			return nil, fmt.Errorf("nested block %s: %w", name, err)
		}
		c.nested[name] = nc
	}
	for _, list := range []struct {
		attrs []Attr
		add   func(Attr) bool
	}{
		{s.Tokens, func(a Attr) bool { dup := c.tokens[a.Name]; c.tokens[a.Name] = true; return !dup }},
		{s.Own, func(a Attr) bool { dup := c.own[a.Name]; c.own[a.Name] = true; return !dup }},
		{s.Results, c.results.add},
	} {
		for _, a := range list.attrs {
			if !attrName.MatchString(a.Name) || a.Doc == "" && strict {
				return nil, fmt.Errorf("attribute %q has no doc, or its name is not lower case words with dots", a.Name)
			}
			if !list.add(a) {
				return nil, fmt.Errorf("attribute %s is there twice, or is also the beginning of another", a.Name)
			}
		}
	}
	if s.Measurement && !s.Stage {
		return nil, fmt.Errorf("a measurement is a stage: set Stage too")
	}
	return c, nil
}

func (c *schema) compileOptions(strict bool) error {
	if c.Options == nil {
		return nil
	}
	t := reflect.TypeOf(c.Options)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("options are a %s, not a pointer to a struct", t)
	}
	c.typ = t.Elem()
	c.proto = reflect.New(c.typ).Elem()
	for i := range c.typ.NumField() {
		sf := c.typ.Field(i)
		f, err := c.compileField(sf, strict)
		if err != nil {
			return fmt.Errorf("field %s: %w", sf.Name, err)
		}
		f.index = i
		c.fields = append(c.fields, f)
		c.byName[f.name] = f
		c.names = append(c.names, f.name)
	}
	slices.Sort(c.names)
	return nil
}

func (c *schema) compileField(sf reflect.StructField, strict bool) (*field, error) {
	name, option, _ := strings.Cut(sf.Tag.Get("arg"), ",")
	f := &field{name: name, required: true}
	ft := sf.Type
	if ft.Kind() == reflect.Pointer {
		f.ptr, ft = true, ft.Elem()
	}
	f.kind = fieldKinds[ft]
	def, hasDefault := sf.Tag.Lookup("default")
	switch {
	case f.kind == 0, f.ptr && !f.kind.scalar():
		return nil, fmt.Errorf("no argument can be a %s", sf.Type)
	case !sf.IsExported() || !hclsyntax.ValidIdentifier(name):
		return nil, fmt.Errorf("unexported, or without an arg tag that is an identifier")
	case option != "" && option != "optional":
		return nil, fmt.Errorf("arg option %q is unknown", option)
	case c.byName[name] != nil:
		return nil, fmt.Errorf("argument %s is there twice", name)
	case c.Stage && (slices.Contains(stageArgs, name) || slices.Contains(structural, name)):
		return nil, fmt.Errorf("argument %s is one that every stage has", name)
	case strict && sf.Tag.Get("doc") == "":
		return nil, fmt.Errorf("argument %s has no doc tag", name)
	case strict && !facetTag.MatchString(sf.Tag.Get("facet")):
		return nil, fmt.Errorf("argument %s has no facet tag, or an exemption without a reason", name)
	case f.kind >= kindRef && hasDefault:
		return nil, fmt.Errorf("a reference has no default")
	}
	if k := sf.Tag.Get("kinds"); k != "" {
		if f.kind != kindRef && f.kind != kindRefs {
			return nil, fmt.Errorf("kinds without a reference")
		}
		for part := range strings.SplitSeq(k, ",") {
			f.kinds = append(f.kinds, strings.TrimSpace(part))
		}
	}
	f.required = option == "" && !hasDefault && !f.ptr
	if !hasDefault {
		return f, nil
	}
	expr, diags := hclsyntax.ParseExpression([]byte(def), "default", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("default %s: %w", def, diags)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return nil, fmt.Errorf("default %s (a string is written with quotes): %w", def, diags)
	}
	if v.IsNull() {
		return nil, fmt.Errorf("default null: use optional")
	}
	if err := assign(c.proto.FieldByIndex(sf.Index), f, v); err != nil {
		return nil, fmt.Errorf("default %s: %w", def, err)
	}
	return f, nil
}

var facetTag = pattern.Lazy{Expr: `^([a-z_]+|exempt: .+)$`}

// attrTree is the results of a block by the parts of their dotted names.
type attrTree struct {
	attr *Attr
	kids map[string]*attrTree
}

func (t *attrTree) add(a Attr) bool {
	for part := range strings.SplitSeq(a.Name, ".") {
		if t.attr != nil {
			return false
		}
		if t.kids == nil {
			t.kids = map[string]*attrTree{}
		}
		if t.kids[part] == nil {
			t.kids[part] = &attrTree{}
		}
		t = t.kids[part]
	}
	if t.attr != nil || t.kids != nil {
		return false
	}
	if a.Type == cty.NilType {
		a.Type = cty.DynamicPseudoType
	}
	t.attr = &a
	return true
}

func (t *attrTree) names() []string { return slices.Sorted(maps.Keys(t.kids)) }

// Defaults returns a new struct of the type that options points to, with the defaults of its tags filled in: what decoding a
// block without arguments gives. It panics where Register would.
func Defaults(options any) any {
	if options == nil {
		return nil
	}
	c, err := compile(&Schema{Options: options}, false)
	if err != nil {
		panic("lang: " + err.Error())
	}
	out := reflect.New(c.typ)
	out.Elem().Set(c.proto)
	return out.Interface()
}
