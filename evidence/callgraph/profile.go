package callgraph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
)

// Metric is one quantity that the frames of a profile weigh, with its unit as the producer writes it.
type Metric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Frame is one place in a program. Missing values are empty, and Line and Column are 0: no producer counts lines from 0.
type Frame struct {
	ID       string // 64 hexadecimal digits
	Language string
	Function string
	Module   string
	File     string
	Line     int64
	Column   int64
	Address  *uint64
	BuildID  string
	Inlined  bool
}

// Name is the function, or what else there is to call the frame by.
func (f *Frame) Name() string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Address != nil && f.Module != "":
		return fmt.Sprintf("%s+%#x", f.Module, *f.Address)
	case f.Address != nil:
		return fmt.Sprintf("%#x", *f.Address)
	case f.Module != "":
		return f.Module
	case f.File != "":
		return f.Place()
	}
	return "[unnamed]"
}

// Place is the file and line of the frame, or its module; "" where it has none.
func (f *Frame) Place() string {
	if f.File == "" {
		return f.Module
	}
	if f.Line > 0 {
		return f.File + ":" + strconv.FormatInt(f.Line, 10)
	}
	return f.File
}

// Value is the weight of a frame in one metric.
type Value struct {
	*Frame
	Self, Inclusive int64
	Samples         *uint64 // records behind Inclusive; nil where the producer does not say
}

// Edge is the weight of a direct call in one metric.
type Edge struct {
	Parent, Child *Frame
	Weight        int64
	Samples       *uint64
}

// Profile is the profile of one extraction. It is for one goroutine.
type Profile struct {
	parts   map[string][]string // table → files
	frames  []*Frame            // in the order of the rows
	at      map[string]uint32   // index of frames by identity; nil until they are read
	metrics []Metric            // in the order of the rows: the producer's
}

// Tables are the tables that a profile is made of.
func Tables() []string { return []string{"frames", "frame_values", "call_edges", "stacks"} }

// Open looks which metrics a profile has. parts are the Parquet files of an extraction by table; tables that are not of a profile are passed over.
func Open(parts map[string][]string) (*Profile, error) {
	p := &Profile{parts: parts}
	seen := map[Metric]bool{}
	err := p.scan("frame_values", []string{"metric", "unit"}, func(row []any) error {
		m := Metric{row[0].(string), row[1].(string)}
		if !seen[m] {
			seen[m] = true
			p.metrics = append(p.metrics, m)
		}
		return nil
	})
	return p, err
}

// Metrics are the metrics of the profile, in the order in which its producer has them.
func (p *Profile) Metrics() []Metric { return p.metrics }

// Metric is the metric called name. A name of several metrics that differ in their unit is given as name/unit.
func (p *Profile) Metric(name string) (Metric, error) {
	var found []Metric
	var all []string
	for _, m := range p.metrics {
		if m.Name == name || m.Name+"/"+m.Unit == name {
			found = append(found, m)
		}
		all = append(all, m.Name+" ("+m.Unit+")")
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Metric{}, fmt.Errorf("the profile has no metric %q; it has %s", name, strings.Join(all, ", "))
	}
	return Metric{}, fmt.Errorf("the profile has the metric %s in several units; give one as %s/%s", name, found[0].Name, found[0].Unit)
}

// scan calls fn with the columns of every row of a table.
func (p *Profile) scan(table string, columns []string, fn func(row []any) error) error {
	for _, path := range p.parts[table] {
		if err := evidence.Scan(path, evidence.ScanOptions{Columns: columns}, func(_ []evidence.Column, row []any) error { return fn(row) }); err != nil {
			return fmt.Errorf("read the %s of the profile: %w", table, err)
		}
	}
	return nil
}

// Frames are all frames. A path of a Stack has indexes of it. It is not to be changed.
func (p *Profile) Frames() ([]*Frame, error) {
	if p.at != nil {
		return p.frames, nil
	}
	var all []*Frame
	at := map[string]uint32{}
	columns := []string{"frame", "language", "function", "module", "file", "line", "column", "address", "build_id", "inlined"}
	err := p.scan("frames", columns, func(row []any) error {
		f := &Frame{ID: row[0].(string), Language: text(row[1]), Function: text(row[2]), Module: text(row[3]), File: text(row[4]), BuildID: text(row[8])}
		f.Line, _ = row[5].(int64)
		f.Column, _ = row[6].(int64)
		if a, ok := row[7].(uint64); ok {
			f.Address = &a
		}
		f.Inlined, _ = row[9].(bool)
		if i, twice := at[f.ID]; twice {
			all[i] = f
			return nil
		}
		at[f.ID] = uint32(len(all))
		all = append(all, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.frames, p.at = all, at
	return all, nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) *uint64 {
	if n, ok := v.(uint64); ok {
		return &n
	}
	return nil
}

// frame is the frame with an identity. Rows of a frame that a budget dropped are dropped with it, so one that is missing is a damaged part.
func (p *Profile) frame(id string) (*Frame, error) {
	if i, ok := p.at[id]; ok {
		return p.frames[i], nil
	}
	return nil, noFrame(id)
}

func noFrame(id string) error {
	return fmt.Errorf("the profile has rows of the frame %s, and no such frame; `flameox fsck` looks for what is damaged", id)
}

// Values are the frames with their weights in m, heaviest self weight first.
func (p *Profile) Values(m Metric) ([]Value, error) {
	if _, err := p.Frames(); err != nil {
		return nil, err
	}
	var out []Value
	err := p.scan("frame_values", []string{"frame", "metric", "unit", "self", "inclusive", "samples", "labels"}, func(row []any) error {
		// A row with labels is a part of the one without.
		if labels, _ := row[6].(map[string]string); len(labels) > 0 || row[1] != m.Name || row[2] != m.Unit {
			return nil
		}
		f, err := p.frame(row[0].(string))
		out = append(out, Value{Frame: f, Self: row[3].(int64), Inclusive: row[4].(int64), Samples: number(row[5])})
		return err
	})
	if err != nil {
		return nil, err
	}
	SortBySelf(out)
	return out, nil
}

// SortBySelf orders frames by self weight, heaviest first, then by inclusive weight, then by identity.
func SortBySelf(list []Value) {
	slices.SortFunc(list, func(x, y Value) int {
		return cmp.Or(Heavier(x.Self, y.Self), Heavier(x.Inclusive, y.Inclusive), strings.Compare(x.ID, y.ID))
	})
}

// SortByInclusive orders frames by inclusive weight, heaviest first, then by self weight, then by identity.
func SortByInclusive(list []Value) {
	slices.SortFunc(list, func(x, y Value) int {
		return cmp.Or(Heavier(x.Inclusive, y.Inclusive), Heavier(x.Self, y.Self), strings.Compare(x.ID, y.ID))
	})
}

// Heavier compares by absolute weight, the heavier first: where a profile is the difference of two, what fell matters as much as what rose.
func Heavier(x, y int64) int { return cmp.Compare(magnitude(y), magnitude(x)) }

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Total is the sum of all self weights. What a budget dropped is not in it.
func Total(list []Value) int64 {
	var sum int64
	for _, v := range list {
		sum = Add(sum, v.Self)
	}
	return sum
}

// Add is the sum of two weights, or the nearest number that can be said. Sums of what one extraction wrote always fit; of rows from elsewhere
// nothing is known.
func Add(a, b int64) int64 {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

// Edges are the direct calls with a weight in m for which want is true, heaviest first.
func (p *Profile) Edges(m Metric, want func(parent, child string) bool) ([]Edge, error) {
	if _, err := p.Frames(); err != nil {
		return nil, err
	}
	var out []Edge
	err := p.scan("call_edges", []string{"parent", "child", "metric", "unit", "weight", "samples"}, func(row []any) error {
		parent, child := row[0].(string), row[1].(string)
		if row[2] != m.Name || row[3] != m.Unit || !want(parent, child) {
			return nil
		}
		e := Edge{Weight: row[4].(int64), Samples: number(row[5])}
		var err error
		if e.Parent, err = p.frame(parent); err == nil {
			e.Child, err = p.frame(child)
		}
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y Edge) int {
		return cmp.Or(Heavier(x.Weight, y.Weight), strings.Compare(x.Parent.ID, y.Parent.ID), strings.Compare(x.Child.ID, y.Child.ID))
	})
	return out, nil
}

// Find is the frames that name means: those whose function is exactly name, or else whose identity begins with it, or else those that have it
// somewhere in their name. They are in the order of list.
func Find(list []Value, name string) []Value {
	pick := func(want func(*Frame) bool) (out []Value) {
		for _, v := range list {
			if want(v.Frame) {
				out = append(out, v)
			}
		}
		return out
	}
	if found := pick(func(f *Frame) bool { return f.Name() == name || f.Name()+" "+f.Place() == name }); len(found) > 0 {
		return found
	}
	if len(name) >= 6 {
		if found := pick(func(f *Frame) bool { return strings.HasPrefix(f.ID, name) }); len(found) > 0 {
			return found
		}
	}
	return pick(func(f *Frame) bool { return strings.Contains(f.Name(), name) })
}
