package configure

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
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
		Description: "Makes the lock of every environment, or of those that ADDRESS selects (* and ? are allowed), from what its arguments from and packages say:\n" +
			"of a Node environment with npm, of a Python one with uv where it is on PATH, else with pip-tools where the interpreter has it, else with pip. It adds what is missing and never changes what is\n" +
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
	found := lockers(loaded.Graph.Nodes, func(n *graph.Node) bool { return len(patterns) == 0 || chosen[n] })
	if len(found) == 0 {
		return errors.New("there is no environment to lock: `environment \"python\" \"name\" { … }` or `environment \"node\" \"name\" { … }` declares one")
	}
	return lockAll(c, w, o, found)
}

// locker is an environment that has a lock.
type locker interface {
	File() string
	Lock(ctx context.Context, o pins.Locking, file *pins.File) (*pins.Locked, error)
}

// lockedBy is an environment by the block that declares it.
type lockedBy struct {
	locker
	block string
}

// lockers are the environments of the nodes that are wanted, one for each lock file.
func lockers(nodes []*graph.Node, want func(*graph.Node) bool) (found []lockedBy) {
	for _, n := range nodes {
		e, ok := n.Stage.(locker)
		if ok && want(n) && !slices.ContainsFunc(found, func(o lockedBy) bool { return o.File() == e.File() }) {
			found = append(found, lockedBy{e, n.Address.Block})
		}
	}
	return found
}

func lockAll(c *cli.Context, w *workspace.Workspace, o pins.Locking, found []lockedBy) error {
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
			failed = append(failed, fmt.Errorf("%s: %w", e.block, err))
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
		if err := cmdline.JSON(c, LockDocument{Format: 1, Locks: done}); err != nil {
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

// LockDocument is `flameox lock -json`.
type LockDocument struct {
	Format int            `json:"format_version" doc:"version of this document, 1"`
	Locks  []*pins.Locked `json:"locks" doc:"one a lock file"`
}
