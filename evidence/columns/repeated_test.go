package columns

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestARepeatedTextIsTheSameBytesByEitherPath writes chunks in which a column has one text, several, or more
// than a dictionary holds, once with the short cut and once without.
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
			if chunk == 1 {
				return strings.Repeat("x", 300) + fmt.Sprint(row)
			}
			return "text"
		}
	}
	for _, kind := range []string{"one", "by chunk", "mixed", "overflow"} {
		var files [2][]byte
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
				if path == 1 {
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
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%s: the two paths differ: %d and %d bytes", kind, len(files[0]), len(files[1]))
		}
		r := reader(t, files[0])
		b := NewBuffer(r.Schema())
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
