package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/lang"
)

func queryCommand() *cli.Command {
	return &cli.Command{
		Name: "query", Usage: "ask the published evidence in SQL", ArgsUsage: "SQL",
		Description: "Every table is a view; <table>_runs has the columns of the run beside each row, with the prefix run_. `latest` is the newest valid run\n" +
			"of every address, `hotspots` its heaviest frames. `flameox tables` lists the tables.\n\n" +
			"  flameox query \"SELECT run_address, median(value_int) FROM measurements_runs WHERE unit = 'ns/op' GROUP BY ALL\"",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT`: table, csv, json, arrow or parquet"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "query takes one statement; quote it")
			}
			format := c.String("format")
			if c.Bool("json") {
				format = "json"
			}
			f, err := query.ParseFormat(format)
			if err != nil {
				return flags.Usage(c, "-format: %v", err)
			}
			w, err := openWorkspace(c)
			if err != nil {
				return err
			}
			threads := 0 // as many as there are CPUs
			if w.Store.StepBack("flameox query") {
				threads = 1
			}
			db, err := query.Open(filepath.Join(w.Store.Dir, "evidence"), query.Options{Threads: threads})
			if err != nil {
				return err
			}
			defer db.Close()
			return db.Query(c.Context, c.Args().First(), f, c.App.Writer)
		},
	}
}

func tablesCommand() *cli.Command {
	return &cli.Command{
		Name: "tables", Usage: "list the tables of the evidence, or the columns of one", ArgsUsage: "[TABLE]",
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			switch c.NArg() {
			case 0:
				return printTables(c, evidence.Tables())
			case 1:
				t, ok := evidence.Lookup(c.Args().First())
				if !ok {
					return unknownTable(c.Args().First())
				}
				return printTable(c, t)
			}
			return flags.Usage(c, "tables takes at most one name")
		},
	}
}

func unknownTable(name string) error {
	var known []string
	for _, t := range evidence.Tables() {
		known = append(known, t.Name)
	}
	return fmt.Errorf("there is no table %s; the tables are %s", name, strings.Join(known, ", "))
}

func validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check the configuration without looking at results",
		Flags: append([]cli.Flag{jsonFlag}, varFlags...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "validate takes no arguments; choose the folder with -C")
			}
			w, err := open(c)
			if err != nil {
				return err
			}
			loaded, diags := w.Load()
			if err := printValidation(c, loaded, w.Config.Files, diags); err != nil {
				return err
			}
			if diags.HasErrors() {
				return fail(exitError1)
			}
			return nil
		},
	}
}

func fmtCommand() *cli.Command {
	return &cli.Command{
		Name: "fmt", Usage: "bring configuration files into the usual form", ArgsUsage: "[FILE ...]",
		Description: "Without files: flameox.hcl and *.flameox.hcl of the experiment.",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 and list what would change"}},
		Action:      runFmt,
	}
}

func runFmt(c *cli.Context) error {
	files := c.Args().Slice()
	if len(files) == 0 {
		const dir = "."
		more, err := filepath.Glob(filepath.Join(dir, "*.flameox.hcl"))
		if err != nil {
			return err
		}
		if main := filepath.Join(dir, "flameox.hcl"); fileExists(main) {
			files = append(files, main)
		}
		files = append(files, more...)
		if len(files) == 0 {
			return fmt.Errorf("%s has no flameox.hcl", dir)
		}
	}
	changed := 0
	var bad error
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		out, diags := lang.Fmt(src)
		if diags.HasErrors() {
			bad = errors.Join(bad, fmt.Errorf("%s: %s", f, diags[0].Error()))
			continue
		}
		if string(out) == string(src) {
			continue
		}
		changed++
		fmt.Fprintln(c.App.Writer, f)
		if !c.Bool("check") {
			if f, err = filepath.EvalSymlinks(f); err != nil { // a link stays one
				return err
			}
			info, err := os.Stat(f)
			if err != nil {
				return err
			}
			tmp := f + ".tmp"
			if err := os.WriteFile(tmp, out, info.Mode().Perm()); err != nil {
				return fmt.Errorf("write %s: %w", f, err)
			}
			if err := os.Rename(tmp, f); err != nil {
				return fmt.Errorf("write %s: %w", f, err)
			}
		}
	}
	if bad != nil {
		return bad
	}
	if c.Bool("check") && changed > 0 {
		return fail(exitError1)
	}
	return nil
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func fsckCommand() *cli.Command {
	return &cli.Command{
		Name: "fsck", Usage: "check the store",
		Description: "Looks for damaged records and missing or damaged artifacts, and says which runs lose evidence. -full reads every artifact again.\n" +
			"A damaged file is moved to quarantine/, so that the next apply makes it again. Exits 3 where evidence is lost.",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "full", Usage: "hash every artifact"}, jsonFlag},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "fsck takes no arguments")
			}
			w, err := open(c)
			if err != nil {
				return err
			}
			report, err := fsck.Fsck(w.Store.CAS, w.Store.Cache, c.Bool("full"))
			if err != nil {
				return err
			}
			w.Save()
			return printFsck(c, report)
		},
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if c.Bool("json") {
				return printJSON(c, versionDocument{versionText()})
			}
			fmt.Fprintln(c.App.Writer, "flameox "+versionText())
			return nil
		},
	}
}
