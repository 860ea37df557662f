package configure

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/lang"
)

// Fmt is the command fmt.
func Fmt() *cli.Command {
	return &cli.Command{
		Name: "fmt", Usage: "bring configuration files into the usual form", ArgsUsage: "[FILE|DIR ... | -]",
		Description: "Rewrites the files and prints the names of those that changed. A DIR stands for its flameox.hcl and *.flameox.hcl, as does\n" +
			"the experiment where nothing is named; - reads standard input and prints the result.\n" +
			"-check and -diff write no file.\n\n" +
			"Examples:\n" +
			"  flameox fmt\n" +
			"  flameox fmt -check .\n" +
			"  flameox fmt -diff flameox.hcl\n" +
			"  flameox fmt - < flameox.hcl",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit 1 and list what would change"},
			&cli.BoolFlag{Name: "diff", Usage: "write nothing; print what would change as a unified diff"},
		},
		Action: runFmt,
	}
}

func runFmt(c *cli.Context) error {
	args := c.Args().Slice()
	if slices.Contains(args, "-") {
		if len(args) > 1 {
			return flags.Usage(c, "- is standard input and stands alone")
		}
		return fmtInput(c)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	var files []string
	seen := map[string]bool{}
	for _, a := range args {
		more, err := filesOf(a)
		if err != nil {
			return err
		}
		for _, f := range more {
			full, err := filepath.Abs(f)
			if err != nil {
				return err
			}
			if !seen[full] {
				seen[full] = true
				files = append(files, f)
			}
		}
	}
	f := &formatter{c: c, sources: map[string]*hcl.File{}}
	for _, name := range files {
		if err := f.file(name); err != nil {
			return err
		}
	}
	return f.end()
}

// filesOf are the configuration files that an argument names.
func filesOf(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", arg, reason(err))
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	files, err := filepath.Glob(filepath.Join(escaped(arg), "*.flameox.hcl"))
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f)[0] == '.' || !cmdline.IsFile(f) }) // as the language reads them
	if main := filepath.Join(arg, "flameox.hcl"); cmdline.IsFile(main) {
		files = append([]string{main}, files...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no flameox.hcl; `flameox init` writes one", arg)
	}
	return files, nil
}

// escaped keeps the characters of a folder's name from being a pattern.
func escaped(dir string) string {
	var out []rune
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// reason is an error of the system without the path, which the message has.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// formatter formats one file after the other, and goes on after one that cannot be read as HCL.
type formatter struct {
	c       *cli.Context
	changed int
	diags   hcl.Diagnostics
	sources map[string]*hcl.File
}

// source formats src. The result is nil where it has errors, which are kept for the end.
func (f *formatter) source(name string, src []byte) []byte {
	out, diags := lang.Fmt(src)
	if !diags.HasErrors() {
		return out
	}
	for _, d := range diags { // the language calls what it formats "input"
		e := *d
		if d.Subject != nil {
			r := *d.Subject
			r.Filename = name
			e.Subject = &r
		}
		f.diags = append(f.diags, &e)
	}
	f.sources[name] = &hcl.File{Bytes: src}
	return nil
}

func (f *formatter) file(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("format %s: %w", name, reason(err))
	}
	out := f.source(name, src)
	if out == nil || string(out) == string(src) {
		return nil
	}
	f.changed++
	switch {
	case f.c.Bool("diff"):
		_, err = f.c.App.Writer.Write(diff.Diff(name, src, name+" (formatted)", out))
		return err
	case !f.c.Bool("check"):
		if err := rewrite(name, out); err != nil {
			return fmt.Errorf("write %s: %w", name, reason(err))
		}
	}
	_, err = fmt.Fprintln(f.c.App.Writer, name)
	return err
}

// rewrite replaces a file at once, so that nobody sees half of it. A link stays one, and the mode stays.
func rewrite(name string, src []byte) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(real), ".flameox-fmt-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(src)
	if err == nil {
		err = tmp.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), real)
}

// fmtInput formats standard input to standard output. With -check it only says by its exit code whether something would change.
func fmtInput(c *cli.Context) error {
	const name = "<standard input>"
	src, err := io.ReadAll(c.App.Reader)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	f := &formatter{c: c, sources: map[string]*hcl.File{}}
	out := f.source(name, src)
	if out != nil {
		same := string(out) == string(src)
		if !same {
			f.changed++
		}
		switch {
		case c.Bool("diff"):
			out = diff.Diff(name, src, name+" (formatted)", out)
		case c.Bool("check"):
			out = nil
		}
		if _, err := c.App.Writer.Write(out); err != nil {
			return err
		}
	}
	return f.end()
}

func (f *formatter) end() error {
	if len(f.diags) > 0 {
		cmdline.Diagnostics(f.c, f.diags, f.sources)
		return cmdline.Exit(cmdline.ExitFailure)
	}
	if f.c.Bool("check") && f.changed > 0 {
		return cmdline.Exit(cmdline.ExitFailure)
	}
	return nil
}
