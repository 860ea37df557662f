//go:build cgo

package recipes

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/evidence/query"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/torchprofiler"
)

// published is the evidence of one valid run, with the rows that fill leaves.
func published(t *testing.T, fill func(*evidence.Sink)) *query.DB {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	check(os.Mkdir(filepath.Join(root, "parts"), 0o755))
	sink := evidence.NewSink(filepath.Join(root, "parts"), evidence.FileMeta{Artifact: digest.SumString("a"), Provider: "x", ProviderVersion: 1}, evidence.DefaultBudget())
	fill(sink)
	files, err := sink.Close()
	check(err)
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var d publish.Desired
	for _, f := range files {
		b, err := os.ReadFile(f.Path)
		check(err)
		d.Parts = append(d.Parts, publish.Part{Run: "01RUN", Table: f.Table, Provider: "x", Path: f.Path, Digest: digest.Sum(b)})
	}
	d.Runs, d.Load, err = publish.Rows([]evidence.Run{{Run: "01RUN", Address: "import.x.y", Block: "import.x.y", Kind: "import", Nature: "observation", Attempt: 1, Validation: "passed", Valid: true, Started: at, Flameox: "1"}})
	check(err)
	dir := filepath.Join(root, "evidence")
	_, err = publish.New(dir, func() time.Time { return at }).Publish(t.Context(), d)
	check(err)
	db, err := query.Open(dir, query.Options{Threads: 1, Temp: t.TempDir()})
	check(err)
	t.Cleanup(func() { db.Close() })
	return db
}

func answer(t *testing.T, db *query.DB, sql string) (rows []map[string]any) {
	t.Helper()
	err := db.Each(context.Background(), sql, func(cols []query.Column, row []any) error {
		m := map[string]any{}
		for i, c := range cols {
			m[c.Name] = plain(row[i])
		}
		rows = append(rows, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// device is what a trace of torch.profiler says of an accelerator, reckoned from the document.
type device struct{ direct, graphs, kernels, correlated, kernelNS, gaps, gapNS int64 }

func reckon(t *testing.T, data []byte) (d device) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Cat, Name string
			Ts, Dur       json.Number
			Args          struct {
				Device, Stream, Correlation json.RawMessage
			}
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	ns := func(n json.Number) int64 {
		whole, part, _ := strings.Cut(n.String(), ".")
		var v int64
		fmt.Sscan(whole+(part + "000")[:3], &v)
		return v
	}
	type span struct{ from, to int64 }
	streams := map[string][]span{}
	launched := map[string]bool{}
	for _, e := range doc.TraceEvents {
		if e.Ph != "X" || e.Cat != "cuda_runtime" && e.Cat != "cuda_driver" {
			continue
		}
		switch {
		case strings.Contains(strings.ToLower(e.Name), "graphlaunch"):
			d.graphs++
		case strings.Contains(e.Name, "LaunchKernel"):
			d.direct++
		default:
			continue
		}
		launched[string(e.Args.Correlation)] = true
	}
	for _, e := range doc.TraceEvents {
		if e.Ph != "X" || e.Cat != "kernel" && e.Cat != "gpu_memcpy" && e.Cat != "gpu_memset" {
			continue
		}
		s := span{ns(e.Ts), ns(e.Ts) + ns(e.Dur)}
		key := string(e.Args.Device) + "/" + string(e.Args.Stream)
		streams[key] = append(streams[key], s)
		if e.Cat == "kernel" {
			d.kernels++
			d.kernelNS += s.to - s.from
			if launched[string(e.Args.Correlation)] {
				d.correlated++
			}
		}
	}
	for _, list := range streams {
		slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
		free := int64(math.MaxInt64)
		for _, s := range list {
			if s.from > free {
				d.gaps++
				d.gapNS += s.from - free
			}
			if free == math.MaxInt64 || s.to > free {
				free = s.to
			}
		}
	}
	return d
}

func TestLaunchesAndGapsOfRealTracesAreThoseOfTheDocument(t *testing.T) {
	for name, want := range map[string]device{
		"gpu_only_trace.json.gz":                        {kernels: 562},
		"mi250_minitoy_train_ROCm6_2_kineto.json.gz":    {kernels: 14},
		"event_sync_trace.json.gz":                      {kernels: 4},
		"vllm_decode_graph_execution.json.gz":           {kernels: 425},
		"torch_compile_triton.json.gz":                  {kernels: 12},
		"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz": {},
	} {
		t.Run(name, func(t *testing.T) {
			data := providertest.Fixture(t, filepath.Join("torch-profiler", name))
			db := published(t, func(s *evidence.Sink) {
				p := torchprofiler.Provider{}
				o := &torchprofiler.ExtractOptions{Events: 100_000}
				if _, err := p.Extract(t.Context(), providertest.Input(t, torchprofiler.Role, data), o, evidence.DefaultBudget(), s); err != nil {
					t.Fatal(err)
				}
			})
			reckoned := reckon(t, data)
			if reckoned.kernels != want.kernels {
				t.Fatalf("the document has %d kernels, want %d", reckoned.kernels, want.kernels)
			}
			var got device
			for _, r := range answer(t, db, "FROM accelerator_launches") {
				for field, to := range map[string]*int64{"direct_launches": &got.direct, "graph_launches": &got.graphs, "kernels": &got.kernels, "correlated_kernels": &got.correlated, "kernel_ns": &got.kernelNS, "gaps": &got.gaps, "gap_ns": &got.gapNS} {
					*to += r[field].(int64)
				}
				if missing := r["missing"]; (missing != nil) != (reckoned.kernels == 0) {
					t.Errorf("missing is %v", missing)
				}
			}
			if got != reckoned {
				t.Errorf("%+v\nwant %+v", got, reckoned)
			}
			var gaps device
			last := int64(math.MaxInt64)
			for _, r := range answer(t, db, "FROM idle_gaps") {
				n := r["gap_ns"].(int64)
				if n > last {
					t.Error("the longest gap does not come first")
				}
				last = n
				gaps.gaps++
				gaps.gapNS += n
			}
			if gaps.gaps != reckoned.gaps || gaps.gapNS != reckoned.gapNS {
				t.Errorf("idle_gaps has %d of %d ns, want %d of %d", gaps.gaps, gaps.gapNS, reckoned.gaps, reckoned.gapNS)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestSlowestTestsAreOfTheLastAttemptWithAllItsPhases(t *testing.T) {
	db := published(t, func(s *evidence.Sink) {
		for _, r := range []evidence.Test{
			{Test: "a", Result: "passed", Phase: ptr("setup"), DurationNS: ptr(int64(5))},
			{Test: "a", Result: "passed", Phase: ptr("call"), DurationNS: ptr(int64(100)), Worker: ptr("gw0"), File: ptr("a.py"), Line: ptr(int64(3))},
			{Test: "a", Result: "passed", Phase: ptr("teardown"), DurationNS: ptr(int64(1))},
			{Test: "b", Result: "passed", Phase: ptr("call"), DurationNS: ptr(int64(9000)), Attempt: 0},
			{Test: "b", Result: "passed", Phase: ptr("call"), DurationNS: ptr(int64(300)), Attempt: 1},
			{Test: "b", Result: "passed", Phase: ptr("subtest"), DurationNS: ptr(int64(250)), Attempt: 1},
			{Test: "c", Result: "unexecuted"},
			{Test: "d", Result: "crashed", Phase: ptr("call")},
		} {
			if err := s.Tests.Put(&r); err != nil {
				t.Fatal(err)
			}
		}
	})
	var got []string
	for _, r := range answer(t, db, "FROM slowest_tests") {
		got = append(got, fmt.Sprintf("%v %v %v %v %v %v %v", r["test"], r["attempt"], r["duration_ns"], r["setup_ns"], r["call_ns"], r["teardown_ns"], r["worker"]))
	}
	if want := "[b 1 300 <nil> 300 <nil> <nil> a 0 106 5 100 1 gw0 d 0 <nil> <nil> <nil> <nil> <nil>]"; fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %v", got, want)
	}
}
