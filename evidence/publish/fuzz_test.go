package publish

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzManifest(f *testing.F) {
	f.Add(`{"format":"flameox evidence manifest 1","generation":3,"created":"2026-05-01T12:00:00Z","oldest":1,"set":"` + strings.Repeat("0a", 32) +
		`","tables":[{"name":"runs","schema":"x","segments":[{"name":"00000003-0","rows":1,"bytes":10,"parts":1,"first":"a","last":"b"}]}]}`)
	f.Add(`{"format":"flameox evidence manifest 1","generation":1,"oldest":1,"tables":[{"name":"../x"}]}`)
	f.Add(`{"format":"flameox evidence manifest 1","generation":1,"oldest":1,"tables":[],"left_out":[{"table":"frames","run":"a","provider":"p","digest":"` +
		strings.Repeat("0a", 32) + `","lost":true,"why":"gone","try":"again"}]}`)
	f.Add(`{"format":"flameox evidence manifest 2"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseManifest([]byte(text))
		if err != nil {
			return
		}
		for _, table := range m.Tables {
			for _, s := range table.Segments {
				g := Generation{Dir: "/x"}
				if filepath.Dir(g.path(table.Name, s.Name)) != "/x/"+table.Name || filepath.Dir(g.partsPath(table.Name, s.Name)) != "/x/parts" {
					t.Fatalf("a name leaves the generation: %q %q", table.Name, s.Name)
				}
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseManifest(b)
		if err != nil {
			t.Fatalf("what was accepted is refused when written again: %v\n%s", err, b)
		}
		if again.Set != m.Set || len(again.Tables) != len(m.Tables) || !sameLeftOut(again.LeftOut, m.LeftOut) {
			t.Fatalf("reading again differs: %+v %+v", again, m)
		}
	})
}

func FuzzParts(f *testing.F) {
	f.Add(`{"format":"flameox evidence parts 1","parts":[{"run":"a","provider":"p","digest":"` + strings.Repeat("0a", 32) + `","rows":4}]}`)
	f.Add(`{"format":"flameox evidence parts 1","parts":[{"run":"","rows":-1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseParts([]byte(text))
		if err != nil {
			return
		}
		for _, p := range d.Parts {
			if p.Rows < 0 || p.Run == "" || p.Digest.IsZero() {
				t.Fatalf("accepted %+v", p)
			}
		}
	})
}
