package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/program"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Usage: "run pure stages again and compare the bytes", ArgsUsage: "ADDRESS ...",
		Description: "A build, an import or an extraction is reused for as long as nothing it was made from moves, because the same input is taken to give the same\n" +
			"bytes. audit makes sure: it runs the stages that ADDRESS selects (* and ? are allowed) again and compares every artifact but the logs. The result that\n" +
			"stands stays; one that differs is kept beside it as a run that is not valid. Exits 4 where bytes differ.\n\n" +
			"Examples:\n\n  flameox audit build.bench\n  flameox audit 'extract.*'",
		Flags:  append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: runAudit,
	}
}

func runAudit(c *cli.Context) error {
	if !c.Args().Present() {
		return flags.Usage(c, "audit takes one address or more")
	}
	sel, err := selection(c.Args().Slice(), nil, nil)
	if err != nil {
		return err
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	loaded, err := cmdline.LoadInto(c, w)
	if err != nil {
		return err
	}
	defer w.Close()
	l, err := applyLock(c.Context, w.Store.LockPath("apply"), "flameox audit")
	if err != nil {
		return err
	}
	defer l.Release()
	defer w.Save()
	_, planner, err := makePlan(c, w, loaded, sel)
	if err != nil {
		return err
	}
	chosen, err := loaded.Graph.Select(sel.Target)
	if err != nil {
		return err
	}
	var nodes []*graph.Node
	exact := !strings.ContainsAny(strings.Join(c.Args().Slice(), ""), "*?")
	for _, n := range loaded.Graph.Nodes {
		if chosen[n] && (exact || n.Stage != nil && n.Nature == graph.Pure) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return fmt.Errorf("%s selects no pure stage: nothing to audit", strings.Join(c.Args().Slice(), " "))
	}
	ctx, kill := context.WithCancel(c.Context)
	defer kill()
	_, done := interrupts(kill, kill)
	defer done()
	doc := auditDocument{Format: 1, Stages: []auditRow{}}
	for _, n := range nodes {
		found, err := planner.Audit(ctx, n, isLog)
		for i := range found {
			row := auditRowOf(c, n, &found[i])
			doc.Stages = append(doc.Stages, row)
			if row.Same {
				doc.Same++
			} else {
				doc.Different++
			}
			if !c.Bool("json") {
				if err := printAuditRow(c, &row); err != nil {
					return err
				}
			}
		}
		if ctx.Err() != nil {
			return cmdline.Exit(cmdline.ExitInterrupted)
		}
		var none *graph.NoResultError
		if errors.As(err, &none) && !exact { // a pattern means what there is
			doc.Skipped = append(doc.Skipped, n.Address.String())
			continue
		}
		if err != nil {
			return err
		}
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, doc); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.App.Writer, "%s made again: %d the same, %d not.\n", view.Plural(len(doc.Stages), "result", "results"), doc.Same, doc.Different)
		if k := len(doc.Skipped); k > 0 {
			fmt.Fprintf(c.App.Writer, "%s without a current result left out.\n", view.Plural(k, "stage", "stages"))
		}
	}
	if doc.Different > 0 {
		return cmdline.Exit(cmdline.ExitGate)
	}
	return nil
}

// auditDocument is what `audit -json` prints.
type auditDocument struct {
	Format    int        `json:"format_version" doc:"version of this document, 1"`
	Same      int        `json:"same" doc:"results that came out the same"`
	Different int        `json:"different" doc:"results that did not"`
	Stages    []auditRow `json:"stages" doc:"in the order of the graph"`
	Skipped   []string   `json:"skipped,omitempty" doc:"stages that a pattern selects and that have no current result"`
}

// auditRow is one result that was made again.
type auditRow struct {
	Address  string               `json:"address" doc:"the stage"`
	Run      string               `json:"run" doc:"the result that stands"`
	Same     bool                 `json:"same" doc:"every artifact has the same bytes"`
	Again    string               `json:"again,omitempty" doc:"the run that differs; it is kept and never reused"`
	WallNS   int64                `json:"wall_ns" doc:"how long it took now"`
	Reasons  []string             `json:"reasons,omitempty" doc:"why the run is not valid, where it failed"`
	Changes  []graph.OutputChange `json:"changes" doc:"artifacts that differ"`
	Compared int                  `json:"compared" doc:"artifacts that the standing result has"`
}

func auditRowOf(c *cli.Context, n *graph.Node, a *graph.Audited) auditRow {
	row := auditRow{Address: n.Address.String(), Run: a.Was.Run, Same: a.Same(), WallNS: a.Again.WallNS, Changes: notNil(a.Changes)}
	for _, o := range a.Was.Outputs {
		if !isLog(o) {
			row.Compared++
		}
	}
	if !row.Same {
		row.Again = a.Again.Run
	}
	if len(row.Changes) == 0 && !row.Same {
		for _, r := range cmdline.Shown(c, a.Again).Invalid {
			row.Reasons = append(row.Reasons, r.Text)
		}
	}
	return row
}

func printAuditRow(c *cli.Context, r *auditRow) error {
	v := view.Audit{Address: r.Address, Same: r.Same, Compared: r.Compared, Reasons: r.Reasons, Kept: r.Again}
	for _, ch := range r.Changes {
		v.Changed = append(v.Changed, view.Fact{Facet: "artifact", Text: ch.Name, Old: ch.Was.Short(), New: ch.Now.Short()})
	}
	return v.Write(c.App.Writer, cmdline.View(c))
}

// isLog says that an artifact is about the run, not of it: what the program wrote for people, which may hold times, and what was sampled of it.
func isLog(o cache.Output) bool {
	return o.Role == program.RoleTable+evidence.ResourcesTable || o.Role == providers.RoleLog || o.Role == program.RoleStdout || o.Role == program.RoleStderr
}
