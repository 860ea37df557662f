package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/flags"
)

// graphWriters are the formats by name; json is a document.
var graphWriters = map[string]func(io.Writer, []*graph.Node) error{"dot": writeDot, "mermaid": writeMermaid, "json": nil}

func graphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "print what depends on what",
		Description: "Stages, and the blocks that they stand on.\n\n" +
			"Examples:\n" +
			"  flameox graph > graph.dot\n" +
			"  flameox graph -format mermaid\n" +
			"  flameox graph -target 'extract.gobench.*'",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "dot", Usage: "`FORMAT`: dot, mermaid or json"},
			&cli.StringSliceFlag{Name: "target", Usage: "only what `ADDRESS` selects and what that needs; * and ? are allowed; may be repeated"},
			cmdline.JSONFlag,
		}, cmdline.VarFlags...),
		Action: runGraph,
	}
}

func runGraph(c *cli.Context) error {
	if c.Args().Present() {
		return flags.Usage(c, "graph takes no arguments; select with -target")
	}
	format := c.String("format")
	if c.Bool("json") {
		format = "json"
	}
	write, ok := graphWriters[format]
	if !ok {
		return flags.Usage(c, "-format is %q; give dot, mermaid or json", format)
	}
	_, x, err := cmdline.Load(c)
	if err != nil {
		return err
	}
	nodes, err := chosenNodes(x.Graph, c.StringSlice("target"))
	if err != nil {
		return err
	}
	if write == nil {
		return cmdline.JSON(c, graphDoc(nodes))
	}
	return write(c.App.Writer, nodes)
}

// chosenNodes are the nodes that the patterns select, with everything upstream, in the order of the graph; all without patterns.
func chosenNodes(g *graph.Graph, targets []string) ([]*graph.Node, error) {
	if len(targets) == 0 {
		return g.Nodes, nil
	}
	sel, err := selection(targets, nil, nil)
	if err != nil {
		return nil, err
	}
	wanted, err := g.Select(sel.Target)
	if err != nil {
		return nil, err
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if n := g.Nodes[i]; wanted[n] {
			for _, d := range n.Upstream() {
				wanted[d] = true
			}
		}
	}
	var out []*graph.Node
	for _, n := range g.Nodes {
		if wanted[n] {
			out = append(out, n)
		}
	}
	return out, nil
}

func graphDoc(nodes []*graph.Node) graphDocument {
	doc := graphDocument{Format: 1, Nodes: []graphNode{}}
	for _, n := range nodes {
		node := graphNode{Address: n.Address.String(), Kind: n.Kind, Nature: n.Nature, Exclusive: n.Exclusive, Needs: []string{}}
		for _, d := range n.Upstream() {
			node.Needs = append(node.Needs, d.Address.String())
		}
		for _, d := range n.After {
			node.After = append(node.After, d.Address.String())
		}
		doc.Nodes = append(doc.Nodes, node)
	}
	return doc
}

// edges calls line for each edge between nodes: what n needs, then what is only done before it.
func edges(nodes []*graph.Node, line func(from, to *graph.Node, order bool)) {
	in := map[*graph.Node]bool{}
	for _, n := range nodes {
		in[n] = true
	}
	for _, n := range nodes {
		for _, d := range n.Upstream() {
			line(d, n, false)
		}
		for _, d := range n.After {
			if in[d] { // what is only done before a target is not part of it
				line(d, n, true)
			}
		}
	}
}

// writeDot draws what computes something as boxes and what only declares as ellipses; order without data is dashed.
func writeDot(w io.Writer, nodes []*graph.Node) error {
	var b strings.Builder
	b.WriteString("digraph flameox {\n  rankdir = LR\n")
	for _, n := range nodes {
		shape := "box"
		if n.Stage == nil {
			shape = "ellipse"
		}
		fmt.Fprintf(&b, "  %q [shape = %s]\n", n.Address.String(), shape)
	}
	edges(nodes, func(from, to *graph.Node, order bool) {
		dashed := ""
		if order {
			dashed = " [style = dashed]"
		}
		fmt.Fprintf(&b, "  %q -> %q%s\n", from.Address.String(), to.Address.String(), dashed)
	})
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidText is text in a label: what Mermaid or HTML would take for something else is written as a number.
var mermaidText = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", `\`, "#92;")

func writeMermaid(w io.Writer, nodes []*graph.Node) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	id := map[*graph.Node]string{}
	for i, n := range nodes {
		id[n] = fmt.Sprintf("n%d", i)
		shape := "%s[\"%s\"]"
		if n.Stage == nil {
			shape = "%s([\"%s\"])"
		}
		fmt.Fprintf(&b, "  "+shape+"\n", id[n], mermaidText.Replace(n.Address.String()))
	}
	edges(nodes, func(from, to *graph.Node, order bool) {
		arrow := "-->"
		if order {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", id[from], arrow, id[to])
	})
	_, err := io.WriteString(w, b.String())
	return err
}
