package cmdline

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/chrometrace"
	"github.com/flameox/flameox/providers/collapsed"
	"github.com/flameox/flameox/providers/command"
	"github.com/flameox/flameox/providers/coverage"
	"github.com/flameox/flameox/providers/cute"
	"github.com/flameox/flameox/providers/gobench"
	"github.com/flameox/flameox/providers/googlebenchmark"
	"github.com/flameox/flameox/providers/hyperfine"
	"github.com/flameox/flameox/providers/kernelvalidation"
	"github.com/flameox/flameox/providers/memray"
	"github.com/flameox/flameox/providers/node"
	"github.com/flameox/flameox/providers/otlp"
	"github.com/flameox/flameox/providers/perf"
	"github.com/flameox/flameox/providers/perfetto"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/pyperf"
	"github.com/flameox/flameox/providers/pyspy"
	"github.com/flameox/flameox/providers/pytest"
	"github.com/flameox/flameox/providers/pythonstartup"
	"github.com/flameox/flameox/providers/speedscope"
	"github.com/flameox/flameox/providers/torchprofiler"
	"github.com/flameox/flameox/providers/triton"
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
	return providers.New(chrometrace.Provider{}, collapsed.Provider{}, command.Provider{}, coverage.Provider{}, cute.Provider{}, gobench.Provider{}, googlebenchmark.Provider{}, hyperfine.Provider{}, kernelvalidation.Provider{}, memray.Provider{}, node.Provider{}, otlp.Provider{}, perf.Provider{}, perfetto.Provider{}, pprof.Provider{}, pyperf.Provider{}, pyspy.Provider{}, pytest.Provider{}, pythonstartup.Provider{}, speedscope.Provider{}, torchprofiler.Provider{}, triton.Provider{})
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
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	w, err := workspace.Open(c.Context, o)
	var bad *workspace.ConfigError
	if errors.As(err, &bad) {
		Diagnostics(c, bad.Diags, bad.Files)
		return nil, Exit(ExitFailure)
	}
	return w, err
}

func options(c *cli.Context) (workspace.Options, error) {
	self, err := os.Executable()
	if err != nil {
		return workspace.Options{}, fmt.Errorf("find this binary: %w", err)
	}
	return workspace.Options{
		Dir: ".", Environ: os.Environ(), Vars: c.StringSlice("var"), VarFiles: c.StringSlice("var-file"),
		Version: Version(), Self: self, Now: time.Now, FS: vfs.OS{}, Providers: Providers(),
		NoShortcut: c.Bool("no-shortcut"),
	}, nil
}

// ExplainEnv is the environment variable that has a command say on standard error whether the remembered plan stood, and why not.
const ExplainEnv = "FLAMEOX_EXPLAIN_SHORTCUT"

// Recall is the remembered plan for a command that only reads, where it still stands; nil where the plan has to be made. The command has stepped back.
func Recall(c *cli.Context, q workspace.Question) (*workspace.Recalled, error) {
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	r, why := workspace.Recall(c.Context, o, q)
	Explain(c, "recalled: "+why)
	return r, nil
}

// Explain says what became of the shortcut, to who asked for it.
func Explain(c *cli.Context, text string) {
	if os.Getenv(ExplainEnv) != "" {
		fmt.Fprintln(c.App.ErrWriter, "shortcut: "+view.Lines(text))
	}
}

// StepBack makes a command that only reads as quiet as it can be while something is measured.
func StepBack(c *cli.Context) {
	(&graph.Store{Now: time.Now}).StepBack("flameox " + c.Command.Name)
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
