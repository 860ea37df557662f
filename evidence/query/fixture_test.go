//go:build cgo

package query

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/internal/digest"
)

func ptr[T any](v T) *T { return &v }

var day = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

func row(i int, address string, valid bool) evidence.Run {
	return evidence.Run{Run: fmt.Sprintf("01RUN%05d", i), Address: address, Block: "capture.pyperf.sort", Axes: map[string]string{"n": fmt.Sprint(i % 2)},
		Kind: "capture.pyperf", Nature: "measurement", Attempt: 1, Validation: "passed", Valid: valid, Started: day, WallNS: 1 << 60, Flameox: "1",
		Limitations: []string{"a: b"}, Exit: ptr(int64(0))}
}

// published makes a view of n runs with rows measurements each, and a profile on each run.
func published(t testing.TB, n, rows int) string {
	t.Helper()
	root := t.TempDir()
	store := filepath.Join(root, "store")
	if err := os.Mkdir(store, 0o755); err != nil {
		t.Fatal(err)
	}
	s := evidence.NewSink(store, evidence.FileMeta{Artifact: digest.SumString("a"), Provider: "pyperf", ProviderVersion: 1}, evidence.Budget{})
	put := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for i := range rows {
		m := evidence.Measurement{Name: "pyperf.sort", Unit: "ns", Aggregation: "sample", Scope: "workload", ValueIndex: int64(i), Dimensions: map[string]string{"k": "v"}}
		if i%2 == 0 {
			m.ValueInt = ptr(int64(1)<<62 + int64(i))
		} else {
			m.ValueFloat = ptr(0.5)
		}
		put(s.Measurements.Put(&m))
	}
	for _, f := range []string{"main", "sort", "merge"} {
		put(s.Frames.Put(&evidence.Frame{Frame: f, Function: &f, File: ptr("a.py"), Line: ptr(int64(3)), Symbolization: "complete"}))
	}
	put(s.FrameValues.Put(&evidence.FrameValue{Frame: "main", Metric: "cpu", Self: 0, Inclusive: 10, Unit: "ns"}))
	put(s.FrameValues.Put(&evidence.FrameValue{Frame: "sort", Metric: "cpu", Self: 2, Inclusive: 10, Unit: "ns"}))
	put(s.FrameValues.Put(&evidence.FrameValue{Frame: "merge", Metric: "cpu", Self: 8, Inclusive: 8, Unit: "ns", Samples: ptr(^uint64(0))}))
	put(s.FrameValues.Put(&evidence.FrameValue{Frame: "merge", Metric: "cpu", Self: 8, Inclusive: 8, Unit: "ns", Labels: map[string]string{"thread": "1"}}))
	put(s.Stacks.Put(&evidence.Stack{Stack: "s", Frames: []string{"main", "sort", "merge"}, Leaf: "merge", Metric: "cpu", Weight: 8, Unit: "ns"}))
	files, err := s.Close()
	put(err)
	var d publish.Desired
	var runs []evidence.Run
	for i := range n {
		r := row(i, fmt.Sprintf("capture.pyperf.sort[\"n=%d\"]", i%2), i != n-1 || n == 1)
		runs = append(runs, r)
		for _, f := range files {
			b, err := os.ReadFile(f.Path)
			put(err)
			d.Parts = append(d.Parts, publish.Part{Run: r.Run, Table: f.Table, Provider: "pyperf", Path: f.Path, Digest: digest.Sum(b)})
		}
	}
	d.Runs, d.Load, err = publish.Rows(runs)
	put(err)
	dir := filepath.Join(root, "evidence")
	_, err = publish.New(dir, func() time.Time { return day }).Publish(context.Background(), d)
	put(err)
	return dir
}

func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir, Options{Threads: 1, Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func ask(t testing.TB, db *DB, sql string, f Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := db.Query(context.Background(), sql, f, &b); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return b.String()
}
