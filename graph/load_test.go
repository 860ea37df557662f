package graph

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkReady applies stages that are all ready at once and take no time themselves: what is left is what the engine does for each.
func BenchmarkReady(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				t := newBench(b)
				var nodes []*Node
				for i := range n {
					text := fmt.Sprint(i)
					nodes = append(nodes, t.node(fmt.Sprintf("n%05d", i), Pure, &fakeStage{input: &text, runs: new([]string)}))
				}
				g := t.graph(nodes...)
				p, err := NewPlanner(t.store, g, Selection{})
				if err != nil {
					b.Fatal(err)
				}
				for _, x := range nodes {
					x.Stage.(*fakeStage).runs = new([]string)
				}
				r, err := p.Apply(context.Background(), g, ApplyOptions{Parallelism: 2})
				if err != nil || r.Done != n {
					b.Fatalf("%+v, %v", r, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/stage")
		})
	}
}
