package storage

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/workspace"
)

// Restore is the command restore.
func Restore() *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "bring artifacts back from the trash", ArgsUsage: "[ID|RUN ...]",
		Description: "Without arguments it lists what is in the trash. ID is a collection as that list and `flameox gc` name it, RUN a run, which gets all of its artifacts back.\n" +
			"The next gc may take a run again that is not pinned. Exits 3 where something could not be brought back.\n\n" +
			"Examples:\n  flameox restore\n  flameox restore -all",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "everything that is in the trash"}, cmdline.JSONFlag},
		Action: runRestore,
	}
}

func runRestore(c *cli.Context) error {
	if c.Bool("all") && c.Args().Present() {
		return flags.Usage(c, "restore takes names or -all, not both")
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	list, err := gc.Trashes(w.Store.CAS.FS(), w.Store.Dir)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(j *gc.Journal) bool { return !j.Emptied.IsZero() })
	if !c.Bool("all") && !c.Args().Present() {
		return printTrash(c, list)
	}
	if !exists(w) {
		return fmt.Errorf("there is no store at %s, so there is no trash", w.Store.Dir)
	}
	release, err := alone(c, w, "flameox restore")
	if err != nil {
		return err
	}
	defer release()
	var out *gc.Restored
	if c.Bool("all") {
		out, err = gc.Restore(w.Store.CAS, nil)
	} else {
		var ids, names []string
		for _, name := range c.Args().Slice() {
			if slices.ContainsFunc(list, func(j *gc.Journal) bool { return j.ID == name }) {
				ids = append(ids, name)
			} else {
				names = append(names, name)
			}
		}
		if ids != nil && names != nil {
			return flags.Usage(c, "%s is no collection in the trash; name collections or runs, not both", names[0])
		}
		if ids != nil {
			out, err = gc.Restore(w.Store.CAS, ids)
		} else {
			out, err = restoreRuns(c, w, names)
		}
	}
	if err != nil {
		return err
	}
	w.Save()
	if err := publish(c, w, "flameox restore"); err != nil {
		return err
	}
	return printRestored(c, out)
}

func printTrash(c *cli.Context, list []*gc.Journal) error {
	if c.Bool("json") {
		return cmdline.JSON(c, Trash{Format: 1, Collections: append([]*gc.Journal{}, list...)})
	}
	for _, j := range list {
		fmt.Fprintf(c.App.Writer, "%s  %s in %s of %s\n", j.ID, view.Bytes(j.Bytes()), view.Plural(len(j.Blobs), "artifact", "artifacts"), view.Plural(len(j.Runs), "run", "runs"))
	}
	if len(list) == 0 {
		fmt.Fprintln(c.App.Writer, "The trash is empty.")
	}
	return nil
}

// Trash is what restore lists.
type Trash struct {
	Format      int           `json:"format"` // 1
	Collections []*gc.Journal `json:"collections"`
}

func printRestored(c *cli.Context, r *gc.Restored) error {
	if c.Bool("json") {
		if err := cmdline.JSON(c, r); err != nil {
			return err
		}
	} else {
		for _, d := range r.Missing {
			fmt.Fprintf(c.App.Writer, "blob %s is neither in the trash nor in the store\n", d)
		}
		for _, d := range r.Damaged {
			fmt.Fprintf(c.App.Writer, "blob %s in the trash does not hold what its name says, and stays there\n", d)
		}
		fmt.Fprintf(c.App.Writer, "%s in %s brought back, of %s.\n", view.Bytes(r.Bytes), view.Plural(r.Blobs, "artifact", "artifacts"), view.Plural(len(r.Runs), "run", "runs"))
	}
	if r.Lost() {
		return cmdline.Exit(cmdline.ExitLost)
	}
	return nil
}

// restoreRuns brings back what the named runs gave up. An address means every run that had it: what stands now gave nothing up.
func restoreRuns(c *cli.Context, w *workspace.Workspace, names []string) (*gc.Restored, error) {
	given, err := gc.Collected(w.Store.CAS.FS(), w.Store.Dir)
	if err != nil {
		return nil, err
	}
	var runs []*cache.Summary
	for _, name := range names {
		run, err := w.Store.Cache.Run(name)
		var ambiguous *cache.AmbiguousError
		if errors.As(err, &ambiguous) {
			return nil, err
		}
		if err == nil {
			runs = append(runs, run)
			continue
		}
		p, err := address.ParsePattern(name)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a collection in the trash, nor a run, nor an address: %w", name, err)
		}
		n := len(runs)
		for _, r := range w.Store.Cache.All() {
			if a, err := address.Parse(r.Address); err == nil && given[r.Run] && r.Experiment == w.Store.Experiment && p.Match(a) {
				runs = append(runs, r)
			}
		}
		if len(runs) == n {
			return nil, fmt.Errorf("nothing in the trash is called %s; `flameox restore` lists what there is", name)
		}
	}
	return gc.RestoreRuns(w.Store.CAS, runs)
}
