package program

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/broker"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/stages/kind"
)

// RoleTable is the prefix of the roles of table parts: the table follows.
const RoleTable = "table:"

// putResources keeps what the broker sampled, as a part of the table resources. It is the engine's own evidence, not
// an extraction: there is no artifact of a producer behind it.
func putResources(t *graph.Task, rec *cache.Record, sampled []kind.Sampled, more []evidence.Resource) error {
	if len(sampled) == 0 { // nothing was started
		return nil
	}
	if err := os.MkdirAll(sinkDir(t), 0o700); err != nil {
		return err
	}
	sink := evidence.NewSink(sinkDir(t), evidence.FileMeta{Provider: "flameox", ProviderVersion: 1}, evidence.DefaultBudget())
	for _, row := range append(allRows(sampled), more...) {
		if err := sink.Resources.Put(&row); err != nil {
			return fmt.Errorf("keep the sampled resources: %w", err)
		}
	}
	parts, err := sink.Close()
	if err != nil {
		return fmt.Errorf("keep the sampled resources: %w", err)
	}
	return PutParts(t, rec, parts)
}

// PutParts adds table parts to the record.
func PutParts(t *graph.Task, rec *cache.Record, parts []evidence.Part) error {
	for _, p := range parts {
		sum, size, err := t.Batch.PutFile(p.Path)
		if err != nil {
			return fmt.Errorf("keep the rows of %s: %w", p.Table, err)
		}
		rec.Outputs = append(rec.Outputs, cache.Output{
			Name: filepath.Base(p.Path), Role: RoleTable + p.Table, MediaType: "application/vnd.apache.parquet",
			Digest: sum, Size: size, Rows: p.Rows,
		})
	}
	return nil
}

// allRows are the rows of the command, then those of each server.
func allRows(sampled []kind.Sampled) (out []evidence.Resource) {
	for _, s := range sampled {
		for _, row := range rows(s.Result) {
			if s.Subject != "" {
				row.Subject = &s.Subject
			}
			out = append(out, row)
		}
	}
	return out
}

// rows are the metrics of the registry, one summary each, what wait4 says, and the sampled points.
func rows(res *broker.Result) (out []evidence.Resource) {
	interval := res.Resources.Interval.Nanoseconds()
	for _, m := range broker.Registry() {
		v, _ := res.Resources.Value(m.ID)
		row := evidence.Resource{Metric: m.ID, Kind: "summary", Unit: m.Unit, Backend: m.Backend, IntervalNS: &interval}
		if v.Unavailable != "" {
			row.Unavailable = &v.Unavailable
		} else {
			row.ValueInt = &v.Bytes
		}
		out = append(out, row)
	}
	wait4 := func(metric, unit string, v int64) {
		out = append(out, evidence.Resource{Metric: metric, Kind: "summary", Unit: unit, Backend: "wait4", ValueInt: &v})
	}
	wait4("process.user_time", "ns", res.User.Nanoseconds())
	wait4("process.system_time", "ns", res.Sys.Nanoseconds())
	if res.MaxRSS > res.MaxRSSFloor { // else it says nothing of the program
		wait4("process.max_rss", "bytes", res.MaxRSS)
	}
	for _, p := range res.Resources.Points {
		at := p.At.Nanoseconds()
		point := func(metric, unit string, v int64) {
			if v >= 0 {
				out = append(out, evidence.Resource{
					Metric: metric, Kind: "point", Unit: unit, Backend: res.Resources.Backend, IntervalNS: &interval, AtNS: &at, ValueInt: &v,
				})
			}
		}
		point("tree.rss", "bytes", p.RSS)
		point("tree.cpu_time", "ns", (p.User + p.Sys).Nanoseconds())
		point("tree.processes", "count", int64(p.Processes))
		point("tree.threads", "count", int64(p.Threads))
		point("staging.free", "bytes", p.Free)
	}
	return out
}
