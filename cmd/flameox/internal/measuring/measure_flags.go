package measuring

import (
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/measure/session"
)

// measureFlags are those of every command that makes orders.
func measureFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "adapter", Usage: "harness: pyperf, google-benchmark or asv (default: adapter.name, else pyperf)"},
		&cli.StringFlag{Name: "suite", Usage: "`NAME` of the benchmarks: a module, an executable, a directory (default: adapter.suite)"},
		&cli.StringFlag{Name: "filter", Usage: "only the cases in whose text the expression `REGEX` is found"},
		&cli.StringFlag{Name: "quantity", Usage: "`NAMES` of what is measured, separated by commas (default: adapter.quantities, else wall-time)"},
		&cli.StringSliceFlag{Name: "e", Usage: "set a variable of the benchmarks' environment: `NAME=VALUE`; may be repeated"},
		&cli.IntFlag{Name: "repetitions", Usage: "how often each case is repeated (google-benchmark)"},
		&cli.IntFlag{Name: "processes", Usage: "how many processes measure each case (pyperf, asv)"},
		&cli.IntFlag{Name: "values", Usage: "how many values each process measures (pyperf, asv)"},
		&cli.IntFlag{Name: "loops", Usage: "a fixed number of iterations in a value, instead of -min-time"},
		&cli.IntFlag{Name: "warmups", Usage: "how many values each process leaves out before it measures (pyperf)"},
		&cli.Float64Flag{Name: "min-time", Usage: "seconds that a value lasts at least"},
		&cli.StringFlag{Name: "project", Usage: "`PROJECT` that the results belong to (default: project)"},
		&cli.BoolFlag{Name: "no-project", Usage: "an ad hoc run, whatever the project's file says"},
		&cli.StringFlag{Name: "run-key", Usage: "`KEY` of the run (default: the command and the time)"},
		&cli.StringFlag{Name: "out", Usage: "write results to `DIR` (default: RUN_KEY in paths.results)"},
		&cli.BoolFlag{Name: "no-build", Usage: "ask the target provider to describe its targets, and not to prepare them"},
		&cli.StringFlag{Name: "source-uri", Usage: "`URI` of the source that is measured"},
		&cli.Float64Flag{Name: "case-timeout", Usage: "seconds after which a case is ended (default: timeouts.case_s, else 60)"},
	}
}

// said reads them.
func said(c *cli.Context) session.Flags {
	number := func(name string) *int {
		if !c.IsSet(name) {
			return nil
		}
		n := c.Int(name)
		return &n
	}
	seconds := func(name string) *float64 {
		if !c.IsSet(name) {
			return nil
		}
		f := c.Float64(name)
		return &f
	}
	return session.Flags{
		Adapter: c.String("adapter"), Suite: c.String("suite"), Filter: c.String("filter"), Quantities: c.String("quantity"), Variables: c.StringSlice("e"),
		Precision: session.Precision{Repetitions: number("repetitions"), Processes: number("processes"), Values: number("values"), Loops: number("loops"),
			Warmups: number("warmups"), MinTime: seconds("min-time")},
		Project: c.String("project"), NoProject: c.Bool("no-project"), RunKey: c.String("run-key"), Out: c.String("out"), SourceURI: c.String("source-uri"),
		NoBuild: c.Bool("no-build"), CaseTimeout: seconds("case-timeout"),
	}
}
