package manual

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/suggest"
)

// Command prints manual pages.
func Command() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print a manual page", ArgsUsage: "[COMMAND ...]",
		Description: "Without a command it is the page of the whole program. `make install` puts all pages where man finds them.\n\n" +
			"Examples:\n" +
			"  flameox man > flameox.1\n" +
			"  flameox man plan | man -l -\n" +
			"  flameox man bundle export > flameox-bundle-export.1\n" +
			"  flameox man -list",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "list", Usage: "print the commands that have a page, one a line"}},
		Action: func(c *cli.Context) error {
			pages := Pages(c.App)
			names := c.Args().Slice()
			if c.Bool("list") {
				for _, p := range pages[1:] {
					fmt.Fprintln(c.App.Writer, strings.Join(p.Path[1:], " "))
				}
				return nil
			}
			if len(names) == 0 {
				_, err := io.WriteString(c.App.Writer, RoffAll(pages, cmdline.Version(), date()))
				return err
			}
			p := Find(pages, names)
			if p == nil {
				return flags.Usage(c, "no command is called %q%s", strings.Join(names, " "), nearest(pages, strings.Join(names, " ")))
			}
			_, err := io.WriteString(c.App.Writer, Roff(p, cmdline.Version(), date()))
			return err
		},
	}
}

func nearest(pages []*Page, name string) string {
	var known []string
	for _, p := range pages[1:] {
		known = append(known, strings.Join(p.Path[1:], " "))
	}
	if best := suggest.Nearest(name, known); best != "" {
		return fmt.Sprintf(": did you mean %s?", best)
	}
	return ""
}

// date is when the sources of this binary were committed, so that the same sources give the same page; "" where the build does not say.
func date() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" && len(s.Value) >= len("2006-01-02") {
			return s.Value[:len("2006-01-02")]
		}
	}
	return ""
}
