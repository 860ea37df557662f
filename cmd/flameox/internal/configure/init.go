package configure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/configure/starter"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages/workspace"
)

// Init is the command init.
func Init() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a first flameox.hcl for what is in this folder",
		Description: "Looks for Go benchmarks, Python benchmark scripts, CMake and make targets and programs, in the folder and below, and writes a\n" +
			"commented configuration that measures them. It runs nothing. A flameox.hcl that exists is never touched.\n" +
			".flameox/, where results are kept, is added to .gitignore.\n\n" +
			"Examples:\n" +
			"  flameox init -print",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "print", Usage: "print the configuration and write nothing"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return flags.Usage(c, "init takes no arguments; choose the folder with -C")
			}
			if !c.Bool("print") {
				if err := notConfigured("."); err != nil {
					return err
				}
			}
			s, err := starter.Look(".")
			if err != nil {
				return err
			}
			if c.Bool("print") {
				_, err := c.App.Writer.Write(s.Config)
				return err
			}
			if err := create(configFile, s.Config); err != nil {
				return err
			}
			fmt.Fprintf(c.App.Writer, "Wrote %s: %s.\n", configFile, s.What)
			switch added, err := ignoreStore("."); {
			case err != nil:
				fmt.Fprintf(c.App.ErrWriter, "Warning: %s is not in .gitignore: %v; add it there.\n", storeEntry, err)
			case added:
				fmt.Fprintf(c.App.Writer, "Added %s to .gitignore.\n", storeEntry)
			}
			fmt.Fprintln(c.App.Writer, "Next: flameox plan says what would run, flameox apply runs it.")
			return nil
		},
	}
}

const (
	configFile = "flameox.hcl"
	storeEntry = workspace.StoreDir + "/"
)

// notConfigured is an error where the folder is an experiment already.
func notConfigured(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look at this folder: %w", reason(err))
	}
	for _, e := range entries {
		if name := e.Name(); name == configFile || strings.HasSuffix(name, "."+configFile) && name[0] != '.' {
			return errConfigured(name)
		}
	}
	return nil
}

func errConfigured(name string) error {
	return fmt.Errorf("%s exists and stays as it is: edit it, or move it away and run `flameox init` again; `flameox init -print` shows what would be written", name)
}

// create writes a file that must not exist. One that cannot be written completely is taken away again.
func create(name string, src []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return errConfigured(name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, reason(err))
	}
	_, err = f.Write(src)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
		return fmt.Errorf("write %s: %w", name, reason(err))
	}
	return nil
}

// maxIgnore bounds the .gitignore that is read.
const maxIgnore = 1 << 20

// ignoreStore adds the store to the folder's .gitignore, unless it is there. It says whether it did.
func ignoreStore(dir string) (bool, error) {
	name := filepath.Join(dir, ".gitignore")
	info, err := os.Lstat(name)
	var old []byte
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, reason(err)
	case !info.Mode().IsRegular():
		return false, errors.New("it is not a regular file")
	case info.Size() > maxIgnore:
		return false, errors.New("it is too large")
	default:
		if old, err = os.ReadFile(name); err != nil {
			return false, reason(err)
		}
	}
	for l := range strings.SplitSeq(string(old), "\n") {
		switch strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(l, " \r"), "/"), "/") {
		case workspace.StoreDir, "**/" + workspace.StoreDir:
			return false, nil
		}
	}
	end := "\n"
	if strings.Contains(string(old), "\r\n") {
		end = "\r\n"
	}
	text := storeEntry + end
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = end + text
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return false, reason(err)
	}
	_, err = f.WriteString(text)
	return err == nil, errors.Join(err, f.Close())
}
