package extract

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/internal/stats"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/stages/program"
)

var results = []lang.Attr{
	{Name: "state", Type: cty.String, Doc: "complete, empty or partial: the worst of the attempts"},
	{Name: "rows", Type: cty.Number, Doc: "rows in all tables and attempts"},
	{Name: "limitations", Type: cty.List(cty.String), Doc: "what is missing from the rows, as codes"},
	{Name: "median", Type: cty.Map(cty.Number), Doc: "median of the samples of all attempts, by name and unit as in the table measurements: median[\"gobench.BenchmarkSort ns/op\"]; " +
		"in the unit that the name ends with; warm-ups and what the producer had summed up itself are left out"},
}

// readResults computes the result attributes from the records of all attempts.
func readResults(s *graph.Store, records []*cache.Summary) (map[string]any, error) {
	if len(records) == 0 {
		return nil, nil
	}
	state, rows := evidence.State(""), int64(0)
	codes := []string{}
	samples := map[string][]float64{}
	for _, r := range records {
		rec, err := r.Record()
		if err != nil {
			return nil, err
		}
		state = evidence.Worse(state, evidence.State(rec.State))
		for _, o := range rec.Outputs {
			rows += o.Rows
			if o.Role == program.RoleTable+evidence.MeasurementsTable {
				if err := readSamples(s, o, samples); err != nil {
					return nil, err
				}
			}
		}
		for _, l := range rec.Limitations {
			codes = append(codes, l.Code)
		}
	}
	medians := make(map[string]float64, len(samples))
	for name, v := range samples {
		medians[name] = stats.Median(v)
	}
	return map[string]any{"state": string(state), "rows": rows, "limitations": codes, "median": medians}, nil
}

// readSamples adds the samples of a part of the table measurements, by name and unit.
func readSamples(s *graph.Store, o cache.Output, into map[string][]float64) error {
	if s.Lost(o) {
		return fmt.Errorf("the rows are lost; `flameox apply` makes them again")
	}
	columns := []string{"name", "unit", "value_int", "value_float", "aggregation", "warmup"}
	return evidence.Scan(s.CAS.Path(o.Digest), evidence.ScanOptions{Columns: columns}, func(_ []evidence.Column, row []any) error {
		if row[4] != evidence.Sample || row[5] == true {
			return nil
		}
		key := fmt.Sprintf("%s %s", row[0], row[1])
		switch v := row[2].(type) {
		case int64:
			into[key] = append(into[key], float64(v))
		default:
			if f, ok := row[3].(float64); ok {
				into[key] = append(into[key], f)
			}
		}
		return nil
	})
}
