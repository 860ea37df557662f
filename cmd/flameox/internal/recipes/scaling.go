package recipes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/paging"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/growth"
	"github.com/flameox/flameox/internal/view"
)

// ScalingDocument is what `recipe scaling -json` prints.
type ScalingDocument struct {
	Format int       `json:"format_version"`
	Axis   string    `json:"axis"` // of the matrix; its values are the sizes
	Groups []Scaling `json:"groups"`
	All    int       `json:"all"` // groups there are
	Next   string    `json:"next,omitempty"`
}

// Scaling is how one metric grows along the axis while everything else stays. It describes what was measured and explains nothing.
type Scaling struct {
	Block       string            `json:"block"`
	Metric      string            `json:"metric"`
	Unit        string            `json:"unit"`
	Axes        map[string]string `json:"axes"` // the others, which are the same for all points
	Points      []SizedMedian     `json:"points"`
	Fit         *growth.Result    `json:"fit,omitempty"`
	Unavailable string            `json:"unavailable,omitempty"` // why nothing was fitted
}

// SizedMedian is the samples at one size.
type SizedMedian struct {
	Size    float64 `json:"size"`
	Address string  `json:"address"`
	Run     string  `json:"run"` // the newest of them
	Median  float64 `json:"median"`
	MAD     float64 `json:"mad"` // median absolute deviation from it
	Samples int64   `json:"samples"`
	Runs    int64   `json:"runs"`
	// Low and High are the order statistics that hold the median with Confidence or more; missing with too few samples for 95 %.
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
}

func scalingCommand() *cli.Command {
	return &cli.Command{
		Name: "scaling", Usage: "describe how a metric grows along an axis of a matrix", ArgsUsage: "[ADDRESS]",
		Description: "Medians of all samples at each size, with their intervals, and the law of growth (constant, log n, n, n log n, n²) that describes them best. A law wins where its AICc is " +
			"better by 2, which needs five sizes or more; it is a description of what was measured, not a proof. -hotspots asks " +
			"profiles instead: which frames take a greater or a smaller share as the size grows (Spearman's rho, p adjusted for the number of frames).\n\n" +
			"Examples:\n  flameox recipe scaling -axis n\n  flameox recipe scaling -axis n 'capture.gobench.*' -json\n  flameox recipe scaling -axis n -hotspots",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "axis", Usage: "the `AXIS` whose values are the sizes; the only one with numbers where it is left out"},
			&cli.BoolFlag{Name: "hotspots", Usage: "list the frames of profiles whose share goes with the size, by the correlation of their ranks"},
			paging.LimitFlag(20), paging.CursorFlag, cmdline.JSONFlag, cmdline.SensitiveFlag,
		},
		Action: runScaling,
	}
}

func runScaling(c *cli.Context) error {
	if c.NArg() > 1 {
		return flags.Usage(c, "recipe scaling takes at most one address")
	}
	w, err := cmdline.Open(c)
	if err != nil {
		return err
	}
	where := ""
	if c.NArg() == 1 {
		list, err := addresses(c, w, c.Args().First())
		if err != nil {
			return err
		}
		where = fmt.Sprintf(" AND r.address IN (%s)", strings.Join(list, ", "))
	}
	db, read, err := open(c, w)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Bool("hotspots") {
		return runHotspots(c, w, db, read, where)
	}
	sql := fmt.Sprintf("SELECT block, address, run, axes, metric, unit, median, mad, samples, runs, low, high, confidence FROM scaling r WHERE experiment = %s%s", text(w.Store.Experiment), where)
	var list []sized
	err = db.Each(c.Context, sql, func(_ []query.Column, row []any) error {
		s := sized{block: row[0].(string), metric: row[4].(string), unit: row[5].(string), axes: map[string]string{}}
		s.Address, s.Run = row[1].(string), row[2].(string)
		for _, e := range row[3].([]query.Entry) {
			s.axes[fmt.Sprint(e.Key)] = fmt.Sprint(e.Value)
		}
		s.Median, _ = row[6].(float64)
		s.MAD, _ = row[7].(float64)
		s.Samples, _ = row[8].(int64)
		s.Runs, _ = row[9].(int64)
		if low, ok := row[10].(float64); ok {
			high, _ := row[11].(float64)
			s.Low, s.High = &low, &high
			s.Confidence, _ = row[12].(float64)
		}
		list = append(list, s)
		return nil
	})
	if err != nil {
		return err
	}
	axis := c.String("axis")
	if axis == "" {
		if axis, err = numericAxis(list); err != nil {
			return err
		}
	}
	groups, err := groupBy(list, axis)
	if err != nil {
		return err
	}
	p, err := paging.Of(c, paging.Ask(read, "scaling", axis, sql))
	if err != nil {
		return err
	}
	begin, end, next, err := p.Cut(len(groups), func(i int) string { return groups[i].key() })
	if err != nil {
		return err
	}
	doc := &ScalingDocument{Format: 1, Axis: axis, Groups: append([]Scaling{}, groups[begin:end]...), All: len(groups), Next: next}
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return doc.write(c)
}

// sized is a row of the view.
type sized struct {
	SizedMedian
	block, metric, unit string
	axes                map[string]string
}

// numericAxis is the only axis that has numbers everywhere, and more than one.
func numericAxis(list []sized) (string, error) {
	values := map[string]map[string]bool{}
	bad := map[string]bool{}
	for _, s := range list {
		for k, v := range s.axes {
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				bad[k] = true
			}
		}
	}
	var found []string
	for k, v := range values {
		if !bad[k] && len(v) > 1 {
			found = append(found, k)
		}
	}
	slices.Sort(found)
	switch {
	case len(list) == 0:
		return "", fmt.Errorf("no published samples belong to a matrix; `flameox apply` publishes what it measures")
	case len(found) == 0:
		return "", fmt.Errorf("no axis has several numbers; -axis names the one whose values are sizes")
	case len(found) > 1:
		return "", fmt.Errorf("several axes have numbers: %s; choose one by -axis", strings.Join(found, ", "))
	}
	return found[0], nil
}

func (s *Scaling) key() string {
	var axes []string
	for k, v := range s.Axes {
		axes = append(axes, k+"="+v)
	}
	slices.Sort(axes)
	return fmt.Sprintf("%q %q %q %q", s.Block, s.Metric, s.Unit, axes)
}

// groupBy puts the sizes together at which all else is the same.
func groupBy(list []sized, axis string) ([]Scaling, error) {
	at := map[string]*Scaling{}
	var order []string
	for _, s := range list {
		value, ok := s.axes[axis]
		if !ok {
			continue
		}
		size, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(size) || math.IsInf(size, 0) {
			return nil, fmt.Errorf("the axis %s has the value %q, which is no size", axis, value)
		}
		s.Size = size
		g := &Scaling{Block: s.block, Unit: s.unit, Axes: map[string]string{}}
		for k, v := range s.axes {
			if k != axis {
				g.Axes[k] = v
			}
		}
		// A benchmark's name may have the axis in it, and is another name at each size.
		g.Metric = withoutPart(s.metric, axis+"="+value)
		k := g.key()
		if at[k] == nil {
			at[k] = g
			order = append(order, k)
		}
		at[k].Points = append(at[k].Points, s.SizedMedian)
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("no published samples have the axis %s", axis)
	}
	slices.Sort(order)
	var out []Scaling
	for _, k := range order {
		g := at[k]
		slices.SortFunc(g.Points, func(x, y SizedMedian) int {
			return cmp.Or(cmp.Compare(x.Size, y.Size), strings.Compare(x.Address, y.Address))
		})
		var points []growth.Point
		for _, p := range g.Points {
			points = append(points, growth.Point{X: p.Size, Y: p.Median})
		}
		fit, err := growth.Fits(points)
		if err != nil {
			g.Unavailable = err.Error()
		}
		g.Fit = fit
		out = append(out, *g)
	}
	return out, nil
}

// withoutPart is a name without one of its parts between slashes.
func withoutPart(name, part string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(name, "/"), func(s string) bool { return s == part }), "/")
}

func (d *ScalingDocument) write(c *cli.Context) error {
	o := cmdline.View(c)
	for i, g := range d.Groups {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		var axes []string
		for k, v := range g.Axes {
			axes = append(axes, k+"="+v)
		}
		slices.Sort(axes)
		fmt.Fprintln(c.App.Writer, view.Lines(strings.TrimSpace(g.Block+"   "+g.Metric+" in "+g.Unit+"   "+strings.Join(axes, ","))))
		t := &view.Table{Columns: []view.Column{{Title: d.Axis, Right: true}, {Title: "median", Right: true}, {Title: "interval"}, {Title: "MAD", Right: true}, {Title: "samples", Right: true}}}
		for _, p := range g.Points {
			interval := ""
			if p.Low != nil {
				interval = fmt.Sprintf("%s to %s (%.1f %%)", figure(*p.Low), figure(*p.High), 100*p.Confidence)
			}
			t.Rows = append(t.Rows, []string{figure(p.Size), figure(p.Median), interval, figure(p.MAD), view.Count(int(p.Samples))})
		}
		switch {
		case g.Unavailable != "":
			t.Footer = "Not fitted: " + g.Unavailable + "."
		case g.Fit.Winner == "":
			t.Footer = "No law stands out: " + g.Fit.Why + "."
		default:
			t.Footer = fmt.Sprintf("Descriptive: %s fits best%s.", g.Fit.Winner, better(g.Fit))
		}
		if err := t.Write(c.App.Writer, o); err != nil {
			return err
		}
	}
	if more := paging.More(c, d.Next, "axis"); more != "" {
		fmt.Fprintln(c.App.Writer, view.Lines(fmt.Sprintf("%s of %s. More: %s", view.Plural(len(d.Groups), "group", "groups"), view.Count(d.All), more)))
	}
	return nil
}

func better(r *growth.Result) string {
	if r.Fits[0].AICc == nil || r.Fits[1].AICc == nil {
		return ", and meets every point"
	}
	return fmt.Sprintf(", its AICc better than that of %s by %.1f", r.Fits[1].Law, *r.Fits[1].AICc-*r.Fits[0].AICc)
}

func figure(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
