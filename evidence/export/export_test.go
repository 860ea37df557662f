//go:build cgo

package export_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/evidence/export"
	"github.com/flameox/flameox/evidence/publish"
	"github.com/flameox/flameox/internal/digest"
)

func ptr[T any](v T) *T { return &v }

// view publishes three runs with two measurements each; the last run is sensitive.
func view(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	s := evidence.NewSink(root, evidence.FileMeta{Artifact: digest.SumString("a"), Provider: "p", ProviderVersion: 1}, evidence.Budget{})
	for i, v := range []int64{1 << 62, 7} {
		m := evidence.Measurement{Name: "a,\"b\"\nc", Unit: "ns", Aggregation: "sample", Scope: "workload", ValueIndex: int64(i), ValueInt: ptr(v), Dimensions: map[string]string{"k": "v"}}
		if err := s.Measurements.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	files, err := s.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	var d publish.Desired
	var runs []evidence.Run
	for i := range 3 {
		r := evidence.Run{Run: fmt.Sprintf("01RUN%05d", i), Address: "capture.p.x", Block: "capture.p.x", Axes: map[string]string{}, Kind: "capture.p", Nature: "measurement",
			Attempt: 1, Validation: "passed", Valid: true, Started: time.Unix(1, 0).UTC(), Flameox: "1"}
		if i == 2 {
			r.Sensitivity = ptr("sensitive")
		}
		runs = append(runs, r)
		d.Parts = append(d.Parts, publish.Part{Run: r.Run, Table: "measurements", Provider: "p", Path: files[0].Path, Digest: digest.Sum(b)})
	}
	if d.Runs, d.Load, err = publish.Rows(runs); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "evidence")
	if _, err := publish.New(dir, time.Now).Publish(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAParquetFileKeepsUnitsAndTypes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	r, err := export.Dir(t.Context(), export.Options{View: view(t), Format: export.Parquet}, dir)
	if err != nil || r.Withheld != 1 || len(r.Files) != len(evidence.Tables()) {
		t.Fatal(r, err)
	}
	f, err := file.OpenParquetFile(filepath.Join(dir, "runs.parquet"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, _ := evidence.Lookup("runs")
	if f.NumRows() != 3 || f.MetaData().Schema.Root().NumFields() != len(table.Columns) {
		t.Errorf("%d rows of %d columns", f.NumRows(), f.MetaData().Schema.Root().NumFields())
	}
	meta := f.MetaData().KeyValueMetadata()
	for _, c := range table.Columns {
		for key, want := range map[string]string{"flameox.unit." + c.Name: c.Unit, "flameox.doc." + c.Name: c.Doc} {
			if have := meta.FindValue(key); want != "" && (have == nil || *have != want) {
				t.Errorf("%s is %v, want %q", key, have, want)
			}
		}
	}
	var doc map[string][]struct{ Name, Unit string }
	b, err := os.ReadFile(filepath.Join(dir, "columns.json"))
	if err != nil || json.Unmarshal(b, &doc) != nil || len(doc) != len(evidence.Tables()) {
		t.Fatalf("columns.json: %v\n%s", err, b)
	}
}

func TestRowsOfSensitiveRunsStayUnlessAskedFor(t *testing.T) {
	v := view(t)
	for _, format := range export.Formats() {
		for sensitive, want := range map[bool]bool{false: false, true: true} {
			path := filepath.Join(t.TempDir(), "m."+string(format))
			if _, err := export.One(t.Context(), export.Options{View: v, Format: format, Tables: []string{"measurements"}, Sensitive: sensitive}, path); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// Text is compressed in Parquet; there the count says it.
			has := strings.Contains(string(b), "01RUN00002")
			if format == export.Parquet {
				f, err := file.OpenParquetFile(path, false)
				if err != nil {
					t.Fatal(err)
				}
				has = f.NumRows() == 6
				f.Close()
			}
			if has != want {
				t.Errorf("%s with sensitive %v: the sensitive run is in it: %v", format, sensitive, has)
			}
		}
	}
}

func TestALineIsARowAndIntegersAreExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl")
	if _, err := export.One(t.Context(), export.Options{View: view(t), Format: export.JSONL, Tables: []string{"measurements"}, Where: "value_int > 10 -- only\n"}, path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), b)
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) || !strings.Contains(l, `"value_int":4611686018427387904`) {
			t.Errorf("the line %s", l)
		}
	}
}

func TestNothingIsReplacedAndNothingHalfWrittenStays(t *testing.T) {
	v, dir := view(t), t.TempDir()
	path := filepath.Join(dir, "m.csv")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := export.Options{View: v, Format: export.CSV, Tables: []string{"measurements"}}
	if _, err := export.One(t.Context(), o, path); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a file: %v", err)
	}
	if _, err := export.Dir(t.Context(), o, dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a directory with files: %v", err)
	}
	o.Where = "value_int / (value_index - value_index) > error('stop')"
	if _, err := export.One(t.Context(), o, filepath.Join(dir, "n.csv")); err == nil {
		t.Error("an error while rows come was passed over")
	}
	o.Format = export.JSONL
	if _, err := export.One(t.Context(), o, filepath.Join(dir, "n.jsonl")); err == nil {
		t.Error("an error while lines come was passed over")
	}
	o.Format = export.CSV
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
	o.Where = "true); DROP TABLE x; SELECT (1"
	if _, err := export.One(t.Context(), o, filepath.Join(dir, "o.csv")); err == nil {
		t.Error("a second statement was run")
	}
	o.Tables = []string{"measurement"}
	if _, err := export.One(t.Context(), o, filepath.Join(dir, "p.csv")); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a table that is not there: %v", err)
	}
}
