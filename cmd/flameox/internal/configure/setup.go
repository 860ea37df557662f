package configure

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/lock"
	"github.com/flameox/flameox/internal/vfs"
	"github.com/flameox/flameox/internal/view"
	"github.com/flameox/flameox/stages"
	"github.com/flameox/flameox/stages/environment/pins"
	"github.com/flameox/flameox/stages/tool"
	"github.com/flameox/flameox/stages/workspace"
)

// Setup is the command setup.
func Setup() *cli.Command {
	return &cli.Command{
		Name: "setup", Usage: "make ready what stages need: locks, environments, tools", ArgsUsage: "[ADDRESS ...]",
		Description: "Makes the locks that are missing, builds environments and downloads tools: those that ADDRESS selects (* and ? are allowed), or that the selected\n" +
			"stages use; all of them without ADDRESS. It runs no workload, measures nothing and changes no permission of this machine. What it cannot make ready it lists, with\n" +
			"the one thing to do for each. Interrupted, it goes on the next time from where it was.\n\n" +
			"Examples:\n  flameox setup\n  flameox setup capture.gobench.sort",
		Flags:  append([]cli.Flag{cmdline.JSONFlag}, cmdline.VarFlags...),
		Action: runSetup,
	}
}

// Readied is what became of one thing that was to be made ready.
type Readied struct {
	Address string `json:"address" doc:"the lock, the environment or the tool"`
	State   string `json:"state" doc:"ready, locked, pinned, unchanged, blocked or failed"`
	Why     string `json:"why,omitempty" doc:"what there is to say"`
	Do      string `json:"do,omitempty" doc:"the one thing to do"`
}

// SetupDocument is `flameox setup -json`.
type SetupDocument struct {
	Format int       `json:"format_version" doc:"version of this document, 1"`
	Setup  []Readied `json:"setup" doc:"in the order of the graph"`
}

func runSetup(c *cli.Context) error {
	w, err := cmdline.OpenWorkspace(c)
	if err != nil {
		return err
	}
	defer w.Close()
	loaded, err := cmdline.LoadInto(c, w)
	if err != nil {
		return err
	}
	scope, err := selected(c, loaded.Graph)
	if err != nil {
		return err
	}
	if err := w.Init(); err != nil {
		return err
	}
	l, err := lock.TryAcquire(w.Store.LockPath("apply"), lock.Holder{Command: "flameox setup"})
	if err != nil {
		return fmt.Errorf("setup works only while nothing is applied in this workspace: %w", err)
	}
	defer l.Release()
	if err := w.Store.Cache.Refresh(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	done, err := lockMissing(ctx, w, loaded, scope)
	if err != nil {
		return err
	}
	made, err := makeReady(ctx, w, loaded, scope)
	if err != nil {
		return err
	}
	w.Save()
	// What the plan says of a lock that could not be made is what there is to do.
	done = slices.DeleteFunc(done, func(r Readied) bool {
		return r.State == "failed" && slices.ContainsFunc(made, func(m Readied) bool { return m.Address == r.Address && m.State == "blocked" })
	})
	return showSetup(c, append(done, made...))
}

// selected are the stages that the arguments select, with what they need; nil for all.
func selected(c *cli.Context, g *graph.Graph) (map[*graph.Node]bool, error) {
	scope := map[*graph.Node]bool{}
	if !c.Args().Present() {
		for _, n := range g.Nodes {
			scope[n] = true
		}
		return scope, nil
	}
	var patterns []address.Pattern
	for _, a := range c.Args().Slice() {
		p, err := address.ParsePattern(a)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	chosen, err := g.Select(patterns)
	if err != nil {
		return nil, err
	}
	var add func(n *graph.Node)
	add = func(n *graph.Node) {
		if scope[n] {
			return
		}
		scope[n] = true
		for _, up := range n.Upstream() {
			add(up)
		}
	}
	for n := range chosen {
		add(n)
	}
	return scope, nil
}

// lockMissing makes locks that are missing or are made from something else by now.
func lockMissing(ctx context.Context, w *workspace.Workspace, loaded *stages.Experiment, scope map[*graph.Node]bool) (out []Readied, err error) {
	file, err := pins.Read(filepath.Join(w.Project.Root, filepath.FromSlash(w.Project.Dir)))
	if err != nil {
		return nil, err
	}
	changed := false
	for _, e := range lockers(loaded.Graph.Nodes, func(n *graph.Node) bool { return scope[n] }) {
		l, err := e.Lock(ctx, pins.Locking{}, file)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil: // the plan says it too, where it keeps a stage from running
			out = append(out, Readied{Address: e.block, State: "failed", Why: err.Error(), Do: "flameox lock " + e.block})
		case l.State != pins.Unchanged:
			changed = true
			out = append(out, Readied{Address: e.block, State: l.State, Why: fmt.Sprintf("%s (%s)", l.File, view.Plural(l.Packages, "package", "packages"))})
		}
	}
	if changed {
		err = errors.Join(file.Write(vfs.OS{}), w.Project.Refresh())
	}
	return out, err
}

// makeReady runs the stages that make environments and tools, and asks what keeps the others from running.
func makeReady(ctx context.Context, w *workspace.Workspace, loaded *stages.Experiment, scope map[*graph.Node]bool) (out []Readied, err error) {
	var sel graph.Selection
	wanted := map[*graph.Node]bool{}
	for _, n := range loaded.Graph.Nodes {
		_, locks := n.Stage.(locker)
		_, fetches := n.Stage.(*tool.Tool)
		if !scope[n] || !locks && !fetches {
			continue
		}
		p, err := address.ParsePattern(n.Address.String())
		if err != nil {
			return nil, err
		}
		wanted[n], sel.Target = true, append(sel.Target, p)
	}
	failed := map[*graph.Node]bool{}
	if len(wanted) > 0 {
		planner, err := graph.NewPlanner(w.Store, loaded.Graph, sel)
		if err != nil {
			return nil, err
		}
		observe := func(e graph.Event) {
			if e.Kind == graph.EventFailed {
				failed[e.Node] = true
				name := e.Node.Address.String()
				out = append(out, Readied{Address: name, State: "failed", Why: whyFailed(e), Do: "flameox show " + view.ShellQuote(name)})
			}
		}
		if _, err := planner.Apply(ctx, loaded.Graph, graph.ApplyOptions{Parallelism: runtime.NumCPU(), Refresh: w.Project.Refresh, Observe: observe}); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, cmdline.Exit(cmdline.ExitInterrupted)
		}
	}
	planner, err := graph.NewPlanner(w.Store, loaded.Graph, graph.Selection{})
	if err != nil {
		return nil, err
	}
	plan, err := planner.Plan(ctx, loaded.Graph)
	if err != nil {
		return nil, err
	}
	for _, d := range plan.Decisions {
		switch {
		case !scope[d.Node] || failed[d.Node]:
		case d.State == graph.Blocked && d.Block != nil:
			out = append(out, Readied{Address: d.Node.Address.String(), State: "blocked", Why: d.Block.Why, Do: d.Block.Do})
		case wanted[d.Node] && d.State == graph.Cached:
			out = append(out, Readied{Address: d.Node.Address.String(), State: "ready"})
		}
	}
	return out, nil
}

func whyFailed(e graph.Event) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	if e.Record != nil && len(e.Record.Invalid) > 0 {
		return e.Record.Invalid[0].Text
	}
	return "it failed"
}

func showSetup(c *cli.Context, all []Readied) error {
	left := 0
	for _, r := range all {
		if r.State == "failed" || r.State == "blocked" {
			left++
		}
	}
	if c.Bool("json") {
		if err := cmdline.JSON(c, SetupDocument{Format: 1, Setup: append([]Readied{}, all...)}); err != nil {
			return err
		}
	} else {
		for _, r := range all {
			line := fmt.Sprintf("%-8s %s", r.State, r.Address)
			if r.Why != "" {
				line += "  " + r.Why
			}
			if r.Do != "" && !strings.Contains(r.Why, r.Do) {
				line += ": " + r.Do
			}
			fmt.Fprintln(c.App.Writer, line)
		}
		switch {
		case left > 0:
			fmt.Fprintf(c.App.Writer, "%s not ready.\n", view.Plural(left, "thing is", "things are"))
		case len(all) == 0:
			fmt.Fprintln(c.App.Writer, "Nothing has to be made ready.")
		}
	}
	if left > 0 {
		return cmdline.Exit(cmdline.ExitSome)
	}
	return nil
}
