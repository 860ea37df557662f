package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// many are n results of one run.
func many(t testing.TB, run, n int) []Input {
	var out []Input
	for i := range n {
		out = append(out, input(t, fmt.Sprint(i), result(i, 1+float64(i), map[string]any{"provenance/run_key": fmt.Sprintf("run-%d", run), "ingest_key": fmt.Sprintf("run-%d:w:wall-time:slot-%d", run, i),
			"attempt_key": fmt.Sprintf("a:%d:%d", run, i), "coordinates/workload/name": fmt.Sprintf("w%d", i%20)})))
	}
	return out
}

// What a thousand results cost must not grow with what is there: compare the two.
func BenchmarkIngestOfAThousand(b *testing.B) {
	for _, there := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("into %d", there), func(b *testing.B) {
			first := newStore(b)
			for run := range there / 1000 {
				ingest(b, first, many(b, run, 1000), "ingested 1000, duplicate 0")
			}
			publish(b, first)
			whole, _ := os.ReadFile(first.Path())
			in := many(b, 1000, 1000)
			for b.Loop() {
				b.StopTimer()
				s := reopen(b, filepath.Join(b.TempDir(), "store.parquet"))
				if whole != nil {
					if err := os.WriteFile(s.Path(), whole, 0o644); err != nil {
						b.Fatal(err)
					}
					ingest(b, s, many(b, 0, 1), "ingested 0, duplicate 1") // makes the index
				}
				b.StartTimer()
				take(b, s, in, "ingested 1000, duplicate 0")
			}
		})
	}
}
