package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/lang/units"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/stages/program"
)

func runsCommand() *cli.Command {
	return &cli.Command{
		Name: "runs", Usage: "list what was run", ArgsUsage: "[ADDRESS]",
		Description: "Newest last. ADDRESS may have * and ?, and selects every instance where it names none.\n\n" +
			"Examples:\n" +
			"  flameox runs -limit 5\n" +
			"  flameox runs 'capture.gobench.*'",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "the newest `N`; 0 for all"},
			&cli.BoolFlag{Name: "failed", Usage: "only those that are not valid"},
			&cli.StringFlag{Name: "since", Usage: "only those that began within `DURATION` before now, such as 24h or 7d"},
			cmdline.JSONFlag,
		},
		Action: listRuns,
	}
}

func listRuns(c *cli.Context) error {
	if c.NArg() > 1 {
		return flags.Usage(c, "runs takes at most one address")
	}
	var after time.Time
	if s := c.String("since"); c.IsSet("since") {
		age, err := units.Duration(s)
		if err != nil || age <= 0 {
			return flags.Usage(c, "-since is %q; give a duration such as 90m, 24h or 7d", s)
		}
		after = time.Now().Add(-age)
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	pattern := c.Args().First()
	list, err := cmdline.RunsAt(w.Store, pattern)
	if err != nil {
		return err
	}
	if len(list) == 0 && pattern != "" && len(w.Store.Cache.All()) > 0 {
		return noRuns(w.Store, pattern)
	}
	chosen := slices.DeleteFunc(slices.Clone(list), func(r *cache.Summary) bool {
		return c.Bool("failed") && r.Valid() || r.Started.Before(after)
	})
	if n := c.Int("limit"); n > 0 && len(chosen) > n {
		chosen = chosen[len(chosen)-n:]
	}
	return printRuns(c, w.Store, chosen)
}

// noRuns names the stage that was meant where an address has no runs.
func noRuns(s *graph.Store, pattern string) error {
	var known []string
	for _, r := range s.Cache.All() {
		if a, err := address.Parse(r.Address); err == nil && !slices.Contains(known, a.Block) {
			known = append(known, a.Block)
		}
	}
	if best := suggest.Nearest(pattern, known); best != "" && best != pattern {
		return fmt.Errorf("no stage with runs is called %q. Did you mean %s?", pattern, best)
	}
	return fmt.Errorf("no stage with runs is called %q; `flameox runs` lists all runs", pattern)
}

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a run, the newest run of a stage, or a saved plan", ArgsUsage: "RUN|ADDRESS|PLANFILE",
		Description: "A run is named by its id or the beginning of it. -rows TABLE prints the run's rows of a table; `flameox tables` lists the tables.\n\n" +
			"Examples:\n" +
			"  flameox show build.bench\n" +
			"  flameox show -rows measurements 'extract.gobench.sort:impl=merge,n=1000'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rows", Usage: "print the rows of `TABLE` instead"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most `N` rows; 0 for all"},
			cmdline.JSONFlag, cmdline.SensitiveFlag,
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "show takes one run, address or plan file")
			}
			name := c.Args().First()
			if isPlan(name) { // it is shown whatever the configuration and the store are like
				return showPlan(c, name)
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			rec, err := cmdline.FindRun(c, w, name)
			if err != nil && cmdline.IsFile(name) {
				return showPlan(c, name)
			}
			if err != nil {
				return err
			}
			if table := c.String("rows"); table != "" {
				if err := cmdline.MayShow(c, rec); err != nil {
					return err
				}
				return printRows(c, w.Store, rec, table)
			}
			return printRun(c, w.Store, rec)
		},
	}
}

// isPlan says whether a path names a file that is a plan, of whatever version.
func isPlan(path string) bool {
	if !cmdline.IsFile(path) {
		return false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	doc, _ := graph.ReadPlan(b)
	return doc != nil
}

// showPlan always shows a saved plan, also one that no longer holds, was edited or is of another version.
func showPlan(c *cli.Context, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	doc, err := graph.ReadPlan(b)
	switch {
	case doc == nil:
		return fmt.Errorf("%s: %w", path, err)
	case err != nil:
		fmt.Fprintln(c.App.ErrWriter, "Warning: "+view.Lines(err.Error()))
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return printPlanDocument(c, doc)
}

func logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "print what a run wrote to its standard streams", ArgsUsage: "RUN|ADDRESS",
		Description: "Without -stream all of them: standard output, standard error, and the logs of the servers that stood beside the run, such as server.api.stderr.\n\n" +
			"Examples:\n" +
			"  flameox logs build.bench\n" +
			"  flameox logs -stream stdout 'capture.gobench.sort:impl=merge,n=1000'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "stream", Usage: "only `STREAM`: stdout, stderr, or one of a server"},
			cmdline.SensitiveFlag,
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "logs takes one run or address")
			}
			stream := c.String("stream")
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			rec, err := cmdline.FindRun(c, w, c.Args().First())
			if err != nil {
				return err
			}
			if err := cmdline.MayShow(c, rec); err != nil {
				return err
			}
			return printLogs(c, w.Store, rec, stream)
		},
	}
}

func printLogs(c *cli.Context, s *graph.Store, rec *cache.Record, stream string) error {
	var streams []cache.Output
	var names []string
	for _, o := range rec.Outputs {
		if o.Name == program.RoleStdout || o.Name == program.RoleStderr || o.Role == providers.RoleLog {
			names = append(names, o.Name)
			if stream == "" || o.Name == stream {
				streams = append(streams, o)
			}
		}
	}
	switch {
	case len(names) == 0 && len(rec.Argv) == 0:
		return fmt.Errorf("run %s started no process, so it has no streams", rec.Run)
	case len(names) == 0:
		return fmt.Errorf("run %s has no streams, because its program was not started: %s", rec.Run, invalidText(rec))
	case len(streams) == 0:
		return fmt.Errorf("run %s has no stream %q; it has %s", rec.Run, stream, strings.Join(names, ", "))
	}
	for _, o := range streams {
		r, err := s.CAS.Open(o.Digest)
		if err != nil {
			return fmt.Errorf("%s of run %s is lost: %w", o.Name, rec.Run, err)
		}
		if stream == "" {
			fmt.Fprintf(c.App.Writer, "--- %s of %s, run %s (%d bytes)\n", o.Name, rec.Address, rec.Run, o.Size)
		}
		_, err = io.Copy(c.App.Writer, r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "say whether two runs may be compared, and in what they differ", ArgsUsage: "RUN|ADDRESS RUN|ADDRESS",
		Description: "Exits 3 where they are incomparable.\n\n" +
			"Examples:\n" +
			"  flameox diff 'capture.gobench.sort:impl=merge,n=1000' 'capture.gobench.sort:impl=quick,n=1000'  # exits 3",
		Flags: []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return flags.Usage(c, "diff takes two runs or addresses")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			a, err := cmdline.FindRun(c, w, c.Args().Get(0))
			if err != nil {
				return err
			}
			b, err := cmdline.FindRun(c, w, c.Args().Get(1))
			if err != nil {
				return err
			}
			d := w.Store.Compare(a, b)
			if err := printDiff(c, d); err != nil {
				return err
			}
			if d.Verdict == graph.Incomparable {
				return cmdline.Exit(cmdline.ExitLost)
			}
			return nil
		},
	}
}

func whyCommand() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "explain the decision about one stage", ArgsUsage: "ADDRESS",
		Description: "Compares what the stage's key is made of now with its newest run, or with the run given by -since.\n\n" +
			"Examples:\n" +
			"  flameox why build.bench\n" +
			"  flameox why 'capture.gobench.sort:impl=merge,n=1000'",
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "since", Usage: "compare with `RUN`"}, cmdline.NoShortcutFlag, cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "why takes one address")
			}
			w, loaded, err := cmdline.Load(c)
			if err != nil {
				return err
			}
			defer w.Save()
			n, err := loaded.Graph.Find(c.Args().First())
			if err != nil {
				return err
			}
			planner, err := graph.NewPlanner(w.Store, loaded.Graph, graph.Selection{})
			if err != nil {
				return err
			}
			x, err := planner.Why(c.Context, loaded.Graph, n, c.String("since"))
			if err != nil {
				return err
			}
			return printWhy(c, w.Store, x)
		},
	}
}
