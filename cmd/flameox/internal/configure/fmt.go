package configure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/lang"
)

// Fmt is the command fmt.
func Fmt() *cli.Command {
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
		if main := filepath.Join(dir, "flameox.hcl"); cmdline.IsFile(main) {
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
		return cmdline.Exit(cmdline.ExitFailure)
	}
	return nil
}
