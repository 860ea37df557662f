package columns

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// every has a column of each type, shape and nullability that a table may have.
var every = &Schema{Name: "every", Columns: []Column{
	{Name: "s", Type: String, Doc: "a text"}, {Name: "s0", Type: String, Nullable: true},
	{Name: "b", Type: Bool}, {Name: "b0", Type: Bool, Nullable: true},
	{Name: "i", Type: Int64, Unit: "ns"}, {Name: "i0", Type: Int64, Nullable: true},
	{Name: "u", Type: Uint64}, {Name: "u0", Type: Uint64, Nullable: true},
	{Name: "f", Type: Float64}, {Name: "f0", Type: Float64, Nullable: true},
	{Name: "t", Type: Timestamp}, {Name: "t0", Type: Timestamp, Nullable: true},
	{Name: "ls", Type: String, Shape: List}, {Name: "ls0", Type: String, Shape: List, Nullable: true},
	{Name: "li", Type: Int64, Shape: List}, {Name: "lf0", Type: Float64, Shape: List, Nullable: true},
	{Name: "m", Type: String, Shape: Map}, {Name: "m0", Type: String, Shape: Map, Nullable: true},
}}

// random is a row of every.
func random(rng *rand.Rand) []any {
	str := func() string { return []string{"", "a", "ü", "long text", fmt.Sprint(rng.IntN(1000))}[rng.IntN(5)] }
	maybe := func(v any) any {
		if rng.IntN(3) == 0 {
			return nil
		}
		return v
	}
	strs := func() []string {
		out := make([]string, rng.IntN(4))
		for i := range out {
			out[i] = str()
		}
		return out
	}
	dict := func() map[string]string {
		out := map[string]string{}
		for range rng.IntN(4) {
			out[str()] = str()
		}
		return out
	}
	at := func() time.Time { return time.UnixMicro(rng.Int64N(1 << 50)).UTC() }
	ints := make([]int64, rng.IntN(3))
	for i := range ints {
		ints[i] = rng.Int64()
	}
	floats := make([]float64, rng.IntN(3))
	for i := range floats {
		floats[i] = rng.Float64()
	}
	return []any{
		str(), maybe(str()), rng.IntN(2) == 0, maybe(true), -rng.Int64(), maybe(rng.Int64()), rng.Uint64(), maybe(uint64(math.MaxUint64)),
		rng.NormFloat64(), maybe(0.0), at(), maybe(at()), strs(), maybe(strs()), ints, maybe(floats), dict(), maybe(dict()),
	}
}

func add(t testing.TB, b *Buffer, row []any) {
	t.Helper()
	for i, v := range row {
		vec := b.Vector(i)
		var err error
		switch v := v.(type) {
		case nil:
			vec.Null()
		case string:
			vec.String(v)
		case bool:
			vec.Bool(v)
		case int64:
			vec.Int64(v)
		case uint64:
			vec.Uint64(v)
		case float64:
			err = vec.Float64(v)
		case time.Time:
			vec.Int64(v.UnixMicro())
		case []string:
			vec.Strings(v)
		case []int64:
			vec.Int64s(v)
		case []float64:
			err = vec.Float64s(v)
		case map[string]string:
			vec.Map(v)
		default:
			t.Fatalf("%T", v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b.Row()
}

func rowsOf(t testing.TB, b *Buffer) (out [][]any) {
	t.Helper()
	if err := b.Each(func(row []any) error {
		out = append(out, append([]any(nil), row...))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// written is the file of the rows, written in chunks of a size.
func written(t testing.TB, rows [][]any, chunk int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, every, map[string]string{MetaTable: "every", "b": "2", "a": "1"})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuffer(every)
	for i, row := range rows {
		add(t, b, row)
		if b.Rows() == chunk || i == len(rows)-1 {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Bytes() != int64(out.Len()) || w.Rows() != int64(len(rows)) {
		t.Errorf("the writer counts %d rows, %d bytes; there are %d, %d", w.Rows(), w.Bytes(), len(rows), out.Len())
	}
	return out.Bytes()
}

func reader(t testing.TB, content []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(content), int64(len(content)), "x.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func randomRows(seed uint64, n int) [][]any {
	rng := rand.New(rand.NewPCG(seed, 2))
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = random(rng)
	}
	return rows
}

func TestEveryTypeComesBack(t *testing.T) {
	for seed := range uint64(5) {
		rows := randomRows(seed, 1+int(seed)*1500)
		b := NewBuffer(every)
		for _, row := range rows {
			add(t, b, row)
		}
		if got := rowsOf(t, b); !reflect.DeepEqual(got, rows) {
			t.Fatal("the buffer itself does not give back its rows")
		}
		r := reader(t, written(t, rows, 700))
		got := NewBuffer(r.Schema())
		for g := range r.Groups() {
			if err := r.Read(g, got); err != nil {
				t.Fatal(err)
			}
		}
		if back := rowsOf(t, got); !reflect.DeepEqual(back, rows) {
			t.Fatalf("%d rows came back as %d others", len(rows), len(back))
		}
		s := r.Schema()
		if s.Name != "every" || s.Columns[4].Unit != "ns" || s.Columns[0].Doc != "a text" || r.Meta()["a"] != "1" {
			t.Errorf("schema %+v, meta %v", s, r.Meta())
		}
	}
}

func TestRowsAreCopiedByRange(t *testing.T) {
	rows := randomRows(7, 300)
	src := NewBuffer(every)
	for _, row := range rows {
		add(t, src, row)
	}
	wide := &Schema{Name: "wide", Columns: append([]Column{{Name: "run", Type: String}}, every.Columns...)}
	dst := NewBuffer(wide)
	var want [][]any
	for _, c := range [][2]int{{0, 1}, {299, 300}, {10, 10}, {3, 200}, {0, 300}} {
		if err := dst.AppendRows(src, c[0], c[1], map[string]string{"run": "r1"}); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[c[0]:c[1]] {
			want = append(want, append([]any{"r1"}, row...))
		}
	}
	if got := rowsOf(t, dst); !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	if err := dst.AppendRows(src, 0, 301, nil); err == nil {
		t.Error("more rows than there are were copied")
	}
	if err := NewBuffer(wide).AppendRows(src, 0, 1, nil); err == nil {
		t.Error("a column without a value was filled")
	}
}

func TestUndoRemovesARowThatWasBegun(t *testing.T) {
	rows := randomRows(9, 50)
	b := NewBuffer(every)
	for _, row := range rows {
		for cut := range every.Columns {
			for i := range cut { // the row up to some column
				appendOne(t, b, i, row[i])
			}
			b.Undo()
		}
		add(t, b, row)
	}
	if got := rowsOf(t, b); !reflect.DeepEqual(got, rows) {
		t.Error("rows differ after undoing")
	}
}

func appendOne(t testing.TB, b *Buffer, i int, v any) {
	t.Helper()
	row := NewBuffer(&Schema{Name: "one", Columns: every.Columns[i : i+1]})
	add(t, row, []any{v})
	b.Vector(i).append(row.Vector(0), 0, 1)
}

func TestAColumnThatTheFileLacksIsNullOrAnError(t *testing.T) {
	content := written(t, randomRows(1, 5), 5)
	want := &Schema{Name: "every", Columns: []Column{every.Columns[4], {Name: "later", Type: String, Nullable: true}, {Name: "tags", Type: String, Shape: List, Nullable: true}}}
	b := NewBuffer(want)
	if err := reader(t, content).Read(0, b); err != nil {
		t.Fatal(err)
	}
	for _, row := range rowsOf(t, b) {
		if row[1] != nil || row[2] != nil {
			t.Errorf("row %v", row)
		}
	}
	// What must not be missing and what has another type.
	for _, c := range []Column{{Name: "later", Type: String}, {Name: "i", Type: String}, {Name: "i0", Type: Int64}, {Name: "ls", Type: String}} {
		if err := reader(t, content).Read(0, NewBuffer(&Schema{Name: "x", Columns: []Column{c}})); err == nil {
			t.Errorf("column %+v was read", c)
		}
	}
	// A column that became nullable later.
	b = NewBuffer(&Schema{Name: "every", Columns: []Column{{Name: "i", Type: Int64, Nullable: true}, {Name: "ls", Type: String, Shape: List, Nullable: true}, {Name: "m", Type: String, Shape: Map, Nullable: true}}})
	if err := reader(t, content).Read(0, b); err != nil {
		t.Fatal(err)
	}
	for i, row := range rowsOf(t, b) {
		orig := randomRows(1, 5)[i]
		if !reflect.DeepEqual(row, []any{orig[4], orig[12], orig[16]}) {
			t.Errorf("row %v, want %v", row, orig)
		}
	}
}

func TestUnequalColumnsAreNotWritten(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, every, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuffer(every)
	add(t, b, randomRows(3, 1)[0])
	b.Vector(0).String("one more")
	if err := w.Write(b); err == nil {
		t.Error("a column with one value more was written")
	}
}

func TestAFailingDiskIsAnError(t *testing.T) {
	rows := randomRows(5, 2000)
	size := len(written(t, rows, 500))
	for limit := 0; limit < size; limit += size/20 + 1 {
		w, err := NewWriter(&short{left: limit}, every, nil)
		if err == nil {
			b := NewBuffer(every)
			for _, row := range rows {
				add(t, b, row)
			}
			err = w.Write(b)
			if cerr := w.Close(); err == nil {
				err = cerr
			}
		}
		if !errors.Is(err, errFull) {
			t.Errorf("a disk that is full after %d of %d bytes: %v", limit, size, err)
		}
	}
}

var errFull = errors.New("no space left on device")

type short struct{ left int }

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.left {
		return 0, errFull
	}
	s.left -= len(p)
	return len(p), nil
}

func TestEveryFlippedByteIsReadOrRefused(t *testing.T) {
	content := written(t, randomRows(11, 40), 40)
	step := len(content)/400 + 1
	for i := 0; i < len(content); i += step {
		damaged := bytes.Clone(content)
		damaged[i] ^= 0x55
		readAll(t, damaged)
	}
}

func readAll(t testing.TB, content []byte) {
	r, err := NewReader(bytes.NewReader(content), int64(len(content)), "x.parquet")
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%v", err)
		}
		return
	}
	b := NewBuffer(r.Schema())
	for g := range r.Groups() {
		b.Reset()
		if err := r.Read(g, b); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v", err)
			}
			return
		}
		if got := rowsOf(t, b); int64(len(got)) != r.GroupRows(g) {
			t.Fatalf("%d rows, announced %d", len(got), r.GroupRows(g))
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, randomRows(1, 3), 3))
	f.Add(written(f, nil, 1))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, content) })
}
