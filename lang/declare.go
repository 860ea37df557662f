package lang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// node is a block of a registered type, with its arguments sorted out.
type node struct {
	*Block
	sch    *schema
	order  int // position among all nodes
	src    *hclsyntax.Block
	main   body
	meta   body
	nested []*body
	// impliedBy is the node that brought this one without a block of its own; src is nil then.
	impliedBy *node

	forEach, matrix *hclsyntax.Attribute
	dependsOn       []*use
	profileOf       *use

	edges  []edge // to other nodes, for ordering
	broken bool   // an error was reported: leave it and what needs it out
	// axesBroken says that matrix or for_each cannot be evaluated.
	axesBroken bool
}

type edge struct {
	to  *node
	rng hcl.Range
}

// body is the arguments of a block or of a nested block.
type body struct {
	name string   // of a nested block
	also []string // arguments besides the schema's, for messages
	sch  *schema
	args []*arg
}

type arg struct {
	f    *field
	attr *hclsyntax.Attribute
	info exprInfo
	refs []*use         // of a Ref or Refs
	late *deferredProto // of a Deferred
}

func mustCompile(s *Schema) *schema {
	c, err := compile(s, false)
	if err != nil {
		panic("lang: " + err.Error())
	}
	return c
}

var metaBlocks = []string{"flameox", "variable", "locals", "output", "check"}

// declareBlocks makes a node of every block of a registered type.
func (c *Config) declareBlocks(top map[string][]*hclsyntax.Block) {
	known := append(slices.Clone(metaBlocks), slices.Sorted(maps.Keys(c.reg.types))...)
	for _, typ := range slices.Sorted(maps.Keys(top)) {
		if slices.Contains(metaBlocks, typ) {
			continue
		}
		bt := c.reg.types[typ]
		for _, b := range top[typ] {
			if bt == nil {
				c.report(errorAt(sumUnknownBlock, b.TypeRange, "There is no block type %q.%s", typ, c.suggest.didYouMean(typ, known)))
				continue
			}
			c.declare(bt, b)
		}
	}
	slices.SortStableFunc(c.nodes, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.Range.Filename, b.Range.Filename), cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte))
	})
	for _, n := range c.nodes {
		c.Blocks = append(c.Blocks, n.Block)
		c.literalOnly(n)
	}
	c.declareImplied()
	for i, n := range c.nodes {
		n.order = i
	}
}

func (c *Config) declare(bt *blockType, b *hclsyntax.Block) {
	if !c.goodLabels(b, bt.Labels) {
		return
	}
	kind, known := "", ""
	if len(bt.Labels) == 2 {
		kind = b.Labels[0]
	}
	sch := bt.schemas[kind]
	n := &node{Block: &Block{Type: b.Type, Labels: b.Labels, Range: b.DefRange()}, sch: sch, src: b}
	if sch == nil {
		kinds := slices.Sorted(maps.Keys(bt.schemas))
		if known = c.suggest.didYouMean(kind, kinds); known == "" && len(kinds) <= 12 {
			known = " Known are " + oneOf(kinds) + "."
		}
		c.report(errorAt(sumUnknownKind, b.LabelRanges[0], "There is no %s %s %q.%s", bt.Type, bt.Labels[0], kind, known))
		n.broken = true
	} else {
		n.Schema = sch.Schema
	}
	address := n.Address()
	if first := c.index[address]; first != nil {
		c.report(errorAt(sumDuplicate, n.Range, "%s is already declared at %s. Addresses are unique: rename one of the two.", address, place(first.Range)))
		return
	}
	c.index[address] = n
	c.nodes = append(c.nodes, n)
	if sch != nil {
		c.structure(n)
	}
}

// goodLabels checks the number of labels and that each can be part of a reference.
func (c *Config) goodLabels(b *hclsyntax.Block, want []string) bool {
	if len(b.Labels) != len(want) {
		form := b.Type
		for _, w := range want {
			form += " \"<" + w + ">\""
		}
		c.report(errorAt(sumLabels, b.DefRange(), "A %s has %s, and this one has %d: write %s { … }.", b.Type, countLabels(want), len(b.Labels), form))
		return false
	}
	ok := true
	for i, l := range b.Labels {
		if !hclsyntax.ValidIdentifier(l) {
			c.report(errorAt(sumBadName, b.LabelRanges[i], "%q cannot be part of a reference: a name begins with a letter and has only letters, digits, _ and -.", l))
			ok = false
		}
	}
	return ok
}

func countLabels(want []string) string {
	switch len(want) {
	case 0:
		return "no label"
	case 1:
		return "one label (" + want[0] + ")"
	}
	return fmt.Sprintf("%d labels (%s)", len(want), strings.Join(want, ", "))
}

// structure sorts the arguments of a node and checks their names.
func (c *Config) structure(n *node) {
	header := kindOf(n.src)
	n.main = body{sch: n.sch}
	n.meta = body{sch: metaSchema()}
	c.arguments(&n.main, n.src.Body, n.src, header, func(a *hclsyntax.Attribute) bool {
		if !n.sch.accepts(a.Name) {
			return false
		}
		switch a.Name {
		case "for_each":
			n.forEach = a
		case "matrix":
			n.matrix = a
		case "depends_on", "profile_of":
		default:
			n.meta.args = append(n.meta.args, &arg{f: metaSchema().byName[a.Name], attr: a})
		}
		return true
	}, &n.broken)
	seen := map[string]*hclsyntax.Block{}
	for _, b := range n.src.Body.Blocks {
		sch := n.sch.nested[b.Type]
		switch {
		case sch == nil && n.sch.byName[b.Type] != nil:
			c.report(errorAt(sumUnknownNested, b.TypeRange, "%s has no nested block %q; it is an argument: write %s = ….", header, b.Type, b.Type))
			n.broken = true
		case sch == nil:
			c.report(errorAt(sumUnknownNested, b.TypeRange, "%s has no nested block %q.%s", header, b.Type, c.suggest.didYouMean(b.Type, slices.Sorted(maps.Keys(n.sch.nested)))))
			n.broken = true
		case seen[b.Type] != nil:
			c.report(errorAt(sumDuplicate, b.DefRange(), "The nested block %s may be there once; the first is at %s.", b.Type, place(seen[b.Type].DefRange())))
			n.broken = true
		case !c.goodLabels(b, nil):
			n.broken = true
		default:
			seen[b.Type] = b
			nb := &body{name: b.Type, sch: sch}
			c.arguments(nb, b.Body, b, b.Type+" of "+header, nil, &n.broken)
			for _, inner := range b.Body.Blocks {
				c.report(errorAt(sumUnknownNested, inner.TypeRange, "%s has no nested blocks.", b.Type))
				n.broken = true
			}
			n.nested = append(n.nested, nb)
		}
	}
}

// kindOf is what a block is, without its name: capture "gobench".
func kindOf(b *hclsyntax.Block) string {
	s := b.Type
	for i := 0; i < len(b.Labels)-1; i++ {
		s += fmt.Sprintf(" %q", b.Labels[i])
	}
	return s
}

func headerOf(b *hclsyntax.Block) string {
	s := b.Type
	for _, l := range b.Labels {
		s += fmt.Sprintf(" %q", l)
	}
	return s
}

// arguments matches the attributes of hb with the fields of b's schema. Others are offered to extra.
func (c *Config) arguments(b *body, hb *hclsyntax.Body, at *hclsyntax.Block, header string, extra func(*hclsyntax.Attribute) bool, broken *bool) {
	var unknown strings.Builder
	for _, a := range byPosition(hb.Attributes) {
		f := b.sch.byName[a.Name]
		switch {
		case f != nil:
			b.args = append(b.args, &arg{f: f, attr: a})
		case extra != nil && extra(a):
		default:
			text := c.unknownArg(b, header, a.Name)
			unknown.WriteString(text)
			c.report(errorAt(sumUnknownArg, a.NameRange, "%s", text))
			*broken = true
		}
	}
	slices.SortFunc(b.args, func(x, y *arg) int { return x.f.index - y.f.index })
	for _, f := range b.sch.fields {
		if f.required && hb.Attributes[f.name] == nil {
			*broken = true
			if strings.Contains(unknown.String(), fmt.Sprintf("Did you mean %q?", f.name)) {
				continue // one misspelt name is one error
			}
			c.report(errorAt(sumMissingArg, at.DefRange(), "%s needs the argument %q.", header, f.name))
		}
	}
}

func (c *Config) unknownArg(b *body, header, name string) string {
	s := b.sch
	if s.nested[name] != nil {
		return fmt.Sprintf("%s has no argument %q; it is a nested block: write %s { … }.", header, name, name)
	}
	known := append(slices.Clone(s.names), b.also...)
	for _, n := range append(slices.Clone(stageArgs), structural...) {
		if s.accepts(n) {
			known = append(known, n)
		}
	}
	text := fmt.Sprintf("%s has no argument %q.", header, name)
	if slices.Contains(measurementOnly, name) && !s.accepts(name) {
		return text + " Only measurements have it."
	}
	if hint := c.suggest.didYouMean(name, known); hint != "" {
		return text + hint
	}
	if len(known) == 0 {
		return text + " It has none."
	}
	if len(known) <= 12 {
		return text + " Known are " + oneOf(known) + "."
	}
	return text
}

// Some blocks bring others without a block of their own: a capture implies an extraction. Such a node has the labels and axes of
// the one that implies it, no arguments, and can be referred to like any other.

// declareImplied makes the nodes that declared ones imply.
func (c *Config) declareImplied() {
	for _, n := range c.nodes[:len(c.nodes):len(c.nodes)] {
		if n.sch == nil {
			continue
		}
		for _, typ := range n.sch.Implies {
			if turnedOff(n, typ) {
				continue
			}
			c.imply(n, typ)
		}
	}
}

// turnedOff says whether the node has the argument "extract = false", literally: what blocks there are never depends on values.
func turnedOff(n *node, typ string) bool {
	a := n.src.Body.Attributes[typ]
	if a == nil {
		return false
	}
	lit, ok := a.Expr.(*hclsyntax.LiteralValueExpr)
	return ok && lit.Val.Type() == cty.Bool && !lit.Val.IsNull() && lit.Val.False()
}

func (c *Config) imply(by *node, typ string) {
	bt := c.reg.types[typ]
	kind := ""
	if len(bt.Labels) == 2 {
		kind = by.Labels[0]
	}
	of := bt.schemas[kind]
	bare := *of // its results and tokens, without arguments
	bare.typ, bare.fields, bare.byName, bare.names, bare.nested = nil, nil, map[string]*field{}, nil, map[string]*schema{}
	n := &node{
		Block: &Block{Type: typ, Labels: by.Labels, Range: by.Range, Schema: of.Schema}, sch: &bare, impliedBy: by,
		main: body{sch: &bare}, meta: body{sch: metaSchema()}, broken: by.broken,
		edges: []edge{{by, by.Range}},
	}
	if written := c.index[n.Address()]; written != nil {
		c.report(errorAt(sumDuplicate, written.Range, "%s comes with %s at %s. Give this one another name, write its options in a nested block %s { … } there, or turn that one off with %s = false.",
			n.Address(), by.Address(), place(by.Range), typ, typ))
		return
	}
	c.index[n.Address()] = n
	c.nodes = append(c.nodes, n)
}

// expandImplied makes one instance for each of the node that implies n.
func (e *expansion) expandImplied(n *node, st *blockState) {
	by := e.of(n.impliedBy)
	st.axes, st.rows, st.values, st.each = by.axes, by.rows, by.values, by.each
	insts := make([]Instance, len(by.insts))
	st.insts = make([]*Instance, len(by.insts))
	for i, source := range by.insts {
		insts[i] = Instance{Block: n.Block, Axes: source.Axes, ImpliedBy: source, Deps: []*Instance{source}}
		insts[i].Meta.Attempts = 1
		insts[i].Meta.Reuse = "auto"
		st.insts[i] = &insts[i]
	}
}

// literalOnly checks that an argument that turns an implied block off is written literally.
func (c *Config) literalOnly(n *node) {
	if n.sch == nil || n.src == nil {
		return
	}
	for _, typ := range n.sch.Implies {
		a := n.src.Body.Attributes[typ]
		if a == nil {
			continue
		}
		if lit, ok := a.Expr.(*hclsyntax.LiteralValueExpr); !ok || lit.Val.Type() != cty.Bool {
			c.report(&hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: string(sumInvalidValue), Subject: a.Expr.Range().Ptr(),
				Detail: typ + " decides which stages there are, so it is written literally: true or false.",
			})
			n.broken = true
		}
	}
}
