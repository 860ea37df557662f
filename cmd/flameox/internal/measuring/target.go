package measuring

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/measure/target"
)

// Target is the command target.
func Target() *cli.Command {
	one := func(op target.Operation, usage, text, example string) *cli.Command {
		return &cli.Command{
			Name: string(op), Usage: usage, ArgsUsage: "TARGET",
			Description: text + "\n\nExamples:\n  " + example,
			Action:      func(c *cli.Context) error { return describe(c, op) },
		}
	}
	return &cli.Command{
		Name: "target", Usage: "print what a target provider or a build directory says of a target",
		Description: "A target provider is the program in provider.command of benchx.conf.json: it reads a request on its standard input and writes a description to its standard " +
			"output. A build directory says what it is in " + target.Sidecar + ".\n\nExamples:\n  flameox target describe build\n  flameox target prepare build",
		Subcommands: []*cli.Command{
			one(target.Describe, "print a target's description, and change nothing", "TARGET is @NAME or @NAME=SOURCE_REF for the provider, or a build directory.", "flameox target describe build"),
			one(target.Prepare, "have the provider make a target, and print its description", "TARGET is @NAME or @NAME=SOURCE_REF. A provider may build it. A build directory is there already: its description is printed.", "flameox target prepare build"),
		},
	}
}

func describe(c *cli.Context, op target.Operation) error {
	p, err := project(c)
	if err != nil {
		return err
	}
	if c.NArg() != 1 {
		return refusedf("target %s takes one target, @NAME or a build directory", op)
	}
	dir, err := os.Getwd()
	if err != nil {
		return refused(err)
	}
	a, err := target.Parse(c.Args().First(), target.Build, dir)
	if err != nil {
		return refused(err)
	}
	ctx, done := interruptible(c)
	defer done()
	b := broker.New(broker.Options{Store: "measure"})
	provider := target.Provider{Command: p.Provider, Dir: p.Root, Env: os.Environ(), Broker: b, Stderr: c.App.ErrWriter}
	var d target.Description
	if a.Provided() {
		d, err = provider.Ask(ctx, op, a, "the target")
	} else if d, err = target.ReadSidecar(a.Path); err == nil && d == nil {
		if info, statErr := os.Stat(a.Path); statErr != nil || !info.IsDir() {
			err = fmt.Errorf("%s is no folder", a.Path)
		}
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return ended(ctx, err)
	}
	if d == nil {
		fmt.Fprintf(c.App.ErrWriter, "%s has no description: there is no %s in it\n", a.Path, target.Sidecar)
		return nil
	}
	return cmdline.JSON(c, d)
}
