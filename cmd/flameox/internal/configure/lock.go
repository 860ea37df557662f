package configure

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/environment/pins"
	"github.com/flameox/flameox/stages/workspace"
)

// Lock is the command lock.
func Lock() *cli.Command {
	return &cli.Command{
		Name: "lock", Usage: "lock the packages of environments", ArgsUsage: "[ADDRESS ...]",
		Description: "Makes the lock of every Python environment, or of those that ADDRESS selects (* and ? are allowed), from what its arguments from and packages\n" +
			"say, with uv where it is on PATH, else with pip-tools where the interpreter has it, else with pip. It adds what is missing and never changes what is\n" +
			"locked; what locks what is noted in " + pins.Name + ". pip alone locks for this interpreter and platform; uv and pip-tools lock every file of a version.\n\n" +
			"Examples:\n  flameox lock\n  flameox lock -upgrade environment.python.bench",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "upgrade", Usage: "let newer versions take the place of locked ones"},
			&cli.BoolFlag{Name: "accept", Usage: "pin locks as they are, also where they were edited"},
			cmdline.JSONFlag,
		}, cmdline.VarFlags...),
		Action: runLock,
	}
}

func runLock(c *cli.Context) error {
	o := pins.Locking{Upgrade: c.Bool("upgrade"), Accept: c.Bool("accept")}
	if o.Upgrade && o.Accept {
		return flags.Usage(c, "-upgrade makes a lock anew and -accept keeps it; give one of them")
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	defer w.Close()
	loaded, err := cmdline.LoadInto(c, w)
	if err != nil {
		return err
	}
	var patterns []address.Pattern
	for _, a := range c.Args().Slice() {
		p, err := address.ParsePattern(a)
		if err != nil {
			return err
		}
		patterns = append(patterns, p)
	}
	chosen, err := loaded.Graph.Select(patterns)
	if err != nil {
		return err
	}
	var found []locker
	for _, n := range loaded.Graph.Nodes {
		e, ok := n.Stage.(locker)
		if !ok || len(patterns) > 0 && !chosen[n] {
			continue
		}
		if !slices.ContainsFunc(found, func(o lockable) bool { return o.File() == e.File() }) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return errors.New("there is no Python environment to lock: `environment \"python\" \"name\" { … }` declares one")
	}
	return lockAll(c, w, o, found)
}

func lockAll(c *cli.Context, w *workspace.Workspace, o pins.Locking, found []locker) error {
	file, err := pins.Read(filepath.Join(w.Project.Root, filepath.FromSlash(w.Project.Dir)))
	if err != nil {
		return err
	}
	done := []*pins.Locked{}
	var failed []error
	changed := false
	for _, e := range found {
		l, err := e.Lock(c.Context, o, file)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Address, err))
			continue
		}
		done = append(done, l)
		changed = changed || l.State != pins.Unchanged
	}
	if changed { // also where another could not be locked: its file is there
		if err := file.Write(vfs.OS{}); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, lockDocument{Format: 1, Locks: done}); err != nil {
			return err
		}
		return errors.Join(failed...)
	}
	for _, l := range done {
		with := ""
		if l.Tool != "" {
			with = ", by " + l.Tool
		}
		fmt.Fprintf(c.App.Writer, "%-10s %s  (%s%s)\n", l.State, l.File, view.Plural(l.Packages, "package", "packages"), with)
	}
	return errors.Join(failed...)
}

// lockDocument is `flameox lock -json`.
type lockDocument struct {
	Format int              `json:"format"`
	Locks  []*pins.Locked `json:"locks"`
}
