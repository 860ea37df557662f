package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
)

// result is a valid result: attempt n of a side, with members changed, named a/b/c; nil removes one.
func result(n int, value float64, changes map[string]any) map[string]any {
	doc := map[string]any{
		"schema_version": 5.0, "producer": map[string]any{"name": "benchx/gbench-adapter", "version": "1", "mapping_version": "1"},
		"ingest_key": fmt.Sprintf("r:w:wall-time:slot-%d", n), "attempt_key": fmt.Sprintf("a:%d", n), "project": "demo",
		"source": map[string]any{"uri": "https://example.org/demo", "type": "git"}, "revision": map[string]any{"key": fmt.Sprintf("rev-%d", n)},
		"coordinates": map[string]any{
			"workload": map[string]any{"name": "w", "parameters": map[string]any{"size": "1000"}}, "subject": map[string]any{"name": "demo", "components": []any{map[string]any{"role": "primary"}}},
			"quantity": map[string]any{"name": "wall-time", "unit": "s", "direction": "lower-is-better"}, "comparison_context": map[string]any{},
			"environment": map[string]any{"schema": "machine/v1", "identity": map[string]any{"runner": "host"}, "system": map[string]any{"kernel": "6.8"}}},
		"measurement": map[string]any{"status": "success", "observations": []any{value, map[string]any{"value": value * 2, "group": "g", "ordinal": 1.0}},
			"summaries": []any{map[string]any{"kind": "estimate", "estimator": map[string]any{"name": "mean", "method_version": "google-benchmark/mean", "input_level": "observations"}, "value": value * 1.5, "source": "producer"}}},
		"procedure":  map[string]any{"round": float64(n / 2), "slot": float64(n)},
		"provenance": map[string]any{"run_key": "r", "started_at": "2026-01-02T03:04:05.123456789Z", "subject_dirty": "clean", "subject_tree": strings.Repeat("a", 40), "benchmark_dirty": "clean", "benchmark_tree": strings.Repeat("a", 40)},
	}
	for path, v := range changes {
		at := doc
		parts := strings.Split(path, "/")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		if last := parts[len(parts)-1]; v == nil {
			delete(at, last)
		} else {
			at[last] = v
		}
	}
	return doc
}

func input(t testing.TB, name string, doc map[string]any) Input {
	t.Helper()
	b, err := ijson.Canonical(doc)
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: name, Text: b}
}

func inputs(t testing.TB, from, to int) []Input {
	var out []Input
	for n := from; n < to; n++ {
		out = append(out, input(t, fmt.Sprint(n), result(n, 1+float64(n), nil)))
	}
	return out
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "store.parquet"))
}

func reopen(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// take ingests and publishes, and wants a report.
func take(t testing.TB, s *Store, in []Input, want string) Report {
	t.Helper()
	r := ingest(t, s, in, want)
	publish(t, s)
	return r
}

func ingest(t testing.TB, s *Store, in []Input, want string) Report {
	t.Helper()
	r, err := s.Ingest(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if want != "" && r.String() != want {
		t.Fatalf("%s, and not %s: %+v", r, want, r.Rejected)
	}
	return r
}

func publish(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// all are the documents of a store, in order, newest last.
func all(t testing.TB, s *Store) []Result {
	t.Helper()
	snap, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	var out []Result
	for _, g := range snap.groups() {
		rows := make([]int, g.f.GroupRows(g.g))
		for i := range rows {
			rows[i] = i
		}
		list, err := g.results(rows, true)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	return out
}

func TestTheDocumentComesBackAsItWas(t *testing.T) {
	s := newStore(t)
	in := inputs(t, 0, 24)
	take(t, s, in, "ingested 24, duplicate 0")
	list := all(t, s)
	for i, r := range list {
		if string(r.Text) != string(in[i].Text) {
			t.Errorf("%s\n%s", r.Text, in[i].Text)
		}
	}
	before, err := os.Stat(s.Path())
	if err != nil || len(list) != 24 {
		t.Fatal(len(list), err)
	}
	take(t, reopen(t, s.Path()), in, "ingested 0, duplicate 24")
	after, err := os.Stat(s.Path())
	if err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("taking the same in again wrote the file: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(Beside(s.Path()), "segment-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestARejectedDocumentLeavesNoTraceAndTheOthersAreStored(t *testing.T) {
	for name, c := range map[string]struct {
		doc  map[string]any
		text string
		code document.Code
	}{
		"another unit":          {doc: result(50, 1, map[string]any{"coordinates/quantity/unit": "ms"}), code: document.UnitConflict},
		"another value":         {doc: result(1, 99, nil), code: document.IdempotencyConflict},
		"another workload":      {doc: result(50, 1, map[string]any{"attempt_key": "a:1", "revision/key": "rev-1", "coordinates/workload/name": "other"}), code: document.AttemptConflict},
		"a series of its own":   {doc: result(50, 1, map[string]any{"series_fingerprint": "x"}), code: document.IdentityViolation},
		"an unknown member":     {doc: result(50, 1, map[string]any{"foo": "x"}), code: document.Malformed},
		"a number that is none": {text: `{"schema_version": NaN}`, code: document.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			take(t, s, inputs(t, 0, 3), "ingested 3, duplicate 0")
			bad := Input{Name: "bad", Text: []byte(c.text)}
			if c.doc != nil {
				bad = input(t, "bad", c.doc)
			}
			// The same quantity comes first with another unit in the same batch as well: what was rejected is no first sight.
			fresh := []Input{bad, input(t, "4", result(4, 1, nil)), input(t, "5", result(5, 1, nil))}
			r := take(t, reopen(t, s.Path()), fresh, fmt.Sprintf("ingested 2, duplicate 0, rejected 1 (%s)", c.code))
			if r.Rejected[0].Name != "bad" || r.Rejected[0].Text == "" {
				t.Errorf("%+v", r.Rejected)
			}
			if n := len(all(t, s)); n != 5 {
				t.Errorf("%d results", n)
			}
			take(t, s, fresh, fmt.Sprintf("ingested 0, duplicate 2, rejected 1 (%s)", c.code))
		})
	}
}

func TestConflictsWithinOneBatchAreFoundAndARejectedUnitIsNoFirstSight(t *testing.T) {
	s := newStore(t)
	twice := result(0, 1, nil)
	bad := result(1, 1, map[string]any{"coordinates/quantity": map[string]any{"name": "load", "unit": "1"}, "attempt_key": "a:0"})
	good := result(2, 1, map[string]any{"coordinates/quantity": map[string]any{"name": "load", "unit": "%"}})
	take(t, s, []Input{input(t, "0", twice), input(t, "again", twice), input(t, "other", result(0, 2, nil)), input(t, "bad", bad), input(t, "good", good)},
		"ingested 2, duplicate 1, rejected 2 (attempt-conflict, idempotency-conflict)")
	// The unit of another project is its own.
	take(t, s, []Input{input(t, "p", result(9, 1, map[string]any{"project": "p", "coordinates/quantity/unit": "ms"}))}, "ingested 1, duplicate 0")
}

func TestNothingTakenInMakesNoFile(t *testing.T) {
	s := newStore(t)
	take(t, s, nil, "ingested 0, duplicate 0")
	take(t, s, []Input{{Name: "x", Text: []byte("{}")}}, "ingested 0, duplicate 0, rejected 1 (malformed)")
	if _, err := os.Stat(s.Path()); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}

// order is a work order and its reference.
func order(t testing.TB, runKey string) (Input, string) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(`{"plan":[{"case":"*","id":"p0","quantity":"wall-time"}],"precision":{"repetitions":5},"quantities":["wall-time"],"requester":{"kind":"workbench","name":"bx"},"round":0,"run_key":"`+runKey+`","schema_version":"benchx/work-order/0.1.0","slot":1,"state":"resolved","suites":[{"adapter":"google-benchmark","suite":"demo-bench"}],"target":{"kind":"build","path":"/tmp/b","source":{"type":"git","uri":"https://example.org/demo"}},"timeouts":{"case_s":60,"order_s":600},"work_order_id":"urn:uuid:6f1c2b7e-3d4a-4e8b-9a51-0c2d7e9f4b13"}`), &v); err != nil {
		t.Fatal(err)
	}
	ref, err := document.OrderHash(v)
	if err != nil {
		t.Fatal(err)
	}
	return input(t, "order", v), ref
}

func TestAWorkOrderIsAttachedWheneverItComes(t *testing.T) {
	o, ref := order(t, "r")
	of := func(n int) Input {
		return input(t, fmt.Sprint(n), result(n, 1, map[string]any{"provenance/info/workorder_ref": ref}))
	}
	batches := map[string][][]Input{
		"first":               {{o, of(0), of(1)}},
		"last in the batch":   {{of(0), of(1), o}},
		"in an earlier batch": {{o}, {of(0)}, {of(1)}},
		"in a later batch":    {{of(0)}, {of(1)}, {o}},
		"in between":          {{of(0), input(t, "9", result(9, 1, nil))}, {o, of(1)}},
	}
	for name, list := range batches {
		for _, each := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, published each time %v", name, each), func(t *testing.T) {
				s := newStore(t)
				for _, in := range list {
					ingest(t, s, in, "")
					if each {
						publish(t, s)
					}
				}
				publish(t, s)
				n := 0
				for _, r := range all(t, s) {
					if r.Order != nil && text(r.Order, "run_key") == "r" {
						n++
					}
				}
				if n != 2 {
					t.Errorf("%d results have their order", n)
				}
				waiting, err := s.waiting()
				if err != nil || len(waiting) > 0 {
					t.Errorf("orders wait that nothing wants: %v, %v", waiting, err)
				}
			})
		}
	}
	s := newStore(t)
	take(t, s, []Input{of(0)}, "ingested 1, duplicate 0")
	if all(t, s)[0].Order != nil {
		t.Error("an order came from nowhere")
	}
}
