package configure

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/git"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/lang/render"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

// Validate is the command validate.
func Validate() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check the configuration without looking at results",
		Description: "Reports all errors of all files at once, and exits 1 where there is one. Nothing is run. -json is for editors: lines and\n" +
			"columns (characters) count from 1, bytes from 0; the end of a range is behind its last character.\n\n" +
			"Examples:\n" +
			"  flameox validate\n" +
			"  flameox validate -json",
		Flags: append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "validate takes no arguments; choose the folder with -C")
			}
			v, err := validate(c)
			if err != nil {
				return err
			}
			if err := v.print(c); err != nil {
				return err
			}
			if v.diags.HasErrors() {
				return cmdline.Exit(cmdline.ExitFailure)
			}
			return nil
		},
	}
}

// options open the experiment of this folder for a command that starts no process of a stage.
func options(c *cli.Context) workspace.Options {
	return workspace.Options{
		Dir: ".", Environ: os.Environ(), Vars: c.StringSlice("var"), VarFiles: c.StringSlice("var-file"),
		Version: cmdline.Version(), Now: time.Now, FS: vfs.OS{}, Providers: cmdline.Providers(),
	}
}

// validation is what is wrong with a configuration.
type validation struct {
	diags     hcl.Diagnostics
	files     map[string]*hcl.File
	instances int
}

// validate collects what the language and the stage kinds object to. A stage kind is asked about every block that the language accepts, also
// where others are wrong: one run tells everything.
func validate(c *cli.Context) (*validation, error) {
	o := options(c)
	w, err := workspace.Open(c.Context, o)
	var bad *workspace.ConfigError
	if errors.As(err, &bad) {
		return withoutStore(o)
	}
	if err != nil {
		return nil, err
	}
	w.Store.StepBack("flameox " + c.Command.Name)
	v := &validation{}
	e, diags := w.Load()
	v.diags, v.files = diags, w.Config.Files
	if e != nil {
		v.instances = len(e.Graph.Nodes)
	} else if x, _ := w.Config.Expand(); len(x.Instances) > 0 { // its diagnostics are there already
		_, more := stages.Compile(x, stages.Kinds(o.Providers), w.Project)
		v.add(more)
	}
	v.sort()
	return v, nil
}

// withoutStore validates where the block that may name the store is wrong, so that no store can be opened. Stage kinds need one.
func withoutStore(o workspace.Options) (*validation, error) {
	root := ""
	if repo, err := git.Find(o.Dir); err == nil {
		root = repo.Root
	}
	config, diags := lang.Load(o.Dir, stages.Language(stages.Kinds(o.Providers)), lang.Input{
		Root: root, Version: o.Version, Values: lang.Values{Environ: o.Environ, Vars: o.Vars, VarFiles: o.VarFiles},
	})
	_, more := config.Expand()
	v := &validation{diags: diags, files: config.Files}
	v.add(more)
	v.sort()
	return v, nil
}

// add takes over diagnostics that are not there.
func (v *validation) add(diags hcl.Diagnostics) {
	for _, d := range diags {
		if !slices.ContainsFunc(v.diags, func(have *hcl.Diagnostic) bool { return have.Error() == d.Error() }) {
			v.diags = append(v.diags, d)
		}
	}
}

// sort orders by file and position; what has no position comes last.
func (v *validation) sort() {
	slices.SortStableFunc(v.diags, func(a, b *hcl.Diagnostic) int {
		switch {
		case a.Subject == nil && b.Subject == nil:
			return 0
		case a.Subject == nil:
			return 1
		case b.Subject == nil:
			return -1
		}
		return cmp.Or(cmp.Compare(a.Subject.Filename, b.Subject.Filename), cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte))
	})
}

func (v *validation) print(c *cli.Context) error {
	if c.Bool("json") {
		return render.JSON(c.App.Writer, v.diags, v.files)
	}
	if len(v.diags) > 0 {
		cmdline.Diagnostics(c, v.diags, v.files)
	}
	if !v.diags.HasErrors() {
		fmt.Fprintf(c.App.Writer, "The configuration is valid: %s.\n", view.Plural(v.instances, "instance", "instances"))
	}
	return nil
}
