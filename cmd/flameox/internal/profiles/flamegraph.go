package profiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/evidence/callgraph"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/flamegraph"
	"github.com/flameox/flameox/internal/view"
)

// Flamegraph is the command flamegraph.
func Flamegraph() *cli.Command {
	return &cli.Command{
		Name: "flamegraph", Usage: "write the stacks of a profile as an interactive page", ArgsUsage: "ADDRESS|RUN",
		Description: "The page is one file that needs no network. -diff names the run before: frames are then coloured and labelled by what changed from it to ADDRESS. " +
			"Differences are of shares, each side being 100 %, unless -absolute is given; the page has a switch for it.\n\n" +
			"Examples:\n" +
			"  flameox flamegraph 'capture.pprof.sort:impl=merge,n=100000' -o merge.html\n" +
			"  flameox flamegraph capture.pprof.sort:impl=merge,n=100000 -diff capture.pprof.sort:impl=quick,n=100000",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Value: "flamegraph.html", Usage: "write to `FILE`; - for standard output"},
			&cli.StringFlag{Name: "diff", Usage: "compare with `RUN`, or the newest run of an address: the run before"},
			&cli.BoolFlag{Name: "absolute", Usage: "show differences of weights, not of shares"},
			&cli.IntFlag{Name: "frames", Value: flamegraph.MaxNodes, Usage: "draw at most `N` frames one by one"},
			MetricFlag, ProviderFlag, cmdline.SensitiveFlag,
		},
		Action: runFlamegraph,
	}
}

func runFlamegraph(c *cli.Context) error {
	if c.NArg() != 1 {
		return flags.Usage(c, "flamegraph takes one run or address; -diff names the one to compare with")
	}
	if n := c.Int("frames"); n < 1 || n > 10*flamegraph.MaxNodes {
		return flags.Usage(c, "-frames is %d; give 1 to %d", n, 10*flamegraph.MaxNodes)
	}
	if c.Bool("absolute") && c.String("diff") == "" {
		return flags.Usage(c, "-absolute says how differences are shown, and there is no -diff")
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	after, err := Open(c, w, c.Args().First())
	if err != nil {
		return err
	}
	p := &flamegraph.Page{
		Metric: after.Metric.Name, Unit: after.Metric.Unit, Root: &flamegraph.Node{Name: "all"}, MaxNodes: c.Int("frames"), Absolute: c.Bool("absolute"),
		By: "flameox " + cmdline.Version(), After: after.side(),
	}
	note, err := after.draw(p.Root, "", func(n *flamegraph.Node) *int64 { return &n.After })
	if err != nil {
		return err
	}
	p.Notes = append(p.Notes, note...)
	if name := c.String("diff"); name != "" {
		rec, err := cmdline.FindRun(c, w, name)
		if err != nil {
			return err
		}
		before, err := OpenRecord(c, w.Store, rec, after.Metric.Name+"/"+after.Metric.Unit)
		if err != nil {
			return fmt.Errorf("compare with run %s: %w", rec.Run, err)
		}
		if before.Record.Run == after.Record.Run {
			return fmt.Errorf("-diff %s is the same run, %s; `flameox runs` lists the others", name, after.Record.Run)
		}
		note, err := before.draw(p.Root, "before: ", func(n *flamegraph.Node) *int64 { return &n.Before })
		if err != nil {
			return err
		}
		side := before.side()
		p.Before, p.Verdict = &side, verdict(w.Store.Compare(before.Record, after.Record))
		p.Notes = append(p.Notes, note...)
	}
	return writePage(c, p)
}

// verdict says in a sentence whether the two runs may be compared.
func verdict(d *graph.RunDiff) string {
	text := "The two runs are " + strings.ReplaceAll(string(d.Verdict), "_", " ")
	if len(d.Why) > 0 {
		text += ": " + strings.Join(d.Why, "; ")
	}
	return text + "."
}

// side describes a run for the page.
func (o *Opened) side() flamegraph.Side {
	d := o.Of()
	s := flamegraph.Side{
		Run: d.Run, Address: d.Address, Host: d.Host, Started: d.Started.Format("2006-01-02 15:04:05 MST"),
		Total: view.Quantity(d.Total, d.Metric.Unit), State: d.State,
	}
	from := []string{strings.TrimSpace(d.Provider + " " + d.Producer)}
	if r := o.Record.Source["revision"]; r != "" {
		from = append(from, "commit "+r[:min(12, len(r))])
	}
	if d.ProfileOf != "" {
		from = append(from, "profile of "+d.ProfileOf)
	}
	s.Source = strings.Join(from, ", ")
	for _, n := range d.Limitations {
		s.Notes = append(s.Notes, n.Code+": "+n.Text)
	}
	return s
}

// draw adds the stacks to a tree, on the side of a node that weight chooses. Frames are told apart by name and file, not by line: lines move
// between two versions of a program, and what is above them did not change by that.
func (o *Opened) draw(root *flamegraph.Node, prefix string, weight func(*flamegraph.Node) *int64) (notes []string, err error) {
	add := func(n *flamegraph.Node, by int64) { *weight(n) = callgraph.Add(*weight(n), by) }
	frames, err := o.Profile.Frames()
	if err != nil {
		return nil, err
	}
	t := newDrawing(root, frames)
	negative, against := 0, int64(0)
	err = o.Profile.EachStack([]callgraph.Metric{o.Metric}, func(_ int, s *callgraph.Stack) error {
		if s.Weight <= 0 {
			if s.Weight < 0 {
				negative++
				against = callgraph.Add(against, s.Weight)
			}
			return nil
		}
		path, err := s.Path()
		if err != nil {
			return err
		}
		add(root, s.Weight)
		at := uint32(0)
		for _, f := range path {
			at = t.child(at, f)
			add(t.nodes[at], s.Weight)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The stacks that a budget dropped have a weight all the same: without it every share would be too large.
	if rest := o.Total - *weight(root); negative == 0 && rest > 0 {
		add(root.Child("[stacks that were not kept]", ""), rest)
		add(root, rest)
		notes = append(notes, fmt.Sprintf("%sthe rows leave out stacks that weigh %s; they are one frame here.", prefix, view.Quantity(rest, o.Metric.Unit)))
	}
	if negative > 0 {
		notes = append(notes, fmt.Sprintf("%s%s with a weight below zero, %s together, cannot be drawn and are left out.", prefix, view.Plural(negative, "stack", "stacks"), view.Quantity(against, o.Metric.Unit)))
	}
	if *weight(root) == 0 {
		return nil, fmt.Errorf("run %s has no stack with a weight in %s, so there is nothing to draw", o.Record.Run, o.Metric.Name)
	}
	return notes, nil
}

// drawing finds nodes of a tree by numbers: a stack may be thousands of frames deep, and looking each up by its name takes most of the time.
type drawing struct {
	nodes []*flamegraph.Node
	at    map[uint64]uint32 // node by its parent, in the upper half, and its name
	name  []uint32          // by frame: frames that are drawn alike have one
	label [][2]string       // by name: what the frame is called, and its place
}

func newDrawing(root *flamegraph.Node, frames []*callgraph.Frame) *drawing {
	t := &drawing{nodes: []*flamegraph.Node{root}, at: map[uint64]uint32{}, name: make([]uint32, len(frames))}
	known := map[[2]string]uint32{}
	for i, f := range frames {
		place := *f
		place.Line = 0
		label := [2]string{f.Name(), place.Place()}
		n, ok := known[label]
		if !ok {
			n = uint32(len(t.label))
			known[label] = n
			t.label = append(t.label, label)
		}
		t.name[i] = n
	}
	return t
}

// child is the node of a frame that is called from the node parent.
func (t *drawing) child(parent, frame uint32) uint32 {
	name := t.name[frame]
	key := uint64(parent)<<32 | uint64(name)
	n, ok := t.at[key]
	if !ok {
		n = uint32(len(t.nodes))
		t.at[key] = n
		t.nodes = append(t.nodes, t.nodes[parent].Child(t.label[name][0], t.label[name][1]))
	}
	return n
}

// writePage writes the page as a whole or not at all.
func writePage(c *cli.Context, p *flamegraph.Page) error {
	path := c.String("o")
	if path == "-" {
		return p.Write(c.App.Writer)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".flamegraph-*")
	if err != nil {
		return fmt.Errorf("write the flame graph to %s: %w", path, err)
	}
	defer os.Remove(f.Name())
	err = p.Write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the flame graph to %s: %w", path, err)
	}
	fmt.Fprintf(c.App.Writer, "%s: %s of run %s, %s in all", path, p.Metric, p.After.Run, p.After.Total)
	if p.Before != nil {
		fmt.Fprintf(c.App.Writer, "; before: run %s, %s", p.Before.Run, p.Before.Total)
	}
	fmt.Fprintln(c.App.Writer)
	for _, n := range append([]string{p.Verdict}, p.Notes...) {
		if n != "" {
			fmt.Fprintln(c.App.Writer, "  "+view.Lines(n))
		}
	}
	return nil
}
