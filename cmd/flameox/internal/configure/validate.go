package configure

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang/render"
	"github.com/flameox/flameox/stages"
)

// Validate is the command validate.
func Validate() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check the configuration without looking at results",
		Flags: append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "validate takes no arguments; choose the folder with -C")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			loaded, diags := w.Load()
			if err := printValidation(c, loaded, w.Config.Files, diags); err != nil {
				return err
			}
			if diags.HasErrors() {
				return cmdline.Exit(cmdline.ExitFailure)
			}
			return nil
		},
	}
}

func printValidation(c *cli.Context, x *stages.Experiment, files map[string]*hcl.File, diags hcl.Diagnostics) error {
	if c.Bool("json") {
		return render.JSON(c.App.Writer, diags, files)
	}
	if len(diags) > 0 {
		cmdline.Diagnostics(c, diags, files)
	}
	if x != nil {
		fmt.Fprintf(c.App.Writer, "The configuration is valid: %s.\n", view.Plural(len(x.Graph.Nodes), "instance", "instances"))
	}
	return nil
}
