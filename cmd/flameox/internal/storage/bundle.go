package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/bundle"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/host"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages/workspace"
)

// Bundle is the command bundle.
func Bundle() *cli.Command {
	return &cli.Command{
		Name: "bundle", Usage: "carry runs to another store in one file",
		Description: "A bundle holds records, artifacts, and which extraction is the evidence of which capture. Where it is imported, plan knows the results as it does here: what is\n" +
			"pure everywhere, measurements on machines of the same class.\n\n" +
			"Examples:\n  flameox bundle export all.flameox -all\n  flameox bundle import all.flameox",
		Subcommands: []*cli.Command{bundleExport(), bundleImport()},
	}
}

func bundleExport() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write runs to a file", ArgsUsage: "FILE RUN|ADDRESS ...",
		Description: "An address means the runs that stand for it now. What they were made from and what was extracted from them comes along. Runs that are sensitive, or that derive from one\n" +
			"that is, and runs whose artifacts are gone are left out and named.\n\n" +
			"Examples:\n  flameox bundle export evidence.flameox -all\n  flameox bundle export sort.flameox 'capture.gobench.*'",
		Flags: withVars(&cli.BoolFlag{Name: "all", Usage: "every run of the store"}, cmdline.JSONFlag, cmdline.SensitiveFlag),
		Action: func(c *cli.Context) error {
			if !c.Args().Present() || c.Bool("all") != (c.NArg() == 1) {
				return flags.Usage(c, "bundle export takes a file, and runs or addresses or -all")
			}
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			runs := w.Store.Cache.All()
			if !c.Bool("all") {
				if runs, err = chosen(c.Context, w, c.Args().Tail()); err != nil {
					return err
				}
				runs = bundle.With(w.Store.Cache, runs)
			}
			if len(runs) == 0 {
				return errors.New("there are no runs to export; `flameox apply` makes some")
			}
			return writeBundle(c, w, c.Args().First(), runs)
		},
	}
}

// writeBundle writes beside the place and renames: a file of that name is always a whole bundle.
func writeBundle(c *cli.Context, w *workspace.Workspace, path string, runs []*cache.Summary) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; name a new file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flameox-bundle-")
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	m, err := bundle.Write(c.Context, w.Store.CAS, w.Store.Cache, runs, bundle.WriteOptions{
		Sensitive: c.Bool(cmdline.SensitiveFlag.Name), Host: host.Name(), Version: cmdline.Version(), Now: time.Now(),
	}, f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		// A link refuses to replace what another process put there meanwhile.
		if err = os.Link(f.Name(), path); err == nil {
			os.Remove(f.Name())
		} else if !errors.Is(err, fs.ErrExist) {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		return fmt.Errorf("write the bundle %s: %w", path, err)
	}
	w.Save()
	if c.Bool("json") {
		return cmdline.JSON(c, m)
	}
	for _, l := range m.LeftOut {
		fmt.Fprintf(c.App.Writer, "left out %s  %s: %s\n", l.Run, l.Address, l.Why)
	}
	fmt.Fprintf(c.App.Writer, "%s and %s (%s) in %s.\n", view.Plural(m.Runs, "run", "runs"), view.Plural(len(m.Blobs), "artifact", "artifacts"), view.Bytes(m.Bytes()), path)
	return nil
}

func bundleImport() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take over the runs of a bundle", ArgsUsage: "FILE",
		Description: "All or nothing: every digest and every key is checked before anything can be seen. A run that is here already is passed over, and one that is here with other content\n" +
			"ends the import. Importing twice changes nothing. `flameox show -json RUN` says where a run came from. Import bundles of people you trust: their records can claim whatever\n" +
			"measurements they like.\n\n" +
			"Examples:\n  flameox bundle export mine.flameox -all\n  flameox bundle import mine.flameox",
		Flags: []cli.Flag{cmdline.JSONFlag},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "bundle import takes one file")
			}
			path := c.Args().First()
			w, err := cmdline.Open(c)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				return fmt.Errorf("read the bundle: %w", err)
			}
			defer f.Close()
			if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
				return fmt.Errorf("read the bundle: %s is not a regular file", path)
			}
			release, err := alone(c, w, "flameox bundle import")
			if err != nil {
				return err
			}
			defer release()
			out, err := bundle.Read(c.Context, w.Store.CAS, w.Store.Cache, f, bundle.ReadOptions{Now: time.Now(), Room: room(w.Store.Dir)})
			if err != nil {
				return fmt.Errorf("import %s: %w", path, err)
			}
			w.Save()
			if err := publish(c, w, "flameox bundle import"); err != nil {
				return err
			}
			if c.Bool("json") {
				return cmdline.JSON(c, out)
			}
			printImported(c, out)
			return nil
		},
	}
}

// reserve is the space that an import leaves free, for what other programs write.
const reserve = 256 << 20

// room is the space that there is for an import.
func room(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 1 << 40 // the disk will say so
	}
	return max(int64(st.Bavail)*int64(st.Bsize)-reserve, 0)
}

func printImported(c *cli.Context, r *bundle.Imported) {
	from := ""
	if r.Host != "" {
		from = " from " + r.Host
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(c.App.Writer, "not in it %s  %s: %s\n", l.Run, l.Address, l.Why)
	}
	fmt.Fprintf(c.App.Writer, "%s%s, %s here already; %s (%s).\n", view.Plural(len(r.Runs), "new run", "new runs"), from,
		view.Plural(r.Known, "was", "were"), view.Plural(r.Blobs, "artifact", "artifacts"), view.Bytes(r.Bytes))
}
