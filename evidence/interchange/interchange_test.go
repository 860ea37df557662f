package interchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/flameox/flameox/evidence/callgraph"
)

// sample is a profile with recursion, labels, hostile names and a stack without a weight in one metric: 90 ns, 9 hits.
func sample() *Profile {
	f := func(name, file string, line int64) *callgraph.Frame {
		return &callgraph.Frame{ID: name, Function: name, File: file, Line: line}
	}
	const main, fib, evil = 0, 1, 2
	return &Profile{
		Name: "capture.x.y, run R", Comments: []string{"host h"}, Started: time.Unix(1700000000, 0), Duration: time.Second,
		Metrics: []callgraph.Metric{{Name: "hits", Unit: "count"}, {Name: "cpu", Unit: "ns"}}, Primary: 1,
		Frames: []*callgraph.Frame{f("main", "main.go", 3), f("fib", "fib.go", 0), f("a;b\nc", "", 0)},
		Samples: []Sample{
			{Path: []uint32{main, fib, fib}, Weights: []int64{5, 50}},
			{Path: []uint32{main, fib, fib}, Weights: []int64{2, 20}, Labels: map[string]string{"thread": "1"}},
			{Path: []uint32{main, evil}, Weights: []int64{1, 20}},
			{Path: []uint32{main}, Weights: []int64{1, 0}},
		},
	}
}

func TestPprofHasEveryMetricAndLabelAndReadsBackTheSame(t *testing.T) {
	var b bytes.Buffer
	if _, err := WritePprof(&b, sample()); err != nil {
		t.Fatal(err)
	}
	p, err := pb.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	var hits, cpu int64
	for _, s := range p.Sample {
		hits += s.Value[0]
		cpu += s.Value[1]
	}
	if hits != 9 || cpu != 90 || p.DefaultSampleType != "cpu" || len(p.Location) != 3 || p.DurationNanos != 1e9 {
		t.Errorf("%d hits, %d ns, default %s, %d locations", hits, cpu, p.DefaultSampleType, len(p.Location))
	}
	if s := p.Sample[1]; s.Label["thread"][0] != "1" || s.Location[0].Line[0].Function.Name != "fib" || s.Location[2].Line[0].Line != 3 {
		t.Errorf("the second sample is %+v", s)
	}
}

func TestCollapsedStacksKeepTheirWeightAndOneLineEach(t *testing.T) {
	var b bytes.Buffer
	losses, err := WriteCollapsed(&b, sample())
	if err != nil {
		t.Fatal(err)
	}
	if want := "main;a:b c 20\nmain;fib;fib 70\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	var said []string
	for _, l := range losses {
		said = append(said, l.Text)
	}
	for _, want := range []string{"which 1 of the stacks had", "only cpu", "in this many names: 1"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not said: %q", want, said)
		}
	}
}

func TestSpeedscopeHasOneProfileForEachMetric(t *testing.T) {
	var b bytes.Buffer
	if _, err := WriteSpeedscope(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Active   int `json:"activeProfileIndex"`
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Unit    string
			End     int64 `json:"endValue"`
			Samples [][]int
			Weights []int64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Profiles) != 2 || d.Active != 1 || d.Profiles[0].End != 9 || d.Profiles[1].End != 90 || d.Profiles[1].Unit != "nanoseconds" || len(d.Profiles[1].Samples) != 3 || fmt.Sprint(d.Profiles[0].Samples, d.Profiles[0].Weights) != "[[0 1 1] [0 1 1] [0 2] [0]] [5 2 1 1]" {
		t.Errorf("%+v", d)
	}
	if d.Shared.Frames[2].Name != "a;b\nc" {
		t.Errorf("a name is %q", d.Shared.Frames[2].Name)
	}
}

func TestWidthsBelowZeroAreRefusedAndPprofHasThem(t *testing.T) {
	p := sample()
	p.Samples[0].Weights[1] = -5
	var b bytes.Buffer
	for name, write := range map[string]func() error{
		"collapsed":  func() error { _, err := WriteCollapsed(&b, p); return err },
		"speedscope": func() error { _, err := WriteSpeedscope(&b, p); return err },
		"perfetto":   func() error { _, err := WritePerfetto(&b, p); return err },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "below zero") || !strings.Contains(err.Error(), "pprof") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Reset()
	if _, err := WritePprof(&b, p); err != nil {
		t.Errorf("pprof: %v", err)
	}
}

func TestATraceWhoseAxisDoesNotFitIsRefused(t *testing.T) {
	p := sample()
	p.Metrics[1].Unit = "seconds"
	p.Samples[0].Weights[1] = 1 << 40
	var b bytes.Buffer
	if _, err := WritePerfetto(&b, p); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("%v", err)
	}
}
