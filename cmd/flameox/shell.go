package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/stages/program"
)

func shellCommand() *cli.Command {
	return &cli.Command{
		Name: "shell", Usage: "open a shell where a run ran, with its environment", ArgsUsage: "RUN|ADDRESS",
		Description: "The shell has the run's working directory and variables, and a new private folder: out/, home/, tmp/\n" +
			"and command.sh, which runs what the run ran. -print prints the command as it ran, with folders that are gone.\n\n" +
			"Examples:\n" +
			"  flameox shell build.bench\n" +
			"  flameox shell -print build.bench",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "print", Usage: "print the command instead of opening a shell"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return flags.Usage(c, "shell takes one run or address")
			}
			w, err := cmdline.OpenWorkspace(c) // a person works in the shell: it does not step back
			if err != nil {
				return err
			}
			rec, err := cmdline.FindRun(c, w, c.Args().First())
			if err != nil {
				return err
			}
			if len(rec.Argv) == 0 {
				return fmt.Errorf("run %s started no process, so there is nothing to run again", rec.Run)
			}
			if program.Beside(rec) {
				fmt.Fprintln(c.App.ErrWriter, "A server stood beside the run. It is not started here: its address in the command is the one that it had then.")
			}
			if c.Bool("print") {
				_, err := fmt.Fprint(c.App.Writer, program.Script(rec))
				return err
			}
			if err := program.Restore(w.Store, rec); err != nil {
				return err
			}
			return openShell(w.Store, rec)
		},
	}
}

// openShell replaces this process by an interactive shell. The run's own folders are gone, so what refers to them is moved to new ones.
func openShell(s *graph.Store, rec *cache.Record) error {
	dir, err := os.MkdirTemp("", "flameox-shell-")
	if err != nil {
		return fmt.Errorf("make folders for the shell: %w", err)
	}
	for _, d := range []string{"out", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return fmt.Errorf("make folders for the shell: %w", err)
		}
	}
	moved := *rec
	move := func(list []string) (out []string) {
		for _, x := range list {
			out = append(out, strings.ReplaceAll(x, filepath.Join(s.Dir, "tmp", rec.Run), dir))
		}
		return out
	}
	moved.Argv, moved.Env = move(rec.Argv), move(rec.Env)
	script := filepath.Join(dir, "command.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+program.Script(&moved)), 0o755); err != nil {
		return fmt.Errorf("write the command for the shell: %w", err)
	}
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "/bin/sh"
	}
	path, err := exec.LookPath(shell)
	if err != nil {
		return fmt.Errorf("open a shell: %w", err)
	}
	if err := os.Chdir(rec.Dir); err != nil {
		return fmt.Errorf("open a shell where the run ran: %w", err)
	}
	fmt.Fprintf(os.Stderr, "In %s with the run's environment. %s runs the command again; its output goes below %s.\n", rec.Dir, script, filepath.Join(dir, "out"))
	env := append(moved.Env, "FLAMEOX_SHELL="+dir, "TERM="+os.Getenv("TERM"))
	return syscall.Exec(path, []string{shell}, env)
}
