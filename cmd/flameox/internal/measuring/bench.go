package measuring

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/measure/session"
)

// Bench is the command bench.
func Bench() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "run the benchmarks of one target and print a table", ArgsUsage: "TARGET [CASE...]",
		Description: "TARGET is a working tree for pyperf and asv, BUILD_DIR or BUILD_DIR:SOURCE_DIR for google-benchmark, or @NAME for one that the project's target provider knows. CASE is an exact " +
			"name. MODULE.py alone means the checkout that the module lies in, with the module as the suite.\n\n" +
			"Results are files below results/RUN_KEY, and go to the store. The order is kept in orders/order.json there, and `flameox run` runs it again. No project, configuration or store is " +
			"needed: what benchx.conf.json does not say is built in.\n\n" +
			"With -run-key, -slot and -round a call is one side of a run that other calls join; `flameox compare -run KEY` compares them.\n\n" +
			"Examples:\n  flameox bench bench_sums.py\n  flameox bench bench_sums.py \"bench_sum('list')\" -processes 3",
		Flags: append(measureFlags(),
			&cli.StringFlag{Name: "tree", Usage: "measure the tree `DIR` with MODULE.py (default: the module's checkout)"},
			&cli.StringSliceFlag{Name: "label", Usage: "what this side of a shared run is called: `NAME=VALUE`; may be repeated"},
			&cli.IntFlag{Name: "round", Usage: "round of a shared run, from 0, that pairs this call with one of the other side"},
			&cli.IntFlag{Name: "slot", Usage: "position of this call among all of a shared run, from 0"},
			&cli.BoolFlag{Name: "no-ingest", Usage: "write the result files only, and leave the store alone"},
			&cli.BoolFlag{Name: "json", Usage: "print the results as documents, one a line"}),
		Action: bench,
	}
}

func bench(c *cli.Context) error {
	p, err := project(c)
	if err != nil {
		return err
	}
	if c.NArg() == 0 {
		return refused(errors.New("no target is given: bench TARGET, where TARGET is a working tree, a build directory, @NAME or MODULE.py"))
	}
	h, err := newHost(c, p, !c.Bool("no-ingest"))
	if err != nil {
		return refused(err)
	}
	text, f := c.Args().First(), said(c)
	f.Cases = c.Args().Tail()
	switch {
	case strings.HasSuffix(text, ".py") && !strings.HasPrefix(text, "@") && f.Suite == "":
		if text, f.Suite, err = session.Module(text, c.String("tree"), h.Dir); err == nil && p.Adapter.Name != "" && p.Adapter.Name != "pyperf" {
			err = fmt.Errorf("MODULE.py is measured with pyperf, and %s names %s as adapter.name: give TARGET --suite NAME", p.File, p.Adapter.Name)
		}
	case c.IsSet("tree"):
		err = errors.New("--tree belongs to MODULE.py: otherwise TARGET itself is the tree")
	}
	if err != nil {
		return refused(errors.Join(err, h.close()))
	}
	s, err := session.Resolve(p, f, session.Bench, h.Dir, time.Now())
	if err != nil {
		return refused(errors.Join(err, h.close()))
	}
	ctx, done := interruptible(c)
	defer done()
	j := session.Joining{Labels: c.StringSlice("label"), Shared: c.IsSet("run-key")}
	for name, at := range map[string]**int{"round": &j.Round, "slot": &j.Slot} {
		if c.IsSet(name) {
			n := c.Int(name)
			*at = &n
		}
	}
	b, err := s.PrepareBench(ctx, h.Host, text, j)
	if err != nil {
		return ended(ctx, errors.Join(err, h.close()))
	}
	ran, err := b.Run(ctx, h.Host)
	err = errors.Join(err, h.close())
	if ran == nil {
		return ended(ctx, err)
	}
	if err := showRun(c, ran); err != nil {
		return err
	}
	where := "in files only, as asked"
	if h.store != nil {
		where = fmt.Sprintf("%s (%s)", h.report, h.store.Path())
	}
	fmt.Fprintf(c.App.ErrWriter, "run %s: results in %s; %s\n", s.RunKey, s.Out, where)
	return ended(ctx, err)
}
