package measuring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/runner"
	"github.com/flameox/flameox/measure/session"
)

// Config is the command config.
func Config() *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "write or show benchx.conf.json",
		Description: "The file is found from the working directory upwards, and its folder is the project's root. A flag wins over the file, the file over what is built in.\n\n" +
			"Examples:\n  flameox config init\n  flameox config show",
		Subcommands: []*cli.Command{
			{
				Name: "init", Usage: "write a benchx.conf.json that states a harness's defaults", ArgsUsage: " ",
				Description: "What is written is what applies without it, so that it can be changed in place. A file that is there is left alone.\n\nExamples:\n  flameox config init -adapter google-benchmark",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "dir", Usage: "write it to `DIR` (default: the working directory)"},
					&cli.StringFlag{Name: "adapter", Usage: "harness: pyperf, google-benchmark or asv", Value: config.DefaultAdapter},
				},
				Action: configInit,
			},
			{
				Name: "show", Usage: "print every setting, and where it comes from", ArgsUsage: " ",
				Description: "Examples:\n  flameox config show\n  flameox config show -json",
				Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print a JSON document"}},
				Action:      configShow,
			},
		},
	}
}

func configInit(c *cli.Context) error {
	if c.NArg() > 0 {
		return refusedf("config init takes no positional: %s", c.Args().First())
	}
	h, ok := runner.HarnessNamed(c.String("adapter"))
	if !ok {
		return refusedf("--adapter %s: there is no such adapter; there are %v", c.String("adapter"), runner.Names())
	}
	dir := c.String("dir")
	if dir == "" {
		dir = "."
	}
	path, err := config.Init(dir, h.About())
	if err != nil {
		return refused(err)
	}
	fmt.Fprintln(c.App.Writer, path)
	return nil
}

func configShow(c *cli.Context) error {
	if c.NArg() > 0 {
		return refusedf("config show takes no positional: %s", c.Args().First())
	}
	p, err := project(c)
	if err != nil {
		return err
	}
	rows, err := session.Show(p, os.Getenv)
	if err != nil {
		return refused(err)
	}
	if c.Bool("json") {
		return cmdline.JSON(c, rows)
	}
	file := p.File
	if file == "" {
		file = "none; the root is " + p.Root
	} else if rel, err := filepath.Rel(p.Root, file); err == nil {
		file = rel + " in " + p.Root
	}
	t := &view.Table{Columns: []view.Column{{Title: "KEY", Keep: true}, {Title: "VALUE"}, {Title: "FROM", Keep: true}}, Footer: "file: " + file}
	for _, r := range rows {
		from := r.From
		if from == config.FromNowhere {
			from = "-"
		}
		t.Rows = append(t.Rows, []string{r.Key, r.Text(), from})
	}
	return errors.Join(t.Write(c.App.Writer, cmdline.View(c)))
}
