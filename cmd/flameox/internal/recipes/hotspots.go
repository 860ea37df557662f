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
	"github.com/flameox/flameox/stages/workspace"
)

// HotspotsDocument is what `recipe scaling -hotspots -json` prints: frames whose share of a profile rises or falls along the axis. It describes what was measured and
// explains nothing.
type HotspotsDocument struct {
	Format  int            `json:"format_version"`
	Axis    string         `json:"axis"`
	Tested  int            `json:"tested"`   // hypotheses: frames with 1 % of a profile or more at some size, of profiles at five sizes or more
	TooFew  int            `json:"too_few"`  // frames of profiles at fewer sizes, which are not tested
	Level   float64        `json:"level"`    // up to which an adjusted p is said to stand out
	Frames  []SizedHotspot `json:"hotspots"` // strongest first
	All     int            `json:"all"`      // that were tested and have a correlation
	Next    string         `json:"next,omitempty"`
	Missing string         `json:"unavailable,omitempty"` // why none was tested
}

// SizedHotspot is a frame along the sizes of an axis, with everything else the same.
type SizedHotspot struct {
	Block    string            `json:"block"`
	Axes     map[string]string `json:"axes"` // the others
	Provider string            `json:"provider"`
	Metric   string            `json:"metric"`
	Unit     string            `json:"unit"`
	Name     string            `json:"name"`
	Place    string            `json:"place,omitempty"`
	Points   []SizedShare      `json:"points"`
	Rho      float64           `json:"rho"`        // Spearman's, of the share with the size
	P        float64           `json:"p"`          // of chance alone, in either direction
	Adjusted float64           `json:"adjusted_p"` // by Holm's method, for all that were tested
}

// SizedShare is a frame at one size.
type SizedShare struct {
	Size    float64 `json:"size"`
	Address string  `json:"address"`
	Run     string  `json:"run"`
	Self    int64   `json:"self"`
	Share   float64 `json:"self_share"` // of the self weight of all frames; 0 where the profile does not have the frame
}

const (
	hotShare = 0.01
	level    = 0.05
)

// profile is one profile at one size.
type profile struct {
	size         float64
	address, run string
	total        int64
	self         map[[2]string]int64 // by name and place
}

// profiles are those that differ in their size only.
type profiles struct {
	block, provider, metric, unit string
	axes                          map[string]string
	list                          []*profile
}

func runHotspots(c *cli.Context, w *workspace.Workspace, db *query.DB, read []string, where string) error {
	if c.String("axis") == "" {
		return flags.Usage(c, "-hotspots needs -axis, which names the axis of sizes")
	}
	axis := c.String("axis")
	sql := fmt.Sprintf(`SELECT r.block, r.address, r.run, r.axes, v.provider, v.metric, v.unit, coalesce(f.function, f.module, f.file, '[unnamed]') AS name, coalesce(f.file, f.module, '') AS place, sum(v.self)::BIGINT AS self
FROM frame_values v JOIN latest r ON r.run = v.run JOIN frames f ON f.run = v.run AND f.artifact = v.artifact AND f.provider = v.provider AND f.frame = v.frame
WHERE r.experiment = %s AND cardinality(v.labels) = 0 AND map_contains(r.axes, %s)%s GROUP BY ALL ORDER BY ALL`, text(w.Store.Experiment), text(axis), where)
	groups, err := readProfiles(c, db, sql, axis)
	if err != nil {
		return err
	}
	doc := &HotspotsDocument{Format: 1, Axis: axis, Level: level, Frames: []SizedHotspot{}}
	all := doc.test(groups)
	switch {
	case len(groups) == 0:
		doc.Missing = "no published profile has the axis " + axis
	case doc.Tested == 0:
		doc.Missing = fmt.Sprintf("a correlation of ranks needs profiles at %d sizes or more, of equal producers and metrics", growth.MinRanks)
	}
	p, err := paging.Of(c, paging.Ask(read, "scaling hotspots", sql))
	if err != nil {
		return err
	}
	begin, end, next, err := p.Cut(len(all), func(i int) string {
		return fmt.Sprintf("%q %q %q %q %q", all[i].Block, all[i].Metric, all[i].Axes, all[i].Name, all[i].Place)
	})
	if err != nil {
		return err
	}
	doc.All, doc.Next, doc.Frames = len(all), next, append(doc.Frames, all[begin:end]...)
	if c.Bool("json") {
		return cmdline.JSON(c, doc)
	}
	return doc.write(c)
}

func readProfiles(c *cli.Context, db *query.DB, sql, axis string) ([]*profiles, error) {
	at := map[string]*profiles{}
	var order []string
	runs := map[string]*profile{}
	err := db.Each(c.Context, sql, func(_ []query.Column, row []any) error {
		g := &profiles{block: row[0].(string), provider: row[4].(string), metric: row[5].(string), unit: row[6].(string), axes: map[string]string{}}
		value := ""
		for _, e := range row[3].([]query.Entry) {
			if k, v := fmt.Sprint(e.Key), fmt.Sprint(e.Value); k == axis {
				value = v
			} else {
				g.axes[k] = v
			}
		}
		size, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(size) || math.IsInf(size, 0) {
			return fmt.Errorf("the axis %s has the value %q, which is no size", axis, value)
		}
		key := fmt.Sprintf("%q %q %q %q %v", g.block, g.provider, g.metric, g.unit, g.axes)
		if at[key] == nil {
			at[key] = g
			order = append(order, key)
		}
		g = at[key]
		address, run := row[1].(string), row[2].(string)
		p := runs[key+run]
		if p == nil {
			p = &profile{size: size, address: address, run: run, self: map[[2]string]int64{}}
			runs[key+run] = p
			g.list = append(g.list, p)
		}
		self, _ := row[9].(int64)
		p.self[[2]string{row[7].(string), row[8].(string)}] += self
		p.total += self
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(order)
	out := make([]*profiles, len(order))
	for i, k := range order {
		out[i] = at[k]
		slices.SortFunc(out[i].list, func(x, y *profile) int {
			return cmp.Or(cmp.Compare(x.size, y.size), strings.Compare(x.address, y.address))
		})
	}
	return out, nil
}

// test correlates every hotspot of every group, and adjusts for their number.
func (d *HotspotsDocument) test(groups []*profiles) (all []SizedHotspot) {
	for _, g := range groups {
		names := g.hotspots()
		sizes := make([]float64, len(g.list))
		for i, p := range g.list {
			sizes[i] = p.size
		}
		if different := slices.Compact(slices.Clone(sizes)); len(different) < growth.MinRanks {
			d.TooFew += len(names)
			continue
		}
		ranks := growth.NewRanks(sizes)
		for _, name := range names {
			h := SizedHotspot{Block: g.block, Axes: g.axes, Provider: g.provider, Metric: g.metric, Unit: g.unit, Name: name[0], Place: name[1]}
			shares := make([]float64, len(g.list))
			for i, p := range g.list {
				shares[i] = ratio(p.self[name], p.total)
				h.Points = append(h.Points, SizedShare{Size: p.size, Address: p.address, Run: p.run, Self: p.self[name], Share: shares[i]})
			}
			d.Tested++
			var ok bool
			if h.Rho, h.P, ok = ranks.Correlation(shares); ok {
				all = append(all, h)
			}
		}
	}
	p := make([]float64, d.Tested)
	for i := range p {
		p[i] = 1 // of one that is the same everywhere, which was looked at all the same
		if i < len(all) {
			p[i] = all[i].P
		}
	}
	for i, a := range growth.Holm(p)[:len(all)] {
		all[i].Adjusted = a
	}
	slices.SortStableFunc(all, func(x, y SizedHotspot) int {
		return cmp.Or(cmp.Compare(x.Adjusted, y.Adjusted), cmp.Compare(x.P, y.P), cmp.Compare(math.Abs(y.Rho), math.Abs(x.Rho)))
	})
	return all
}

// hotspots are the frames that weigh something somewhere, by name.
func (g *profiles) hotspots() (names [][2]string) {
	seen := map[[2]string]bool{}
	for _, p := range g.list {
		for name, self := range p.self {
			if !seen[name] && ratio(self, p.total) >= hotShare {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(x, y [2]string) int { return cmp.Or(strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1])) })
	return names
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func (d *HotspotsDocument) write(c *cli.Context) error {
	if d.Missing != "" {
		fmt.Fprintln(c.App.Writer, view.Lines("Nothing: "+d.Missing+"."))
		return nil
	}
	t := &view.Table{Columns: []view.Column{{Title: "frame", Path: true}, {Title: "metric"}, {Title: "stage"}, {Title: "smallest", Right: true, Keep: true}, {Title: "largest", Right: true, Keep: true}, {Title: "rho", Right: true, Keep: true}, {Title: "p", Right: true}, {Title: "adjusted p", Right: true, Keep: true}}}
	for _, h := range d.Frames {
		first, last := h.Points[0], h.Points[len(h.Points)-1]
		t.Rows = append(t.Rows, []string{h.Name, h.Metric, h.Block, percent(first.Share), percent(last.Share), strconv.FormatFloat(h.Rho, 'f', 2, 64), chance(h.P), chance(h.Adjusted)})
	}
	t.Footer = fmt.Sprintf("Descriptive: shares of self weight at the smallest and the largest %s, and how their ranks go with it. %s tested; adjusted for all of them (Holm), what is up to %.2g stands out.", d.Axis, view.Plural(d.Tested, "frame was", "frames were"), d.Level)
	if d.TooFew > 0 {
		t.Footer += fmt.Sprintf(" %s of profiles at fewer than %d sizes not tested.", view.Plural(d.TooFew, "frame was", "frames were"), growth.MinRanks)
	}
	if more := paging.More(c, d.Next, "axis", "hotspots"); more != "" {
		t.Footer += " More: " + more
	}
	return t.Write(c.App.Writer, cmdline.View(c))
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func chance(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }
