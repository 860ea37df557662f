package columns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestARepeatedTextIsTheSameBytesByEitherPath writes chunks in which a column has one text, several, or more
// than a row group's dictionary may hold, with the short cut and
// without: the bytes follow from the rows.
func TestARepeatedTextIsTheSameBytesByEitherPath(t *testing.T) {
	s := &Schema{Name: "x", Columns: []Column{{Name: "a", Type: String}, {Name: "n", Type: Int64}, {Name: "o", Type: String, Nullable: true}}}
	value := func(kind string, chunk, row int) string {
		switch kind {
		case "one":
			return "artifact"
		case "by chunk":
			return fmt.Sprint("text ", chunk%3)
		case "mixed":
			if chunk%2 == 0 {
				return fmt.Sprint("text ", row%5)
			}
			return "text 3"
		default: // too many for a dictionary, then one
			if chunk > 0 && chunk < 6 {
				return strings.Repeat("x", 300) + fmt.Sprint(chunk, row)
			}
			return "text"
		}
	}
	for _, kind := range []string{"one", "by chunk", "mixed", "overflow"} {
		var files [5][]byte
		for path := range files {
			var out bytes.Buffer
			w, err := NewWriter(&out, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			b := NewBuffer(s)
			for chunk := range 18 { // two row groups
				for row := range chunkRows {
					b.Vector(0).String(strings.Clone(value(kind, chunk, row)))
					b.Vector(1).Int64(int64(row))
					b.Vector(2).Null()
					b.Row()
				}
				if path > 0 {
					b.Vector(0).varied = true
				}
				if err := w.Write(b); err != nil {
					t.Fatal(err)
				}
				b.Reset()
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			files[path] = out.Bytes()
		}
		for _, other := range files[1:] {
			if !bytes.Equal(files[0], other) {
				t.Errorf("%s: the same rows are different bytes, %d and %d", kind, len(files[0]), len(other))
			}
		}
		r := reader(t, files[0])
		b := NewBuffer(r.Schema())
		if kind == "overflow" && r.GroupRows(0) >= GroupRows {
			t.Errorf("a large dictionary did not end its row group: %d rows", r.GroupRows(0))
		}
		i := 0
		for g := range r.Groups() {
			b.Reset()
			if err := r.Read(g, b); err != nil {
				t.Fatal(err)
			}
			if err := b.Each(func(row []any) error {
				if want := value(kind, i/chunkRows, i%chunkRows); row[0] != want {
					return fmt.Errorf("row %d is %v, want %s", i, row[0], want)
				}
				i++
				return nil
			}); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
		}
	}
}
