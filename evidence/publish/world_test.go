package publish

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/digest"
)

// world is a workspace: parts in a store, what should be visible, and a publisher with a clock.
type world struct {
	t       testing.TB
	p       *Publisher
	store   string
	clock   time.Time
	desired map[string]state // by run
}

type state struct {
	parts []Part
	row   evidence.Run
}

func newWorld(t testing.TB) *world {
	dir := t.TempDir()
	w := &world{t: t, store: filepath.Join(dir, "store"), clock: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), desired: map[string]state{}}
	if err := os.Mkdir(w.store, 0o755); err != nil {
		t.Fatal(err)
	}
	w.p = New(filepath.Join(dir, "evidence"), func() time.Time { return w.clock })
	w.p.noSync = true
	return w
}

// part makes the file of an extraction with n rows whose values start at from.
func (w *world) part(run, provider string, n, from int) []Part {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.store, "x")
	if err != nil {
		w.t.Fatal(err)
	}
	s := evidence.NewSink(dir, evidence.FileMeta{Artifact: digest.SumString(run), Provider: provider, ProviderVersion: 1}, evidence.Budget{})
	for i := range n {
		v := int64(from + i)
		m := evidence.Measurement{Name: "gobench.Sort", ValueInt: &v, Unit: "ns", Aggregation: "sample", Scope: "workload",
			ValueIndex: int64(i), Dimensions: map[string]string{"rows": "1000"}}
		if err := s.Measurements.Put(&m); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := s.Stacks.Put(&evidence.Stack{Stack: "s", Frames: []string{"a", "b"}, Leaf: "b", Metric: "cpu", Weight: int64(from), Unit: "ns"}); err != nil {
		w.t.Fatal(err)
	}
	files, err := s.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	var parts []Part
	for _, f := range files {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		parts = append(parts, Part{Run: run, Table: f.Table, Provider: provider, Path: f.Path, Digest: digest.Sum(b)})
	}
	return parts
}

func runName(i int) string { return fmt.Sprintf("01RUN%08d", i) }

// set makes run i have n measurements from a value on.
func (w *world) set(i, n, from int) {
	w.desired[runName(i)] = state{
		parts: w.part(runName(i), "gobench", n, from),
		row: evidence.Run{Run: runName(i), Address: "capture.gobench.sort", Block: "capture.gobench.sort", Kind: "capture.gobench", Nature: "measurement",
			Attempt: int64(i), Validation: "passed", Valid: true, Started: w.clock, Flameox: "1"},
	}
}

func (w *world) all(only ...string) Desired {
	var d Desired
	var rows []evidence.Run
	names := only
	if len(only) == 0 {
		for name := range w.desired {
			names = append(names, name)
		}
		sort.Strings(names)
	}
	for _, name := range names {
		st, ok := w.desired[name]
		if !ok {
			continue
		}
		d.Parts = append(d.Parts, st.parts...)
		rows = append(rows, st.row)
	}
	var err error
	if d.Runs, d.Load, err = Rows(rows); err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) publish() Report {
	w.t.Helper()
	r, err := w.p.Publish(context.Background(), w.all())
	if err != nil {
		w.t.Fatal(err)
	}
	w.check()
	return r
}

func (w *world) update(i int) Report {
	w.t.Helper()
	r, err := w.p.Update(context.Background(), w.all(runName(i)), []string{runName(i)})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// visible is what a plain glob over the published directory shows: run and value of every measurement.
func (w *world) visible(table string, cols ...string) []string {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.p.dir, table, "*.parquet"))
	if err != nil {
		w.t.Fatal(err)
	}
	return rowsOf(w.t, files, cols...)
}

func rowsOf(t testing.TB, files []string, cols ...string) []string {
	t.Helper()
	var out []string
	for _, f := range files {
		if err := evidence.Scan(f, evidence.ScanOptions{Columns: cols}, func(_ []evidence.Column, row []any) error {
			out = append(out, fmt.Sprint(row...))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	sort.Strings(out)
	return out
}

// check holds what a glob shows against the parts themselves.
func (w *world) check() {
	w.t.Helper()
	var want, runs []string
	for name, st := range w.desired {
		runs = append(runs, name)
		for _, p := range st.parts {
			if p.Table != "measurements" {
				continue
			}
			for _, v := range rowsOf(w.t, []string{p.Path}, "provider", "value_int") {
				want = append(want, fmt.Sprint(name)+v)
			}
		}
	}
	sort.Strings(want)
	sort.Strings(runs)
	if got := w.visible("measurements", "run", "provider", "value_int"); !slices.Equal(got, want) {
		w.t.Fatalf("a glob shows %d measurements, want %d", len(got), len(want))
	}
	if got := w.visible("runs", "run"); !slices.Equal(got, runs) {
		w.t.Fatalf("a glob shows the runs %v, want %v", got, runs)
	}
	if got := w.visible("stacks", "run"); len(got) != len(runs) {
		w.t.Fatalf("a glob shows %d stacks, want %d", len(got), len(runs))
	}
}
