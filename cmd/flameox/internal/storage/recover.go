package storage

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// Recovery is what recover did.
type Recovery struct {
	Format  int    `json:"format"`           // 1
	Runs    int    `json:"runs"`             // in the journal
	State   string `json:"state,omitempty"`  // what was wrong with the state file; it was made again in any case
	Cut     int64  `json:"cut"`              // bytes of an unfinished batch that were cut off the journal
	CutTo   string `json:"cut_to,omitempty"` // where they are now
	Lost    bool   `json:"lost"`             // records that had been committed are damaged or gone
	Busy    bool   `json:"busy"`             // a process is writing, so leftovers were not looked at
	Adopted int    `json:"adopted"`          // complete leftovers of killed processes, now artifacts
	Removed int    `json:"removed"`          // other leftovers
}

// Recover is the command recover.
func Recover() *cli.Command {
	return &cli.Command{
		Name: "recover", Usage: "make the store's index again from its journal",
		Description: "Works whatever became of the state file: it says nothing that the journal does not. What a killed process left unfinished at the end of the journal\n" +
			"goes to .flameox/quarantine, and its temporary files are kept where they are whole artifacts and removed where they are not. Nothing has to be recovered after a crash:\n" +
			"every command does what it needs itself. Exits 3 where records are lost; `flameox fsck` says which.\n\n" +
			"Examples:\n  flameox recover",
		Flags: []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "recover takes no arguments")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			out := Recovery{Format: 1}
			done, err := w.Store.Cache.Recover()
			if err != nil {
				return err
			}
			swept, err := w.Store.CAS.Sweep()
			if err != nil {
				return err
			}
			out.Runs, out.State, out.Cut, out.CutTo, out.Lost = len(w.Store.Cache.All()), done.State, done.Cut, done.CutTo, done.Lost
			if done.Missing {
				out.State = "it was not there"
			}
			out.Busy, out.Adopted, out.Removed = swept.Busy, len(swept.Adopted), len(swept.Removed)
			if c.Bool("json") {
				if err := cmdline.JSON(c, out); err != nil {
					return err
				}
			} else if !exists(w) {
				fmt.Fprintln(c.App.Writer, "There is nothing to recover: no run was ever recorded here.")
			} else {
				printRecovery(c, &out)
			}
			if out.Lost {
				return cmdline.Exit(cmdline.ExitLost)
			}
			return nil
		},
	}
}

func printRecovery(c *cli.Context, r *Recovery) {
	out := c.App.Writer
	switch {
	case r.Lost && r.Cut > 0:
		fmt.Fprintf(out, "%s at the end of the journal had been committed and are damaged; they are in %s now.\n", view.Bytes(r.Cut), r.CutTo)
	case r.Lost:
		fmt.Fprintln(out, "The journal is shorter than it was: records that had been committed are gone.")
	case r.Cut > 0:
		fmt.Fprintf(out, "%s of a batch that was not written to its end were moved to %s; nothing in them was ever acknowledged.\n", view.Bytes(r.Cut), r.CutTo)
	}
	switch {
	case r.Busy:
		fmt.Fprintln(out, "Temporary files were not looked at: another flameox is writing.")
	case r.Adopted+r.Removed > 0:
		fmt.Fprintf(out, "Of the temporary files of killed processes %s kept and %s removed.\n", view.Plural(r.Adopted, "artifact was", "artifacts were"), view.Plural(r.Removed, "was", "were"))
	}
	if r.State != "" {
		fmt.Fprintf(out, "The state file was made again (%s): %s.\n", r.State, view.Plural(r.Runs, "run", "runs"))
		return
	}
	fmt.Fprintf(out, "The state file was made again, as it was: %s.\n", view.Plural(r.Runs, "run", "runs"))
}
