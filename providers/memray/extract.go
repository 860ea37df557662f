package memray

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/providers"
)

// The codes of limitations that a capture may have although it is evidence.
const (
	NoHistory        = "unsupported_capture_format"
	NoAllocations    = "no_allocations"
	EndUnverified    = "capture_end_unverified"
	TotalsDisagree   = "totals_disagree"
	SeveralProcesses = "peaks_of_several_processes"
	UnexpectedExit   = "unexpected_exit"
)

// ExtractOptions say which views are made of a capture, and by which Python.
type ExtractOptions struct {
	Threshold   int    `arg:"temporary_allocation_threshold" default:"1" doc:"an allocation is temporary where at most so many others of its thread come before it is freed; 0 to 1000" facet:"definition"`
	Allocated   bool   `arg:"allocated" default:"true" doc:"sum up everything that was ever allocated too, which goes through every record in Python and is about half of the time that a large capture takes" facet:"definition"`
	Threads     bool   `arg:"threads" default:"false" doc:"keep the stacks of each thread apart, with the label thread" facet:"definition"`
	Interpreter string `arg:"interpreter,optional" doc:"the Python that has the memray which wrote the capture: a name or a path; that of the capture where missing" facet:"exempt: the version of memray that it must have is part of the key"`
}

// ExtractOptions are the extraction's, before decoding.
func (Provider) ExtractOptions() any { return new(ExtractOptions) }

// maxThreshold is memray's own bound of what is sensible: it searches so many allocations at each free.
const maxThreshold = 1000

func extractOptions(options any) (*ExtractOptions, error) {
	o, ok := options.(*ExtractOptions)
	if options == nil {
		o = &ExtractOptions{Threshold: 1, Allocated: true}
	} else if !ok {
		return nil, fmt.Errorf("memray: extraction options are a %T, not *memray.ExtractOptions", options)
	}
	if o.Threshold < 0 || o.Threshold > maxThreshold {
		return nil, fmt.Errorf("temporary_allocation_threshold = %d: give 0 to %d", o.Threshold, maxThreshold)
	}
	return o, nil
}

// metrics are the metrics in the order of the views.
var metrics = []profile.Metric{
	{Name: "memory.high_watermark", Unit: "bytes"},
	{Name: "memory.retained_end", Unit: "bytes"},
	{Name: "memory.temporary", Unit: "bytes"},
	{Name: "memory.allocated", Unit: "bytes"},
}

// Validate accepts captures that are whole and that memray's reader accepts. Where no reader ran, as of an import, it looks at the outside only.
func (Provider) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	var r providers.Receipt
	if err := ctx.Err(); err != nil {
		return r, err
	}
	var bad *providers.Refusal
	list, err := outside(in, 0)
	switch {
	case errors.As(err, &bad):
		r.Reasons = append(r.Reasons, bad.Limitation)
	case err != nil:
		return r, err
	case in.Reading == nil:
		r.Limitations = append(r.Limitations, limitation("reader_not_run", "the capture was looked at from outside only; memray's reader sees it when it is extracted"))
	default:
		c := collector{artifacts: list}
		r.Producer, err = c.read(ctx, in.Reading)
		if errors.As(err, &bad) {
			r.Reasons = append(r.Reasons, bad.Limitation)
		} else if err != nil {
			return r, err
		}
	}
	for i, a := range list {
		switch {
		case a.compressed && !a.whole:
			r.Reasons = append(r.Reasons, limitation(Truncated, "%s breaks off: its compressed frame has no end; the file was cut", a.Name))
		case !a.compressed && i > 0: // multiprocessing ends its processes by os._exit, and by signals
			r.Limitations = append(r.Limitations, unverified(a.Name))
		case !a.compressed && in.Reading != nil: // it is of a capture, and those are planned to be compressed when they are closed
			r.Reasons = append(r.Reasons, limitation(NotClosed, "%s was never closed: the process was killed, or left by os._exit or exec, and what it recorded last may be missing", a.Name))
		case !a.compressed && len(r.Reasons) == 0:
			r.Limitations = append(r.Limitations, unverified(a.Name))
		}
	}
	if !in.ExitExpected() {
		r.Reasons = append(r.Reasons, limitation(UnexpectedExit, "the command ended with status %d", in.Exit))
	}
	r.Valid = len(r.Reasons) == 0
	return r, nil
}

func unverified(name string) evidence.Limitation {
	return limitation(EndUnverified, "%s is not compressed, as it would be if its process had closed it in the usual way, so nothing shows whether its last records are there", name)
}

// Extract fills frames, frame_values, call_edges, stacks and measurements.
func (Provider) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	o, err := extractOptions(options)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out, err := extract(ctx, in, o, budget, sink)
	if refused, ok := providers.Refused(err, sink); ok {
		return refused, nil
	}
	return out, err
}

// payload is a capture and its outside.
type payload struct {
	providers.Artifact
	container
}

// outside looks at the outside of every capture of the run. limit bounds their bytes together, 0 for none.
func outside(in providers.Input, limit int64) (list []payload, err error) {
	artifacts := in.FindAll(Role)
	if len(artifacts) == 0 {
		_, err := in.Find(Role) // says what there is instead
		return nil, err
	}
	var size int64
	for _, a := range artifacts {
		if size += a.Size; limit > 0 && size > limit {
			return list, providers.Refuse(InputBudget, "the captures have more than the %d bytes that the extraction may read; capture less in one run, or set aggregate = true", limit)
		}
		c, err := open(a)
		if err != nil {
			return list, err
		}
		list = append(list, payload{a, c})
	}
	return list, nil
}

// collector is told what the stream says.
type collector struct {
	artifacts []payload
	captures  []capture
	builder   *profile.Builder
	paths     providers.Paths
	refs      []profile.Ref // by number of the frame in the stream
	process   []string      // by capture: its label, "" for the workload's own
	path      []profile.Ref
	weights   [views]int64
	counts    [views]uint64
	sums      []sums // by capture
	missing   []without
	threshold int  // of temporary allocations
	allocated bool // the view was asked for
}

// sums are the figures of one capture.
type sums struct {
	bytes [views]int64
	lacks [views]bool
	total *totals
}

// read reads the stream and returns the version of memray that made it.
func (c *collector) read(ctx context.Context, reading *providers.Reading) (string, error) {
	f, err := os.Open(reading.Path)
	if err != nil {
		return "", fmt.Errorf("read what memray's reader printed: %w", err)
	}
	defer f.Close()
	lines := 0
	tick := func() error {
		if lines++; lines%4096 == 0 {
			return ctx.Err()
		}
		return nil
	}
	name := func(i int) string { return c.artifacts[i].Name }
	return parseStream(f, reading, name, len(c.artifacts), handler{
		capture: func(x capture) error {
			c.captures = append(c.captures, x)
			c.sums = append(c.sums, sums{})
			if len(c.captures) == len(c.artifacts) {
				c.nameProcesses()
			}
			return nil
		},
		frame: func(x frame) error {
			if c.builder == nil {
				return nil
			}
			r, err := c.builder.Frame(c.frame(x))
			c.refs = append(c.refs, r)
			return errors.Join(err, tick())
		},
		stack: func(x *stack) error {
			if c.builder == nil {
				return nil
			}
			return errors.Join(c.stack(x), tick())
		},
		without: func(x without) error {
			c.sums[x.Capture].lacks[x.View] = true
			c.missing = append(c.missing, x)
			return nil
		},
		totals: func(x totals) error {
			c.sums[x.Capture].total = &x
			return nil
		},
	})
}

// nameProcesses numbers the processes that were forked by when they began, so that equal runs have equal names whatever the numbers
// of their processes were.
func (c *collector) nameProcesses() {
	c.process = make([]string, len(c.captures))
	order := make([]int, 0, len(c.captures))
	for i := 1; i < len(c.captures); i++ {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := c.captures[a], c.captures[b]
		if x.StartUS != y.StartUS {
			return int(min(1, max(-1, x.StartUS-y.StartUS)))
		}
		return int(min(1, max(-1, x.PID-y.PID)))
	})
	for n, i := range order {
		c.process[i] = fmt.Sprintf("fork-%d", n+1)
	}
}

func (c *collector) stack(s *stack) error {
	c.path = c.path[:0]
	if err := c.builder.CheckDepth(len(s.frames)); err != nil {
		return err
	}
	for _, i := range slices.Backward(s.frames) {
		c.path = append(c.path, c.refs[i])
	}
	var labels map[string]string
	if p := c.process[s.capture]; p != "" {
		labels = map[string]string{"process": p}
	}
	if s.thread != "" {
		if labels == nil {
			labels = map[string]string{}
		}
		labels["thread"] = s.thread
	}
	c.weights, c.counts = [views]int64{}, [views]uint64{}
	c.weights[s.view], c.counts[s.view] = s.bytes, s.count
	if err := c.builder.AddCounted(c.path, c.weights[:], c.counts[:], labels); err != nil {
		return err
	}
	c.sums[s.capture].bytes[s.view] += s.bytes // no more than the builder's total, which fits
	return nil
}

func extract(ctx context.Context, in providers.Input, o *ExtractOptions, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return evidence.Outcome{}, err
	}
	list, err := outside(in, budget.InputBytes)
	if err != nil {
		return evidence.Outcome{}, err
	}
	if in.Reading == nil {
		return evidence.Outcome{}, &providers.Refusal{Missing: true, Limitation: limitation(NoReader, "no reader of memray was run over the capture")}
	}
	c := collector{artifacts: list, paths: in.Paths, threshold: o.Threshold, allocated: o.Allocated}
	c.builder = profile.New(profile.Options{Metrics: metrics, Primary: int(highWaterMark), Budget: budget})
	version, err := c.read(ctx, in.Reading)
	if err != nil {
		return evidence.Outcome{}, err
	}
	out := evidence.Outcome{State: evidence.Complete, Producer: version, Results: c.results()}
	for i, a := range list {
		if a.compressed && !a.whole {
			out.Limitations = append(out.Limitations, limitation(Truncated, "%s breaks off; its rows are of the records before that", a.Name))
		} else if !a.compressed {
			out.Limitations = append(out.Limitations, unverified(a.Name))
		}
		out.Limitations = append(out.Limitations, c.disagreements(i)...)
	}
	if len(out.Limitations) > 0 {
		out.State = evidence.Partial
	}
	out.Limitations = append(out.Limitations, c.limitations()...)
	if !slices.ContainsFunc(c.captures, func(x capture) bool { return x.Records > 0 }) {
		if out.State == evidence.Complete {
			out.State = evidence.Empty
		}
		out.Limitations = append(out.Limitations, limitation(NoAllocations, "nothing was allocated while memray recorded"))
		return out, nil
	}
	measurements := c.measurements()
	if n := int64(len(measurements)); budget.Rows > 0 && budget.Rows <= n {
		return out, providers.Refuse(RowBudget, "the %d measurements of the capture have no weight, so none is dropped, and the extraction may write %d rows", n, budget.Rows)
	}
	c.builder.Reserve(int64(len(measurements)))
	sum, err := c.builder.Finish(sink)
	if err != nil {
		return out, err
	}
	if sum.Partial {
		out.State = evidence.Partial
	}
	out.Limitations = append(out.Limitations, sum.Limitations...)
	dropped := slices.ContainsFunc(sum.Limitations, func(l evidence.Limitation) bool { return l.Code == profile.FramesDropped })
	return out, write(sink, measurements, !dropped)
}
