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
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/stages/program"
	"github.com/flameox/flameox/stages/workspace"
)

// findRun is the run that s names: a run id, a unique prefix of one, or an address, which means its newest run. A stage that was never
// run under its address, because an equal one was or because it was renamed, is named by the result that stands for it.
func findRun(c *cli.Context, w *workspace.Workspace, s string) (*cache.Record, error) {
	if s == "" {
		return nil, errors.New("the name of the run is empty; give a run or an address, `flameox runs` lists them")
	}
	if a, err := address.Parse(s); err == nil {
		if at := w.Store.At(a); len(at) > 0 {
			return at[len(at)-1].Record()
		}
	}
	sum, err := w.Store.Cache.Run(s)
	if err == nil {
		return sum.Record()
	}
	var ambiguous *cache.AmbiguousError
	if errors.As(err, &ambiguous) {
		return nil, err
	}
	if r := standsFor(c, w, s); r != nil {
		return r.Record()
	}
	matches, err := runsAt(w.Store, s)
	if err != nil {
		return nil, err
	}
	// Another experiment of the repository may have the same addresses: its runs are not meant.
	matches = slices.DeleteFunc(slices.Clone(matches), func(r *cache.Summary) bool { return r.Experiment != w.Store.Experiment })
	var known, instances []string
	for _, r := range w.Store.Cache.All() {
		if a, err := address.Parse(r.Address); err == nil && r.Experiment == w.Store.Experiment && !slices.Contains(known, a.Block) {
			known = append(known, a.Block)
		}
	}
	for _, r := range matches {
		if !slices.Contains(instances, r.Address) {
			instances = append(instances, r.Address)
		}
	}
	switch {
	case len(instances) == 1:
		return matches[len(matches)-1].Record()
	case len(instances) > 1:
		text := ""
		for _, i := range instances[:min(5, len(instances))] {
			text += "\n  " + i
		}
		if more := len(instances) - 5; more > 0 {
			text += fmt.Sprintf("\n  (%d more)", more)
		}
		return nil, fmt.Errorf("%s has runs of %d instances; name one:%s", s, len(instances), text)
	}
	if best := suggest.Nearest(s, known); best != "" && best != s {
		return nil, fmt.Errorf("no run and no stage with runs is called %s. Did you mean %s?", s, best)
	}
	return nil, fmt.Errorf("no run and no stage with runs is called %s; `flameox runs` lists them", s)
}

// standsFor is the newest of the results that stand now for the stage at an address; nil where there is none, or where the configuration
// cannot be read, which readers do not depend on.
func standsFor(c *cli.Context, w *workspace.Workspace, s string) *cache.Summary {
	if _, err := address.Parse(s); err != nil {
		return nil
	}
	loaded, diags := w.Load()
	if diags.HasErrors() {
		return nil
	}
	n, err := loaded.Graph.Find(s)
	if err != nil || n.Stage == nil {
		return nil
	}
	planner, err := graph.NewPlanner(w.Store, loaded.Graph, graph.Selection{})
	if err != nil {
		return nil
	}
	x, err := planner.Why(c.Context, loaded.Graph, n, "")
	if err != nil || len(x.Decision.Records) == 0 {
		return nil
	}
	return x.Decision.Records[len(x.Decision.Records)-1]
}

// runsAt are the runs of every instance that a pattern selects, oldest first; all runs for "".
func runsAt(s *graph.Store, pattern string) ([]*cache.Summary, error) {
	all := s.Cache.All()
	if pattern == "" {
		return all, nil
	}
	p, err := address.ParsePattern(pattern)
	if err != nil {
		return nil, err
	}
	var out []*cache.Summary
	for _, r := range all {
		if a, err := address.Parse(r.Address); err == nil && p.Match(a) {
			out = append(out, r)
		}
	}
	return out, nil
}

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
			list, err := runsAt(w.Store, c.Args().First())
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
			rec, err := findRun(c, w, name)
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
			rec, err := findRun(c, w, c.Args().First())
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
			a, err := findRun(c, w, c.Args().Get(0))
			if err != nil {
				return err
			}
			b, err := findRun(c, w, c.Args().Get(1))
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
