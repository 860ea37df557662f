package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

// alone takes the apply lock of the workspace, for what must not happen while records are about to be committed, and reads what was committed until
// then. Where the process that held it is dead, a child that it was starting may hold it for a moment longer; that is waited for.
func alone(c *cli.Context, w *workspace.Workspace, command string) (release func(), err error) {
	if err := w.Init(); err != nil {
		return nil, err
	}
	path, holder := w.Store.LockPath("apply"), lock.Holder{Command: command}
	l, err := lock.TryAcquire(path, holder)
	var held *lock.HeldError
	if errors.As(err, &held) && held.Doubt != "" {
		ctx, cancel := context.WithTimeout(c.Context, 10*time.Second)
		defer cancel()
		l, err = lock.Acquire(ctx, path, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s works only while nothing is applied in this workspace: %w", command, err)
	}
	if err := w.Store.Cache.Refresh(); err != nil {
		l.Release()
		return nil, err
	}
	return func() { l.Release() }, nil
}

// exists says whether there is a store at all. Commands that only look must not leave one behind.
func exists(w *workspace.Workspace) bool {
	_, err := os.Stat(filepath.Join(w.Store.Dir, "runs"))
	return err == nil
}

// publish brings the published view up to date after runs came into the store.
func publish(c *cli.Context, w *workspace.Workspace, command string) error {
	l, err := lock.Acquire(c.Context, w.Store.LockPath("publish"), lock.Holder{Command: command + ": publish"})
	if err != nil {
		return err
	}
	defer l.Release()
	report, err := stages.Publish(c.Context, w.Store)
	if err != nil {
		return fmt.Errorf("publish the evidence: %w\nThe runs are in the store; the next apply publishes them", err)
	}
	for _, text := range report.Warnings() {
		fmt.Fprintln(c.App.ErrWriter, "Warning: "+text)
	}
	return nil
}

// withVars are flags of commands that read the configuration.
func withVars(list ...cli.Flag) []cli.Flag { return append(list, cmdline.VarFlags...) }
