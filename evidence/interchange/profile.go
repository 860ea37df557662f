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
	Samples  []Sample
}

// Sample is a stack with its weight in each metric.
type Sample struct {
	Frames  []*callgraph.Frame // root to leaf
	Weights []int64            // one for each metric
	Labels  map[string]string
}

// notKept stands for the stacks that a budget left out of the rows.
var notKept = &callgraph.Frame{Function: "[stacks that were not kept]"}

// Gather reads the stacks of the metrics that are wanted. totals are what all samples weigh in each: what the rows lack of it becomes a sample.
func Gather(p *callgraph.Profile, metrics []callgraph.Metric, totals []int64) ([]Sample, error) {
	var out []Sample
	at := map[string]int{}
	sums := make([]int64, len(metrics))
	for m, metric := range metrics {
		err := p.EachStack(metric, func(s callgraph.Stack) error {
			i, ok := at[s.ID]
			if !ok {
				i = len(out)
				at[s.ID] = i
				out = append(out, Sample{Frames: s.Frames, Weights: make([]int64, len(metrics)), Labels: s.Labels})
			}
			out[i].Weights[m] = callgraph.Add(out[i].Weights[m], s.Weight)
			sums[m] = callgraph.Add(sums[m], s.Weight)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	rest := Sample{Frames: []*callgraph.Frame{notKept}, Weights: make([]int64, len(metrics))}
	for m := range metrics {
		rest.Weights[m] = totals[m] - sums[m]
	}
	if slices.ContainsFunc(rest.Weights, func(w int64) bool { return w != 0 }) {
		out = append(out, rest)
	}
	return out, nil
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
