package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
)

// many publishes n runs at once, which share the files of one extraction: what is measured is the view, not the store.
func (w *world) many(n int) {
	w.t.Helper()
	parts := w.part("shared", "gobench", 20, 1)
	for i := range n {
		w.share(i, parts)
	}
	if _, err := w.p.Publish(context.Background(), w.all()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) share(i int, parts []Part) {
	own := slices.Clone(parts)
	for k := range own {
		own[k].Run = runName(i)
	}
	w.desired[runName(i)] = state{parts: own, row: evidence.Run{Run: runName(i), Address: "capture.gobench.sort", Block: "capture.gobench.sort",
		Kind: "capture.gobench", Nature: "measurement", Attempt: int64(i), Validation: "passed", Valid: true, Started: w.clock, Flameox: "1"}}
}

// BenchmarkOneMore publishes one more run where none, 1,000 and 10,000 are published, with every sync.
func BenchmarkOneMore(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			w.many(n)
			w.p.noSync = false
			parts := w.part("shared", "gobench", 20, 1)
			next := n
			var slowest time.Duration
			for b.Loop() {
				w.share(next, parts)
				start := time.Now()
				w.update(next)
				slowest = max(slowest, time.Since(start))
				next++
			}
			b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
		})
	}
}

// A reader that resolves the link once sees tables of one moment, at any moment of any publication, and never an older one than before.
func TestReadersSeeTablesOfOneMomentWhileRunsArePublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.many(20)
	parts := w.part("shared", "gobench", 20, 1)
	const more = 30
	done := make(chan bool)
	var wg sync.WaitGroup
	looks := make([]int, 2)
	for r := range looks {
		wg.Go(func() {
			newest := int64(0)
			for ended := false; !ended; looks[r]++ {
				select {
				case <-done:
					ended = true // and look once more
				default:
				}
				g, err := Pin(w.p.dir)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond) // the publisher is what is to be fast
				if g.Number < newest {
					t.Errorf("generation %d was seen after %d", g.Number, newest)
				}
				newest = g.Number
				counts, err := count(g)
				if err != nil {
					t.Error(err)
					return
				}
				if counts["measurements"] != 20*counts["runs"] || counts["stacks"] != counts["runs"] || counts["runs"] < 20 {
					t.Errorf("generation %d has rows of different moments: %v", g.Number, counts)
				}
				if ended && counts["runs"] != 20+more {
					t.Errorf("at the end there are %d runs", counts["runs"])
				}
			}
		})
	}
	for i := range more {
		w.share(20+i, parts)
		w.update(20 + i)
	}
	close(done)
	wg.Wait()
	for r, n := range looks {
		if n < 3 {
			t.Errorf("reader %d looked %d times only", r, n)
		}
	}
	t.Logf("%d publications, %v looks", more, looks)
}

// count reads every row of the tables that a run of the test has.
func count(g *Generation) (map[string]int, error) {
	counts := map[string]int{}
	for _, table := range []string{"runs", "measurements", "stacks"} {
		runs := map[string]bool{}
		var errs []error
		for _, f := range g.Files(table) {
			errs = append(errs, evidence.Scan(f, evidence.ScanOptions{Columns: []string{"run"}}, func(_ []evidence.Column, row []any) error {
				counts[table]++
				runs[fmt.Sprint(row[0])] = true
				return nil
			}))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if table == "runs" && len(runs) != counts[table] {
			return nil, fmt.Errorf("a run is there twice in generation %d", g.Number)
		}
	}
	return counts, nil
}
