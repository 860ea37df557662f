package evidence

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func TestTheSchemaOfEveryTableIsTheRecordedOne(t *testing.T) {
	var b strings.Builder
	for _, table := range Tables() {
		fmt.Fprintf(&b, "%s\n", table.Name)
		for _, c := range table.Columns {
			fmt.Fprintf(&b, "  %-18s %s", c.Name, c.ParquetType())
			if c.Unit != "" {
				fmt.Fprintf(&b, " [%s]", c.Unit)
			}
			b.WriteByte('\n')
		}
	}
	const path = "testdata/schema.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the published schema changed; if that is meant, run with -update and raise what reads it.\n%s", b.String())
	}
}

func TestEveryColumnIsDocumented(t *testing.T) {
	for _, table := range Tables() {
		if table.Doc == "" {
			t.Errorf("%s does not say what a row is", table.Name)
		}
		if err := table.PublishedSchema().Check(); err != nil {
			t.Error(err)
		}
		for _, c := range table.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s is not documented", table.Name, c.Name)
			}
		}
		if w := table.Weight; w != "" {
			if _, ok := table.Column(w); !ok {
				t.Errorf("%s is weighed by %s, which it does not have", table.Name, w)
			}
		}
		if table.Columns[0].Name != "run" {
			t.Errorf("%s starts with %s", table.Name, table.Columns[0].Name)
		}
	}
}

func TestATableIsFoundByName(t *testing.T) {
	if table, ok := Lookup("frames"); !ok || table.Name != "frames" {
		t.Errorf("frames: %v %v", table, ok)
	}
	if _, ok := Lookup("frame"); ok {
		t.Error("frame was found")
	}
}
