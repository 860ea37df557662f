package store

import (
	"fmt"
	"testing"
)

// many are n results of one run.
func many(t testing.TB, run, n int) []Input {
	var out []Input
	for i := range n {
		out = append(out, input(t, fmt.Sprint(i), result(i, 1+float64(i), map[string]any{
			"provenance/run_key": fmt.Sprintf("run-%d", run), "ingest_key": fmt.Sprintf("run-%d:w:wall-time:slot-%d", run, i), "attempt_key": fmt.Sprintf("a:%d:%d", run, i), "coordinates/workload/name": fmt.Sprintf("w%d", i%20)})))
	}
	return out
}

func BenchmarkIngestOfAThousand(b *testing.B) {
	in := many(b, 0, 1000)
	for b.Loop() {
		s := newStore(b)
		take(b, s, in, "ingested 1000, duplicate 0")
	}
}
