package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// Summary is what an aggregation became.
type Summary struct {
	Records     uint64  // sample records that were added
	Totals      []int64 // per metric, over all records
	Frames      int     // distinct frames, call edges and stacks that were written
	Edges       int
	Stacks      int
	Partial     bool // rows were dropped or stacks were cut
	Limitations []evidence.Limitation
}

// The codes of the limitations that a Summary may have.
const (
	FramesDropped  = "frames_dropped"
	EdgesDropped   = "call_edges_dropped"
	StacksDropped  = "stacks_dropped"
	StackDepthCut  = "stack_depth_cut"
	StackMissing   = "stack_missing"
	TextNotUTF8    = "text_not_utf8"
	SymbolsMissing = "symbols_missing"
)

// Finish sums everything that was added and writes the rows, heaviest first. Where the budget has no room the
// lightest stacks go first, then the lightest edges, then the lightest frames with what refers to them. The Builder
// must not be used afterwards.
func (b *Builder) Finish(sink *evidence.Sink) (Summary, error) {
	out := Summary{Records: b.records, Totals: b.net}
	if err := b.checkMetrics(); err != nil {
		return out, err
	}
	s, err := b.sum()
	if err != nil {
		return out, err
	}
	stacks, cutStacks, cutWeight := s.stackRows()
	edges := s.orderEdges()

	plan := s.fit(edges, stacks)
	if err := s.write(sink, plan); err != nil {
		return out, err
	}
	out.Frames, out.Edges, out.Stacks = len(plan.frames), len(plan.edges), len(plan.stacks)

	dropped := func(code, what string, kept, all int, lost int64) {
		if kept == all {
			return
		}
		out.Partial = true
		m := b.opt.Metrics[s.primary]
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: code, Text: fmt.Sprintf(
			"the %s of %s %s were kept; the %s others have %s of %s together (%s of the profile's total)",
			count(kept, "heaviest"), number(int64(all)), what, number(int64(all-kept)), amount(lost, m), m.Name, share(lost, b.total[s.primary]))})
	}
	dropped(FramesDropped, "frames", len(plan.frames), len(s.order), s.lostSelf(plan.frames))
	dropped(EdgesDropped, "call edges", len(plan.edges), len(edges), s.lostEdges(plan.edges, edges))
	dropped(StacksDropped, "stacks", len(plan.stacks), len(stacks), s.lostStacks(plan.stacks, stacks))
	if cutStacks > 0 {
		out.Partial = true
		m := b.opt.Metrics[s.primary]
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: StackDepthCut, Text: fmt.Sprintf(
			"%s stacks, with %s of %s, are deeper than %d frames: their rows in stacks lack the frames nearest the root; frames and edges are exact", number(int64(cutStacks)), amount(cutWeight, m), m.Name, b.opt.Budget.StackDepth)})
	}
	if b.frameless > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: StackMissing, Text: fmt.Sprintf(
			"%s sample records have no stack; their weight is with the frame %s", number(int64(b.frameless)), unknown.Function)})
	}
	if b.badText > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: TextNotUTF8, Text: fmt.Sprintf(
			"%s frames or labels hold bytes that are not UTF-8; each such run of bytes reads as U+FFFD", number(int64(b.badText)))})
	}
	if n := s.unsymbolized(); n > 0 {
		out.Limitations = append(out.Limitations, evidence.Limitation{Code: SymbolsMissing, Text: fmt.Sprintf(
			"%s of %s frames have no function name: the producer wrote addresses only", number(int64(n)), number(int64(len(s.order))))})
	}
	return out, nil
}

// plan is what will be written.
type plan struct {
	frames []Ref
	edges  []int
	stacks []stackRow
}

// fit chooses rows. Row counts are taken over all four tables, as the budget counts them.
func (s *sums) fit(edges []int, stacks []stackRow) plan {
	room := int64(math.MaxInt64)
	if n := s.b.opt.Budget.Rows; n > 0 {
		room = n
	}
	p := plan{frames: s.order}
	if n := s.b.opt.Budget.Frames; n > 0 && len(p.frames) > n {
		p.frames = p.frames[:n]
	}
	for i, f := range p.frames {
		n := 1 + rowsOf(s.frameSamples[int(f)*s.m:(int(f)+1)*s.m])
		if n > room {
			p.frames, room = p.frames[:i], 0
			break
		}
		room -= n
	}
	kept := uint32(len(p.frames)) // a frame is kept where its rank is below this
	for _, j := range edges {
		if s.rank[s.edges[j].parent] >= kept || s.rank[s.edges[j].child] >= kept {
			continue
		}
		n := rowsOf(s.edgeSamples[j*s.m : (j+1)*s.m])
		if n > room {
			room = 0
			break
		}
		room -= n
		p.edges = append(p.edges, j)
	}
	frames, text := int64(maxStackFrames), int64(maxStackText)
	for _, r := range stacks {
		if n := s.b.opt.Budget.Stacks; n > 0 && len(p.stacks) == n {
			break
		}
		if kept < uint32(len(s.order)) && slices.ContainsFunc(s.path(r), func(f Ref) bool { return s.rank[f] >= kept }) {
			continue
		}
		n := rowsOf(r.samples)
		frames -= n * int64(r.depth)
		text -= n * s.b.labels[r.labels].size()
		if n > room || frames < 0 || text < 0 {
			break
		}
		room -= n
		p.stacks = append(p.stacks, r)
	}
	return p
}

func (s *sums) write(sink *evidence.Sink, p plan) error {
	metrics := s.b.opt.Metrics
	names := make([]string, len(s.b.frames))
	for _, f := range p.frames {
		names[f] = s.ids[f].String()
		row := s.b.frames[f].row(names[f])
		if err := sink.Frames.Put(&row); err != nil {
			return err
		}
		for m := range metrics {
			i := int(f)*s.m + m
			if s.frameSamples[i] == 0 {
				continue
			}
			if err := sink.FrameValues.Put(&evidence.FrameValue{Frame: names[f], Metric: metrics[m].Name, Unit: metrics[m].Unit,
				Self: s.self[i], Inclusive: s.inclusive[i], Samples: &s.frameSamples[i]}); err != nil {
				return err
			}
		}
	}
	for _, j := range p.edges {
		for m := range metrics {
			i := j*s.m + m
			if s.edgeSamples[i] == 0 {
				continue
			}
			if err := sink.CallEdges.Put(&evidence.CallEdge{Parent: names[s.edges[j].parent], Child: names[s.edges[j].child], Metric: metrics[m].Name,
				Unit: metrics[m].Unit, Weight: s.edgeWeights[i], Samples: &s.edgeSamples[i]}); err != nil {
				return err
			}
		}
	}
	for _, r := range p.stacks {
		path := s.path(r)
		row := evidence.Stack{Frames: make([]string, len(path)), Labels: s.b.labels[r.labels].asMap()}
		id := newText("flameox stack 1")
		for i, f := range path {
			row.Frames[i] = names[f]
			id.add(names[f])
		}
		id.add("")
		for _, l := range s.b.labels[r.labels] {
			id.add(l.key)
			id.add(l.value)
		}
		row.Stack, row.Leaf = digest.Of(id.h).String(), row.Frames[len(path)-1]
		for m := range metrics {
			if r.samples[m] == 0 {
				continue
			}
			row.Metric, row.Unit, row.Weight, row.Samples = metrics[m].Name, metrics[m].Unit, r.weights[m], &r.samples[m]
			if err := sink.Stacks.Put(&row); err != nil {
				return err
			}
		}
	}
	return nil
}

func rowsOf(samples []uint64) (n int64) {
	for _, k := range samples {
		if k != 0 {
			n++
		}
	}
	return n
}
