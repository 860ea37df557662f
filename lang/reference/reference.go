package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/lang"
)

// Document is the language.
type Document struct {
	Format    int      `json:"format_version" doc:"version of this document, 1"`
	Blocks    []Block  `json:"blocks" doc:"by type, then by first label; the blocks that are no stages come first"`
	Functions []string `json:"functions" doc:"what expressions may call"`
}

// Block is one kind of block.
type Block struct {
	Type        string      `json:"type" doc:"the block's type"`
	Kind        string      `json:"kind,omitempty" doc:"the first label, where the block has two"`
	Labels      []string    `json:"labels" doc:"names of its labels"`
	Doc         string      `json:"doc" doc:"what the block is"`
	Stage       bool        `json:"stage" doc:"it accepts the arguments of every stage"`
	Measurement bool        `json:"measurement" doc:"it also accepts the arguments of every measurement"`
	Once        bool        `json:"once,omitempty" doc:"a configuration has at most one"`
	Implies     []string    `json:"implies,omitempty" doc:"types of the blocks that come with each, with the same labels"`
	Arguments   []Argument  `json:"arguments" doc:"its own, then those of every stage"`
	Any         string      `json:"any,omitempty" doc:"what an argument of any other name is; without it there are no others"`
	Nested      []Nested    `json:"nested,omitempty" doc:"nested blocks"`
	Own         []Attribute `json:"own,omitempty" doc:"runtime values of the stage's own run, written as they are"`
	Tokens      []Attribute `json:"runtime,omitempty" doc:"runtime values that other stages may use, written behind the address"`
	Results     []Attribute `json:"results,omitempty" doc:"results that output and check may read, written behind the address"`
}

// Header is how the block is written: capture "pprof" "<name>".
func (b *Block) Header() string {
	s := b.Type
	for i, l := range b.Labels {
		if i == 0 && b.Kind != "" {
			s += ` "` + b.Kind + `"`
		} else {
			s += ` "<` + l + `>"`
		}
	}
	return s
}

// Argument is one argument of a block.
type Argument struct {
	Name     string   `json:"name" doc:"of the argument"`
	Type     string   `json:"type" doc:"what it takes"`
	Arity    string   `json:"arity,omitempty" doc:"of references: one (the stage fans out over the axes of what it refers to) or all (it takes every instance)"`
	Kinds    []string `json:"kinds,omitempty" doc:"blocks that may be referred to; any where there are none"`
	Required bool     `json:"required" doc:"it has to be given"`
	Default  string   `json:"default,omitempty" doc:"the value where it is not given, as it would be written"`
	Doc      string   `json:"doc" doc:"what it is"`
	Facet    string   `json:"facet,omitempty" doc:"the facet of the key that it enters"`
	Exempt   string   `json:"exempt,omitempty" doc:"why it enters none"`
	Common   bool     `json:"common,omitempty" doc:"every stage or every measurement has it"`
}

// The arities of references.
const (
	One = "one"
	All = "all"
)

// Nested is a block in a block.
type Nested struct {
	Type      string     `json:"type" doc:"the block's type; it has no labels"`
	Doc       string     `json:"doc" doc:"what the block is"`
	Repeated  bool       `json:"repeated,omitempty" doc:"it may be there more than once"`
	Arguments []Argument `json:"arguments" doc:"its arguments"`
}

// Attribute is something that can be read of a block.
type Attribute struct {
	Name string `json:"name" doc:"with dots"`
	Type string `json:"type" doc:"as variables declare types"`
	Doc  string `json:"doc" doc:"what it is"`
}

// Of is the language with these block types.
func Of(types []lang.BlockType) *Document {
	d := &Document{Format: 1, Blocks: meta(), Functions: lang.Functions()}
	for _, t := range types {
		for _, kind := range slices.Sorted(maps.Keys(t.Schemas)) {
			d.Blocks = append(d.Blocks, block(t, kind, t.Schemas[kind]))
		}
	}
	for i := range d.Blocks { // an empty list is no null in JSON
		b := &d.Blocks[i]
		b.Arguments = append([]Argument{}, b.Arguments...)
		for j := range b.Nested {
			b.Nested[j].Arguments = append([]Argument{}, b.Nested[j].Arguments...)
		}
	}
	return d
}

func block(t lang.BlockType, kind string, s *lang.Schema) Block {
	doc := s.Doc
	if doc == "" {
		doc = t.Doc
	}
	b := Block{
		Type: t.Type, Kind: kind, Labels: slices.Clone(t.Labels), Doc: doc, Stage: s.Stage, Measurement: s.Measurement,
		Implies: slices.Clone(s.Implies), Own: attributes(s.Own), Tokens: attributes(s.Tokens), Results: attributes(s.Results),
	}
	own := len(lang.Arguments(&lang.Schema{Options: s.Options}))
	for i, a := range lang.Arguments(s) {
		arg := argument(a)
		arg.Common = i >= own
		b.Arguments = append(b.Arguments, arg)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Nested)) {
		n := s.Nested[name]
		nested := Nested{Type: name, Doc: n.Doc}
		for _, a := range lang.Arguments(&n) {
			nested.Arguments = append(nested.Arguments, argument(a))
		}
		b.Nested = append(b.Nested, nested)
	}
	return b
}

func argument(a lang.Argument) Argument {
	out := Argument{Name: a.Name, Type: a.Type, Kinds: a.Kinds, Required: a.Required, Default: a.Default, Doc: a.Doc}
	switch a.Type {
	case "reference":
		out.Arity = One
	case "references":
		out.Arity = All
	}
	if reason, exempt := strings.CutPrefix(a.Facet, "exempt: "); exempt {
		out.Exempt = reason
	} else {
		out.Facet = a.Facet
	}
	return out
}

func attributes(list []lang.Attr) []Attribute {
	var out []Attribute
	for _, a := range list {
		typ := "any"
		if a.Type != cty.NilType {
			typ = typeexpr.TypeString(a.Type)
		}
		out = append(out, Attribute{Name: a.Name, Type: typ, Doc: a.Doc})
	}
	return out
}

// Find is the blocks of a type and, where kind is not "", of that first label.
func (d *Document) Find(typ, kind string) []*Block {
	var out []*Block
	for i := range d.Blocks {
		if b := &d.Blocks[i]; b.Type == typ && (kind == "" || b.Kind == kind) {
			out = append(out, b)
		}
	}
	return out
}

// Types are the types of blocks, each once, in order.
func (d *Document) Types() []string {
	var out []string
	for _, b := range d.Blocks {
		if !slices.Contains(out, b.Type) {
			out = append(out, b.Type)
		}
	}
	return out
}

// Kinds are the first labels that a type of block has; none where it has one label or no label.
func (d *Document) Kinds(typ string) []string {
	var out []string
	for _, b := range d.Find(typ, "") {
		if b.Kind != "" {
			out = append(out, b.Kind)
		}
	}
	return out
}
