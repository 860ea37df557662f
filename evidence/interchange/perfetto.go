package interchange

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/flameox/flameox/evidence/callgraph"
)

// Field numbers of Perfetto's trace protocol (protos/perfetto/trace of its repository).
const (
	tracePacket           = 1 // Trace.packet
	packetTimestamp       = 8
	packetSequence        = 10
	packetTrackEvent      = 11
	packetInterned        = 12
	packetFlags           = 13
	packetTrackDescriptor = 60
	trackUUID, trackName  = 1, 2
	eventAnnotation       = 4
	eventType             = 9
	eventNameIID          = 10
	eventTrack            = 11
	annotationName        = 10
	annotationString      = 6
	internedEventNames    = 2

	sliceBegin, sliceEnd     = 1, 2
	stateCleared, needsState = 1, 2
)

// message is a protocol buffer that is being written.
type message []byte

func (m *message) number(field int, v uint64) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) varint(v uint64) { *m = binary.AppendUvarint(*m, v) }

// length begins a field of n bytes, which follow.
func (m *message) length(field, n int) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(n))
}

func (m *message) bytes(field int, b []byte) {
	m.length(field, len(b))
	*m = append(*m, b...)
}

// WritePerfetto writes the primary metric as a trace of slices, which Perfetto draws as a flame graph: a slice is as long as its stacks weigh
// together, and stands below its caller. The time axis is weight: stacks stand beside each other in the order of their names, not in the order in which
// they were seen, which a profile does not know.
func WritePerfetto(w io.Writer, p *Profile) ([]Loss, error) {
	metric := p.Metrics[p.Primary]
	if err := p.positive("a trace", p.Primary); err != nil {
		return nil, err
	}
	scale := map[string]int64{"us": 1e3, "µs": 1e3, "microseconds": 1e3, "ms": 1e6, "milliseconds": 1e6, "s": 1e9, "seconds": 1e9}[metric.Unit]
	scale = max(1, scale) // slices are in nanoseconds
	if total := p.Total(p.Primary); total > math.MaxInt64/scale {
		return nil, fmt.Errorf("the total of %s, %d %s, does not fit the nanoseconds of a trace; export it as pprof", metric.Name, total, metric.Unit)
	}
	losses := p.labelled("a trace of slices")
	losses = append(losses, Loss{"the time axis of the trace is weight: " + axis(metric.Unit) + "; slices stand in the order of their names, because a profile does not know when a stack was seen"})
	if len(p.Metrics) > 1 {
		losses = append(losses, Loss{fmt.Sprintf("only %s is written: one trace has one axis", metric.Name)})
	}
	out := bufio.NewWriter(w)
	t := &trace{out: out, iid: map[string]uint64{}, scale: uint64(scale)}
	var track message
	track.number(trackUUID, 1)
	track.bytes(trackName, []byte(p.Name+": "+metric.Name+" in "+metric.Unit))
	t.packet(func(m *message) {
		m.bytes(packetTrackDescriptor, track)
		m.number(packetFlags, stateCleared)
	})
	rank := byName(p.Frames)
	stacks := make([]*Sample, 0, len(p.Samples))
	for i := range p.Samples {
		if p.Samples[i].Weights[p.Primary] != 0 {
			stacks = append(stacks, &p.Samples[i])
		}
	}
	slices.SortStableFunc(stacks, func(x, y *Sample) int {
		return slices.CompareFunc(x.Path, y.Path, func(a, b uint32) int { return cmp.Compare(rank[a], rank[b]) })
	})
	var open []uint32
	now := uint64(0)
	for _, s := range stacks {
		shared := 0
		for shared < min(len(open), len(s.Path)) && open[shared] == s.Path[shared] {
			shared++
		}
		for range open[shared:] {
			t.end(now)
		}
		for i, f := range s.Path[shared:] {
			var about []string
			if len(open) == 0 && now == 0 && i == 0 {
				about = p.Comments
			}
			t.begin(now, p.Frames[f], about)
		}
		open = append(open[:shared], s.Path[shared:]...)
		now += uint64(s.Weights[p.Primary]) * uint64(scale)
	}
	for range open {
		t.end(now)
	}
	if err := out.Flush(); err != nil {
		return nil, fmt.Errorf("write a Perfetto trace: %w", err)
	}
	return losses, nil
}

// byName is the place of each frame in the order of names, and of identities where names are equal.
func byName(frames []*callgraph.Frame) []uint32 {
	names := make([]string, len(frames))
	order := make([]uint32, len(frames))
	for i, f := range frames {
		names[i], order[i] = f.Name(), uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(strings.Compare(names[a], names[b]), strings.Compare(frames[a].ID, frames[b].ID), cmp.Compare(a, b))
	})
	rank := make([]uint32, len(frames))
	for i, f := range order {
		rank[f] = uint32(i)
	}
	return rank
}

func axis(unit string) string {
	switch speedscopeUnit(unit) {
	case "none", "bytes":
		if unit == "" {
			unit = "count"
		}
		return "1 ns is 1 of " + unit
	}
	return "as much time as the stacks weigh"
}

// trace writes packets of one sequence.
type trace struct {
	out   *bufio.Writer
	iid   map[string]uint64 // names that were written, by text
	scale uint64
}

func (t *trace) packet(fill func(*message)) {
	var m, whole message
	fill(&m)
	m.number(packetSequence, 1)
	whole.bytes(tracePacket, m)
	t.out.Write(whole) // an error stays in the writer, and Flush returns it
}

func (t *trace) begin(at uint64, f *callgraph.Frame, about []string) {
	name := f.Name()
	id, known := t.iid[name]
	if !known {
		id = uint64(len(t.iid) + 1)
		t.iid[name] = id
	}
	var e message
	e.number(eventType, sliceBegin)
	e.number(eventNameIID, id)
	e.number(eventTrack, 1)
	annotate := func(name, value string) {
		var a message
		a.bytes(annotationName, []byte(name))
		a.bytes(annotationString, []byte(value))
		e.bytes(eventAnnotation, a)
	}
	if place := f.Place(); place != "" {
		annotate("place", place)
	}
	for i, text := range about {
		annotate(fmt.Sprintf("about.%d", i+1), text)
	}
	t.packet(func(m *message) {
		m.number(packetTimestamp, at)
		m.bytes(packetTrackEvent, e)
		m.number(packetFlags, needsState)
		if !known {
			var entry, interned message
			entry.number(1, id)
			entry.bytes(2, []byte(name))
			interned.bytes(internedEventNames, entry)
			m.bytes(packetInterned, interned)
		}
	})
}

func (t *trace) end(at uint64) {
	var e message
	e.number(eventType, sliceEnd)
	e.number(eventTrack, 1)
	t.packet(func(m *message) {
		m.number(packetTimestamp, at)
		m.bytes(packetTrackEvent, e)
		m.number(packetFlags, needsState)
	})
}
