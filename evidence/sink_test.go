package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence/columns"
	"github.com/flameox/flameox/internal/digest"
)

var meta = FileMeta{Artifact: digest.SumString("payload"), Provider: "pyperf", ProviderVersion: 3}

func ptr[T any](v T) *T { return &v }

func sample(i int) Measurement {
	m := Measurement{
		Name: "gobench.Sort", Unit: "ns", Aggregation: "sample", Scope: "workload", ValueIndex: int64(i),
		Dimensions: map[string]string{"impl": "merge", "rows": fmt.Sprint(i % 7), "zeta": "ü"},
	}
	if i%2 == 0 {
		m.ValueInt = ptr(int64(i) * 1_000_000_007)
	} else {
		m.ValueFloat = ptr(float64(i) / 3)
	}
	if i%3 == 0 {
		m.Worker, m.WorkerRun, m.Loops = ptr("w"), ptr(int64(i)), ptr(uint64(math.MaxUint64)-uint64(i))
		m.Dimensions = nil
	}
	return m
}

func fill(t testing.TB, s *Sink) {
	t.Helper()
	for i := range 1000 {
		m := sample(i)
		if err := s.Measurements.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		st := Stack{Stack: fmt.Sprint(i), Leaf: "c", Metric: "cpu", Weight: int64(i), Unit: "ns", Labels: map[string]string{"thread": "1"}}
		for j := range i {
			st.Frames = append(st.Frames, fmt.Sprint("frame", j))
		}
		if err := s.Stacks.Put(&st); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Frames.Put(&Frame{Frame: "a", Function: ptr("main"), Inlined: ptr(true), Address: ptr(uint64(1) << 63), Symbolization: "complete"}); err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, s *Sink) []Part {
	t.Helper()
	parts, err := s.Close()
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestASinkLeavesOneFilePerTableThatGotRows(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, DefaultBudget())
	fill(t, s)
	parts := closed(t, s)
	var got []string
	for _, p := range parts {
		info, err := os.Stat(p.Path)
		if err != nil || info.Size() != p.Bytes {
			t.Errorf("%s: %v, size %d, reported %d", p.Path, err, info.Size(), p.Bytes)
		}
		got = append(got, fmt.Sprint(p.Table, " ", p.Rows))
	}
	if want := []string{"measurements 1000", "frames 1", "stacks 10"}; !reflect.DeepEqual(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != len(parts) {
		t.Errorf("%d files for %d parts", len(files), len(parts))
	}
}

func TestRowsComeBackAsTheyWerePut(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, DefaultBudget())
	fill(t, s)
	closed(t, s)
	i := 0
	err := Scan(filepath.Join(dir, "measurements.parquet"), ScanOptions{}, func(cols []Column, row []any) error {
		m := sample(i)
		i++
		want := []any{meta.Artifact.String(), "pyperf", int64(3), m.Name, value(m.ValueInt), value(m.ValueFloat), m.Unit, m.Aggregation,
			m.Scope, value(m.Worker), value(m.WorkerRun), m.ValueIndex, value(m.Loops), m.Warmup, nil, nil, m.Dimensions}
		if m.Dimensions == nil {
			want[len(want)-1] = map[string]string{}
		}
		if !reflect.DeepEqual(row, want) {
			t.Fatalf("row %d is %v, want %v", i-1, row, want)
		}
		return nil
	})
	if err != nil || i != 1000 {
		t.Fatalf("%d rows, %v", i, err)
	}
	n := 0
	err = Scan(filepath.Join(dir, "stacks.parquet"), ScanOptions{Columns: []string{"frames", "weight"}, Limit: 4}, func(cols []Column, row []any) error {
		if len(row[0].([]string)) != n || row[1] != int64(n) {
			t.Errorf("row %d is %v", n, row)
		}
		n++
		return nil
	})
	if err != nil || n != 4 {
		t.Errorf("a scan of 4 rows gave %d, %v", n, err)
	}
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestTheSameRowsAreTheSameBytes(t *testing.T) {
	var first []byte
	for range 3 {
		dir := t.TempDir()
		s := NewSink(dir, meta, Budget{})
		fill(t, s)
		var all []byte
		for _, p := range closed(t, s) {
			b, err := os.ReadFile(p.Path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		if first == nil {
			first = all
		}
		if !bytes.Equal(first, all) {
			t.Fatal("two writers of the same rows left different bytes")
		}
	}
}

func TestABudgetOfRowsAdmitsExactlyThatMany(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, Budget{Rows: 5})
	for i := range 5 {
		m := sample(i)
		if err := s.Measurements.Put(&m); err != nil {
			t.Fatalf("row %d of a budget of 5: %v", i+1, err)
		}
	}
	if parts := closed(t, s); len(parts) != 1 || parts[0].Rows != 5 {
		t.Fatalf("parts %v", parts)
	}

	dir = t.TempDir()
	s = NewSink(dir, meta, Budget{Rows: 5})
	for i := range 4 {
		m := sample(i)
		if err := s.Measurements.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Frames.Put(&Frame{Frame: "a"}); err != nil {
		t.Fatal(err)
	}
	err := s.Frames.Put(&Frame{Frame: "b"})
	var over *BudgetError
	if !errors.As(err, &over) || over.What != "rows" || over.Limit != 5 || over.Table != "frames" {
		t.Fatalf("row 6 of a budget of 5, of all tables together: %v", err)
	}
	if _, err := s.Close(); !errors.As(err, &over) {
		t.Errorf("Close after the budget was used up: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("a refused extraction left %v", files)
	}
}

func TestABudgetOfBytesRefusesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, Budget{})
	fill(t, s)
	var size int64
	for _, p := range closed(t, s) {
		size += p.Bytes
	}
	for _, c := range []struct {
		limit int64
		ok    bool
	}{{size, true}, {size - 1, false}} {
		dir := t.TempDir()
		s := NewSink(dir, meta, Budget{OutputBytes: c.limit})
		fill(t, s)
		_, err := s.Close()
		var over *BudgetError
		if (err == nil) != c.ok || !c.ok && !errors.As(err, &over) {
			t.Errorf("%d bytes under a budget of %d: %v", size, c.limit, err)
		}
		if files, _ := os.ReadDir(dir); !c.ok && len(files) != 0 {
			t.Errorf("a refused extraction left %v", files)
		}
	}
}

func TestNumbersThatAreNotFiniteAreRefused(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		dir := t.TempDir()
		s := NewSink(dir, meta, DefaultBudget())
		fill(t, s)
		err := s.Measurements.Put(&Measurement{Name: "x", ValueFloat: &bad, Unit: "ns", Dimensions: map[string]string{"a": "b"}})
		if err == nil || !strings.Contains(err.Error(), "value_float") {
			t.Fatalf("%v was accepted: %v", bad, err)
		}
		m := sample(1)
		if err := s.Measurements.Put(&m); err != nil {
			t.Fatal(err)
		}
		if parts := closed(t, s); parts[0].Rows != 1001 {
			t.Errorf("after a refused row the file has %d rows, want 1001", parts[0].Rows)
		}
	}
}

func TestARowThatContradictsItselfIsRefused(t *testing.T) {
	s := NewSink(t.TempDir(), meta, DefaultBudget())
	defer s.Discard()
	for _, m := range []Measurement{{Name: "none"}, {Name: "both", ValueInt: ptr(int64(1)), ValueFloat: ptr(1.0)}} {
		if err := s.Measurements.Put(&m); err == nil {
			t.Errorf("%s was accepted", m.Name)
		}
	}
	if err := s.Resources.Put(&Resource{Metric: "silent"}); err == nil {
		t.Error("a resource without value and reason was accepted")
	}
	if err := s.Resources.Put(&Resource{Metric: "said", Unavailable: ptr("no permission")}); err != nil {
		t.Error(err)
	}
}

func TestTextThatIsNotUTF8IsRepairedAndSaid(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, DefaultBudget())
	if err := s.Frames.Put(&Frame{Frame: "a\xffb", Symbolization: "complete"}); err != nil {
		t.Fatal(err)
	}
	if l := s.Limitations(); len(l) != 1 || l[0].Code != "text_not_utf8" {
		t.Errorf("limitations %v", l)
	}
	parts := closed(t, s)
	if l := s.Limitations(); len(l) != 1 {
		t.Errorf("limitations after Close %v", l)
	}
	if err := Scan(parts[0].Path, ScanOptions{Columns: []string{"frame"}}, func(_ []Column, row []any) error {
		if row[0] != "a\uFFFDb" {
			t.Errorf("text is %q", row[0])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestManyRowsBecomeSeveralRowGroups(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, Budget{})
	const n = columns.GroupRows*2 + 5
	for i := range n {
		if err := s.CallEdges.Put(&CallEdge{Parent: "a", Child: "b", Weight: int64(i), Samples: ptr(uint64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	parts := closed(t, s)
	r, err := columns.Open(parts[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Groups() != 3 || r.Rows() != n {
		t.Errorf("%d row groups, %d rows", r.Groups(), r.Rows())
	}
	i := int64(0)
	if err := Scan(parts[0].Path, ScanOptions{Columns: []string{"weight"}}, func(_ []Column, row []any) error {
		if row[0] != i {
			return fmt.Errorf("row %d has the weight %v", i, row[0])
		}
		i++
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestAScanOfAColumnThatIsNotThereNamesThoseThatAre(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, DefaultBudget())
	fill(t, s)
	parts := closed(t, s)
	err := Scan(parts[0].Path, ScanOptions{Columns: []string{"values"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "value_int") {
		t.Errorf("%v", err)
	}
}

func TestADamagedFileIsAnErrorThatNamesIt(t *testing.T) {
	dir := t.TempDir()
	s := NewSink(dir, meta, DefaultBudget())
	fill(t, s)
	whole, err := os.ReadFile(closed(t, s)[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "cut.parquet")
	for _, content := range [][]byte{nil, []byte("PAR1"), whole[:len(whole)/2], whole[:len(whole)-1], bytes.Repeat([]byte("x"), 4096), append([]byte("PAR1"), make([]byte, 64)...)} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		err := Scan(path, ScanOptions{}, func([]Column, []any) error { return nil })
		if !errors.Is(err, columns.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
}

func TestARestartedSinkIsAsNew(t *testing.T) {
	one := func(s *Sink) []Part {
		v := int64(1)
		if err := s.Measurements.Put(&Measurement{Name: "m", Unit: "ns", Aggregation: Sample, Scope: "x", ValueInt: &v}); err != nil {
			t.Fatal(err)
		}
		parts, err := s.Close()
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	fresh := one(NewSink(t.TempDir(), FileMeta{Provider: "p", ProviderVersion: 1}, Budget{Rows: 1}))
	s := NewSink(t.TempDir(), FileMeta{Provider: "p", ProviderVersion: 1}, Budget{Rows: 1})
	for i := range 2 {
		v := int64(i)
		err := s.Measurements.Put(&Measurement{Name: "\xff", Unit: "ns", Aggregation: Sample, Scope: "x", ValueInt: &v})
		if (err != nil) != (i == 1) {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	s.Restart()
	if s.Rows() != 0 || len(s.Limitations()) != 0 {
		t.Errorf("%d rows and %v are remembered", s.Rows(), s.Limitations())
	}
	again := one(s)
	if len(again) != 1 || again[0].Rows != 1 {
		t.Fatalf("%+v", again)
	}
	a, err := os.ReadFile(fresh[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(again[0].Path); err != nil || !bytes.Equal(a, b) {
		t.Errorf("the file differs from that of a new sink (%v)", err)
	}
	s.Restart()
	if _, err := s.Close(); err == nil {
		t.Error("a closed sink was opened again")
	}
}
