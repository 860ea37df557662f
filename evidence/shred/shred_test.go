package shred

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/internal/ijson"
)

func fieldsOf(t testing.TB, text string) ([]Field, error) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return FromSchema(Schema{Node: doc, Document: doc, Documents: map[string]map[string]any{"urn:x": doc}}, []string{"z", "a"})
}

const every = `{"type":"object","additionalProperties":false,"required":["z","list"],"properties":{
 "a":{"type":"string"},"z":{"const":5},"flag":{"type":"boolean"},"n":{"type":"number"},"when":{"type":"string","format":"date-time"},"word":{"enum":["x","y"]},
 "free":{"type":"object"},"mixed":{"type":["string","null"]},
 "list":{"type":"array","items":{"anyOf":[{"type":"number"},{"$ref":"#/$defs/o"}]}},
 "deep":{"type":"object","additionalProperties":false,"properties":{"rows":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}},
 "kinds":{"type":"object","allOf":[{"if":{},"then":{"$ref":"#/$defs/k1"}},{"if":{},"then":{"$ref":"urn:x#/$defs/k2"}}]}},
 "$defs":{"o":{"type":"object","additionalProperties":false,"required":["value"],"properties":{"value":{"type":"number"},"tag":{"type":"string"}}},
 "k1":{"type":"object","additionalProperties":false,"required":["kind","low"],"properties":{"kind":{"const":"low"},"low":{"type":"number"}}},
 "k2":{"type":"object","additionalProperties":false,"required":["kind","high"],"properties":{"kind":{"const":"high"},"high":{"type":"number"}}}}}`

func TestFieldsFollowFromASchema(t *testing.T) {
	fields, err := fieldsOf(t, every)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range Leaves(fields) {
		out = append(out, fmt.Sprintf("%s %s %d/%d", l.Path, l.Kind, l.def, l.rep))
	}
	want := []string{"z int64 0/0", "a string 1/0", "deep.rows string 4/2", "flag boolean 1/0", "free json 1/0", "kinds.high double 2/0", "kinds.kind string 1/0", "kinds.low double 2/0",
		"list.tag string 2/1", "list.value double 1/1", "mixed json 1/0", "n double 1/0", "when timestamp 1/0", "word string 1/0"}
	if strings.Join(out, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(out, "\n"))
	}
}

func TestASchemaThatNoTableHoldsIsAnError(t *testing.T) {
	for _, text := range []string{
		`{"type":"object"}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"null"}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/none"}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"anyOf":[{"type":"number"},{"type":"string"}]}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/properties/a"}}}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"minimum":5}}}`,
	} {
		if fields, err := fieldsOf(t, text); err == nil {
			t.Errorf("%s gives %+v", text, fields)
		}
	}
}

var documents = []string{
	`{"z":5,"list":[]}`,
	`{"z":5,"a":"x","flag":true,"n":1.5,"when":"2026-01-02T03:04:05.5Z","word":"y","free":{"b":[1,null]},"mixed":"m","list":[1,{"value":2,"tag":"t"},3],"deep":{"rows":[["a","b"],[],["c"]]},"kinds":{"kind":"low","low":1}}`,
	`{"z":5,"list":[{"value":7}],"deep":{},"kinds":{"kind":"high","high":2}}`,
	`{"z":5,"list":[1,2,3,4],"deep":{"rows":[]},"flag":false,"mixed":null}`,
}

func buffer(t testing.TB, fields []Field, list ...string) *Buffer {
	t.Helper()
	b := NewBuffer(fields)
	for _, s := range list {
		doc, err := ijson.Object([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(doc); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// written is a file with buffers as its row groups.
func written(t testing.TB, fields []Field, list ...*Buffer) *File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, fields, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, f.Name())
}

func open(t testing.TB, path string) *File {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// shown is everything in a file, leaf by leaf, row by row.
func shown(t testing.TB, r *File) string {
	t.Helper()
	var b strings.Builder
	for g := range r.Groups() {
		for _, l := range r.leaves {
			c, err := r.Read(g, l.Path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.GroupRows(g) {
				text, is := c.Text(i)
				n, isInt := c.Int(i)
				fmt.Fprintln(&b, l.Path, i, text, is, n, isInt, c.Texts(i), c.Floats(i))
			}
		}
	}
	return b.String()
}

func TestRowsComeBackAndRowGroupsAreCopiedAsTheyAre(t *testing.T) {
	fields, err := fieldsOf(t, every)
	if err != nil {
		t.Fatal(err)
	}
	a := written(t, fields, buffer(t, fields, documents[0], documents[1]), buffer(t, fields, documents[2]))
	b := written(t, fields, buffer(t, fields, documents[3], documents[1]))
	if a.Rows() != 3 || a.Meta("k") != "v" || a.Meta("none") != "" {
		t.Errorf("%d rows, %q", a.Rows(), a.Meta("k"))
	}
	c, err := a.Read(0, "list.value")
	if err != nil || fmt.Sprint(c.Floats(0), c.Floats(1)) != "[] [1 2 3]" {
		t.Errorf("%v %v %v", c.Floats(0), c.Floats(1), err)
	}
	c, err = a.Read(0, "deep.rows")
	if err != nil || fmt.Sprint(c.Texts(1)) != "[a b c]" {
		t.Errorf("%v %v", c.Texts(1), err)
	}
	if c, err := a.Read(0, "no.such"); err != nil || c.rows() != 2 {
		t.Errorf("a column that the file lacks: %v", err)
	} else if _, ok := c.Text(1); ok {
		t.Error("a column that the file lacks has a value")
	}
	for name, parts := range map[string][]Part{
		"all of one, then another": {{a, 0}, {a, 1}, {b, 0}}, "in another order": {{b, 0}, {a, 1}, {a, 0}}, "some": {{a, 1}}, "the first of two": {{a, 0}}, "none": nil,
	} {
		to, err := os.Create(filepath.Join(t.TempDir(), "to.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Assemble(to, fields, map[string]string{"m": name}, parts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		to.Close()
		r := open(t, to.Name())
		want, rows := "", 0
		for _, p := range parts {
			one := written(t, fields, rewritten(t, fields, p))
			want += shown(t, one)
			rows += one.Rows()
		}
		if got := shown(t, r); got != want || r.Meta("m") != name || r.Rows() != rows {
			t.Errorf("%s: %s\n%s", name, got, want)
		}
	}
}

func rewritten(t testing.TB, fields []Field, p Part) *Buffer {
	t.Helper()
	b := NewBuffer(fields)
	if err := p.File.Rewrite(p.Group, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestADocumentThatIsNotOfItsSchemaIsRefused(t *testing.T) {
	fields, err := fieldsOf(t, every)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`{"list":[]}`, `{"z":5,"list":[{}]}`, `{"z":"5","list":[]}`, `{"z":5.5,"list":[]}`, `{"z":5,"list":1}`, `{"z":5,"list":[],"deep":1}`, `{"z":5,"list":[],"when":"now"}`, `{"z":5,"list":[null]}`} {
		doc, err := ijson.Object([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		if NewBuffer(fields).Add(doc) == nil {
			t.Errorf("%s is taken", s)
		}
	}
}

func TestTextsSayWhatARowGroupCanHold(t *testing.T) {
	fields, err := fieldsOf(t, every)
	if err != nil {
		t.Fatal(err)
	}
	r := written(t, fields, buffer(t, fields, `{"z":5,"list":[],"a":"m"}`, `{"z":5,"list":[],"a":"p"}`))
	for text, want := range map[string]bool{"a": false, "m": true, "n": true, "p": true, "q": false} {
		if r.May(0, "a", text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	if !r.May(0, "no.such", "x") {
		t.Error("a column that says nothing excludes something")
	}
}

func FuzzDamagedFilesAreErrors(f *testing.F) {
	fields, err := fieldsOf(f, every)
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	w, err := NewWriter(&whole, fields, nil)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Write(buffer(f, fields, documents...)); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes(), 10, byte(1))
	f.Add(whole.Bytes(), whole.Len()-40, byte(255))
	f.Add([]byte("PAR1"), 0, byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at int, x byte) {
		b = bytes.Clone(b)
		if at >= 0 && at < len(b) {
			b[at] ^= x
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		for g := range min(r.Groups(), 4) {
			for _, l := range r.leaves {
				r.Read(g, l.Path)
			}
		}
	})
}
