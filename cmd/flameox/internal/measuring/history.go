package measuring

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/measure/history"
	"github.com/flameox/flameox/measure/render"
)

// History is the command history.
func History() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "show the points of a series, and where its level changed", ArgsUsage: "SERIES",
		Description: "A series is named by the beginning of its fingerprint, as `flameox series` lists it. Points are in the order of the revisions where this folder is in their checkout, and else in\n" +
			"the order in which they were measured. A change is a level that moved for good, found by E-divisive with 3 revisions at least on either side; an outlier is none. -accept says that the\n" +
			"level since a revision is what is wanted: it is kept in .benchx/annotations.json, to be committed, and changes are looked for anew from there.\n\n" +
			"Examples:\n  flameox history 3021551f\n  flameox history 3021551f -accept 1f0c9a2 -note 'bounds checks are worth it'",
		Flags: []cli.Flag{
			policyFlag,
			&cli.StringFlag{Name: "target", Usage: "the ancestors of `REVISION`, not of HEAD"},
			&cli.Float64Flag{Name: "min-effect", Value: 0.01, Usage: "a relative change up to `SHARE` is none"},
			&cli.StringFlag{Name: "accept", Usage: "accept the level since `REVISION`"},
			&cli.StringFlag{Name: "note", Usage: "with -accept: why, as `TEXT`"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.NArg() != 1:
				return misused(c, "history takes one series, by the beginning of its fingerprint; `flameox series` lists them")
			case c.String("note") != "" && c.String("accept") == "":
				return misused(c, "-note goes with -accept")
			case c.Float64("min-effect") < 0:
				return misused(c, "-min-effect takes a share of at least 0, such as 0.01")
			}
			return refused(showHistory(c))
		},
	}
}

func showHistory(c *cli.Context) error {
	p, err := policy(c)
	if err != nil {
		return err
	}
	snap, cfg, err := read(c)
	if err != nil {
		return err
	}
	defer snap.Close()
	list, err := snap.History(c.Context, p, c.Args().First())
	if err != nil {
		return err
	}
	o := history.Options{Series: list[0].Series, Estimator: list[0].Estimator, Policy: p, Target: c.String("target"), MinEffect: c.Float64("min-effect")}
	if o.Repo, err = git.Find(cfg.Root); err != nil && !errors.Is(err, git.ErrNotRepository) {
		return err
	}
	if o.Accepted, err = history.ReadAccepted(cfg.Root); err != nil {
		return err
	}
	in := make([]history.Input, len(list))
	for i, e := range list {
		in[i] = history.Input{Value: e.Value, Document: e.Document}
	}
	d, err := history.Make(c.Context, in, o)
	if err != nil {
		return err
	}
	if prefix := c.String("accept"); prefix != "" {
		revision, err := d.Revision(prefix)
		if err != nil {
			return err
		}
		if err := history.Accept(cfg.Root, history.Acceptance{Series: d.Series, Revision: revision, Note: c.String("note"), At: time.Now().UTC().Truncate(time.Second)}); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "accepted in %s; commit it so that others know\n", history.AnnotationsFile(cfg.Root))
		if o.Accepted, err = history.ReadAccepted(cfg.Root); err != nil {
			return err
		}
		if d, err = history.Make(c.Context, in, o); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return cmdline.JSON(c, d)
	}
	out := c.App.Writer
	fmt.Fprintf(out, "%s  %s, %s of %s, project %s\n%s\n\n", render.Short(d.Series), render.Named(d.Workload, d.Parameters), d.Estimator, d.Quantity, d.Project, d.OrderingNote)
	if err := render.History(d).Write(out, cmdline.View(c)); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, s := range render.Changes(d) {
		fmt.Fprintln(out, s)
	}
	switch {
	case d.Note != "":
		fmt.Fprintln(out, d.Note)
	case len(d.Changes) == 0:
		fmt.Fprintln(out, "no change detected")
	}
	return nil
}
