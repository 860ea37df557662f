package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

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
		main: body{sch: &bare}, meta: body{sch: metaSchema}, broken: by.broken,
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
