//go:build cgo

package query

import (
	"bytes"
	"context"
	"testing"
	"time"
)

// BenchmarkFirstAnswerOverTenThousandRuns opens the evidence of 10,000 runs with 60 samples and a profile
// each and answers one question: all that `flameox query` does but start a process.
func BenchmarkFirstAnswerOverTenThousandRuns(b *testing.B) {
	dir := published(b, 10_000, 60)
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		db, err := Open(dir, Options{Temp: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		if err := db.Query(context.Background(), `SELECT run_address, count(*) AS n, median(value_float) AS median
			FROM measurements_runs WHERE run_valid GROUP BY ALL ORDER BY ALL`, Table, &out); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(best.Seconds()*1000, "best-ms")
}
