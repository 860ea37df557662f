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

func graphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "print what depends on what",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Value: "dot", Usage: "`FORMAT`: dot, mermaid or json"},
			cmdline.JSONFlag,
		}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "graph takes no arguments")
			}
			format := c.String("format")
			if c.Bool("json") {
				format = "json"
			}
			_, x, err := cmdline.Load(c)
			if err != nil {
				return err
			}
			switch format {
			case "dot":
				return writeDot(c.App.Writer, x.Graph)
			case "mermaid":
				return writeMermaid(c.App.Writer, x.Graph)
			case "json":
				return cmdline.JSON(c, graphDoc(x.Graph))
			}
			return flags.Usage(c, "-format is %q; give dot, mermaid or json", format)
		},
	}
}

func graphDoc(g *graph.Graph) graphDocument {
	doc := graphDocument{Format: 1, Nodes: []graphNode{}}
	for _, n := range g.Nodes {
		node := graphNode{Address: n.Address.String(), Kind: n.Kind, Nature: n.Nature, Exclusive: n.Exclusive, Needs: []string{}}
		for _, d := range n.Deps {
			node.Needs = append(node.Needs, d.Address.String())
		}
		doc.Nodes = append(doc.Nodes, node)
	}
	return doc
}

// writeDot draws what computes something as boxes and what only declares as ellipses.
func writeDot(w io.Writer, g *graph.Graph) error {
	var b strings.Builder
	b.WriteString("digraph flameox {\n  rankdir = LR\n")
	for _, n := range g.Nodes {
		shape := "box"
		if n.Stage == nil {
			shape = "ellipse"
		}
		fmt.Fprintf(&b, "  %q [shape = %s]\n", n.Address.String(), shape)
	}
	for _, n := range g.Nodes {
		for _, d := range n.Deps {
			fmt.Fprintf(&b, "  %q -> %q\n", d.Address.String(), n.Address.String())
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeMermaid(w io.Writer, g *graph.Graph) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	id := map[*graph.Node]string{}
	for i, n := range g.Nodes {
		id[n] = fmt.Sprintf("n%d", i)
		label := strings.ReplaceAll(n.Address.String(), `"`, "#quot;")
		if n.Stage == nil {
			fmt.Fprintf(&b, "  %s([\"%s\"])\n", id[n], label)
		} else {
			fmt.Fprintf(&b, "  %s[\"%s\"]\n", id[n], label)
		}
	}
	for _, n := range g.Nodes {
		for _, d := range n.Deps {
			fmt.Fprintf(&b, "  %s --> %s\n", id[d], id[n])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
