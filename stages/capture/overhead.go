package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/address"
	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/stages/program"
)

// OverheadResult is the name of the result attribute of a record that holds an Overhead.
const OverheadResult = "overhead"

// Overhead is what profiling cost a run, as its record has it. It has one row in the table overheads for each metric.
type Overhead struct {
	Of   string          `json:"of"`   // address of the stage without the profiler
	Runs []string        `json:"runs"` // its runs
	Wall OverheadMetrics `json:"wall"`
	CPU  OverheadMetrics `json:"cpu"`
}

// OverheadMetrics is the overhead in one metric: a ratio, or why there is none.
type OverheadMetrics struct {
	Ratio       float64 `json:"ratio,omitempty"`
	Low         float64 `json:"low,omitempty"`  // against the slowest run without the profiler
	High        float64 `json:"high,omitempty"` // against the fastest
	ProfiledNS  int64   `json:"profiled_ns,omitempty"`
	BaseNS      int64   `json:"base_ns,omitempty"` // median
	N           int     `json:"n"`
	Unavailable string  `json:"unavailable,omitempty"`
}

// twin is the stage without the profiler.
type twin struct {
	address address.Address
	node    *graph.Node // nil where it is no stage that runs a program
	paced   bool
}

// overhead sets the run against those without the profiler and keeps what comes of it, in the record and as rows. It changes nothing of whether the
// run is valid: what profiling costs is a fact about it.
func (s *stage) overhead(t *graph.Task, rec *cache.Record, manifest *facet.Manifest, in *graph.Results) error {
	o := &Overhead{Of: s.twin.address.String(), Runs: []string{}}
	base, why, err := s.base(t, rec, manifest, in)
	if err != nil {
		return err
	}
	for _, b := range base {
		o.Runs = append(o.Runs, b.Run)
	}
	var walls, cpus []int64
	missing := ""
	for _, b := range base {
		walls = append(walls, b.WallNS)
		cpu, ok := cpuTime(t, b)
		if !ok {
			missing = "the CPU time of run " + b.Run + " is not on record, or its evidence is lost"
		}
		cpus = append(cpus, cpu)
	}
	own, ok := cpuTime(t, rec)
	if !ok && missing == "" {
		missing = "the CPU time of this run was not observed"
	}
	o.Wall, o.CPU = against(rec.WallNS, walls, why), against(own, cpus, why)
	if why == "" && missing != "" {
		o.CPU = OverheadMetrics{N: len(base), Unavailable: missing}
	}
	if rec.Results == nil {
		rec.Results = map[string]json.RawMessage{}
	}
	if rec.Results[OverheadResult], err = json.Marshal(o); err != nil {
		return err
	}
	return o.put(t, rec)
}

// base are the runs without the profiler, or why nothing can be set against them.
func (s *stage) base(t *graph.Task, rec *cache.Record, manifest *facet.Manifest, in *graph.Results) (base []*cache.Record, why string, err error) {
	if s.twin.node == nil {
		return nil, s.twin.address.String() + " runs no program", nil
	}
	list := in.Of(s.twin.node)
	if len(list) == 0 { // a stage that nothing stands before is asked before its twin is done
		at := t.Store.At(s.twin.address)
		valid := slices.DeleteFunc(slices.Clone(at), func(r *cache.Summary) bool { return !r.Valid() })
		for _, r := range valid {
			if newest := valid[len(valid)-1]; r.Key == newest.Key && r.Generation == newest.Generation {
				list = append(list, r)
			}
		}
	}
	for _, r := range list {
		b, err := r.Record()
		if err != nil {
			return nil, "", fmt.Errorf("read a run without the profiler: %w", err)
		}
		base = append(base, b)
	}
	switch {
	case len(base) == 0:
		why = "no valid run of " + s.twin.address.String() + " is there"
	case rec.Execution != cache.ExecutionSucceeded:
		why = "the profiled run did not end as it should"
	case s.invocation.Paced || s.twin.paced:
		why = "how much the program does follows from how long it takes, so the time of a run says nothing of its speed; give a fixed amount of work (benchtime = \"100x\"), or compare times of one operation"
	default:
		why = otherWork(manifest, &base[0].Manifest)
	}
	return base, why, nil
}

// otherWork says why two runs did not do the same work, or "". The profiled command has to be the other one and what the profiler adds to it.
func otherWork(profiled, base *facet.Manifest) string {
	have := map[string]int{}
	at := map[string]string{}
	for _, f := range profiled.Facets {
		for _, e := range f.Entries {
			if f.Name == facet.Command && strings.HasPrefix(e.Name, "argv[") {
				have[e.Value]++
				continue
			}
			at[string(f.Name)+" "+e.Name] = e.Value
		}
	}
	for _, f := range base.Facets {
		for _, e := range f.Entries {
			switch f.Name {
			case facet.Command:
				if strings.HasPrefix(e.Name, "argv[") {
					if have[e.Value]--; have[e.Value] < 0 {
						return fmt.Sprintf("the run without the profiler has the argument %q, which the profiled one does not have", program.Brief(e.Value))
					}
					continue
				}
				fallthrough
			case facet.Inputs, facet.Identity, facet.HostClass:
				// The profiler may need inputs of its own; what the other run had, it must have, too.
				if v, ok := at[string(f.Name)+" "+e.Name]; !ok || v != e.Value {
					return fmt.Sprintf("the two runs differ in more than the profiler: %s %s", strings.ReplaceAll(string(f.Name), "_", " "), e.Name)
				}
			}
		}
	}
	return ""
}

// against sets a time against others.
func against(own int64, base []int64, why string) OverheadMetrics {
	m := OverheadMetrics{N: len(base), Unavailable: why}
	if why != "" {
		return m
	}
	values := make([]float64, len(base))
	for i, b := range base {
		values[i] = float64(b)
	}
	m.ProfiledNS, m.BaseNS = own, int64(stats.Median(values))
	if least := slices.Min(base); own <= 0 || least <= 0 {
		m.Unavailable = "a time of 0 was observed: the runs are too short to be compared"
		return m
	}
	m.Ratio = float64(own) / stats.Median(values)
	m.Low, m.High = float64(own)/slices.Max(values), float64(own)/slices.Min(values)
	return m
}

// cpuTime is the time that a run's process, and the children that it waited for, had on CPUs.
func cpuTime(t *graph.Task, rec *cache.Record) (ns int64, ok bool) {
	for _, o := range rec.Outputs {
		if o.Role != program.RoleTable+evidence.ResourcesTable {
			continue
		}
		found := 0
		columns := []string{"metric", "kind", "value_int", "subject"}
		err := evidence.Scan(t.Store.CAS.Path(o.Digest), evidence.ScanOptions{Columns: columns}, func(_ []evidence.Column, row []any) error {
			v, is := row[2].(int64)
			if is && row[1] == "summary" && row[3] == nil && (row[0] == "process.user_time" || row[0] == "process.system_time") {
				ns += v
				found++
			}
			return nil
		})
		return ns, err == nil && found == 2
	}
	return 0, false
}

// put keeps the overhead as rows.
func (o *Overhead) put(t *graph.Task, rec *cache.Record) error {
	dir := filepath.Join(t.Dir, "overhead")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the overhead of profiling: %w", err)
	}
	sink := evidence.NewSink(dir, evidence.FileMeta{Provider: "flameox", ProviderVersion: 1}, evidence.DefaultBudget())
	for i, m := range []*OverheadMetrics{&o.Wall, &o.CPU} {
		row := evidence.Overhead{Metric: [...]string{"wall", "cpu"}[i], Of: o.Of, Runs: o.Runs, N: int64(m.N)}
		if m.ProfiledNS > 0 {
			row.ProfiledNS = &m.ProfiledNS
		}
		if m.BaseNS > 0 {
			row.BaseNS = &m.BaseNS
		}
		if m.Unavailable != "" {
			row.Unavailable = &m.Unavailable
		} else {
			row.Ratio, row.Low, row.High = &m.Ratio, &m.Low, &m.High
		}
		if err := sink.Overheads.Put(&row); err != nil {
			return fmt.Errorf("keep the overhead of profiling: %w", err)
		}
	}
	parts, err := sink.Close()
	if err != nil {
		return fmt.Errorf("keep the overhead of profiling: %w", err)
	}
	return program.PutParts(t, rec, parts)
}
