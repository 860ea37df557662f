package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

// version is set at link time; a build without it is named after its module or revision.
var version string

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// allProviders are the producers this binary knows.
func allProviders() *providers.Registry {
	return providers.New(command.Provider{}, gobench.Provider{}, pprof.Provider{})
}

// newApp is the command line. One file is one command.
func newApp() *cli.App {
	return &cli.App{
		Name:  "flameox",
		Usage: "a declarative engine for performance evidence",
		Description: "flameox.hcl declares workloads, captures and comparisons; plan says which of them are stale and why; apply runs only those.\n\n" +
			"Begin with:  flameox plan\n\n" + exitCodesHelp,
		HideVersion: true,
		Before: func(c *cli.Context) error {
			if dir := c.String("C"); dir != "" {
				if err := os.Chdir(dir); err != nil {
					return fmt.Errorf("start in %s: %w", dir, errors.Unwrap(err))
				}
			}
			return nil
		},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "C", Usage: "run as if started in `DIR`"},
			&cli.BoolFlag{Name: "no-color", Usage: "no colour, whatever the terminal"},
			&cli.BoolFlag{Name: "ascii", Usage: "plain ASCII symbols"},
		},
		Commands: []*cli.Command{
			planCommand(), applyCommand(), whyCommand(), graphCommand(),
			runsCommand(), showCommand(), diffCommand(), logsCommand(), shellCommand(),
			queryCommand(), tablesCommand(),
			validateCommand(), fmtCommand(), fsckCommand(), versionCommand(),
		},
	}
}

var jsonFlag = &cli.BoolFlag{Name: "json", Usage: "print a JSON document; its schema is in schemas/"}

var varFlags = []cli.Flag{
	&cli.StringSliceFlag{Name: "var", Usage: "set a variable: `NAME=VALUE`; may be repeated"},
	&cli.StringSliceFlag{Name: "var-file", Usage: "set variables from `FILE`; may be repeated"},
}

var selectFlags = append([]cli.Flag{
	&cli.StringSliceFlag{Name: "target", Usage: "only the stages that `ADDRESS` selects and what they need; * and ? are allowed; may be repeated"},
	&cli.StringSliceFlag{Name: "exclude", Usage: "leave out the stages that `ADDRESS` selects; may be repeated"},
	&cli.StringSliceFlag{Name: "replace", Usage: "run the stages that `ADDRESS` selects although they have valid results; may be repeated"},
}, varFlags...)

// open opens the workspace that the global flags name, for a command that only reads: it steps back while something is measured.
func open(c *cli.Context) (*workspace.Workspace, error) {
	w, err := openWorkspace(c)
	if err == nil {
		w.Store.StepBack("flameox " + c.Command.Name)
	}
	return w, err
}

func openWorkspace(c *cli.Context) (*workspace.Workspace, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	w, err := workspace.Open(c.Context, workspace.Options{
		Dir: ".", Environ: os.Environ(), Vars: c.StringSlice("var"), VarFiles: c.StringSlice("var-file"),
		Version: versionText(), Self: self, Now: time.Now, FS: vfs.OS{}, Providers: allProviders(),
	})
	var bad *workspace.ConfigError
	if errors.As(err, &bad) {
		printDiagnostics(c, bad.Diags, bad.Files)
		return nil, fail(exitError1)
	}
	return w, err
}

// load opens the workspace and its configuration for a command that only reads.
func load(c *cli.Context) (*workspace.Workspace, *stages.Experiment, error) {
	w, err := open(c)
	if err != nil {
		return nil, nil, err
	}
	loaded, err := loadInto(c, w)
	return w, loaded, err
}

// loadInto loads the configuration of a workspace; diagnostics have been printed when it fails.
func loadInto(c *cli.Context, w *workspace.Workspace) (*stages.Experiment, error) {
	loaded, diags := w.Load()
	if len(diags) > 0 {
		printDiagnostics(c, diags, w.Config.Files)
	}
	if diags.HasErrors() {
		return nil, fail(exitError1)
	}
	return loaded, nil
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
