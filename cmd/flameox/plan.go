package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/machine"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/outline"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages"
	declared "github.com/flameox/flameox/stages/host"
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
	cmdline.StepBack(c)
	q := workspace.Question{Target: c.StringSlice("target"), Exclude: c.StringSlice("exclude"), Replace: c.StringSlice("replace")}
	plain := c.String("out") == "" && !c.IsSet(machine.AsFlag.Name)
	if plain {
		if r, err := cmdline.Recall(c, q); r != nil || err != nil {
			if err != nil {
				return err
			}
			doc := func() (*graph.PlanDocument, bool) { return outlineDocument(c, r.Plan, r.Experiment, r.HostClass) }
			if shown, err := showOutline(c, r.Plan, doc, nil); shown {
				return err
			}
		}
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	loaded, err := cmdline.LoadInto(c, w)
	if err != nil {
		return err
	}
	defer w.Save()
	sel, err := selection(q.Target, q.Exclude, q.Replace)
	if err != nil {
		return err
	}
	as, err := machine.PlanAs(c, w, loaded)
	if err != nil {
		return err
	}
	plan, planner, err := makePlan(c, w, loaded, sel)
	if err != nil {
		return err
	}
	short := outline.Of(plan, sensitiveNames(w), len(q.Replace) > 0)
	doc := func() (*graph.PlanDocument, bool) {
		return outlineDocument(c, short, w.Store.Experiment, w.Project.HostClass)
	}
	if !plain {
		whole := planDocument(c, w, plan)
		if as != nil {
			whole.Host = as.Name
		}
		if out := c.String("out"); out != "" {
			if err := savePlan(c, w, loaded, sel, whole, out); err != nil {
				return err
			}
		}
		doc = func() (*graph.PlanDocument, bool) { return whole, true }
	}
	_, err = showOutline(c, short, doc, as)
	if plain {
		if doubt := w.Remember(c.Context, q, planner, short); doubt != nil {
			cmdline.Explain(c, doubt.Error())
		}
	}
	return err
}

// showOutline prints a plan, as text or as the document. It is false where a remembered plan turned out not to be whole; then nothing was printed.
func showOutline(c *cli.Context, o *outline.Plan, doc func() (*graph.PlanDocument, bool), as *declared.Machine) (shown bool, err error) {
	if c.Bool("json") {
		d, ok := doc()
		if !ok {
			return false, nil
		}
		err = cmdline.JSON(c, d)
	} else {
		err = printPlan(c, o, as, c.String("out"))
	}
	if sum := o.Summary(); err == nil && c.Bool("detailed-exitcode") && sum.Stale() {
		err = cmdline.Exit(cmdline.ExitWork)
	}
	return true, err
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
	given(c, doc, sensitiveNames(w))
	return doc
}

// outlineDocument is the same of a plan that may have been remembered.
func outlineDocument(c *cli.Context, o *outline.Plan, experiment string, class map[string]string) (*graph.PlanDocument, bool) {
	doc, ok := o.Document()
	if !ok {
		return nil, false
	}
	doc.Flameox, doc.Created, doc.Experiment, doc.HostClass = cmdline.Version(), time.Now().UTC(), experiment, class
	given(c, doc, o.Withheld)
	return doc, true
}

// given writes into a document what was given on the command line, without the values of variables that are sensitive.
func given(c *cli.Context, doc *graph.PlanDocument, sensitive []string) {
	doc.Target, doc.Exclude, doc.Replace = c.StringSlice("target"), c.StringSlice("exclude"), c.StringSlice("replace")
	for _, v := range c.StringSlice("var") {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(sensitive, name) {
			doc.Withheld = append(doc.Withheld, name)
		} else {
			doc.Variables = append(doc.Variables, v)
		}
	}
	doc.VariableFiles = c.StringSlice("var-file")
}

func sensitiveNames(w *workspace.Workspace) (out []string) {
	for _, v := range w.Config.Variables {
		if v.Sensitive {
			out = append(out, v.Name)
		}
	}
	return out
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
