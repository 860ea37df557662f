package measuring

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/store"
)

// misused is a mistake in the arguments.
func misused(c *cli.Context, format string, args ...any) error {
	return refused(flags.Usage(c, format, args...))
}

// read opens what the project's store holds, and refuses where there is nothing.
func read(c *cli.Context) (*store.Snapshot, *config.Config, error) {
	p, err := project(c)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(p.StorePath(os.Getenv))
	if err != nil {
		return nil, nil, err
	}
	snap, err := s.Read()
	if err != nil {
		return nil, nil, err
	}
	if snap.Rows() == 0 {
		snap.Close()
		return nil, nil, fmt.Errorf("there are no results in %s; `flameox bench` and `flameox ingest` bring some", s.Path())
	}
	return snap, p, nil
}

// deliver takes documents into a store and publishes them. It prints what became of them, rejections on errs.
func deliver(ctx context.Context, s *store.Store, inputs []store.Input, out, errs io.Writer) (store.Report, error) {
	report, err := s.Ingest(ctx, inputs)
	if err != nil {
		return report, err
	}
	if err := s.Publish(ctx); err != nil {
		return report, err
	}
	for _, r := range report.Rejected {
		fmt.Fprintf(errs, "%s: %s: %s\n", r.Name, r.Code, r.Text)
	}
	fmt.Fprintln(out, report)
	return report, nil
}

// Ingest is the command ingest.
func Ingest() *cli.Command {
	return &cli.Command{
		Name: "ingest", Usage: "take result documents into the project's store", ArgsUsage: "FILE ...",
		Description: "Of a folder its *.json are taken, and nothing below it. Each document is checked for itself: one that is rejected is named with its code, and the others are stored. What is\n" +
			"there already is a duplicate, so that ingesting a folder again changes nothing. The store is one Parquet file, store.parquet beside benchx.conf.json or in this folder, or where\n" +
			"paths.store or $BENCHX_HOME says. Exit code 1 where a document was rejected, 2 where nothing could be done.\n\n" +
			"Examples:\n  flameox ingest results/bench-20260102T030405Z\n  flameox ingest result.json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print what became of the documents as JSON"}},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return misused(c, "ingest takes files and folders of results")
			}
			var inputs []store.Input
			for _, path := range c.Args().Slice() {
				list, err := store.Sweep(path)
				if err != nil {
					return refused(err)
				}
				inputs = append(inputs, list...)
			}
			p, err := project(c)
			if err != nil {
				return err
			}
			s, err := store.Open(p.StorePath(os.Getenv))
			if err != nil {
				return refused(err)
			}
			out := c.App.Writer
			if c.Bool("json") {
				out = io.Discard
			}
			report, err := deliver(c.Context, s, inputs, out, c.App.ErrWriter)
			if err != nil {
				return refused(err)
			}
			if c.Bool("json") {
				if err := cmdline.JSON(c, ingested(s, report)); err != nil {
					return refused(err)
				}
			}
			if len(report.Rejected) > 0 {
				return cmdline.Exit(exitRejected)
			}
			return nil
		},
	}
}

// ingestDocument is what ingest -json prints.
type ingestDocument struct {
	Store     string     `json:"store"`
	Ingested  int        `json:"ingested"`
	Duplicate int        `json:"duplicate"`
	Orders    int        `json:"work_orders"`
	Rejected  []rejected `json:"rejected"`
}

type rejected struct {
	Document string `json:"document"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

func ingested(s *store.Store, r store.Report) ingestDocument {
	out := ingestDocument{s.Path(), r.Ingested, r.Duplicate, r.Orders, []rejected{}}
	for _, x := range r.Rejected {
		out.Rejected = append(out.Rejected, rejected{x.Name, string(x.Code), x.Text})
	}
	return out
}
