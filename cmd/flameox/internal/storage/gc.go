package storage

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang/units"
)

// GC is the command gc.
func GC() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "move artifacts that nothing needs to the trash",
		Description: "Says which runs would give up their artifacts, why, and how many bytes that is; -apply moves them to .flameox/trash, from which `flameox restore`\n" +
			"brings them back. Only -empty-trash deletes. A run keeps its artifacts while it is younger than store.keep (90 days unless the flameox block says\n" +
			"otherwise), while it is pinned, and while it stands for a stage of the configuration; a measurement or an import, which cannot be made again, keeps them\n" +
			"until -measurements is given. Other experiments of the repository keep what was newest at each of their addresses. Environments and tools that no kept run was\n" +
			"made with, and that are as old, are deleted: they are made again when they are needed. Records stay: a stage that is asked for again\n" +
			"runs again.\n\n" +
			"Examples:\n  flameox gc\n  flameox gc -apply\n  flameox gc -empty-trash -older-than=7d",
		Flags: withVars(
			&cli.BoolFlag{Name: "apply", Usage: "move it to the trash"},
			&cli.BoolFlag{Name: "measurements", Usage: "also what cannot be made again"},
			&cli.BoolFlag{Name: "empty-trash", Usage: "delete what is in the trash, for good"},
			&cli.StringFlag{Name: "older-than", Value: "7d", Usage: "with -empty-trash: only what has been there for `AGE`; 0s is all"},
			cmdline.JSONFlag,
		),
		Action: runGC,
	}
}

func runGC(c *cli.Context) error {
	switch {
	case c.Args().Present():
		return flags.Usage(c, "gc takes no arguments")
	case c.Bool("empty-trash") && (c.Bool("apply") || c.Bool("measurements")):
		return flags.Usage(c, "-empty-trash goes alone: what was just moved there should lie there for a while")
	case c.IsSet("older-than") && !c.Bool("empty-trash"):
		return flags.Usage(c, "-older-than is for -empty-trash; how long runs are kept is store.keep in the flameox block")
	case c.Bool("empty-trash"):
		return emptyTrash(c)
	}
	w, loaded, err := cmdline.Load(c)
	if err != nil {
		return err
	}
	o := gc.Options{Now: time.Now(), Keep: w.Config.Settings.StoreKeep, Measurements: c.Bool("measurements")}
	if o.Keep <= 0 {
		o.Keep = 90 * 24 * time.Hour
	}
	act := gc.Plan
	if c.Bool("apply") && exists(w) {
		release, err := alone(c, w, "flameox gc")
		if err != nil {
			return err
		}
		defer release()
		act = gc.Apply
	}
	if o.Current, err = standing(c.Context, w, loaded.Graph); err != nil {
		return err
	}
	r, err := act(w.Store.CAS, w.Store.Cache, o)
	if err != nil {
		return err
	}
	w.Save()
	if c.Bool("json") {
		return cmdline.JSON(c, r)
	}
	printGC(c, r)
	return nil
}

func printGC(c *cli.Context, r *gc.Report) {
	out := c.App.Writer
	for _, run := range r.Runs {
		fmt.Fprintf(out, "%s  %s  %s in %s: %s\n", run.Run, run.Address, view.Bytes(run.Bytes), view.Plural(run.Blobs, "artifact", "artifacts"), run.Why)
	}
	if r.Orphans > 0 {
		fmt.Fprintf(out, "no record  %s in %s that no run refers to\n", view.Bytes(r.OrphanBytes), view.Plural(r.Orphans, "artifact", "artifacts"))
	}
	if r.Left != "" {
		fmt.Fprintf(c.App.ErrWriter, "Warning: artifacts without a record are left where they are: %s. `flameox fsck` says more.\n", r.Left)
	}
	var kept []string
	for _, why := range []gc.Reason{gc.Pinned, gc.Current, gc.Young, gc.Measurement} {
		if n := r.Kept[why]; n > 0 {
			kept = append(kept, fmt.Sprintf("%s %s", view.Count(n), why))
		}
	}
	if len(kept) > 0 {
		fmt.Fprintf(out, "Runs that keep their artifacts: %s.\n", strings.Join(kept, ", "))
	}
	for _, b := range r.Built {
		fmt.Fprintf(out, "%s  %s: built, and no run that is kept was made with it\n", b.Path, view.Bytes(b.Bytes))
	}
	builtOf := fmt.Sprintf("%s of %s", view.Bytes(r.BuiltBytes), view.Plural(len(r.Built), "folder that can be made again", "folders that can be made again"))
	switch {
	case len(r.Built) > 0 && r.Applied:
		fmt.Fprintf(out, "%s deleted.\n", builtOf)
	case len(r.Built) > 0:
		fmt.Fprintf(out, "%s would be deleted; -apply does it.\n", builtOf)
	}
	what := fmt.Sprintf("%s of %s", view.Bytes(r.Bytes), view.Plural(len(r.Runs), "run", "runs"))
	switch {
	case r.Blobs == 0 && len(r.Built) > 0:
	case r.Blobs == 0:
		fmt.Fprintln(out, "Nothing to collect.")
	case r.Applied:
		fmt.Fprintf(out, "%s moved to the trash. `flameox restore %s` brings it back; `flameox gc -empty-trash` makes room.\n", what, r.Trash)
	default:
		fmt.Fprintf(out, "%s would move to the trash; -apply does it.\n", what)
	}
	if r.Waiting > 0 {
		fmt.Fprintf(out, "In the trash already: %s in %s.\n", view.Bytes(r.WaitBytes), view.Plural(r.Waiting, "artifact", "artifacts"))
	}
}

func emptyTrash(c *cli.Context) error {
	age, err := units.Duration(c.String("older-than"))
	if err != nil || age < 0 {
		return flags.Usage(c, "-older-than is %q; give an age such as 7d, 12h or 0s", c.String("older-than"))
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	out := &gc.Emptied{Format: 1, Trashes: []string{}}
	if exists(w) {
		release, err := alone(c, w, "flameox gc -empty-trash")
		if err != nil {
			return err
		}
		defer release()
		if out, err = gc.Empty(w.Store.CAS, time.Now(), age); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return cmdline.JSON(c, out)
	}
	fmt.Fprintf(c.App.Writer, "%s in %s deleted.\n", view.Bytes(out.Bytes), view.Plural(out.Blobs, "artifact", "artifacts"))
	if out.Kept > 0 {
		fmt.Fprintf(c.App.Writer, "%s younger than %s and stay; -older-than=0s deletes everything.\n",
			view.Plural(out.Kept, "collection is", "collections are"), c.String("older-than"))
	}
	return nil
}
