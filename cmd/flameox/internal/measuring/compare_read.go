package measuring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/render"
	"github.com/flameox/flameox/measure/store"
)

// exitGate is a comparison that -fail-on does not let pass.
const exitGate = 3

// reportFlags are how a comparison is shown, in both modes of compare.
func reportFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print the comparison document"},
		&cli.BoolFlag{Name: "markdown", Usage: "print Markdown, for a comment of a review"},
		&cli.StringFlag{Name: "html", Usage: "also write a page with a picture of every unit to `FILE`"},
		&cli.StringSliceFlag{Name: "fail-on", Usage: "exit 3 where there is `WHAT`: regressed, changed, indeterminate, missing or local-only; may be repeated. Also where nothing at all was judged"},
	}
}

// gates are what -fail-on takes.
var gates = []string{"regressed", "changed", "indeterminate", "missing", "local-only"}

// wantedGates are those that -fail-on names.
func wantedGates(c *cli.Context) ([]string, error) {
	var out []string
	for _, list := range c.StringSlice("fail-on") {
		for _, name := range strings.Split(list, ",") {
			if name = strings.TrimSpace(name); !slices.Contains(gates, name) {
				return nil, misused(c, "-fail-on takes %s, and not %q", strings.Join(gates, ", "), name)
			}
			out = append(out, name)
		}
	}
	return out, nil
}

// readCompare compares results that are there: the store's, or the files of -results. Measure mode ends with it too, so that both modes give one document.
func readCompare(c *cli.Context, p *config.Config, r comparison.Request) (err error) {
	gate, err := wantedGates(c)
	if err != nil {
		return err
	}
	if c.Bool("json") && c.Bool("markdown") {
		return misused(c, "-json and -markdown exclude each other")
	}
	s, report, remove, err := results(c.Context, c, p)
	if err != nil {
		return refused(err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	for _, x := range report.Rejected {
		fmt.Fprintf(c.App.ErrWriter, "%s: %s: %s\n", x.Name, x.Code, x.Text)
	}
	snapshot, err := s.Read()
	if err != nil {
		return refused(err)
	}
	defer snapshot.Close()
	inputs, err := snapshot.Run(c.Context, r.RunKey)
	if err != nil {
		return refused(err)
	}
	doc, err := comparison.Compare(inputs, r)
	if err != nil {
		return refused(err)
	}
	if path := c.String("html"); path != "" {
		if err := writePage(path, inputs, r, doc); err != nil {
			return refused(err)
		}
		fmt.Fprintf(c.App.ErrWriter, "wrote %s\n", path)
	}
	switch {
	case c.Bool("json"):
		err = cmdline.JSON(c, doc)
	case c.Bool("markdown"):
		err = render.Markdown(c.App.Writer, doc)
	default:
		err = render.Comparison(c.App.Writer, doc, cmdline.View(c))
	}
	if err != nil {
		return refused(err)
	}
	if why := held(doc, gate); len(why) > 0 {
		fmt.Fprintf(c.App.ErrWriter, "does not pass: %s\n", strings.Join(why, "; "))
		return cmdline.Exit(exitGate)
	}
	if len(report.Rejected) > 0 {
		return cmdline.Exit(exitRejected)
	}
	return nil
}

// held says why a comparison does not pass its gates. One in which nothing was judged passes none: a baseline that is missing must not look like one that was met.
func held(d *comparison.Document, gate []string) []string {
	if len(gate) == 0 {
		return nil
	}
	count, judged := map[string]int{"missing": len(d.Missing)}, 0
	for _, u := range d.Units {
		switch u.Verdict {
		case "indeterminate", "inconclusive":
			count["indeterminate"]++
			continue
		case "regressed":
			count["regressed"]++
			count["changed"]++
		case "improved", "changed":
			count["changed"]++
		}
		judged++
	}
	var out []string
	for _, name := range gates {
		switch {
		case !slices.Contains(gate, name):
		case name == "local-only" && d.LocalOnly:
			out = append(out, "local-only")
		case count[name] > 0:
			out = append(out, fmt.Sprintf("%d %s", count[name], name))
		}
	}
	if judged == 0 {
		out = append(out, "not one unit could be judged")
	}
	return out
}

// writePage writes the page by rename: a file of that name is always a whole page.
func writePage(path string, inputs []comparison.Result, r comparison.Request, doc *comparison.Document) error {
	evidence, err := comparison.Show(inputs, r, doc)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := render.Page(&b, doc, evidence); err != nil {
		return err
	}
	if err := vfs.WriteFile(vfs.OS{}, path, []byte(b.String()), 0o644, false); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// results is the store that is compared, what became of the files of -results, and what removes a store that was made for them.
func results(ctx context.Context, c *cli.Context, p *config.Config) (*store.Store, store.Report, func() error, error) {
	if dir := c.String("results"); dir != "" {
		return store.Throwaway(ctx, dir)
	}
	s, err := store.Open(p.StorePath(os.Getenv))
	return s, store.Report{}, func() error { return nil }, err
}
