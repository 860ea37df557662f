package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence/shred"
	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/comparison"
	"github.com/flameox/flameox/measure/identity"
)

// Result is a stored result.
type Result struct {
	Row      int // from 0, in the order of ingest
	Document map[string]any
	Text     []byte         // its canonical text
	Order    map[string]any // nil where it is not known
}

// group is one row group of a snapshot, with the number of its first row.
type group struct {
	f     *shred.File
	g     int
	first int
}

func (p *Snapshot) groups() []group {
	var out []group
	n := 0
	for _, f := range p.files {
		for g := range f.Groups() {
			out = append(out, group{f, g, n})
			n += f.GroupRows(g)
		}
	}
	return out
}

// results reads rows of a row group, in the order given. orders also reads what asked for them.
func (g group) results(rows []int, orders bool) ([]Result, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	paths := []string{"document"}
	if orders {
		paths = append(paths, "work_order")
	}
	c, err := read(g.f, g.g, paths...)
	if err != nil {
		return nil, err
	}
	out := make([]Result, len(rows))
	for i, row := range rows {
		out[i] = Result{Row: g.first + row, Text: c[0].Bytes(row)}
		if out[i].Document, err = ijson.Object(out[i].Text); err != nil {
			return nil, fmt.Errorf("read the result %d of %s: %w", g.first+row, g.f.Path, err)
		}
		if !orders {
			continue
		}
		if text := c[1].Bytes(row); text != nil {
			if out[i].Order, err = ijson.Object(text); err != nil {
				return nil, fmt.Errorf("read the work order of the result %d of %s: %w", g.first+row, g.f.Path, err)
			}
		}
	}
	return out, nil
}

// Run is the results of one run, as a comparison takes them.
func (p *Snapshot) Run(ctx context.Context, key string) ([]comparison.Result, error) {
	var out []comparison.Result
	for _, g := range p.groups() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !g.f.May(g.g, "provenance.run_key", key) {
			continue
		}
		c, err := read(g.f, g.g, "provenance.run_key")
		if err != nil {
			return nil, err
		}
		var rows []int
		for i := range g.f.GroupRows(g.g) {
			if string(c[0].Bytes(i)) == key {
				rows = append(rows, i)
			}
		}
		list, err := g.results(rows, true)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			out = append(out, comparison.Result{Document: r.Document, Order: r.Order})
		}
	}
	return out, nil
}

// order is the text of a work order that a row has, nil where none has it.
func (p *Snapshot) order(ref string) (shred.Raw, error) {
	for _, g := range p.groups() {
		if !g.f.May(g.g, "work_order_ref", ref) {
			continue
		}
		c, err := read(g.f, g.g, "work_order_ref", "work_order")
		if err != nil {
			return nil, err
		}
		for i := range g.f.GroupRows(g.g) {
			if string(c[0].Bytes(i)) == ref && c[1].Bytes(i) != nil {
				return c[1].Bytes(i), nil
			}
		}
	}
	return nil, nil
}

// Latest are the n newest results, the newest first, of those of a project whose workload's name contains a text; "" is any.
func (p *Snapshot) Latest(ctx context.Context, n int, project, workload string, measurands bool) ([]Result, error) {
	var out []Result
	for _, g := range slices.Backward(p.groups()) {
		if err := ctx.Err(); err != nil || len(out) >= n {
			return out, err
		}
		if project != "" && !g.f.May(g.g, "store_project", project) {
			continue
		}
		c, err := read(g.f, g.g, "store_project", "coordinates.workload.name", "measurement.kind")
		if err != nil {
			return nil, err
		}
		var rows []int
		for i := g.f.GroupRows(g.g) - 1; i >= 0 && len(out)+len(rows) < n; i-- {
			name, _ := c[1].Text(i)
			if (project == "" || string(c[0].Bytes(i)) == project) && strings.Contains(name, workload) && !(measurands && string(c[2].Bytes(i)) == "condition") {
				rows = append(rows, i)
			}
		}
		list, err := g.results(rows, false)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// Series is one history.
type Series struct {
	Fingerprint string
	Estimator   string
	Project     string
	Workload    string
	Parameters  string // canonical text, "" where there are none
	Quantity    string
	Unit        string
	Points      int
	Last        int64 // when the latest point began to be measured, in microseconds since 1970
}

// Listing is the series of a store.
type Listing struct {
	Series     []Series       // by project, workload, parameters, quantity, estimator
	Unseriable map[string]int // how many results have no series, by the pointer of the fact that is null
}

// Series lists the histories whose workload's name contains a text and that are of a quantity; "" is any. A policy other than the default makes them of the documents.
func (p *Snapshot) Series(ctx context.Context, policy identity.Policy, workload, quantity string) (*Listing, error) {
	out := &Listing{Unseriable: map[string]int{}}
	at := map[string]int{}
	add := func(fingerprint, estimator string, start int64, s func() Series) {
		i, ok := at[fingerprint]
		if !ok {
			i = len(out.Series)
			at[strings.Clone(fingerprint)] = i
			out.Series = append(out.Series, s())
			out.Series[i].Fingerprint, out.Series[i].Estimator = strings.Clone(fingerprint), estimator
		}
		out.Series[i].Points++
		out.Series[i].Last = max(out.Series[i].Last, start)
	}
	for _, g := range p.groups() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if quantity != "" && !g.f.May(g.g, "coordinates.quantity.name", quantity) {
			continue
		}
		c, err := read(g.f, g.g, "coordinates.workload.name", "coordinates.quantity.name", "points.series", "points.estimator", "unseriable", "provenance.started_at",
			"store_project", "coordinates.workload.parameters", "coordinates.quantity.unit")
		if err != nil {
			return nil, err
		}
		t := func(k, i int) string { s, _ := c[k].Text(i); return s }
		var rows []int
		for i := range g.f.GroupRows(g.g) {
			if !strings.Contains(t(0, i), workload) || quantity != "" && t(1, i) != quantity {
				continue
			}
			rows = append(rows, i)
		}
		made := func(i int) func() Series {
			return func() Series {
				return Series{Project: t(6, i), Workload: t(0, i), Parameters: t(7, i), Quantity: t(1, i), Unit: t(8, i)}
			}
		}
		start := func(i int) int64 { n, _ := c[5].Int(i); return n }
		if policy.Name != identity.Default().Name {
			list, err := g.results(rows, false)
			if err != nil {
				return nil, err
			}
			for k, r := range list {
				_, unseriable, points, err := Points(policy, r.Document)
				if err != nil {
					return nil, err
				}
				if unseriable != "" {
					out.Unseriable[unseriable]++
				}
				for _, x := range points {
					add(x.Series, x.Estimator, start(rows[k]), made(rows[k]))
				}
			}
			continue
		}
		for _, i := range rows {
			if why := t(4, i); why != "" {
				out.Unseriable[why]++
			}
			series, estimators := c[2].Texts(i), c[3].Texts(i)
			for k, s := range series {
				add(s, estimators[k], start(i), made(i))
			}
		}
	}
	slices.SortFunc(out.Series, func(a, b Series) int {
		for _, d := range []int{strings.Compare(a.Project, b.Project), strings.Compare(a.Workload, b.Workload), strings.Compare(a.Parameters, b.Parameters),
			strings.Compare(a.Quantity, b.Quantity), strings.Compare(a.Estimator, b.Estimator), strings.Compare(a.Fingerprint, b.Fingerprint)} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
	return out, nil
}

// Entry is a point of a series with its result.
type Entry struct {
	Point
	Result
}

// Unknown is a prefix that names no series, or several.
type Unknown struct {
	Prefix string
	Found  []string // the fingerprints that begin with it, in order
}

func (e *Unknown) Error() string {
	if len(e.Found) == 0 {
		return fmt.Sprintf("no series begins with %q; `flameox series` lists them", e.Prefix)
	}
	return fmt.Sprintf("%d series begin with %q; write more of the one that you mean:\n  %s", len(e.Found), e.Prefix, strings.Join(e.Found, "\n  "))
}

// History is the points of the one series whose fingerprint begins with prefix, in the order of ingest. The error is an *Unknown where none or several do.
func (p *Snapshot) History(ctx context.Context, policy identity.Policy, prefix string) ([]Entry, error) {
	var out []Entry
	found := map[string]bool{}
	wanted := func(b []byte) bool { return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix }
	builtin := policy.Name == identity.Default().Name
	for _, g := range p.groups() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var rows []int
		c, err := read(g.f, g.g, "points.series")
		if err != nil {
			return nil, err
		}
		for i := range g.f.GroupRows(g.g) {
			if !builtin || c[0].Any(i, wanted) {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		list, err := g.results(rows, false)
		if err != nil {
			return nil, err
		}
		if c, err = read(g.f, g.g, "points.series", "points.estimator", "points.value"); err != nil {
			return nil, err
		}
		for k, r := range list {
			var points []Point
			if builtin {
				series, estimators, values := c[0].Texts(rows[k]), c[1].Texts(rows[k]), c[2].Floats(rows[k])
				for i := range series {
					points = append(points, Point{series[i], estimators[i], values[i]})
				}
			} else if _, _, points, err = Points(policy, r.Document); err != nil {
				return nil, err
			}
			for _, x := range points {
				if strings.HasPrefix(x.Series, prefix) {
					found[x.Series] = true
					out = append(out, Entry{x, r})
				}
			}
		}
	}
	if len(found) != 1 {
		e := &Unknown{Prefix: prefix}
		for s := range found {
			e.Found = append(e.Found, s)
		}
		slices.Sort(e.Found)
		return nil, e
	}
	return out, nil
}
