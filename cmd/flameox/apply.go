package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/workspace"
)

func applyCommand() *cli.Command {
	return &cli.Command{
		Name:      "apply",
		Usage:     "run what is stale",
		ArgsUsage: "[PLANFILE]",
		Description: "Runs the stages that plan calls stale and no others, keeps every artifact, and publishes the evidence. With a PLANFILE it\n" +
			"first makes sure that nothing the plan was made from has moved. Ctrl-C finishes what runs; a second one kills it.\n\n" +
			"Examples:\n" +
			"  flameox apply\n" +
			"  flameox apply -target build.bench\n" +
			"  flameox apply -replace 'capture.gobench.sort:impl=merge,n=1000'",
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "parallelism", Aliases: []string{"max-parallel"}, Value: runtime.NumCPU(), DefaultText: "the number of CPUs", Usage: "run at most `N` stages at once; measurements run alone whatever it is"},
			&cli.BoolFlag{Name: "fail-fast", Usage: "start nothing more after a failure"},
			cmdline.NoShortcutFlag, cmdline.JSONFlag,
		}, cmdline.SelectFlags...),
		Action: runApply,
	}
}

func runApply(c *cli.Context) error {
	if c.NArg() > 1 {
		return flags.Usage(c, "apply takes at most one plan file")
	}
	if c.Int("parallelism") < 1 {
		return flags.Usage(c, "-parallelism is %d; give 1 or more", c.Int("parallelism"))
	}
	target, exclude, replace := c.StringSlice("target"), c.StringSlice("exclude"), c.StringSlice("replace")
	var saved *graph.PlanDocument
	if c.NArg() == 1 {
		var err error
		if saved, err = readSavedPlan(c, c.Args().First()); err != nil {
			return err
		}
		target, exclude, replace = saved.Target, saved.Exclude, saved.Replace
	}
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	loaded, err := cmdline.LoadInto(c, w)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Init(); err != nil {
		return err
	}
	l, err := applyLock(c.Context, w.Store.LockPath("apply"), "flameox apply")
	if err != nil {
		return err
	}
	defer l.Release()
	if err := w.Store.Cache.Refresh(); err != nil { // what the apply before ours has committed
		return err
	}
	sel, err := selection(target, exclude, replace)
	if err != nil {
		return err
	}
	if saved != nil {
		plan, _, err := makePlan(c, w, loaded, sel)
		if err != nil {
			return err
		}
		if err := plan.Check(w.Store, saved, w.Project.HostClass); err != nil {
			return err
		}
	}
	return apply(c, w, loaded, sel)
}

// applyLock takes the workspace's apply lock. Where the process that took it is dead, a child that it was starting at that moment
// still has it open, for as long as starting takes; that is waited for.
func applyLock(ctx context.Context, path, command string) (*lock.Lock, error) {
	holder := lock.Holder{Command: command}
	l, err := lock.TryAcquire(path, holder)
	var held *lock.HeldError
	if errors.As(err, &held) && held.Doubt != "" {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		l, err = lock.Acquire(ctx, path, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("another apply is running in this workspace: %w", err)
	}
	return l, nil
}

// readSavedPlan reads a plan file and sets the variables it was made with.
func readSavedPlan(c *cli.Context, path string) (*graph.PlanDocument, error) {
	for _, name := range []string{"target", "exclude", "replace", "var-file"} {
		if c.IsSet(name) {
			return nil, flags.Usage(c, "-%s is part of the saved plan; give either of them", name)
		}
	}
	b, err := os.ReadFile(path)
	if _, isAddress := address.ParsePattern(path); errors.Is(err, os.ErrNotExist) && isAddress == nil && !strings.Contains(path, "/") {
		return nil, flags.Usage(c, "there is no saved plan %q; to apply one stage, and what it needs, write -target=%s", path, view.ShellQuote(path))
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved plan: %w", err)
	}
	doc, err := graph.ReadPlan(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, v := range c.StringSlice("var") {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(doc.Withheld, name) {
			return nil, flags.Usage(c, "-var %s is part of the saved plan; only sensitive variables, whose values a plan never holds, are given again", name)
		}
	}
	for _, name := range doc.Withheld {
		given := slices.ContainsFunc(c.StringSlice("var"), func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if _, env := os.LookupEnv("FLAMEOX_VAR_" + name); !given && !env {
			return nil, flags.Usage(c, "the plan was made with -var %s=…, whose value it does not hold because it is sensitive: give it again", name)
		}
	}
	for _, v := range doc.Variables {
		if err := c.Set("var", v); err != nil {
			return nil, err
		}
	}
	for _, v := range doc.VariableFiles {
		if err := c.Set("var-file", v); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// apply runs what is stale, publishes, and evaluates outputs and checks. The apply lock is held.
func apply(c *cli.Context, w *workspace.Workspace, loaded *stages.Experiment, sel graph.Selection) error {
	plan, planner, err := makePlan(c, w, loaded, sel)
	if err != nil {
		return err
	}
	ctx, kill := context.WithCancel(c.Context)
	defer kill()
	// A reader that goes away (| head) ends what is shown, not what is measured.
	signal.Ignore(syscall.SIGPIPE)
	show := newProgress(c, w.Store, plan)
	stop, done := interrupts(show.stopping, kill)
	defer done()
	report, err := planner.Apply(ctx, loaded.Graph, graph.ApplyOptions{
		Parallelism: c.Int("parallelism"), FailFast: c.Bool("fail-fast"), Observe: show.event, Stop: stop,
		Refresh: w.Project.Refresh,
	})
	show.close()
	if report == nil {
		return err
	}
	// What was finished is published also after an error.
	published := publishEvidence(context.WithoutCancel(ctx), c, w)
	w.Save()
	result, evalErr := evaluate(c, w, loaded, planner)
	printErr := printReport(c, report, result, show.failures)
	if err = errors.Join(err, published, printErr); err != nil {
		return err
	}
	if evalErr != nil {
		return evalErr
	}
	return exitOf(report, result)
}

// publishEvidence brings the published view up to date, under a lock of its own. What has to be left out of it is a warning: the
// rest is published, and what an apply was asked for it did.
func publishEvidence(ctx context.Context, c *cli.Context, w *workspace.Workspace) error {
	l, err := lock.Acquire(ctx, w.Store.LockPath("publish"), lock.Holder{Command: "flameox apply: publish"})
	if err != nil {
		return err
	}
	defer l.Release()
	report, err := stages.Publish(ctx, w.Store)
	if err != nil {
		return fmt.Errorf("publish the evidence: %w\nThe results are kept; the next apply publishes them", err)
	}
	for _, line := range report.Warnings() {
		fmt.Fprintln(c.App.ErrWriter, "Warning: "+view.Lines(line))
	}
	return nil
}

// exitOf is the exit of an apply that flameox itself could do.
func exitOf(r *graph.Report, a *assertions) error {
	switch {
	case r.Stopped:
		return cmdline.Exit(cmdline.ExitInterrupted)
	case r.Failed > 0 || r.Blocked > 0:
		return cmdline.Exit(cmdline.ExitSome)
	case a.failed() > 0:
		return cmdline.Exit(cmdline.ExitGate)
	}
	return nil
}
