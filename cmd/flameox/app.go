package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/completion"
	"github.com/flameox/flameox/cmd/flameox/internal/configure"
	"github.com/flameox/flameox/cmd/flameox/internal/exporting"
	"github.com/flameox/flameox/cmd/flameox/internal/importing"
	"github.com/flameox/flameox/cmd/flameox/internal/machine"
	"github.com/flameox/flameox/cmd/flameox/internal/manual"
	"github.com/flameox/flameox/cmd/flameox/internal/measuring"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/cmd/flameox/internal/recipes"
	"github.com/flameox/flameox/cmd/flameox/internal/register"
	"github.com/flameox/flameox/cmd/flameox/internal/spans"
	"github.com/flameox/flameox/cmd/flameox/internal/storage"
	"github.com/flameox/flameox/cmd/flameox/internal/trace"
)

// newApp is the command line. One file is one command.
func newApp() *cli.App {
	return &cli.App{
		Name:  "flameox",
		Usage: "a declarative engine for performance evidence",
		Description: "flameox.hcl declares workloads, captures and comparisons; plan says which of them are stale and why; apply runs only those.\n\n" +
			"Begin with `flameox init`, or with `flameox plan` where there is a flameox.hcl.\n\n" +
			"Examples:\n" +
			"  flameox plan\n" +
			"  flameox apply",
		HideVersion: true,
		Before: func(c *cli.Context) error {
			if dir := c.String("C"); dir != "" {
				if err := os.Chdir(dir); err != nil {
					return fmt.Errorf("start in %s: %w", dir, errors.Unwrap(err))
				}
			}
			return cmdline.BeginProfile(c)
		},
		After: cmdline.EndProfile,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "C", Usage: "run as if started in `DIR`"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour, whatever the terminal"},
			&cli.BoolFlag{Name: "ascii", Usage: "plain ASCII symbols"},
			cmdline.ProfileFlag,
		},
		Commands: []*cli.Command{
			planCommand(), applyCommand(), whyCommand(), graphCommand(), auditCommand(),
			runsCommand(), showCommand(), diffCommand(), logsCommand(), artifactsCommand(), shellCommand(), register.Command(),
			profiles.Hotspots(), profiles.Callers(), profiles.Callees(), profiles.Stacks(), profiles.Flamegraph(), exporting.Command(),
			importing.Command(), spans.Command(), trace.Command(), queryCommand(), tablesCommand(), recipes.Command(),
			configure.Validate(), configure.Fmt(), configure.Schema(tablesCommand()), configure.Console(), configure.Init(), configure.Lock(), configure.Setup(), storage.Fsck(), versionCommand(),
			machine.Host(), machine.Providers(),
			storage.GC(), storage.Restore(), storage.Pin(), storage.Unpin(), storage.Pins(), storage.Recover(), storage.Bundle(), storage.Evidence(),
			measuring.Bench(), measuring.Compare(), measuring.Run(), measuring.Ingest(), measuring.Series(), measuring.History(), measuring.Head(), measuring.Target(), measuring.Config(),
			completion.Command(), completion.Answering(), manual.Command(),
		},
	}
}

// interrupts turns the first Ctrl-C into a closed channel and the second into a cancelled context.
func interrupts(onFirst func(), kill func()) (stop <-chan struct{}, done func()) {
	ch := make(chan os.Signal, 2)
	closed := make(chan struct{})
	quit := make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		n := 0
		for {
			select {
			case <-quit:
				return
			case <-ch:
			}
			switch n++; n {
			case 1:
				onFirst()
				close(closed)
			default:
				kill()
			}
		}
	}()
	return closed, func() { signal.Stop(ch); close(quit) }
}
