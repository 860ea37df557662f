package gobench

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/flameox/flameox/evidence"
)

// maxKeys is how many configuration keys a row takes as dimensions. A file that has more has log lines of the
// form "word: text" among its results, and every row would carry them all.
const maxKeys = 64

// maxMemory bounds what is kept of all identities. Each has its configuration, so a few megabytes of configuration and
// short result lines could otherwise become terabytes. Refusing says more than the end of the worker process would.
const maxMemory = 512 << 20

// benchmark is one identity: a name under one configuration.
type benchmark struct {
	name       string // as printed, without -N
	dimensions map[string]string
	suffixed   bool   // the name had -N
	scope      string // pkg
	lines      int64
}

// summary is what a whole payload holds.
type summary struct {
	facts
	units      benchfmt.UnitMetadataMap
	benchmarks map[string]*benchmark
	order      []*benchmark
	key        []byte          // scratch
	seen       map[string]bool // scratch
	memory     int64           // that identities take, about
	results    int64           // result lines with at least one value that is used
	rows       int64           // values that are used
	unreadable tally           // lines that begin like a result and are none
	refused    tally           // values that no table can hold
	cutKeys    bool
}

// read goes through the payload and calls row for each value, in the order of the file. The row passed is
// reused. units may be nil, where only the summary is wanted.
func read(ctx context.Context, r io.Reader, units benchfmt.UnitMetadataMap, row func(*evidence.Measurement) error) (*summary, error) {
	in := newLines(r)
	s := &summary{benchmarks: map[string]*benchmark{}, seen: map[string]bool{}}
	reader := benchfmt.NewReader(in, "line")
	m := newMeasurer(units)
	for n := 0; reader.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			if err := s.result(rec, m, row); err != nil {
				return nil, err
			}
		case *benchfmt.SyntaxError:
			_, line := rec.Pos()
			s.unreadable.add(fmt.Sprintf("line %d: %s", line, rec.Msg))
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	s.facts, s.units = in.facts, reader.Units()
	return s, nil
}

// result takes one result line.
func (s *summary) result(r *benchfmt.Result, m *measurer, row func(*evidence.Measurement) error) error {
	_, line := r.Pos()
	if r.Iters <= 0 {
		s.unreadable.add(fmt.Sprintf("line %d: %d iterations", line, r.Iters))
		return nil
	}
	clear(s.seen)
	for _, v := range r.Values {
		if s.seen[unitOf(v)] {
			s.unreadable.add(fmt.Sprintf("line %d: two values in %s", line, unitOf(v)))
			return nil
		}
		s.seen[unitOf(v)] = true
	}
	b, err := s.identify(r)
	if err != nil {
		return err
	}
	index := b.lines
	b.lines++
	used := false
	for _, v := range r.Values {
		value, unit := v.Value, unitOf(v)
		if v.OrigUnit != "" {
			value = v.OrigValue
		}
		if math.IsNaN(value) || math.IsInf(value, 0) || (value == 0 && math.Signbit(value)) {
			s.refused.add(fmt.Sprintf("line %d: %v %s", line, value, unit))
			continue
		}
		used = true
		s.rows++
		if row != nil {
			if err := row(m.measure(b, value, unit, index, uint64(r.Iters))); err != nil {
				return err
			}
		}
	}
	if used {
		s.results++
	}
	return nil
}

func unitOf(v benchfmt.Value) string {
	if v.OrigUnit != "" {
		return v.OrigUnit
	}
	return v.Unit
}

// identify is the benchmark of a result line. The identity is the name, with -N, under all configuration
// keys, so that neither packages nor configurations mix. An error is a *refusal.
func (s *summary) identify(r *benchfmt.Result) (*benchmark, error) {
	config := r.Config
	if len(config) > maxKeys {
		s.cutKeys = true
		config = config[:maxKeys]
	}
	key := s.key[:0]
	for _, c := range config {
		key = append(strconv.AppendInt(key, int64(len(c.Key)), 10), ',')
		key = append(strconv.AppendInt(key, int64(len(c.Value)), 10), ':')
		key = append(append(key, c.Key...), c.Value...)
	}
	key = append(append(key, '\n'), r.Name...)
	s.key = key
	if b, ok := s.benchmarks[string(key)]; ok {
		return b, nil
	}
	if s.memory += 500 + 3*int64(len(key)) + 100*int64(len(config)); s.memory > maxMemory {
		return nil, &refusal{MemoryBudget, fmt.Sprintf("the payload names more than %d benchmarks under different configurations, with more text than is kept; probably log lines of the form \"word: text\" stand among the results: let the benchmark print nothing", len(s.order))}
	}
	b := &benchmark{dimensions: map[string]string{}}
	for _, c := range config {
		b.dimensions[c.Key] = string(c.Value)
	}
	b.scope = b.dimensions["pkg"]
	name := r.Name.Full()
	_, parts := r.Name.Parts()
	if n := len(parts); n > 0 && parts[n-1][0] == '-' {
		name = name[:len(name)-len(parts[n-1])]
		b.dimensions["gomaxprocs"] = string(parts[n-1][1:])
		b.suffixed = true
		parts = parts[:n-1]
	}
	b.name = "Benchmark" + string(name)
	b.nameParts(parts)
	s.benchmarks[string(key)] = b
	s.order = append(s.order, b)
	return b, nil
}

// nameParts makes dimensions of /key=value. A key that stands twice in a name has no one value and stays in the name only.
func (b *benchmark) nameParts(parts [][]byte) {
	found := map[string]string{}
	twice := map[string]bool{}
	for _, p := range parts {
		key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "=")
		if !ok || key == "" {
			continue
		}
		if _, had := found[key]; had {
			twice[key] = true
		}
		found[key] = value
	}
	for key, value := range found {
		if twice[key] {
			continue
		}
		if _, taken := b.dimensions[key]; taken {
			key = "/" + key
		}
		b.dimensions[key] = value
	}
}

// ambiguousProcs lists benchmarks whose -N may be part of the name: other benchmarks of the package have
// none, which happens where GOMAXPROCS was 1, and the same name is not there without it, as -cpu=1,N would print.
func (s *summary) ambiguousProcs() (doubtful tally) {
	plain := map[string]map[string]bool{}
	for _, b := range s.order {
		if !b.suffixed {
			if plain[b.scope] == nil {
				plain[b.scope] = map[string]bool{}
			}
			plain[b.scope][b.name] = true
		}
	}
	for _, b := range s.order {
		if b.suffixed && plain[b.scope] != nil && !plain[b.scope][b.name] {
			doubtful.add(b.name + "-" + b.dimensions["gomaxprocs"])
		}
	}
	return doubtful
}

// measurer makes rows, with what Unit lines say of their units.
type measurer struct {
	units map[string]*unit
	all   benchfmt.UnitMetadataMap
	row   evidence.Measurement
	dims  map[dimKey]map[string]string
}

type unit struct {
	better *string
	extra  map[string]string // unit:<key>
}

type dimKey struct {
	b    *benchmark
	unit *unit
}

func newMeasurer(all benchfmt.UnitMetadataMap) *measurer {
	return &measurer{units: map[string]*unit{}, all: all, dims: map[dimKey]map[string]string{}}
}

func (m *measurer) unit(name string) *unit {
	if u, ok := m.units[name]; ok {
		return u
	}
	u := &unit{}
	switch m.all.GetBetter(name) {
	case 1:
		s := "higher"
		u.better = &s
	case -1:
		s := "lower"
		u.better = &s
	}
	_, tidied := benchunit.Tidy(1, name) // the reader keeps what it knows of units by their tidied names
	for _, meta := range m.all {
		if meta.Unit != tidied || meta.Key == "better" {
			continue
		}
		if u.extra == nil {
			u.extra = map[string]string{}
		}
		u.extra["unit:"+meta.Key] = meta.Value
	}
	m.units[name] = u
	return u
}

func (m *measurer) measure(b *benchmark, value float64, name string, index int64, loops uint64) *evidence.Measurement {
	u := m.unit(name)
	dims := b.dimensions
	if u.extra != nil {
		k := dimKey{b, u}
		if dims = m.dims[k]; dims == nil {
			dims = map[string]string{}
			for key, v := range b.dimensions {
				dims[key] = v
			}
			for key, v := range u.extra {
				dims[key] = v
			}
			m.dims[k] = dims
		}
	}
	m.row = evidence.Measurement{
		Name: "gobench." + b.name, Unit: name, Aggregation: evidence.Sample, Scope: "workload",
		ValueIndex: index, Loops: &loops, BetterIs: u.better, Dimensions: dims,
	}
	// Above 2^53 the reader's float64 may not be the figure that was printed, so it does not pass for an exact integer.
	if value == math.Trunc(value) && math.Abs(value) <= 1<<53 {
		n := int64(value)
		m.row.ValueInt = &n
	} else {
		m.row.ValueFloat = &value
	}
	return &m.row
}
