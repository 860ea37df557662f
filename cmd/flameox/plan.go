package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/machine"
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
			"`flameox apply FILE` runs, as long as nothing it was made from has moved.\n\n" +
			"Examples:\n" +
			"  flameox plan\n" +
			"  flameox plan -target 'capture.gobench.*'\n" +
			"  flameox plan -detailed-exitcode || echo stale\n" +
			"  flameox plan -host bench-7   # what stands there, and how long the rest takes there\n" +
			"  flameox plan -out plan.json && flameox apply plan.json",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "save the plan to `FILE`"},
			&cli.BoolFlag{Name: "detailed-exitcode", Usage: "exit 2 where there is work to do"},
			machine.AsFlag, cmdline.NoShortcutFlag, cmdline.JSONFlag,
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
	as, err := machine.PlanAs(c, w, loaded)
	if err != nil {
		return err
	}
	plan, _, err := makePlan(c, w, loaded, sel)
	if err != nil {
		return err
	}
	doc := planDocument(c, w, plan)
	if as != nil {
		doc.Host = as.Name
	}
	if out := c.String("out"); out != "" {
		if err := savePlan(c, w, loaded, sel, doc, out); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, doc); err != nil {
			return err
		}
	} else if err := printPlan(c, w.Store, plan, as, c.String("out")); err != nil {
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

// savePlan writes a plan that holds: one that is itself among the sources of a stage would be stale by having been written, and is not left behind.
func savePlan(c *cli.Context, w *workspace.Workspace, l *stages.Experiment, sel graph.Selection, doc *graph.PlanDocument, path string) error {
	doc.Bind(w.Store)
	b, err := doc.Seal()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(path)
	there := err == nil
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	if !within(w.Project.Root, path) {
		return nil
	}
	if err := w.Project.Refresh(); err != nil {
		return err
	}
	now, _, err := makePlan(c, w, l, sel)
	if err != nil {
		return err
	}
	var stale *graph.StalePlanError
	if !errors.As(now.Check(w.Store, doc, w.Project.HostClass), &stale) {
		return nil
	}
	refused := unsaved(w, stale, path)
	if there {
		err = os.WriteFile(path, before, 0o644)
	} else {
		err = os.Remove(path)
	}
	return errors.Join(refused, err)
}

// unsaved says why a plan that was just made does not hold.
func unsaved(w *workspace.Workspace, stale *graph.StalePlanError, path string) error {
	for _, m := range stale.Moved {
		if m.File != "" && sameFile(filepath.Join(w.Project.Root, filepath.FromSlash(m.File)), path) {
			return fmt.Errorf("the plan was not saved: %s is among the sources of %s, so the plan would be stale by being there. Save it outside of the project or where git ignores it", path, m.Stage)
		}
	}
	return fmt.Errorf("the plan was not saved, because something changed while it was made: %w", stale)
}

// within says whether path is below the folder root.
func within(root, path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	rel, err := filepath.Rel(root, abs)
	return err == nil && filepath.IsLocal(rel)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
