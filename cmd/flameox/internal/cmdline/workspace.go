package cmdline

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/node"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/pyperf"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

// version is set at link time; a build without it is named after its module or revision.
var version string

// Version is the version of this binary.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// Providers are the producers this binary knows.
func Providers() *providers.Registry {
	return providers.New(command.Provider{}, gobench.Provider{}, memray.Provider{}, node.Provider{}, pprof.Provider{}, pyperf.Provider{})
}

// Open opens the workspace that the global flags name, for a command that only reads: it steps back while something is measured.
func Open(c *cli.Context) (*workspace.Workspace, error) {
	w, err := OpenWorkspace(c)
	if err == nil {
		w.Store.StepBack("flameox " + c.Command.Name)
	}
	return w, err
}

// OpenWorkspace opens it for a command that works in it.
func OpenWorkspace(c *cli.Context) (*workspace.Workspace, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	w, err := workspace.Open(c.Context, workspace.Options{
		Dir: ".", Environ: os.Environ(), Vars: c.StringSlice("var"), VarFiles: c.StringSlice("var-file"),
		Version: Version(), Self: self, Now: time.Now, FS: vfs.OS{}, Providers: Providers(),
		NoShortcut: c.Bool("no-shortcut"),
	})
	var bad *workspace.ConfigError
	if errors.As(err, &bad) {
		Diagnostics(c, bad.Diags, bad.Files)
		return nil, Exit(ExitFailure)
	}
	return w, err
}

// Load opens the workspace and its configuration for a command that only reads.
func Load(c *cli.Context) (*workspace.Workspace, *stages.Experiment, error) {
	w, err := Open(c)
	if err != nil {
		return nil, nil, err
	}
	loaded, err := LoadInto(c, w)
	return w, loaded, err
}

// LoadInto loads the configuration of a workspace; diagnostics have been printed when it fails.
func LoadInto(c *cli.Context, w *workspace.Workspace) (*stages.Experiment, error) {
	loaded, diags := w.Load()
	if len(diags) > 0 {
		Diagnostics(c, diags, w.Config.Files)
	}
	if diags.HasErrors() {
		return nil, Exit(ExitFailure)
	}
	return loaded, nil
}
