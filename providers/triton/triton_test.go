package triton_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/kernelbuild"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/triton"
)

var p triton.Provider

func defaults() *triton.Options { return lang.Defaults(p.Options()).(*triton.Options) }

// run is a run that left the files.
func run(t *testing.T, o *triton.Options, exit int, files ...string) providers.Left {
	t.Helper()
	inv, err := p.Plan(providers.Workload{Argv: []string{"python", "kernel.py"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	left := providers.Left{
		Workload: "workload.k", Command: []string{"python", "kernel.py"}, Options: o, Invocation: inv, Succeeded: exit == 0, Exit: &exit,
		Packages: map[string]string{"triton": "3.9.0"}, Facets: map[string]string{"command": strings.Repeat("ab", 32)},
	}
	for _, f := range files {
		left.Outputs = append(left.Outputs, providers.Artifact{Name: f, Role: kernelbuild.RoleOutput, MediaType: "text/plain", Digest: digest.SumString(f), Size: int64(len(f))})
	}
	return left
}

func describe(t *testing.T, left providers.Left) (*kernelbuild.Document, []byte) {
	t.Helper()
	d, err := p.Describe(left)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := kernelbuild.Parse(d.Content)
	if err != nil {
		t.Fatal(err)
	}
	return doc, d.Content
}

func TestConformance(t *testing.T) {
	_, valid := describe(t, run(t, defaults(), 0, "triton-dumps/A/k.ttir", "triton-dumps/A/k.ptx", "triton-dumps/B/k.ttir"))
	providertest.Run(t, p, &providertest.Cases{Valid: valid, Role: kernelbuild.Role, Half: evidence.Incompatible},
		&providertest.Plan{Workload: providers.Workload{Argv: []string{"python", "kernel.py"}}})
}

func TestTheWorkloadRunsUnchangedWithTritonsOwnVariables(t *testing.T) {
	o := defaults()
	o.Reproducer = "again.mlir"
	inv, err := p.Plan(providers.Workload{Argv: []string{"python", "k.py"}, Env: map[string]string{"TRITON_CACHE_DIR": "c"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	out := token.Make("out.dir")
	want := fmt.Sprint(map[string]string{"TRITON_DUMP_DIR": out + "/triton-dumps", "TRITON_KERNEL_DUMP": "1", "TRITON_REPRODUCER_PATH": out + "/again.mlir"})
	if got := fmt.Sprint(inv.Env); got != want || fmt.Sprint(inv.Argv) != "[python k.py]" {
		t.Errorf("%v with %q, want %q", inv.Argv, got, want)
	}
	if inv.Inventory == nil || inv.Inventory.Files != 99 {
		t.Errorf("the inventory is %+v, and with the document a run has 100 artifacts", inv.Inventory)
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for name, change := range map[string]func(o *triton.Options){
		"dump_subdir":         func(o *triton.Options) { o.Dumps = "../x" },
		"dump_subdir = \"\"":  func(o *triton.Options) { o.Dumps = "" },
		"is no name":          func(o *triton.Options) { o.Dumps = strings.Repeat("a", 201) },
		"reproducer_filename": func(o *triton.Options) { o.Reproducer = "a/b" },
		"is taken":            func(o *triton.Options) { o.Reproducer = o.Dumps },
		"keeps nothing":       func(o *triton.Options) { o.Dump = false },
		"target":              func(o *triton.Options) { o.Target = "cuda 80" },
		"sizes above 0":       func(o *triton.Options) { o.FileBytes = 0 },
	} {
		o := defaults()
		change(o)
		if _, err := p.Plan(providers.Workload{Argv: []string{"x"}}, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := defaults()
	o.Dumps = strings.Repeat("a", 200)
	if _, err := p.Plan(providers.Workload{Argv: []string{"x"}}, o); err != nil {
		t.Errorf("a name of 200 characters: %v", err)
	}
	if _, err := p.Plan(providers.Workload{Argv: []string{"x"}, Env: map[string]string{"TRITON_DUMP_DIR": "mine"}}, defaults()); err == nil || !strings.Contains(err.Error(), "TRITON_DUMP_DIR") {
		t.Errorf("a workload that dumps somewhere else: %v", err)
	}
}

func TestTheOutcomeFollowsFromExitAndFiles(t *testing.T) {
	for _, c := range []struct {
		exit  int
		files []string
		want  kernelbuild.Outcome
	}{
		{0, []string{"d/A/k.ptx"}, kernelbuild.Succeeded}, {0, nil, kernelbuild.Inconclusive}, {0, []string{"d/A/k.txt"}, kernelbuild.Inconclusive},
		{1, []string{"d/A/k.ptx", "d/A/k.cubin"}, kernelbuild.Failed}, {1, nil, kernelbuild.Failed},
	} {
		doc, data := describe(t, run(t, defaults(), c.exit, c.files...))
		if doc.Outcome != c.want {
			t.Errorf("exit %d with %v is %s, want %s", c.exit, c.files, doc.Outcome, c.want)
		}
		in := providertest.Input(t, kernelbuild.Role, data)
		in.Exit = c.exit
		r, err := p.Validate(t.Context(), in)
		if err != nil || r.Valid != (c.want == kernelbuild.Succeeded) || r.Valid != (len(r.Reasons) == 0) {
			t.Errorf("exit %d with %v: valid %v, %v, %v", c.exit, c.files, r.Valid, r.Reasons, err)
		}
	}
}

func TestNoOrderIsMadeUp(t *testing.T) {
	doc, _ := describe(t, run(t, defaults(), 0, "d/B/k.ttir", "d/A/k.cubin", "d/A/k.ptx", "d/A/other.llir", "d/B/k.ttgir", "d/A/k.PTX", "d/C/k.llir", "d/C/k.ptx", "d/A/k.json"))
	got := map[string]string{}
	for _, s := range doc.Stages {
		got[s.Name] = "none"
		if s.Predecessor != nil {
			got[s.Name] = *s.Predecessor
		}
	}
	want := map[string]string{
		"d/B/k.ttir": "none", "d/B/k.ttgir": "d/B/k.ttir", "d/C/k.llir": "none", "d/C/k.ptx": "d/C/k.llir", "d/A/other.llir": "none",
		"d/A/k.ptx": "none", "d/A/k.PTX": "none", "d/A/k.json": "none",
		"d/A/k.cubin": "none", // of two files of PTX
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("predecessors %v\nwant %v", got, want)
	}
}

func TestTheDocumentHoldsNoStagingFolder(t *testing.T) {
	_, data := describe(t, run(t, defaults(), 0, "triton-dumps/A/k.ttir"))
	var doc struct {
		Environment map[string]string `json:"environment"`
		Version     string            `json:"producer_version"`
		Cache       string            `json:"cache_status"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Environment["TRITON_DUMP_DIR"] != "${out.dir}/triton-dumps" || doc.Version != "3.9.0" || doc.Cache != "unknown" {
		t.Errorf("%+v", doc)
	}
}

func TestAFileThatTheDocumentDoesNotListIsRefused(t *testing.T) {
	_, data := describe(t, run(t, defaults(), 0, "d/A/k.ttir"))
	in := providertest.Input(t, kernelbuild.Role, data)
	in.Artifacts = append(in.Artifacts, providers.Artifact{Name: "d/A/k.ttir", Role: kernelbuild.RoleOutput, Digest: digest.SumString("changed")})
	if r, err := p.Validate(t.Context(), in); err != nil || r.Valid || r.Reasons[0].Code != kernelbuild.NotListed {
		t.Errorf("%+v, %v", r, err)
	}
}
