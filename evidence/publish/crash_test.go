package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var errCut = errors.New("the power was cut")

// TestACrashAtAnyStepLeavesTheOldOrTheNewGeneration stops a publication before each of its steps in turn, as
// a killed process would: nothing after the step happens, nothing is cleaned up.
func TestACrashAtAnyStepLeavesTheOldOrTheNewGeneration(t *testing.T) {
	var steps []string
	stride := 1
	if testing.Short() {
		stride = 9
	}
	for at := 0; ; at += stride {
		w := newWorld(t)
		w.set(1, 5, 0)
		w.set(2, 5, 100)
		w.publish()
		w.clock = w.clock.Add(2 * time.Hour)
		w.set(3, 5, 200)
		w.publish()
		w.clock = w.clock.Add(2 * time.Hour) // so that there is something to expire
		before := w.visible("measurements", "run", "value_int")
		oldRuns := w.visible("runs", "run")
		w.set(2, 3, 1000) // superseded
		w.set(4, 5, 300)  // appended
		delete(w.desired, runName(1))

		n := 0
		cut := false
		steps = steps[:0]
		w.p.fault = func(op, path string) error {
			if n == at {
				cut = true
				panic(errCut) // nothing below is run: no clean-up, no rename
			}
			n++
			steps = append(steps, op)
			return nil
		}
		func() {
			defer func() {
				if r := recover(); r != nil && r != errCut {
					panic(r)
				}
			}()
			_, err := w.p.Publish(context.Background(), w.all())
			if err != nil {
				t.Fatalf("step %d: %v", at, err)
			}
		}()
		w.p.fault = nil
		got, gotRuns := w.visible("measurements", "run", "value_int"), w.visible("runs", "run")
		old := slices.Equal(got, before) && slices.Equal(gotRuns, oldRuns)
		if !old {
			w.check() // then it is all of the new one
		}
		if cut && old {
			w.publish() // and the next publication goes on
		}
		if entries, err := os.ReadDir(w.p.dir + ".d"); err != nil || len(entries) > 3 {
			t.Errorf("step %d: leftovers %v, %v", at, entries, err)
		}
		if !cut {
			break
		}
	}
	for _, op := range []string{"create", "write", "sync", "link", "mkdir", "expire", "rename", "symlink", "switch", "syncdir"} {
		if !slices.Contains(steps, op) {
			t.Errorf("no publication was cut before a %s: %v", op, steps)
		}
	}
}

func TestAFailingStepIsAnErrorAndTheOldGenerationStays(t *testing.T) {
	for _, op := range []string{"mkdir", "create", "write", "sync", "rename", "symlink", "switch"} {
		w := newWorld(t)
		w.set(1, 5, 0)
		w.publish()
		before := w.visible("measurements", "run", "value_int")
		w.set(2, 5, 0)
		w.p.fault = func(o, path string) error {
			if o == op {
				return fmt.Errorf("no space left on device")
			}
			return nil
		}
		if _, err := w.p.Publish(context.Background(), w.all()); err == nil {
			t.Errorf("a failing %s was not reported", op)
		}
		if got := w.visible("measurements", "run", "value_int"); !slices.Equal(got, before) {
			t.Errorf("after a failing %s a glob shows %v", op, got)
		}
		w.p.fault = nil
		w.publish()
	}
}

func TestRandomHistoriesShowWhatIsDesired(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t)
		for step := range 12 {
			w.clock = w.clock.Add(20 * time.Minute)
			i := rng.IntN(12)
			switch rng.IntN(4) {
			case 0:
				delete(w.desired, runName(i))
			default:
				w.set(i, 1+rng.IntN(600), step*10_000)
			}
			if step%2 == 0 || step == 0 {
				w.publish()
			} else if _, err := w.p.Update(context.Background(), w.all(runName(i)), []string{runName(i)}); err != nil {
				t.Fatal(err)
			}
			w.check()
		}
		if r := w.publish(); r.Changed {
			t.Errorf("seed %d: the last publication was not complete: %+v", seed, r)
		}
	}
}

// TestPublishingOneRunAtATimeStaysCheap publishes runs one by one and holds the files of a table, the bytes
// written and the generations on disk against what is published.
func TestPublishingOneRunAtATimeStaysCheap(t *testing.T) {
	if testing.Short() {
		t.Skip("publishes a hundred times")
	}
	w := newWorld(t)
	const n = 100
	w.set(0, 60, 0)
	w.publish()
	var written int64
	parts := w.desired[runName(0)].parts
	for i := 1; i < n; i++ {
		w.clock = w.clock.Add(10 * time.Minute)
		// The same files under another run: what is measured is publishing.
		st := w.desired[runName(0)]
		mine := slices.Clone(parts)
		for j := range mine {
			mine[j].Run = runName(i)
		}
		row := st.row
		row.Run = runName(i)
		w.desired[runName(i)] = state{parts: mine, row: row}
		written += w.update(i).Bytes
	}
	w.check()
	g, err := Pin(w.p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, table := range g.m.Tables {
		if len(table.Segments) > 8 {
			t.Errorf("%s has %d segments", table.Name, len(table.Segments))
		}
		for _, s := range table.Segments {
			size += s.Bytes
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(w.p.dir+".d", "gen-*"))
	if len(dirs) > 9 {
		t.Errorf("%d generations are on disk", len(dirs))
	}
	t.Logf("%d publications wrote %d bytes for a view of %d", n, written, size)
}
