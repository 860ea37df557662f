package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages/program"
)

func runsCommand() *cli.Command {
	return &cli.Command{
		Name: "runs", Usage: "list what was run", ArgsUsage: "[ADDRESS]",
		Description: "Newest last. ADDRESS may have * and ?, and selects every instance where it names none.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "the newest `N`; 0 for all"},
			cmdline.JSONFlag,
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return flags.Usage(c, "runs takes at most one address")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			list, err := cmdline.RunsAt(w.Store, c.Args().First())
			if err != nil {
				return err
			}
			if n := c.Int("limit"); n > 0 && len(list) > n {
				list = list[len(list)-n:]
			}
			return printRuns(c, w.Store, list)
		},
	}
}

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a run, the newest run of a stage, or a saved plan", ArgsUsage: "RUN|ADDRESS|PLANFILE",
		Description: "A run is named by its id or the beginning of it. -rows TABLE prints the run's rows of a table; `flameox tables` lists the tables.",
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

// showPlan always shows a saved plan, also one that no longer holds or was edited.
func showPlan(c *cli.Context, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	doc, err := graph.ReadPlan(b)
	if errors.Is(err, graph.ErrPlanEdited) {
		fmt.Fprintln(c.App.ErrWriter, "Warning: "+err.Error())
	} else if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return printPlanDocument(c, doc)
}

func logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "print what a run wrote to its standard streams", ArgsUsage: "RUN|ADDRESS",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "stream", Usage: "only `stdout` or stderr"},
			cmdline.SensitiveFlag,
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "logs takes one run or address")
			}
			stream := c.String("stream")
			if stream != "" && stream != program.RoleStdout && stream != program.RoleStderr {
				return flags.Usage(c, "-stream is %q; give stdout or stderr", stream)
			}
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
	if len(rec.Argv) == 0 {
		return fmt.Errorf("run %s started no process, so it has no streams", rec.Run)
	}
	if !slices.ContainsFunc(rec.Outputs, func(o cache.Output) bool { return o.Name == program.RoleStdout || o.Name == program.RoleStderr }) {
		return fmt.Errorf("run %s has no streams, because its program was not started: %s", rec.Run, invalidText(rec))
	}
	for _, o := range rec.Outputs {
		if o.Name != program.RoleStdout && o.Name != program.RoleStderr || stream != "" && o.Name != stream {
			continue
		}
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
		Name: "diff", Usage: "say whether two runs may be compared, and in what they differ", ArgsUsage: "A B",
		Description: "A and B are runs or addresses. Exits 3 where they are incomparable.",
		Flags:       []cli.Flag{cmdline.JSONFlag},
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
		Description: "Compares what the stage's key is made of now with its newest run, or with the run given by -since.",
		Flags:       append([]cli.Flag{&cli.StringFlag{Name: "since", Usage: "compare with `RUN`"}, cmdline.JSONFlag}, cmdline.VarFlags...),
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
