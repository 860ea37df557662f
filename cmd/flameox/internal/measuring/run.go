package measuring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/runner"
)

// Run is the command run.
func Run() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "measure what a work order asks for", ArgsUsage: "ORDER.json",
		Description: "One order is one side of one round. It is applied exactly, or refused before anything runs: nothing is built, and nothing that the order says is left out. Every case runs in a process of its own and ends as one result for each " +
			"quantity, whatever becomes of it. The results are files, byte for byte what a store takes in, and are delivered to the project's store.\n\n" +
			"The same order run again gives the same keys with other numbers, which a store refuses as a conflict: a new attempt needs a new run key or slot. The files of both are kept.\n\n" +
			"Exit codes: 0 measured, 1 the store rejected results, 2 refused.\n\n" +
			"Examples:\n  flameox run order.json\n  flameox run order.json -out results/today -no-ingest",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "leave the results in `DIR`; below the project's results, in a folder called as the run key, where it is not given"},
			&cli.BoolFlag{Name: "no-ingest", Usage: "leave the results as files only"},
			&cli.BoolFlag{Name: "allow-collectors", Usage: "run the commands that the order names under collectors"},
			&cli.BoolFlag{Name: "json", Usage: "print the results, one document a line"},
		},
		Action: runOrder,
	}
}

func runOrder(c *cli.Context) (err error) {
	if c.NArg() != 1 {
		return refusedf("run: name one work order: flameox run ORDER.json")
	}
	order, err := readOrder(c.Args().First())
	if err != nil {
		return refused(err)
	}
	p, err := project(c)
	if err != nil {
		return err
	}
	key, _ := order["run_key"].(string)
	out := c.String("out")
	if out == "" {
		out = filepath.Join(p.ResultsPath(), strings.ReplaceAll(key, "/", "_"))
	}
	if out, err = filepath.Abs(out); err != nil {
		return refused(err)
	}
	ctx, stop := interruptible(c)
	defer stop()
	h, err := newHost(c, p, !c.Bool("no-ingest"))
	if err != nil {
		return refused(err)
	}
	defer func() {
		if e := h.close(); err == nil {
			err = e
		}
	}()
	release, err := h.Alone(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer release()
	ran, err := runner.Run(ctx, order, out, runner.Options{
		Broker: h.Broker, Environ: h.Environ, AllowCollectors: c.Bool("allow-collectors"), Root: p.Root, Exclude: append(h.Exclude, p.ResultsPath(), out), Version: h.Version,
		Progress: func(d runner.Done) { h.Done(nil, d) },
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted: the case that ran was ended, and left no result")
	}
	// Also where it was stopped: what its finished cases left is as good as ever.
	if ran != nil && len(ran.Files) > 0 {
		if h.Deliver != nil {
			err = errors.Join(err, h.Deliver(c.Context, ran))
		}
		err = errors.Join(err, showRun(c, ran))
		fmt.Fprintf(c.App.ErrWriter, "%d result(s) in %s\n", len(ran.Files), out)
		if h.Deliver != nil {
			fmt.Fprintf(c.App.ErrWriter, "%s\n", h.report)
		}
	}
	return ended(ctx, err)
}

func readOrder(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the work order: %w", err)
	}
	order, err := document.Read(document.OrderKind, text)
	if err != nil {
		return nil, fmt.Errorf("read the work order %s: %w", path, err)
	}
	return order, nil
}

func showRun(c *cli.Context, ran *runner.Ran) error {
	if !c.Bool("json") {
		return benchTable(c.App.Writer, cmdline.View(c), ran.Results, nil, nil)
	}
	for _, d := range ran.Results {
		text, err := ijson.Canonical(d)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c.App.Writer, string(text)+"\n"); err != nil {
			return err
		}
	}
	return nil
}
