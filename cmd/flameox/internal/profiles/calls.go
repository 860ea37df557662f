package profiles

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence/callgraph"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// CallsDocument is what `callers -json` and `callees -json` print.
type CallsDocument struct {
	Format    int    `json:"format_version"`
	Of        Of     `json:"of"`
	Direction string `json:"direction"` // callers or callees
	Frame     Frame  `json:"frame"`     // whose they are
	Calls     []Call `json:"calls"`     // heaviest first
	All       int    `json:"all"`       // calls there are
	Next      string `json:"next,omitempty"`
}

// Call is one direct call between the frame and another.
type Call struct {
	Frame   Frame   `json:"frame"`             // at the other end, with its own weights in the whole profile
	Weight  int64   `json:"weight"`            // of samples that have the call, each once
	Share   float64 `json:"share"`             // of the inclusive weight of the frame that was asked for
	Samples *uint64 `json:"samples,omitempty"` // records behind the weight
	Itself  bool    `json:"itself,omitempty"`  // the frame calls itself
}

// Callers is the command callers.
func Callers() *cli.Command {
	return callsCommand("callers", "list who calls a frame, heaviest first",
		"Weights are of samples that have the call, each once, so that recursion does not count twice; a sample that comes to the frame by two ways counts for both.",
		"  flameox callers 'capture.pprof.sort:impl=merge,n=100000' example.com/sorting.Merge")
}

// Callees is the command callees.
func Callees() *cli.Command {
	return callsCommand("callees", "list whom a frame calls, heaviest first",
		"Weights are of samples that have the call, each once, so that recursion does not count twice; what is left of the inclusive weight is the frame's own.",
		"  flameox callees 'capture.pprof.sort:impl=merge,n=100000' example.com/sorting.Merge")
}

func callsCommand(name, usage, about, example string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ADDRESS|RUN FRAME",
		Description: about + " FRAME is the name of a function, a part of it that no other has, or the beginning of a frame's identity.\n\n" +
			"Examples:\n" + example,
		Flags:  []cli.Flag{MetricFlag, ProviderFlag, paging.LimitFlag(20), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag},
		Action: func(c *cli.Context) error { return runCalls(c, name) },
	}
}

func runCalls(c *cli.Context, direction string) error {
	if c.NArg() != 2 {
		return flags.Usage(c, "%s takes a run or address, and a frame", direction)
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	o, err := Open(c, w, c.Args().First())
	if err != nil {
		return err
	}
	values, err := o.Profile.Values(o.Metric)
	if err != nil {
		return err
	}
	f, err := frame(values, c.Args().Get(1))
	if err != nil {
		return err
	}
	p, err := paging.Of(c, o.ask(direction, f.ID))
	if err != nil {
		return err
	}
	callers := direction == "callers"
	edges, err := o.Profile.Edges(o.Metric, func(parent, child string) bool {
		return callers && child == f.ID || !callers && parent == f.ID
	})
	if err != nil {
		return err
	}
	other := func(e callgraph.Edge) *callgraph.Frame {
		if callers {
			return e.Parent
		}
		return e.Child
	}
	begin, end, next, err := p.Cut(len(edges), func(i int) string { return other(edges[i]).ID })
	if err != nil {
		return err
	}
	own := map[string]callgraph.Value{}
	for _, v := range values {
		own[v.ID] = v
	}
	doc := &CallsDocument{Format: 1, Of: o.Of(), Direction: direction, Frame: o.frame(f), Calls: []Call{}, All: len(edges), Next: next}
	for _, e := range edges[begin:end] {
		at := own[other(e).ID]
		at.Frame = other(e)
		doc.Calls = append(doc.Calls, Call{
			Frame: o.frame(at), Weight: e.Weight, Share: share(e.Weight, f.Inclusive), Samples: e.Samples, Itself: e.Parent == e.Child,
		})
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	v := doc.view(o.more(c, next))
	v.Head = o.head(w.Store.Now())
	return v.Write(c.App.Writer, cmdline.View(c))
}

func (d *CallsDocument) view(more string) *view.Calls {
	unit := d.Of.Metric.Unit
	v := &view.Calls{
		Callers: d.Direction == "callers", Name: d.Frame.Name, Place: place(d.Frame), All: d.All, More: more,
		Self: view.Quantity(d.Frame.Self, unit), SelfShare: view.Percent(d.Frame.Self, d.Of.Total),
		Inclusive: view.Quantity(d.Frame.Inclusive, unit), Share: view.Percent(d.Frame.Inclusive, d.Of.Total),
	}
	for _, call := range d.Calls {
		name := call.Frame.Name
		if call.Itself {
			name += " (itself)"
		}
		v.Calls = append(v.Calls, view.HotFrame{
			Inclusive: view.Quantity(call.Weight, unit), Share: view.Percent(call.Weight, d.Frame.Inclusive), Name: name, Place: place(call.Frame),
		})
	}
	return v
}

// StacksDocument is what `stacks -json` prints.
type StacksDocument struct {
	Format int         `json:"format_version"`
	Of     Of          `json:"of"`
	Frame  *Frame      `json:"frame,omitempty"` // only stacks with it, where one was given
	Stacks []StackLine `json:"stacks"`          // heaviest first
	All    int         `json:"all"`             // stacks there are
	Weight int64       `json:"weight"`          // of all of them
	Next   string      `json:"next,omitempty"`
}

// StackLine is a stack with its weight.
type StackLine struct {
	Stack   string            `json:"stack"`  // identity; stacks.stack of the tables
	Weight  int64             `json:"weight"` // of the samples with exactly this stack and these labels
	Share   float64           `json:"share"`  // of the total
	Samples *uint64           `json:"samples,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"` // the producer's
	Frames  []Step            `json:"frames"`           // root to leaf
}

// Step is a frame in a stack.
type Step struct {
	Frame string `json:"frame"`
	Name  string `json:"name"`
	Place string `json:"place,omitempty"`
}

// Stacks is the command stacks.
func Stacks() *cli.Command {
	return &cli.Command{
		Name: "stacks", Usage: "show the heaviest stacks of a profile, or those with a frame", ArgsUsage: "ADDRESS|RUN [FRAME]",
		Description: "Each stack is printed from its leaf to its root: the frame that was running first, its caller below it. -depth 0 shows deep ones whole.\n\n" +
			"Examples:\n" +
			"  flameox stacks -limit 3 'capture.pprof.sort:impl=merge,n=100000'\n" +
			"  flameox stacks 'capture.pprof.sort:impl=merge,n=100000' example.com/sorting.Merge -depth 5",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "depth", Value: 12, Usage: "at most `N` frames of a stack, from the leaf; 0 for all"},
			MetricFlag, ProviderFlag,
			paging.LimitFlag(5), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag,
		},
		Action: runStacks,
	}
}

func runStacks(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return flags.Usage(c, "stacks takes a run or address, and a frame if only stacks with it are wanted")
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	o, err := Open(c, w, c.Args().First())
	if err != nil {
		return err
	}
	doc := &StacksDocument{Format: 1, Of: o.Of(), Stacks: []StackLine{}}
	only := ""
	if name := c.Args().Get(1); name != "" {
		values, err := o.Profile.Values(o.Metric)
		if err != nil {
			return err
		}
		f, err := frame(values, name)
		if err != nil {
			return err
		}
		doc.Frame, only = new(o.frame(f)), f.ID
	}
	p, err := paging.Of(c, o.ask("stacks", only))
	if err != nil {
		return err
	}
	stacks, err := o.Profile.Stacks(o.Metric, only)
	if err != nil {
		return err
	}
	begin, end, next, err := p.Cut(len(stacks), func(i int) string { return stacks[i].ID })
	if err != nil {
		return err
	}
	doc.All, doc.Next = len(stacks), next
	for _, s := range stacks {
		doc.Weight = callgraph.Add(doc.Weight, s.Weight)
	}
	for _, s := range stacks[begin:end] {
		line := StackLine{Stack: s.ID, Weight: s.Weight, Share: share(s.Weight, o.Total), Samples: s.Samples, Labels: s.Labels}
		for _, f := range s.Frames() {
			line.Frames = append(line.Frames, Step{Frame: f.ID, Name: f.Name(), Place: f.Place()})
		}
		doc.Stacks = append(doc.Stacks, line)
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	v := doc.view(c.Int("depth"), begin, o.more(c, next))
	v.Head = o.head(w.Store.Now())
	return v.Write(c.App.Writer, cmdline.View(c))
}

func (d *StacksDocument) view(depth, before int, more string) *view.Stacks {
	v := &view.Stacks{All: d.All, Before: before, More: more, Weight: view.Quantity(d.Weight, d.Of.Metric.Unit), Share: view.Percent(d.Weight, d.Of.Total)}
	if d.Frame != nil {
		v.With = d.Frame.Name
	}
	for _, s := range d.Stacks {
		line := view.StackLine{Weight: view.Quantity(s.Weight, d.Of.Metric.Unit), Share: view.Percent(s.Weight, d.Of.Total)}
		for k, value := range s.Labels {
			line.Labels = append(line.Labels, k+"="+value)
		}
		slices.SortFunc(line.Labels, cmp.Compare[string])
		for i, f := range slices.Backward(s.Frames) {
			if depth > 0 && len(line.Frames) == depth {
				line.Above = i + 1
				break
			}
			line.Frames = append(line.Frames, view.HotFrame{Name: f.Name, Place: f.Place})
		}
		v.Stacks = append(v.Stacks, line)
	}
	return v
}
