package pprof

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	pb "github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations that a profile may have although it is evidence.
const (
	Legacy          = "legacy_format"
	NoSamples       = "no_samples"
	NoDuration      = "duration_missing"
	NoUnit          = "unit_missing"
	ProducerDropped = "frames_dropped_by_producer"
	LabelsJoined    = "label_values_joined"
	Negative        = "negative_weights"
	UnexpectedExit  = "unexpected_exit"
)

// ExtractOptions say how fine frames are.
type ExtractOptions struct {
	Granularity string `arg:"granularity" default:"\"function\"" doc:"what one frame is: function, line or address" facet:"definition"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

// Validate accepts profiles that can be read whole.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	list, err := readAll(ctx, in, evidence.DefaultBudget())
	var bad *providers.Refusal
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	}
	for _, d := range list {
		r.Limitations = append(r.Limitations, d.limitations()...)
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, evidence.Limitation{Code: UnexpectedExit, Text: fmt.Sprintf("the command ended with status %d", in.Exit)})
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

// Extract fills frames, frame_values, call_edges and stacks.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{Granularity: "function"}
	} else if !ok {
		return evidence.Outcome{}, fmt.Errorf("pprof: extraction options are a %T, not *pprof.ExtractOptions", options)
	}
	grain, ok := map[string]grain{"function": byFunction, "line": byLine, "address": byAddress}[o.Granularity]
	if !ok {
		return evidence.Outcome{}, fmt.Errorf("granularity = %q is not known; write \"function\", \"line\" or \"address\"", o.Granularity)
	}
	out, err := extract(ctx, in, grain, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

// named is one profile of the run.
type named struct {
	decoded
	name string // of the artifact
}

// readAll decodes every profile of the run.
func readAll(ctx context.Context, in providers.Input, budget evidence.Budget) (list []named, err error) {
	artifacts := in.FindAll(Role)
	if len(artifacts) == 0 {
		_, err := in.Find(Role) // says what there is instead
		return nil, err
	}
	memory := budget.Memory
	if memory <= 0 {
		memory = evidence.DefaultBudget().Memory
	}
	var size int64
	for _, a := range artifacts {
		if err := ctx.Err(); err != nil {
			return list, err
		}
		if size += a.Size; budget.InputBytes > 0 && size > budget.InputBytes {
			return list, providers.Refuse(InputBudget, "the profiles have more than the %d bytes that the extraction may read; raise its budget", budget.InputBytes)
		}
		d, err := readOne(a, memory/2/int64(len(artifacts)))
		if err != nil {
			var bad *providers.Refusal
			if errors.As(err, &bad) && len(artifacts) > 1 {
				bad.Text = a.Name + ": " + bad.Text
			}
			return list, err
		}
		list = append(list, named{d, a.Name})
	}
	return list, nil
}

func readOne(a providers.Artifact, limit int64) (decoded, error) {
	f, err := a.Open()
	if err != nil {
		return decoded{}, err
	}
	defer f.Close()
	return decode(f, limit)
}

func extract(ctx context.Context, in providers.Input, grain grain, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	list, err := readAll(ctx, in, budget)
	if err != nil {
		return evidence.Outcome{}, err
	}
	metrics, primary, err := metricsOf(list)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Results: results(list, metrics, primary)}
	b := profile.New(profile.Options{Metrics: metrics, Primary: primary, Budget: budget})
	weights := make([]int64, len(metrics))
	first, records := 0, int64(0)
	for _, d := range list {
		clear(weights)
		f := framer{grain: grain, paths: in.Paths, b: b, known: map[*pb.Location][]profile.Ref{}}
		joined, negative := 0, 0
		var stack []profile.Ref
		for i, s := range d.Sample {
			if i%4096 == 0 && ctx.Err() != nil {
				return out, ctx.Err()
			}
			if stack, err = f.stack(s, stack[:0]); err != nil {
				return out, err
			}
			for j, v := range s.Value {
				weights[first+j] = v
				if v < 0 {
					negative++
				}
			}
			labels, several, err := labelsOf(s, b)
			if err != nil {
				return out, err
			}
			joined += several
			if err := b.Add(stack, weights, labels); err != nil {
				return out, err
			}
		}
		records += int64(len(d.Sample))
		first += len(d.SampleType)
		out.Limitations = append(out.Limitations, d.limitations()...)
		if joined > 0 {
			out.Limitations = append(out.Limitations, evidence.Limitation{Code: LabelsJoined, Text: fmt.Sprintf("%d labels have several values; they are one text with commas", joined)})
		}
		if negative > 0 {
			out.Limitations = append(out.Limitations, evidence.Limitation{Code: Negative, Text: fmt.Sprintf("%d weights are negative: the profile is the difference of two", negative)})
		}
	}
	sum, err := b.Finish(sink)
	if err != nil {
		return out, err
	}
	out.Limitations = append(out.Limitations, sum.Limitations...)
	out.Results["samples"], out.Results["total"] = records, sum.Totals[primary]
	switch {
	case sum.Partial:
		out.State = evidence.Partial
	case sum.Stacks == 0:
		out.State = evidence.Empty
	}
	return out, nil
}

// metricsOf are the sample types of all profiles, and which of them is the one to look at first: the first
// profile's default, or its last one, as pprof's tools choose.
func metricsOf(list []named) (metrics []profile.Metric, primary int, err error) {
	times := map[profile.Metric]int{}
	for _, d := range list {
		own := map[profile.Metric]bool{}
		for _, t := range d.SampleType {
			m := profile.Metric{Name: t.Type, Unit: t.Unit}
			if own[m] {
				return nil, 0, providers.Refuse(SampleTypesDup, "the profile has the sample type %s in %s twice, so its figures cannot be told apart", t.Type, t.Unit)
			}
			own[m] = true
			times[m]++
		}
	}
	for _, d := range list {
		for _, t := range d.SampleType {
			m := profile.Metric{Name: t.Type, Unit: t.Unit}
			if times[m] > 1 {
				m.Name = d.name + "." + m.Name
			}
			metrics = append(metrics, m)
		}
	}
	primary = len(list[0].SampleType) - 1
	for i, t := range list[0].SampleType {
		if t.Type == list[0].DefaultSampleType && t.Type != "" {
			primary = i
			break
		}
	}
	return metrics, primary, nil
}

// results are the attributes that expressions may read. Facts of one profile are there where the run has one.
func results(list []named, metrics []profile.Metric, primary int) map[string]any {
	var types []string
	for _, m := range metrics {
		types = append(types, m.Name+"/"+m.Unit)
	}
	r := map[string]any{
		"sample_types":        strings.Join(types, ","),
		"default_sample_type": metrics[primary].Name,
		"unit":                metrics[primary].Unit,
	}
	if len(list) > 1 {
		return r
	}
	d := list[0]
	if d.DurationNanos > 0 {
		r["duration_ns"] = d.DurationNanos
	}
	if d.Period > 0 && d.PeriodType != nil {
		r["period"], r["period_type"], r["period_unit"] = d.Period, d.PeriodType.Type, d.PeriodType.Unit
	}
	return r
}

func (d named) limitations() (list []evidence.Limitation) {
	say := func(code, format string, args ...any) {
		list = append(list, evidence.Limitation{Code: code, Text: d.name + ": " + fmt.Sprintf(format, args...)})
	}
	if d.legacy {
		say(Legacy, "the profile is in a format older than pprof's protocol buffer; what that format leaves out (units of labels, durations, inlined calls) is missing")
	}
	if len(d.Sample) == 0 {
		say(NoSamples, "the profile is whole and has no sample: the run was too short for one, or nothing of the kind happened")
	}
	if d.DurationNanos <= 0 && d.PeriodType != nil && d.PeriodType.Type == "cpu" {
		say(NoDuration, "the profile does not say how long it took, so its weights cannot be set against wall time")
	}
	for _, t := range d.SampleType {
		if t.Unit == "" || t.Type == "" {
			say(NoUnit, "the sample type %q has the unit %q: a name or a unit is missing and none is guessed", t.Type, t.Unit)
		}
	}
	if d.DropFrames != "" {
		rx := d.DropFrames
		if len(rx) > 200 {
			rx = rx[:200] + "…"
		}
		say(ProducerDropped, "the profile asks to drop frames that match %s and what they call; they are not in the tables", strconv.Quote(rx))
	}
	return list
}
