package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flameox/flameox/internal/growth"
)

// grown is how a figure grows with the number of instances, over all sizes that were measured in this run.
type grown struct {
	What  string          `json:"what"`
	Sizes []int           `json:"instances"`
	Times []time.Duration `json:"times_ns"` // medians of CPU time, which other processes disturb less
	// Each is what one instance more costs, between each size and the one before.
	Each []time.Duration `json:"each_ns"`
	Law  string          `json:"law,omitempty"` // of internal/growth; "" where none is clearly best
}

// growthOf sums up the rows that are the same at several sizes.
func growthOf(results []result) (out []grown) {
	for _, of := range []struct {
		what string
		time func(result) time.Duration
	}{
		{"no-op plan", func(r result) time.Duration { return r.FlameoxCPU }},
		{"ninja", func(r result) time.Duration { return r.BaselineCPU }},
	} {
		g := grown{What: of.what}
		var points []growth.Point
		for _, r := range results {
			if r.Instances > 0 && of.time(r) > 0 {
				g.Sizes, g.Times = append(g.Sizes, r.Instances), append(g.Times, of.time(r))
				points = append(points, growth.Point{X: float64(r.Instances), Y: of.time(r).Seconds()})
			}
		}
		if len(g.Sizes) < 2 || !slices.IsSorted(g.Sizes) {
			continue
		}
		for i := 1; i < len(g.Sizes); i++ {
			g.Each = append(g.Each, (g.Times[i]-g.Times[i-1])/time.Duration(g.Sizes[i]-g.Sizes[i-1]))
		}
		if fit, err := growth.Fits(points); err == nil {
			g.Law = fit.Winner
		}
		out = append(out, g)
	}
	return out
}

func (g grown) print(w io.Writer) {
	fmt.Fprintf(w, "growth of %s, CPU time:", g.What)
	for i, n := range g.Sizes {
		fmt.Fprintf(w, "  %d: %s", n, ms(g.Times[i]))
		if i > 0 {
			fmt.Fprintf(w, " (%.1f µs each)", float64(g.Each[i-1].Nanoseconds())/1e3)
		}
	}
	if g.Law != "" {
		fmt.Fprintf(w, "; it grows as %s", g.Law)
	}
	fmt.Fprintln(w)
}
