package profile

import (
	"errors"
	"math"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

func TestCountsAreThoseOfTheProducersRecords(t *testing.T) {
	b := New(Options{Metrics: []Metric{{"held", "bytes"}, {"freed", "bytes"}}})
	f, err := b.Frame(Frame{Function: "f", File: "f.py"})
	if err != nil {
		t.Fatal(err)
	}
	path := []Ref{f}
	for _, err := range []error{
		b.AddCounted(path, []int64{10, 0}, []uint64{4, 0}, nil),
		b.AddCounted(path, []int64{5, 7}, []uint64{2, 3}, nil),
		b.Add(path, []int64{1, 0}, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: digest.Sum(nil)}, evidence.Budget{})
	defer sink.Discard()
	s, err := b.sum()
	if err != nil {
		t.Fatal(err)
	}
	if s.frameSamples[0] != 7 || s.frameSamples[1] != 3 || s.self[0] != 16 || s.self[1] != 7 {
		t.Errorf("samples %v, weights %v", s.frameSamples, s.self)
	}
	if err := b.AddCounted(path, []int64{1, 1}, []uint64{1}, nil); err == nil {
		t.Error("one count for two metrics was taken")
	}
	var over *OverflowError
	if err := b.AddCounted(path, []int64{1, 1}, []uint64{math.MaxUint64, 0}, nil); !errors.As(err, &over) {
		t.Errorf("counts beyond 64 bits: %v", err)
	}
}

func TestReservedRowsAreTheCallers(t *testing.T) {
	write := func(rows, reserved int64) (int64, Summary) {
		budget := evidence.Budget{Rows: rows}
		b := New(Options{Metrics: []Metric{{"held", "bytes"}}, Budget: budget})
		for _, name := range []string{"a", "b", "c"} {
			f, err := b.Frame(Frame{Function: name})
			if err == nil {
				err = b.Add([]Ref{f}, []int64{1}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b.Reserve(reserved)
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Artifact: digest.Sum(nil)}, budget)
		defer sink.Discard()
		s, err := b.Finish(sink)
		if err != nil {
			t.Fatal(err)
		}
		return sink.Rows(), s
	}
	if n, s := write(13, 4); n != 9 || s.Partial {
		t.Errorf("room for all: %d rows, %+v", n, s)
	}
	if n, s := write(12, 4); n != 8 || !s.Partial {
		t.Errorf("room for all but one: %d rows, %+v", n, s)
	}
	if n, s := write(0, 4); n != 9 || s.Partial {
		t.Errorf("no bound: %d rows, %+v", n, s)
	}
}
