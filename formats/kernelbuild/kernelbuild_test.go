package kernelbuild

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func build(files ...string) *Document {
	zero := 0
	b := Build{Producer: "p", Succeeded: true, Exit: &zero, Kinds: []Kind{{Name: "ptx"}, {Name: "cubin", From: "ptx"}}}
	for i, f := range files {
		b.Files = append(b.Files, File{Name: f, Role: RoleOutput, SHA256: fmt.Sprintf("%064x", i+1), Bytes: int64(i)})
	}
	return b.Document()
}

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	one, err := build("d/a.ptx", "d/a.cubin", "e/a.cubin").Encode()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(one)
	if err != nil {
		t.Fatal(err)
	}
	two, err := doc.Encode()
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("%v\n%s\n%s", err, one, two)
	}
	if doc.Version != Unknown || doc.Stages[0].Name != "d/a.ptx" || *doc.Stages[1].Predecessor != "d/a.ptx" || doc.Stages[2].Predecessor != nil {
		t.Errorf("%+v", doc)
	}
}

func TestTheOrderOfFilesIsNoPartOfTheDocument(t *testing.T) {
	a := Stages([]File{{Name: "d/a.ptx", Role: RoleOutput}, {Name: "d/a.cubin", Role: RoleOutput}, {Name: "r", Role: RoleReproducer}}, []Kind{{Name: "ptx"}, {Name: "cubin", From: "ptx"}})
	b := Stages([]File{{Name: "r", Role: RoleReproducer}, {Name: "d/a.cubin", Role: RoleOutput}, {Name: "d/a.ptx", Role: RoleOutput}}, []Kind{{Name: "ptx"}, {Name: "cubin", From: "ptx"}})
	x, _ := json.Marshal(a)
	if y, _ := json.Marshal(b); !bytes.Equal(x, y) {
		t.Errorf("%s\n%s", x, y)
	}
}

func TestDocumentsThatContradictThemselvesAreRefused(t *testing.T) {
	good := func() *Document { return build("d/a.ptx", "d/a.cubin", "e/a.ptx") }
	text := func(s string) *string { return &s }
	for want, change := range map[string]func(d *Document){
		"the outcome is inconclusive with 3 files": func(d *Document) { d.Outcome = Inconclusive },
		"the outcome is succeeded with 0 files":    func(d *Document) { d.Stages = nil },
		"none of succeeded":                        func(d *Document) { d.Outcome = "passed" },
		"has the ordinal 1":                        func(d *Document) { d.Stages[1].Ordinal = 1 },
		"two stages are called":                    func(d *Document) { d.Stages[2].Name = "d/a.ptx" },
		"which is no stage":                        func(d *Document) { d.Stages[1].Predecessor = text("d/b.ptx") },
		"which is in another folder":               func(d *Document) { d.Stages[2].Predecessor = text("d/a.ptx") },
		"comes before":                             func(d *Document) { d.Stages[0].Predecessor = text("d/a.cubin") },
		"comes before \"d/a.ptx\"":                 func(d *Document) { d.Stages[0].Predecessor = text("d/a.ptx") },
		"no SHA-256":                               func(d *Document) { d.Stages[0].SHA256 = "00" },
		"cache_status":                             func(d *Document) { d.Cache = "hit" },
		"names no producer":                        func(d *Document) { d.Version = "" },
		"has the role":                             func(d *Document) { d.Stages[0].Role = "log" },
	} {
		d := good()
		change(d)
		if _, err := d.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: written, %v", want, err)
		}
		data, _ := json.Marshal(d)
		if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read, %v", want, err)
		}
	}
	var many []string
	for i := range MaxFiles + 1 {
		many = append(many, fmt.Sprintf("d/%03d.ptx", i))
	}
	if _, err := build(many[1:]...).Encode(); err != nil {
		t.Errorf("%d stages: %v", MaxFiles, err)
	}
	if _, err := build(many...).Encode(); err == nil {
		t.Errorf("%d stages were written", MaxFiles+1)
	}
}

func TestFactsAreThoseThatFormatsDocument(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       Facts
	}{
		{"ptx", "//\n// .target sm_1\n.version 8.8\n.target sm_90a, debug\n.address_size 64\n", Facts{Target: "sm_90a", Language: "8.8"}},
		{"ptx", ".versions 9\n.target\nnothing", Facts{}},
		{"ptx", strings.Repeat("x", 200<<10) + "\n.version 8.0 // why\n.target sm_80", Facts{Target: "sm_80", Language: "8.0"}},
		{"amdgcn", "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n", Facts{Target: "amdgcn-amd-amdhsa--gfx942"}},
		{"llir", "!llvm.ident = !{!4}\n!4 = !{!\"Triton version 3.9.0+git1\"}\n", Facts{Producer: "3.9.0+git1"}},
		{"llir", "; Triton version 3.9.0\n", Facts{}},
		{"json", `{"triton_version": "3.4.0", "target": {"backend": "cuda", "arch": 90}}`, Facts{Target: "cuda:90", Producer: "3.4.0"}},
		{"json", `{"triton_version": 3, "target": {"backend": "hip", "arch": "gfx942"}}`, Facts{Target: "hip:gfx942"}},
		{"json", `{"target": {"backend": "cuda", "arch": 9.5}}`, Facts{}},
		{"json", `{"child_paths": {}}`, Facts{}},
		{"json", `{`, Facts{}},
		{"cubin", ".target sm_1", Facts{}},
	} {
		got, err := ReadFacts(c.kind, strings.NewReader(c.text))
		if err != nil || got != c.want {
			t.Errorf("%s %.40q: %+v, %v, want %+v", c.kind, c.text, got, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	good, err := build("d/a.ptx", "d/a.cubin").Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema_version":"flameox.kernel-build.v1"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse(data)
		if err != nil {
			return
		}
		again, err := doc.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := Parse(again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}

func FuzzFacts(f *testing.F) {
	for _, kind := range []string{"ptx", "amdgcn", "llir", "json"} {
		f.Add(kind, []byte(".version 8.8\n.target sm_80\n"))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		if _, err := ReadFacts(kind, bytes.NewReader(data)); err != nil {
			t.Fatalf("no text is an error: %v", err)
		}
	})
}
