package profiles

import (
	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence/callgraph"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/view"
)

// HotspotsDocument is what `hotspots -json` prints.
type HotspotsDocument struct {
	Format int     `json:"format_version"`
	Of     Of      `json:"of"`
	Sort   string  `json:"sort"`   // self or inclusive
	Frames []Frame `json:"frames"` // heaviest first
	All    int     `json:"all"`    // frames of the profile
	// SelfShown is the self weight of all frames of this page and of those before it.
	SelfShown int64  `json:"self_shown"`
	Next      string `json:"next,omitempty"` // cursor of the next page
}

// Frame is a frame of a profile with its weights.
type Frame struct {
	Frame     string  `json:"frame"` // identity; frames.frame of the tables
	Function  string  `json:"function,omitempty"`
	Module    string  `json:"module,omitempty"`
	File      string  `json:"file,omitempty"`
	Line      int64   `json:"line,omitempty"`
	Language  string  `json:"language,omitempty"`
	Name      string  `json:"name"`              // the function, or what else the frame is called
	Self      int64   `json:"self"`              // of samples whose leaf is the frame
	Inclusive int64   `json:"inclusive"`         // of samples that have the frame anywhere, each once
	Samples   *uint64 `json:"samples,omitempty"` // records behind the inclusive weight
	SelfShare float64 `json:"self_share"`        // of the total; 0 where the total is 0
	Share     float64 `json:"inclusive_share"`   // of the total; 0 where the total is 0
}

// Hotspots is the command hotspots.
func Hotspots() *cli.Command {
	return &cli.Command{
		Name: "hotspots", Usage: "list the frames of a profile that weigh most", ArgsUsage: "ADDRESS|RUN",
		Description: "Self is the weight of samples that ended in the frame, inclusive of those that have it anywhere; a frame that calls itself counts once in each sample. " +
			"The run may be a capture, an import or an extraction; an address is its newest run.\n\n" +
			"Examples:\n" +
			"  flameox hotspots 'capture.pprof.sort:impl=merge,n=100000'\n" +
			"  flameox hotspots -sort inclusive -limit 5 'capture.pprof.sort:impl=merge,n=100000'",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "sort", Value: "self", Usage: "`ORDER`: self or inclusive"},
			MetricFlag, ProviderFlag, paging.LimitFlag(20), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag,
		},
		Action: runHotspots,
	}
}

func runHotspots(c *cli.Context) error {
	if c.NArg() != 1 {
		return flags.Usage(c, "hotspots takes one run or address")
	}
	order := c.String("sort")
	if order != "self" && order != "inclusive" {
		return flags.Usage(c, "-sort is %q; give self or inclusive", order)
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	o, err := Open(c, w, c.Args().First())
	if err != nil {
		return err
	}
	p, err := paging.Of(c, o.ask("hotspots", order))
	if err != nil {
		return err
	}
	values, err := o.Profile.Values(o.Metric)
	if err != nil {
		return err
	}
	if order == "inclusive" {
		callgraph.SortByInclusive(values)
	}
	begin, end, next, err := p.Cut(len(values), func(i int) string { return values[i].ID })
	if err != nil {
		return err
	}
	doc := &HotspotsDocument{Format: 1, Of: o.Of(), Sort: order, Frames: []Frame{}, All: len(values), SelfShown: callgraph.Total(values[:end]), Next: next}
	for _, v := range values[begin:end] {
		doc.Frames = append(doc.Frames, o.frame(v))
	}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	v := doc.view(o.more(c, next))
	v.Head = o.head(w.Store.Now())
	return v.Write(c.App.Writer, cmdline.View(c))
}

func (o *Opened) frame(v callgraph.Value) Frame {
	return Frame{
		Frame: v.ID, Function: v.Function, Module: v.Module, File: v.File, Line: v.Line, Language: v.Language, Name: v.Name(),
		Self: v.Self, Inclusive: v.Inclusive, Samples: v.Samples, SelfShare: share(v.Self, o.Total), Share: share(v.Inclusive, o.Total),
	}
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (d *HotspotsDocument) view(more string) *view.Hotspots {
	v := &view.Hotspots{All: d.All, Shown: view.Percent(d.SelfShown, d.Of.Total), More: more}
	for _, f := range d.Frames {
		v.Frames = append(v.Frames, view.HotFrame{
			Self: view.Quantity(f.Self, d.Of.Metric.Unit), SelfShare: view.Percent(f.Self, d.Of.Total),
			Inclusive: view.Quantity(f.Inclusive, d.Of.Metric.Unit), Share: view.Percent(f.Inclusive, d.Of.Total),
			Name: f.Name, Place: place(f),
		})
	}
	return v
}

func place(f Frame) string {
	p := callgraph.Frame{File: f.File, Line: f.Line, Module: f.Module}
	return p.Place()
}
