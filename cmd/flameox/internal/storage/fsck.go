package storage

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// Fsck is the command fsck.
func Fsck() *cli.Command {
	return &cli.Command{
		Name: "fsck", Usage: "check the store",
		Description: "Looks for damaged records and missing or damaged artifacts, and says which runs lose evidence. -full reads every artifact again.\n" +
			"A damaged file is moved to quarantine/, so that the next apply makes it again. Exits 3 where evidence is lost.\n\n" +
			"Examples:\n" +
			"  flameox fsck\n" +
			"  flameox fsck -full",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "full", Usage: "hash every artifact"}, cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "fsck takes no arguments")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			report, err := fsck.Fsck(w.Store.CAS, w.Store.Cache, c.Bool("full"))
			if err != nil {
				return err
			}
			w.Save()
			return printFsck(c, report)
		},
	}
}

func printFsck(c *cli.Context, r *fsck.Report) error {
	lost := false
	for i := range r.Problems {
		lost = lost || r.Problems[i].Loss
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, r); err != nil {
			return err
		}
	} else {
		for i := range r.Problems {
			fmt.Fprintln(c.App.Writer, r.Problems[i].Line())
		}
		checked := "checked"
		if r.Full {
			checked = "read and checked"
		}
		fmt.Fprintf(c.App.Writer, "%s, %s (%s) %s: %s.\n", view.Plural(r.Runs, "run", "runs"), view.Plural(r.Blobs, "artifact", "artifacts"),
			view.Bytes(r.Bytes), checked, view.Plural(len(r.Problems), "problem", "problems"))
		if r.Collected > 0 {
			fmt.Fprintf(c.App.Writer, "%s gave artifacts up to gc, which is no problem.\n", view.Plural(r.Collected, "run", "runs"))
		}
	}
	if lost {
		return cmdline.Exit(cmdline.ExitLost)
	}
	return nil
}
