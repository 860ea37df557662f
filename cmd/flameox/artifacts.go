package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

func artifactsCommand() *cli.Command {
	return &cli.Command{
		Name: "artifacts", Usage: "list what a run left, or write it to files", ArgsUsage: "RUN|ADDRESS [NAME ...]",
		Description: "The artifacts are as the producer wrote them, for its own tools. Without -o they are listed. -o DIR writes them below a folder, all of them or\n" +
			"those that NAME selects (* and ? are allowed); nothing that is there is overwritten. -o - writes one artifact to standard output.\n\n" +
			"Examples:\n\n  flameox artifacts 'capture.pprof.sort:impl=merge,n=1000'\n  flameox artifacts 'capture.pprof.sort:impl=merge,n=1000' cpu.pprof -o - > cpu.pprof\n  go tool pprof -top cpu.pprof",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `DIR`, or - for standard output"},
			cmdline.SensitiveFlag,
		},
		Action: runArtifacts,
	}
}

func runArtifacts(c *cli.Context) error {
	if !c.Args().Present() {
		return flags.Usage(c, "artifacts takes a run or an address, and names of artifacts")
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	rec, err := cmdline.FindRun(c, w, c.Args().First())
	if err != nil {
		return err
	}
	outputs, err := chosen(rec, c.Args().Tail())
	if err != nil {
		return err
	}
	to := c.String("o")
	if to == "" {
		return listArtifacts(c, w.Store, outputs)
	}
	if err := cmdline.MayShow(c, rec); err != nil {
		return err
	}
	if to != "-" {
		return writeArtifacts(c, w.Store, outputs, to)
	}
	if len(outputs) != 1 || outputs[0].Tree {
		return flags.Usage(c, "-o - writes one artifact that is a file; run %s has %d that the names select", rec.Run, len(outputs))
	}
	return copyArtifact(w.Store, outputs[0], c.App.Writer)
}

// chosen are the artifacts that the names select; all for no names.
func chosen(rec *cache.Record, names []string) (out []cache.Output, err error) {
	if len(names) == 0 {
		return rec.Outputs, nil
	}
	used := make([]bool, len(names))
	for _, o := range rec.Outputs {
		hit := false
		for i, pattern := range names {
			m, err := filepath.Match(pattern, o.Name)
			if err != nil {
				return nil, fmt.Errorf("the name %q is no pattern: %w", pattern, err)
			}
			if m || pattern == o.Name {
				hit, used[i] = true, true
			}
		}
		if hit {
			out = append(out, o)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		var have []string
		for _, o := range rec.Outputs {
			have = append(have, o.Name)
		}
		return nil, fmt.Errorf("run %s left nothing called %s; it left %s", rec.Run, names[i], strings.Join(have, ", "))
	}
	return out, nil
}

func listArtifacts(c *cli.Context, s *graph.Store, outputs []cache.Output) error {
	t := view.Table{
		Columns: []view.Column{{Title: "artifact", Path: true}, {Title: "role"}, {Title: "bytes", Right: true}, {Title: "sha256", Keep: true}, {Title: ""}},
		Empty:   "The run left nothing.",
	}
	for _, o := range outputs {
		mark := ""
		switch {
		case s.Lost(o):
			mark = "lost"
		case o.Sensitivity == cache.Sensitive:
			mark = "sensitive"
		case o.Tree:
			mark = "tree"
		}
		t.Rows = append(t.Rows, []string{o.Name, o.Role, strconv.FormatInt(o.Size, 10), o.Digest.String(), mark})
	}
	return t.Write(c.App.Writer, cmdline.View(c))
}

func writeArtifacts(c *cli.Context, s *graph.Store, outputs []cache.Output, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write artifacts: %w", err)
	}
	root, err := os.OpenRoot(dir) // a name from a program's output must not lead out of it
	if err != nil {
		return fmt.Errorf("write artifacts: %w", err)
	}
	defer root.Close()
	for _, o := range outputs {
		if o.Tree {
			files, err := s.CAS.ReadTree(o.Digest)
			if err != nil {
				return fmt.Errorf("artifact %s is lost: %w; `flameox apply` makes it again", o.Name, err)
			}
			for _, f := range files {
				mode := os.FileMode(0o666)
				if f.Exec {
					mode = 0o777
				}
				if err := writeArtifact(c, s, root, cache.Output{Name: filepath.Join(o.Name, f.Path), Digest: f.Digest}, mode); err != nil {
					return err
				}
			}
			continue
		}
		if err := writeArtifact(c, s, root, o, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func writeArtifact(c *cli.Context, s *graph.Store, root *os.Root, o cache.Output, mode os.FileMode) (err error) {
	if err := root.MkdirAll(filepath.Dir(o.Name), 0o777); err != nil {
		return fmt.Errorf("write artifact %s: %w", o.Name, err)
	}
	f, err := root.OpenFile(o.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already and is not overwritten; give another folder", filepath.Join(root.Name(), o.Name))
	}
	if err != nil {
		return fmt.Errorf("write artifact %s: %w", o.Name, err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			root.Remove(o.Name)
		}
	}()
	if err := copyArtifact(s, o, f); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer, filepath.Join(root.Name(), o.Name))
	return nil
}

// copyArtifact writes the bytes of an artifact.
func copyArtifact(s *graph.Store, o cache.Output, w io.Writer) error {
	r, err := s.CAS.Open(o.Digest)
	if err != nil {
		return fmt.Errorf("artifact %s is lost: %w; `flameox apply` makes it again", o.Name, err)
	}
	defer r.Close()
	if _, err := io.Copy(w, r); err != nil {
		return fmt.Errorf("write artifact %s: %w", o.Name, err)
	}
	return nil
}
