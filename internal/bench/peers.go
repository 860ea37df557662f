package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is another tool that can say of the same graph that nothing is left to do: as many steps, each with an input file of its own and an output.
type peer struct {
	name   string
	rounds int // how often it is run; 0 where it is fast enough for as many as anything else
	// find is the path of the program, or a skip that says how to install it.
	find func(b *bench) (string, error)
	// prepare makes the graph of n steps in w, brings it up to date, and returns the command that finds nothing to do.
	prepare func(w *workspace, path string, n int) (process, error)
}

// noOp is the peer with nothing to do in w. What it needs is made once for a folder.
func (b *bench) noOp(p peer, w *workspace, n int) (side, error) {
	path, err := p.find(b)
	if err != nil {
		return nil, err
	}
	run, err := p.prepare(w, path, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return b.measured(run), nil
}

// onPath finds a program, or says how to get it.
func onPath(install string, names ...string) func(*bench) (string, error) {
	return func(*bench) (string, error) {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path, nil
			}
		}
		return "", skip{strings.Join(names, " or ") + " is not on PATH (" + install + ")"}
	}
}

// once runs prepare in w unless an earlier run of this program did.
func (w *workspace) once(name string, prepare func() error) error {
	done := w.ready(name)
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := prepare(); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// touched forgets that peers are ready, after an input has changed.
func (w *workspace) touched() error {
	for _, name := range []string{"ninja", "dvc", "snakemake", "tofu"} {
		if err := os.Remove(w.ready(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (w *workspace) ready(name string) string { return filepath.Join(w.dir, "."+name+"-is-ready") }

// copies makes in folder what the steps of a peer would make, for tools that can be told that it is up to date.
func (w *workspace) copies(folder string, n int) error {
	for i := range n {
		text, err := os.ReadFile(filepath.Join(w.dir, step(i), "0"))
		if err == nil {
			err = w.write(filepath.Join(folder, fmt.Sprintf("%05d", i)), string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step is the folder of a step's input.
func step(i int) string { return fmt.Sprintf("in/%05d", i) }

// ninja says "no work to do" from its log and the stamps of files.
var ninja = peer{
	name: "ninja", find: onPath("Debian: apt-get install ninja-build", "ninja"),
	prepare: func(w *workspace, path string, n int) (process, error) {
		err := w.once("ninja", func() error {
			var s strings.Builder
			s.WriteString("rule copy\n  command = cp $in $out\n")
			for i := range n {
				fmt.Fprintf(&s, "build ninja-out/%05d: copy %s/0\n", i, step(i))
			}
			if err := w.write("build.ninja", s.String()); err != nil {
				return err
			}
			_, err := process{dir: w.dir, argv: []string{path, "--quiet"}}.run()
			return err
		})
		return process{dir: w.dir, argv: []string{path}, contains: "no work to do"}, err
	},
}

// dvc compares the hashes of its lock file. Its outputs are committed in one go: running the steps one by one takes half a second each.
var dvc = peer{
	name: "dvc status", rounds: 1, find: (*bench).dvc,
	prepare: func(w *workspace, path string, n int) (process, error) {
		env := []string{"DVC_NO_ANALYTICS=1"}
		err := w.once("dvc", func() error {
			var s strings.Builder
			s.WriteString("stages:\n  copy:\n    foreach:\n")
			for i := range n {
				fmt.Fprintf(&s, "    - \"%05d\"\n", i)
			}
			s.WriteString("    do:\n      cmd: cp in/${item}/0 dvc-out/${item}\n      deps:\n      - in/${item}/0\n      outs:\n      - dvc-out/${item}\n")
			if err := w.write("dvc.yaml", s.String()); err != nil {
				return err
			}
			if err := w.copies("dvc-out", n); err != nil {
				return err
			}
			for _, argv := range [][]string{{path, "init", "--no-scm", "--quiet", "--force"}, {path, "commit", "--force", "--quiet"}} {
				if _, err := (process{dir: w.dir, argv: argv, env: env}).run(); err != nil {
					return err
				}
			}
			return nil
		})
		return process{dir: w.dir, argv: []string{path, "status"}, env: env, contains: "up to date"}, err
	},
}

// dvcVersion is installed into the folder of the user's caches where DVC is not on PATH.
const dvcVersion = "3.67.1"

func (b *bench) dvc() (string, error) {
	if path, err := exec.LookPath("dvc"); err == nil {
		return path, nil
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", skip{"dvc is not on PATH, and there is no folder for caches to install it in"}
	}
	venv := filepath.Join(caches, "flameox-bench", "dvc-"+dvcVersion)
	path := filepath.Join(venv, "bin", "dvc")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	b.say("(installs DVC %s) ", dvcVersion)
	for _, argv := range [][]string{{"python3", "-m", "venv", venv}, {filepath.Join(venv, "bin", "pip"), "install", "--quiet", "dvc==" + dvcVersion}} {
		if _, err := (process{dir: b.dir, argv: argv}).run(); err != nil {
			os.RemoveAll(venv)
			return "", skip{"dvc is not on PATH and cannot be installed (pip install dvc): " + err.Error()}
		}
	}
	return path, nil
}

// snakemake compares stamps and what it recorded of each rule. It is told that its outputs are up to date.
var snakemake = peer{
	name: "snakemake -n", rounds: 3, find: onPath("Debian: apt-get install snakemake", "snakemake"),
	prepare: func(w *workspace, path string, n int) (process, error) {
		err := w.once("snakemake", func() error {
			err := w.write("Snakefile", fmt.Sprintf(`IDS = [f"{i:05d}" for i in range(%d)]
rule all:
    input: expand("snakemake-out/{i}", i=IDS)
rule copy:
    input: "in/{i}/0"
    output: "snakemake-out/{i}"
    shell: "cp {input} {output}"
`, n))
			if err == nil {
				err = w.copies("snakemake-out", n)
			}
			if err == nil {
				_, err = process{dir: w.dir, argv: []string{path, "--touch", "--cores", "1"}}.run()
			}
			return err
		})
		return process{dir: w.dir, argv: []string{path, "-n"}, contains: "Nothing to be done"}, err
	},
}

// tofu is OpenTofu, or Terraform, from which it was forked, where that is what is installed. Its steps are resources that hold the hash of a file.
var tofu = peer{
	name: "tofu plan", rounds: 5, find: onPath("opentofu.org, or Terraform in its place", "tofu", "terraform"),
	prepare: func(w *workspace, path string, n int) (process, error) {
		env := []string{"CHECKPOINT_DISABLE=1"}
		err := w.once("tofu", func() error {
			err := w.write("main.tf", fmt.Sprintf(`resource "terraform_data" "copy" {
  for_each = toset([for i in range(%d) : format("%%05d", i)])
  input    = filesha256("in/${each.key}/0")
}
`, n))
			for _, argv := range [][]string{{path, "init", "-input=false"}, {path, "apply", "-auto-approve", "-input=false"}} {
				if err == nil {
					_, err = process{dir: w.dir, argv: argv, env: env}.run()
				}
			}
			return err
		})
		return process{dir: w.dir, argv: []string{path, "plan", "-detailed-exitcode", "-input=false", "-no-color"}, env: env, contains: "no changes are needed"}, err
	},
}
