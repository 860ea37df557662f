package storage

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence/export"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// Evidence is the command evidence.
func Evidence() *cli.Command {
	return &cli.Command{
		Name: "evidence", Usage: "write the tables of the evidence to plain files",
		Description: "`flameox query` asks them in place, and `flameox tables` says what is in them.\n\n" +
			"Examples:\n  flameox evidence export -o tables",
		Subcommands: []*cli.Command{evidenceExport()},
	}
}

func evidenceExport() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write tables to a directory or a file", ArgsUsage: "[TABLE ...]",
		Description: "One file a table, all tables where none is named, with columns.json, which says what every column means and in which unit; the metadata of Parquet files says it, too.\n" +
			"Where -o ends in .parquet, .csv, .jsonl or .arrow it is one file for one table. -where is a condition in SQL on the rows of each table. Rows of sensitive runs are left out.\n\n" +
			"Examples:\n  flameox evidence export -o notebook\n  flameox evidence export -o samples.csv measurements -where \"unit = 'ns/op'\"",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "the directory or file to write: `PATH`, which must not be there, or be an empty directory"},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT`: parquet, csv, jsonl or arrow; parquet where -o does not say it"},
			&cli.StringFlag{Name: "where", Usage: "only the rows for which `SQL` is true"},
			cmdline.JSONFlag, cmdline.SensitiveFlag,
		},
		Action: runEvidenceExport,
	}
}

func runEvidenceExport(c *cli.Context) error {
	path := c.String("o")
	if path == "" {
		return flags.Usage(c, "evidence export needs -o and the directory or file to write")
	}
	ext := export.Format(strings.TrimPrefix(filepath.Ext(path), "."))
	one := slices.Contains(export.Formats(), ext)
	format := export.Format(c.String("format"))
	switch {
	case format == "" && one:
		format = ext
	case format == "":
		format = export.Parquet
	case !slices.Contains(export.Formats(), format):
		return flags.Usage(c, "-format is %q; give parquet, csv, jsonl or arrow", format)
	case one && format != ext:
		return flags.Usage(c, "-format is %s, and -o ends in .%s", format, ext)
	}
	if one && c.NArg() != 1 {
		return flags.Usage(c, "%s is one file, which holds one table; name the table, or a directory", path)
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	o := export.Options{
		View: filepath.Join(w.Store.Dir, "evidence"), Format: format, Tables: c.Args().Slice(), Where: c.String("where"), Sensitive: c.Bool(cmdline.SensitiveFlag.Name),
	}
	if w.Store.StepBack("flameox evidence export") {
		o.Threads = 1
	}
	write := export.Dir
	if one {
		write = export.One
	}
	r, err := write(c.Context, o, path)
	if err != nil {
		return err
	}
	if r.Withheld > 0 {
		fmt.Fprintf(c.App.ErrWriter, "The rows of %s are left out; -%s includes them.\n", view.Plural(r.Withheld, "sensitive run", "sensitive runs"), cmdline.SensitiveFlag.Name)
	}
	if c.Bool("json") {
		return cmdline.JSON(c, r)
	}
	for _, f := range r.Files {
		fmt.Fprintf(c.App.Writer, "%s  %s\n", f.Path, view.Bytes(f.Bytes))
	}
	return nil
}
