package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:  "plan",
		Usage: "say which stages are stale, and why",
		Description: "Reads the configuration and the project's files, and runs nothing. A saved plan (-out) is what\n" +
			"`flameox apply FILE` runs, as long as nothing it was made from has moved.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "save the plan to `FILE`"},
			&cli.BoolFlag{Name: "detailed-exitcode", Usage: "exit 2 where there is work to do"},
			cmdline.JSONFlag,
		}, cmdline.SelectFlags...),
		Action: runPlan,
	}
}

func runPlan(c *cli.Context) error {
	if c.Args().Present() {
		return flags.Usage(c, "plan takes no arguments; select stages with -target")
	}
	w, loaded, err := cmdline.Load(c)
	if err != nil {
		return err
	}
	defer w.Save()
	sel, err := selection(c.StringSlice("target"), c.StringSlice("exclude"), c.StringSlice("replace"))
	if err != nil {
		return err
	}
	plan, _, err := makePlan(c, w, loaded, sel)
	if err != nil {
		return err
	}
	doc := planDocument(c, w, plan)
	if out := c.String("out"); out != "" {
		if err := savePlan(doc, out); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, doc); err != nil {
			return err
		}
	} else if err := printPlan(c, w.Store, plan, c.String("out")); err != nil {
		return err
	}
	if c.Bool("detailed-exitcode") && plan.Stale() {
		return cmdline.Exit(cmdline.ExitWork)
	}
	return nil
}

// selection parses the patterns of -target, -exclude and -replace.
func selection(target, exclude, replace []string) (sel graph.Selection, err error) {
	parse := func(list []string) (out []address.Pattern) {
		for _, s := range list {
			p, perr := address.ParsePattern(s)
			if perr != nil && err == nil {
				err = perr
			}
			out = append(out, p)
		}
		return out
	}
	sel = graph.Selection{Target: parse(target), Exclude: parse(exclude), Replace: parse(replace)}
	return sel, err
}

func makePlan(c *cli.Context, w *workspace.Workspace, l *stages.Experiment, sel graph.Selection) (*graph.Plan, *graph.Planner, error) {
	planner, err := graph.NewPlanner(w.Store, l.Graph, sel)
	if err != nil {
		return nil, nil, err
	}
	plan, err := planner.Plan(c.Context, l.Graph)
	return plan, planner, err
}

func planDocument(c *cli.Context, w *workspace.Workspace, plan *graph.Plan) *graph.PlanDocument {
	doc := plan.Document(w.Store, w.Project.HostClass)
	doc.Target, doc.Exclude, doc.Replace = c.StringSlice("target"), c.StringSlice("exclude"), c.StringSlice("replace")
	for _, v := range c.StringSlice("var") {
		name, _, _ := strings.Cut(v, "=")
		if isSensitive(w, name) {
			doc.Withheld = append(doc.Withheld, name)
		} else {
			doc.Variables = append(doc.Variables, v)
		}
	}
	doc.VariableFiles = c.StringSlice("var-file")
	return doc
}

func isSensitive(w *workspace.Workspace, name string) bool {
	return slices.ContainsFunc(w.Config.Variables, func(v *lang.Variable) bool { return v.Name == name && v.Sensitive })
}

func savePlan(doc *graph.PlanDocument, path string) error {
	b, err := doc.Seal()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	return nil
}
