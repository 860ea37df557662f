package columns

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestPiecesAreTheRowsOfTheGroupInTheirOrder(t *testing.T) {
	rows := randomRows(21, 3*pieceRows+77)
	r := reader(t, written(t, rows, 1000))
	b := NewBuffer(r.Schema())
	var got [][]any
	pieces := 0
	for g := range r.Groups() {
		err := r.Each(g, b, func(b *Buffer) error {
			pieces++
			if b.Rows() == 0 || b.Rows() > pieceRows {
				t.Errorf("a piece has %d rows", b.Rows())
			}
			got = append(got, rowsOf(t, b)...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if pieces < 4 || !reflect.DeepEqual(got, rows) {
		t.Errorf("%d pieces with %d rows are not the %d rows that were written", pieces, len(got), len(rows))
	}
}

// deep is a table of stacks: rows have lists of different length, and each is made of the same few texts.
func deep(t testing.TB, rows, depth int) []byte {
	t.Helper()
	s := &Schema{Name: "deep", Columns: []Column{{Name: "id", Type: String, Distinct: true}, {Name: "frames", Type: String, Shape: List}, {Name: "labels", Type: String, Shape: Map, Nullable: true}}}
	names := make([]string, 500)
	for i := range names {
		names[i] = strings.Repeat(fmt.Sprintf("%04d", i), 16)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, s, map[string]string{MetaTable: "deep"})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuffer(s)
	for i := range rows {
		list := make([]string, 0, depth)
		for j := range depth - i%7 {
			list = append(list, names[(i*j)%len(names)])
		}
		b.Vector(0).String(fmt.Sprintf("row %d", i))
		b.Vector(1).Strings(list)
		if i%3 == 0 {
			b.Vector(2).Null()
		} else {
			b.Vector(2).Map(map[string]string{"n": fmt.Sprint(i)})
		}
		b.Row()
		if b.Full() || i == rows-1 {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// live is the memory that is in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A row group of 4 million list elements takes 28 bytes for each as a whole, and took 90 when each was a text of its own.
func TestMemoryForDeepListsIsThatOfAPiece(t *testing.T) {
	const rows, depth = 2000, 2000
	r := reader(t, deep(t, rows, depth))
	if r.Groups() != 1 {
		t.Fatalf("%d row groups; the test is about one", r.Groups())
	}
	b := NewBuffer(r.Schema())
	before, most, pieces, seen := live(), int64(0), 0, 0
	err := r.Each(0, b, func(b *Buffer) error {
		if pieces++; pieces%4 == 0 {
			most = max(most, live()-before)
		}
		return b.Each(func(row []any) error {
			if row[0] != fmt.Sprintf("row %d", seen) || len(row[1].([]string)) != depth-seen%7 || row[1].([]string)[1] != strings.Repeat(fmt.Sprintf("%04d", seen%500), 16) {
				return fmt.Errorf("row %d is %s with %d frames", seen, row[0], len(row[1].([]string)))
			}
			if m, ok := row[2].(map[string]string); ok != (seen%3 != 0) || ok && m["n"] != fmt.Sprint(seen) {
				return fmt.Errorf("row %d has the labels %v", seen, row[2])
			}
			seen++
			return nil
		})
	})
	if err != nil || seen != rows {
		t.Fatalf("%d rows, %v", seen, err)
	}
	if limit := int64(32 << 20); most > limit || pieces < 8 {
		t.Errorf("%d pieces, and %d MiB in use at once; the bound is %d MiB", pieces, most>>20, limit>>20)
	}
}

func TestARowThatIsLargerThanAPieceIsAPiece(t *testing.T) {
	r := reader(t, deep(t, 5, pieceLevels+10))
	var sizes []int
	b := NewBuffer(r.Schema())
	for g := range r.Groups() {
		if err := r.Each(g, b, func(b *Buffer) error {
			sizes = append(sizes, b.Rows())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(sizes) != "[1 1 1 1 1]" {
		t.Errorf("the pieces have %v rows", sizes)
	}
}

// A buffer was weighed every 64 rows, by when stacks of 65,536 frames are more text than may be written at once.
func TestRowsOfTheDeepestStacksAreWritten(t *testing.T) {
	r := reader(t, deep(t, 20, 1<<16))
	n := 0
	for g := range r.Groups() {
		if err := r.Each(g, NewBuffer(r.Schema()), func(b *Buffer) error { n += b.Rows(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n != 20 {
		t.Errorf("%d rows", n)
	}
}

func TestAnErrorOfTheCallerComesBackAsItIs(t *testing.T) {
	r := reader(t, written(t, randomRows(2, 10), 10))
	enough := errors.New("enough")
	if err := r.Each(0, NewBuffer(r.Schema()), func(*Buffer) error { return enough }); err != enough {
		t.Errorf("the error is %v", err)
	}
}

func TestTextsOfADictionaryAreOneMemory(t *testing.T) {
	r := reader(t, deep(t, 50, 1000))
	b := NewBuffer(r.Schema())
	if err := r.Read(0, b); err != nil {
		t.Fatal(err)
	}
	where := map[*byte]bool{}
	for _, text := range b.Vector(1).leaves[0].bytes {
		where[&text[0]] = true
	}
	if len(where) > 500 {
		t.Errorf("500 texts lie in %d places", len(where))
	}
}
