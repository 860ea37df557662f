package interchange

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence/callgraph"
)

// WritePprof writes a profile of pprof, compressed, with all metrics.
func WritePprof(w io.Writer, p *Profile) ([]Loss, error) {
	out := &pb.Profile{
		Mapping:       []*pb.Mapping{{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}},
		TimeNanos:     p.Started.UnixNano(),
		DurationNanos: int64(p.Duration / time.Nanosecond),
		Comments:      append([]string{p.Name}, p.Comments...),
	}
	for _, m := range p.Metrics {
		out.SampleType = append(out.SampleType, &pb.ValueType{Type: m.Name, Unit: m.Unit})
	}
	out.DefaultSampleType = p.Metrics[p.Primary].Name
	at := map[*callgraph.Frame]*pb.Location{}
	for _, s := range p.Samples {
		sample := &pb.Sample{Value: s.Weights}
		for _, f := range slices.Backward(s.Frames) { // leaf first
			l := at[f]
			if l == nil {
				fn := &pb.Function{ID: uint64(len(out.Function) + 1), Name: f.Name(), SystemName: f.Name(), Filename: f.File}
				l = &pb.Location{ID: fn.ID, Mapping: out.Mapping[0], Line: []pb.Line{{Function: fn, Line: f.Line, Column: f.Column}}}
				if f.Address != nil {
					l.Address = *f.Address
				}
				out.Function, out.Location = append(out.Function, fn), append(out.Location, l)
				at[f] = l
			}
			sample.Location = append(sample.Location, l)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
			if sample.Label == nil {
				sample.Label = map[string][]string{}
			}
			sample.Label[k] = []string{s.Labels[k]}
		}
		out.Sample = append(out.Sample, sample)
	}
	if err := out.CheckValid(); err != nil {
		return nil, fmt.Errorf("write a pprof profile: %w", err)
	}
	if err := out.Write(w); err != nil {
		return nil, fmt.Errorf("write a pprof profile: %w", err)
	}
	return nil, nil
}
