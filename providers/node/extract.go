package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/formats/v8profile"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations and reasons.
const (
	Sampled        = "sampled_estimate"
	HeapSampled    = "sampled_heap_only"
	NoSamples      = "no_samples"
	NoHits         = "hit_counts_missing"
	NoTimes        = "sample_times_missing"
	NoRecords      = "sample_records_missing"
	OutOfOrder     = "samples_out_of_order"
	EndsEarly      = "profile_ends_early"
	SizesDiffer    = "sample_sizes_differ"
	LinesMissing   = "lines_missing"
	WrongKind      = "media_type_contradicted"
	InputBudget    = providers.InputBudget
	MemoryBudget   = providers.MemoryBudget
	Overflow       = providers.Overflow
	TooMuch        = providers.TooMuch
	UnexpectedExit = "unexpected_exit"
)

// ExtractOptions say how fine frames are.
type ExtractOptions struct {
	Granularity string `arg:"granularity" default:"\"function\"" doc:"what the leaf of a stack is: function, or line for the hits of a cpu profile by line, without times" facet:"definition"`
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
	for _, p := range list {
		if p.bare() {
			r.Limitations = append(r.Limitations, p.empty())
		}
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
		return evidence.Outcome{}, fmt.Errorf("node: extraction options are a %T, not *node.ExtractOptions", options)
	}
	if o.Granularity != "function" && o.Granularity != "line" {
		return evidence.Outcome{}, fmt.Errorf("granularity = %q is not known; write \"function\" or \"line\"", o.Granularity)
	}
	out, err := extract(ctx, in, o.Granularity == "line", budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

// named is one profile of the run.
type named struct {
	*v8profile.Profile
	name string // of the artifact
}

// perByte is about the memory that reading a profile takes, by byte of its text: the text, a node of 200 bytes with its maps for every
// twenty-four, and 50 bytes of a sample with its time for every four.
const perByte = 16

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
		switch size += a.Size; {
		case budget.InputBytes > 0 && size > budget.InputBytes:
			return list, providers.Refuse(InputBudget, "the profiles have more than the %d bytes that the extraction may read; raise its budget", budget.InputBytes)
		case size > memory/perByte:
			return list, providers.Refuse(MemoryBudget, "the profiles have %d bytes, and %d can be read in the memory that the extraction may take; raise its memory budget, or sample less often", size, memory/perByte)
		}
		p, err := readOne(a)
		var bad *v8profile.Error
		if errors.As(err, &bad) {
			return list, providers.Refuse(bad.Code, "%s: %s", a.Name, bad.Text)
		} else if err != nil {
			return list, err
		}
		for _, k := range kinds {
			if a.MediaType == k.media && p.Kind.String() != k.name {
				return list, providers.Refuse(WrongKind, "%s was declared as a %s profile and is a %s profile; declare it as what it is", a.Name, k.name, p.Kind)
			}
		}
		list = append(list, named{p, a.Name})
	}
	return list, nil
}

func readOne(a providers.Artifact) (*v8profile.Profile, error) {
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := evidence.ReadPayload(f, a.Size, a.Size)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Name, err)
	}
	return v8profile.Parse(data)
}

func extract(ctx context.Context, in providers.Input, lines bool, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	list, err := readAll(ctx, in, budget)
	if err != nil {
		return evidence.Outcome{}, err
	}
	metrics := metricsOf(list, lines)
	if len(metrics) == 0 {
		return evidence.Outcome{}, providers.Refuse(NoHits, "granularity = \"line\" needs the hits of a cpu profile by line, and there is none among the profiles; write \"function\"")
	}
	a := adder{
		b:       profile.New(profile.Options{Metrics: metrics, Budget: budget}),
		paths:   in.Paths,
		lines:   lines,
		weights: make([]int64, len(metrics)),
		counts:  make([]uint64, len(metrics)),
		several: len(list) > 1,
	}
	for i := range a.metric {
		a.metric[i] = -1
	}
	for i, m := range metrics {
		for j, known := range allMetrics {
			if m == known {
				a.metric[j] = i
			}
		}
	}
	out := evidence.Outcome{State: evidence.Complete}
	for _, p := range list {
		limits, err := a.add(ctx, p)
		if err != nil {
			return out, err
		}
		out.Limitations = append(out.Limitations, limits...)
	}
	sum, err := a.b.Finish(sink)
	if err != nil {
		return out, err
	}
	out.Limitations = append(append(out.Limitations, standing(list)...), sum.Limitations...)
	out.Results = a.results(list)
	out.Results["default_metric"], out.Results["unit"], out.Results["total"] = metrics[0].Name, metrics[0].Unit, sum.Totals[0]
	switch {
	case sum.Partial:
		out.State = evidence.Partial
	case sum.Stacks == 0:
		out.State = evidence.Empty
	}
	return out, nil
}

// The metrics, by index of allMetrics.
const (
	selfTime = iota
	hitCount
	selfSize
)

var allMetrics = [...]profile.Metric{
	selfTime: {Name: "cpu.self_time", Unit: "ns"},
	hitCount: {Name: "cpu.hit_count", Unit: "count"},
	selfSize: {Name: "memory.self_size", Unit: "bytes"},
}

// metricsOf are the metrics that the profiles have, the one to look at first in front.
func metricsOf(list []named, lines bool) (metrics []profile.Metric) {
	var have [len(allMetrics)]bool
	for _, p := range list {
		cpu := p.Kind == v8profile.CPU
		have[selfTime] = have[selfTime] || cpu && !lines
		have[hitCount] = have[hitCount] || cpu && (p.HasHits || lines)
		have[selfSize] = have[selfSize] || !cpu && !lines
	}
	for i, ok := range have {
		if ok {
			metrics = append(metrics, allMetrics[i])
		}
	}
	return metrics
}

// standing are the limitations that every profile of a kind has.
func standing(list []named) (limits []evidence.Limitation) {
	var have [v8profile.Heap + 1]bool
	for _, p := range list {
		if have[p.Kind] {
			continue
		}
		have[p.Kind] = true
		if p.Kind == v8profile.CPU {
			limits = append(limits, evidence.Limitation{Code: Sampled, Text: "times and hits are estimates from samples of JavaScript stacks; functions are those of the code that ran, no source map is applied"})
		} else {
			limits = append(limits, evidence.Limitation{Code: HeapSampled, Text: "sizes are V8's estimates from samples of what was live on its own heap at the end: no memory of the process outside of it, and small allocations that no sample met are under-represented"})
		}
	}
	return limits
}
