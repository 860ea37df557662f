package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

func queryCommand() *cli.Command {
	return &cli.Command{
		Name: "query", Usage: "ask the published evidence in SQL", ArgsUsage: "SQL",
		Description: "Every table is a view; <table>_runs has the columns of the run beside each row, with the prefix run_. `latest` is the newest valid run\n" +
			"of every address, `hotspots` its heaviest frames. `flameox tables` lists the tables.\n\n" +
			"Examples:\n" +
			"  flameox query \"SELECT name, median(value_int) FROM measurements WHERE unit = 'ns/op' GROUP BY ALL\"\n" +
			"  flameox query \"SELECT function, self_share FROM hotspots WHERE metric = 'cpu' LIMIT 5\"\n" +
			"  flameox query -format csv 'SELECT * FROM latest' > latest.csv",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`FORMAT`: table, csv, json, arrow or parquet"},
			cmdline.JSONFlag, cmdline.SensitiveFlag,
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
			w, err := cmdline.OpenWorkspace(c)
			if err != nil {
				return err
			}
			threads := 0 // as many as there are CPUs
			if w.Store.StepBack("flameox query") {
				threads = 1
			}
			dir := filepath.Join(w.Store.Dir, "evidence")
			db, err := query.Open(dir, query.Options{Threads: threads, Sensitive: c.Bool(cmdline.SensitiveFlag.Name)})
			if err != nil {
				return err
			}
			defer db.Close()
			if n := db.Withheld(); n > 0 {
				fmt.Fprintf(c.App.ErrWriter, "The rows of %s are left out; -%s includes them.\n", view.Plural(n, "sensitive run", "sensitive runs"), cmdline.SensitiveFlag.Name)
			}
			if g, err := publish.Pin(dir); err == nil {
				for _, line := range g.Warnings() {
					fmt.Fprintln(c.App.ErrWriter, "Warning: "+view.Lines(line))
				}
			}
			return db.Query(c.Context, c.Args().First(), f, c.App.Writer)
		},
	}
}

func tablesCommand() *cli.Command {
	return &cli.Command{
		Name: "tables", Usage: "list the tables of the evidence, or the columns of one", ArgsUsage: "[TABLE]",
		Description: "Every column has a type, a unit where it is a quantity, and one meaning.\n\n" +
			"Examples:\n" +
			"  flameox tables\n" +
			"  flameox tables measurements",
		Flags: []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			switch c.NArg() {
			case 0:
				return printTables(c, evidence.Tables())
			case 1:
				t, ok := evidence.Lookup(c.Args().First())
				if i := slices.IndexFunc(query.Views(), func(v query.View) bool { return v.Name == c.Args().First() }); i >= 0 {
					v := query.Views()[i]
					return fmt.Errorf("%s is a view over the tables (%s); `flameox query \"DESCRIBE %s\"` lists its columns", v.Name, v.Doc, v.Name)
				}
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

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Description: "Examples:\n" +
			"  flameox version\n" +
			"  flameox version -json",
		Flags: []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.Bool("json") {
				return cmdline.JSON(c, versionDocument{cmdline.Version()})
			}
			fmt.Fprintln(c.App.Writer, "flameox "+cmdline.Version())
			return nil
		},
	}
}
