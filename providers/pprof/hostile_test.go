package pprof_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers/pprof"
	"github.com/flameox/flameox/providers/providertest"
)

// message builds a protocol buffer by hand: what pprof's own writer holds in memory for these files would be what they attack with.
type message []byte

func (m *message) number(field, v uint64) *message {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, field<<3), v)
	return m
}

func (m *message) bytes(field uint64, b []byte) *message {
	*m = append(binary.AppendUvarint(binary.AppendUvarint(*m, field<<3|2), uint64(len(b))), b...)
	return m
}

// hostile is a profile of one sample type: texts are strings from index 3.
type hostile struct {
	message
	texts []string
}

func (h *hostile) text(s string) uint64 {
	h.texts = append(h.texts, s)
	return uint64(len(h.texts) + 2)
}

func (h *hostile) function(id, name uint64) {
	h.bytes(5, *new(message).number(1, id).number(2, name))
}

// location has n lines, all of function.
func (h *hostile) location(id uint64, n int, function uint64) {
	m := new(message).number(1, id)
	for range n {
		m.bytes(4, *new(message).number(1, function))
	}
	h.bytes(4, *m)
}

func (h *hostile) sample(locations []uint64, labels ...[2]uint64) {
	m := new(message)
	for _, l := range locations {
		m.number(1, l)
	}
	m.number(2, 1)
	for _, l := range labels {
		m.bytes(3, *new(message).number(1, l[0]).number(2, l[1]))
	}
	h.bytes(2, *m)
}

func (h *hostile) data() []byte {
	var m message
	m.bytes(1, *new(message).number(1, 1).number(2, 2))
	m = append(m, h.message...)
	for _, s := range append([]string{"", "cpu", "nanoseconds"}, h.texts...) {
		m.bytes(6, []byte(s))
	}
	return m
}

func TestAFewBytesDoNotMakeMuchWork(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*hostile)
		says string // "" where the profile is within all limits
	}{
		{"a location of a million inlined calls", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 1_000_000, 1)
			for range 100_000 {
				h.sample([]uint64{1})
			}
		}, "65,536 frames in one stack"},
		{"a stack that repeats a location of many inlined calls", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 60_000, 1)
			h.sample(slices.Repeat([]uint64{1}, 1_000_000))
		}, "65,536 frames in one stack"},
		{"many samples of one deep location", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 60_000, 1)
			for i := range uint64(100_000) {
				h.function(i+2, h.text(fmt.Sprint(i)))
				h.location(i+2, 1, i+2)
				h.sample([]uint64{i + 2, 1})
			}
		}, "268,435,456 frames in the stacks of all samples"},
		{"as many samples of one deep location as are allowed", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 30_000, 1)
			for i := range uint64(8000) {
				h.function(i+2, h.text(fmt.Sprint(i)))
				h.location(i+2, 1, i+2)
				h.sample([]uint64{i + 2, 1})
			}
		}, ""},
		{"the same below many roots", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 5000, 1)
			for i := range uint64(1000) {
				h.function(i+2, h.text(fmt.Sprint(i)))
				h.location(i+2, 1, i+2)
				h.sample([]uint64{1, i + 2})
			}
		}, ""},
		{"a label of a million long values", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 1, 1)
			long := h.text(strings.Repeat("x", 2000))
			h.sample([]uint64{1}, slices.Repeat([][2]uint64{{long, long}}, 20_000)...)
		}, "16,777,216 bytes in the labels of one sample"},
		{"a long text as the key of very many labels", func(h *hostile) {
			h.function(1, h.text("f"))
			h.location(1, 1, 1)
			long := h.text(strings.Repeat("x", 1<<20))
			for range 50_000 {
				h.sample([]uint64{1}, [2]uint64{long, 1})
			}
		}, "labels of the profile's samples"},
		{"a long name in very many functions", func(h *hostile) {
			long := h.text(strings.Repeat("x", 1<<20))
			for i := range uint64(100_000) {
				h.function(i+1, long)
				h.location(i+1, 1, i+1)
				h.sample([]uint64{i + 1})
			}
		}, "bytes in the names of frames"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := new(hostile)
			c.make(h)
			data := h.data()
			in := providertest.Input(t, pprof.Role, data)
			budget := evidence.DefaultBudget()
			sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: p.Name(), ProviderVersion: 1}, budget)
			defer sink.Discard()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			begin := time.Now()
			out, err := p.Extract(t.Context(), in, by("function"), budget, sink)
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d KiB took %s and %d MiB", len(data)>>10, took, (after.TotalAlloc-before.TotalAlloc)>>20)
			switch {
			case c.says == "" && out.State == evidence.Incompatible:
				t.Errorf("refused: %v", out.Limitations)
			case c.says != "" && (out.State != evidence.Incompatible || !strings.Contains(out.Limitations[0].Text, c.says)):
				t.Errorf("state %v, %v; want %q", out.State, out.Limitations, c.says)
			}
			if took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > uint64(budget.Memory) {
				t.Errorf("%d MiB were allocated", n>>20)
			}
		})
	}
}
