package measuring

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/identity"
	"github.com/flameox/flameox/measure/render"
)

// Head is the command head.
func Head() *cli.Command {
	return &cli.Command{
		Name: "head", Usage: "show the latest results of the store",
		Description: "The newest result comes first, in the order in which they were taken in.\n\n" +
			"Examples:\n  flameox head -n 20\n  flameox head -workload Sum -table",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "n", Value: 10, Usage: "the newest `N`"},
			&cli.StringFlag{Name: "project", Usage: "only results of `PROJECT`, as the store files them: of one without a project local/ and its machine"},
			&cli.StringFlag{Name: "workload", Usage: "only those whose benchmark's name contains `TEXT`"},
			&cli.BoolFlag{Name: "json", Usage: "print the stored documents, one a line"},
			&cli.BoolFlag{Name: "table", Usage: "print what bench prints of them, without conditions such as load"},
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().Present():
				return misused(c, "head takes no arguments")
			case c.Int("n") < 1:
				return misused(c, "-n takes a number of results, at least 1")
			case c.Bool("json") && c.Bool("table"):
				return misused(c, "-json and -table exclude each other")
			}
			snap, _, err := read(c)
			if err != nil {
				return refused(err)
			}
			defer snap.Close()
			list, err := snap.Latest(c.Context, c.Int("n"), c.String("project"), c.String("workload"), c.Bool("table"))
			if err != nil {
				return refused(err)
			}
			if c.Bool("json") {
				for _, r := range list {
					if _, err := fmt.Fprintf(c.App.Writer, "%s\n", r.Text); err != nil {
						return refused(err)
					}
				}
				return nil
			}
			var latest []render.Latest
			var docs []map[string]any
			for _, r := range list {
				latest = append(latest, render.Latest{Row: r.Row, Document: r.Document})
				docs = append(docs, r.Document)
			}
			fmt.Fprintf(c.App.Writer, "%s: %s\n", snap.Path(), view.Plural(snap.Rows(), "result", "results"))
			if c.Bool("table") {
				leads := []view.Column{{Title: "REVISION"}, {Title: "RUN"}, {Title: "PROJECT"}}
				return refused(benchTable(c.App.Writer, cmdline.View(c), docs, leads, func(d map[string]any) []string {
					run, _ := document.At(d, "provenance", "run_key").(string)
					return []string{render.Revision(d), run, identity.Project(d)}
				}))
			}
			return refused(render.Head(latest).Write(c.App.Writer, cmdline.View(c)))
		},
	}
}
