package interchange

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/flameox/flameox/evidence/callgraph"
)

// Profile is a profile in the form that every format is written from.
type Profile struct {
	Name     string // what the run is called, in one line
	Comments []string
	Started  time.Time
	Duration time.Duration // of the profiling; 0 where it is not known
	Metrics  []callgraph.Metric
	Primary  int // index of the metric to look at first
	Frames   []*callgraph.Frame
	Samples  []Sample
}

// Sample is a stack with its weight in each metric. A profile may have many millions of frames in its stacks, so they are kept as indexes.
type Sample struct {
	Path    []uint32 // root to leaf, indexes of Profile.Frames
	Weights []int64  // one for each metric
	Labels  map[string]string
}

// notKept stands for the stacks that a budget left out of the rows.
var notKept = &callgraph.Frame{Function: "[stacks that were not kept]"}

// Gather reads the frames, and the stacks of p.Metrics. totals are what all samples weigh in each: what the rows lack of it becomes a sample.
func (p *Profile) Gather(from *callgraph.Profile, totals []int64) error {
	frames, err := from.Frames()
	if err != nil {
		return err
	}
	p.Frames, p.Samples = frames[:len(frames):len(frames)], nil
	at := map[string]int{}
	sums := make([]int64, len(p.Metrics))
	var kept callgraph.Paths
	err = from.EachStack(p.Metrics, func(m int, s *callgraph.Stack) error {
		i, ok := at[s.ID]
		if !ok {
			path, err := s.Path()
			if err != nil {
				return err
			}
			i = len(p.Samples)
			at[s.ID] = i
			p.Samples = append(p.Samples, Sample{Path: kept.Keep(path), Weights: make([]int64, len(p.Metrics)), Labels: s.Labels})
		}
		w := p.Samples[i].Weights
		w[m] = callgraph.Add(w[m], s.Weight)
		sums[m] = callgraph.Add(sums[m], s.Weight)
		return nil
	})
	if err != nil {
		return err
	}
	rest := Sample{Path: []uint32{uint32(len(p.Frames))}, Weights: make([]int64, len(p.Metrics))}
	for m := range p.Metrics {
		rest.Weights[m] = totals[m] - sums[m]
	}
	if slices.ContainsFunc(rest.Weights, func(w int64) bool { return w != 0 }) {
		p.Frames, p.Samples = append(p.Frames, notKept), append(p.Samples, rest)
	}
	return nil
}

// Loss is what a format could not hold.
type Loss struct{ Text string }

// Total is what all samples weigh in metric m.
func (p *Profile) Total(m int) (sum int64) {
	for _, s := range p.Samples {
		sum = callgraph.Add(sum, s.Weights[m])
	}
	return sum
}

// positive refuses weights below zero, for formats in which a weight is a width.
func (p *Profile) positive(format string, m int) error {
	for _, s := range p.Samples {
		if s.Weights[m] < 0 {
			return fmt.Errorf("the profile has weights of %s below zero (it is the difference of two), which %s cannot hold; export it as pprof", p.Metrics[m].Name, format)
		}
	}
	return nil
}

// labelled says how many stacks with a weight have labels, for formats that have none.
func (p *Profile) labelled(format string) []Loss {
	n := 0
	for _, s := range p.Samples {
		if len(s.Labels) > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []Loss{{fmt.Sprintf("labels are left out, which %d of the stacks had: %s has none", n, format)}}
}

// one is text on one line that is safe to show.
func one(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
