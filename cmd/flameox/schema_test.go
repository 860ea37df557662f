package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/cmd/flameox/internal/configure"
	"github.com/flameox/flameox/cmd/flameox/internal/importing"
	"github.com/flameox/flameox/cmd/flameox/internal/machine"
	"github.com/flameox/flameox/cmd/flameox/internal/profiles"
	"github.com/flameox/flameox/cmd/flameox/internal/recipes"
	"github.com/flameox/flameox/cmd/flameox/internal/register"
	"github.com/flameox/flameox/cmd/flameox/internal/spans"
	"github.com/flameox/flameox/cmd/flameox/internal/storage"
	"github.com/flameox/flameox/evidence/export"
	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/bundle"
	"github.com/flameox/flameox/graph/cache"
	"github.com/flameox/flameox/graph/fsck"
	"github.com/flameox/flameox/graph/gc"
	"github.com/flameox/flameox/internal/schema"
	"github.com/flameox/flameox/lang/reference"
	"github.com/flameox/flameox/lang/render"
	"github.com/flameox/flameox/schemas"
)

var update = flag.Bool("update", false, "write the schemas that the types have")

// documents are the documents of the command line by the name of their schema.
var documents = map[string]struct {
	title string
	value any
}{
	"plan":        {"A plan: flameox plan -json, -out", graph.PlanDocument{}},
	"apply":       {"What an apply did: the last line of flameox apply -json", applyDocument{}},
	"apply-event": {"One event of an apply: every other line of flameox apply -json", applyEvent{}},
	"why":         {"Why a stage is or is not cached: flameox why -json", whyDocument{}},
	"runs":        {"The runs of a store: flameox runs -json", runsDocument{}},
	"run":         {"A run: flameox show -json", cache.Record{}},
	"diff":        {"Whether two runs may be compared: flameox diff -json", diffDocument{}},
	"graph":       {"The graph of an experiment: flameox graph -json", graphDocument{}},
	"tables":      {"The tables of the evidence: flameox tables -json", tablesDocument{}},
	"validate":    {"Diagnostics of a configuration: flameox validate -json", render.Document{}},
	"fsck":        {"The state of a store: flameox fsck -json", fsck.Report{}},
	"audit":       {"What came out of pure stages that were run again: flameox audit -json", auditDocument{}},
	"console":     {"What an expression comes to: one line of flameox console -json", configure.ConsoleDocument{}},
	"setup":       {"What was made ready: flameox setup -json", configure.SetupDocument{}},
	"lock":        {"What was locked: flameox lock -json", configure.LockDocument{}},
	"schema":      {"The language: flameox schema -json", reference.Document{}},
	"gc":          {"What a collection moves, or would move: flameox gc -json", gc.Report{}},
	"gc-empty":    {"What was deleted from the trash: flameox gc -empty-trash -json", gc.Emptied{}},
	"trash":       {"What is in the trash: flameox restore -json", storage.Trash{}},
	"restore":     {"What came back from the trash: flameox restore -json with names or -all", gc.Restored{}},
	"pins":        {"What is pinned: flameox pins -json", storage.Pinned{}},
	"recover":     {"What a recovery did: flameox recover -json", storage.Recovery{}},
	"bundle":      {"What is in a bundle: flameox bundle export -json", bundle.Manifest{}},
	"import":      {"What an import brought: flameox bundle import -json", bundle.Imported{}},
	"import-file": {"What an existing file is, and the block that brings it in: flameox import -json", importing.Document{}},
	"spans":       {"What follows from the spans of traces: flameox spans window, transitions, sequences and gaps -json", spans.Document{}},
	"export":      {"What was exported: flameox evidence export -json", export.Report{}},
	"hotspots":    {"The heaviest frames of a profile: flameox hotspots -json", profiles.HotspotsDocument{}},
	"calls":       {"Who calls a frame, or whom it calls: flameox callers -json, flameox callees -json", profiles.CallsDocument{}},
	"stacks":      {"The heaviest stacks of a profile: flameox stacks -json", profiles.StacksDocument{}},
	"recipe":      {"The answer of a recipe: flameox recipe -json", recipes.Document{}},
	"scaling":     {"How a metric grows along an axis: flameox recipe scaling -json", recipes.ScalingDocument{}},
	"host":        {"What this machine is: flameox host -json", machine.HostDocument{}},
	"register":    {"What was registered with a run: flameox register -json", register.Document{}},
	"providers":   {"What each provider can do here: flameox providers -json", machine.ProvidersDocument{}},
	"version":     {"The version: flameox version -json", versionDocument{}},
}

func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	g, err := schema.New(map[string]string{
		"flameox": ".", "graph": "../../graph", "cache": "../../graph/cache", "facet": "../../graph/facet", "fsck": "../../graph/fsck",
		"gc": "../../graph/gc", "bundle": "../../graph/bundle", "storage": "internal/storage", "export": "../../evidence/export",
		"address": "../../internal/address", "render": "../../lang/render", "reference": "../../lang/reference", "configure": "internal/configure",
		"machine": "internal/machine", "register": "internal/register", "importing": "internal/importing", "spans": "internal/spans", "profiles": "internal/profiles", "recipes": "internal/recipes", "callgraph": "../../evidence/callgraph", "growth": "../../internal/growth", "pins": "../../stages/environment/pins", "capability": "../../stages/capability", "providers": "../../providers",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range documents {
		want, err := g.Document(doc.value, schemas.Base+name+".schema.json", doc.title)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../../schemas", name+".schema.json")
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say (%v): run go test ./cmd/flameox -run Schemas -update", path, err)
		}
	}
}

// compiled is the embedded schema of a document.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	b, err := schemas.Files.ReadFile(name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	url := schemas.Base + name + ".schema.json"
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(url)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// fits holds what a command printed against a schema.
func fits(t *testing.T, name, out string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	if err != nil {
		t.Errorf("%s is not JSON: %v\n%s", name, err, out)
		return
	}
	if err := compiled(t, name).Validate(v); err != nil {
		t.Errorf("%s does not fit its schema: %v\n%s", name, err, out)
	}
}

func TestWhatEveryCommandPrintsAsJSONFitsItsSchema(t *testing.T) {
	p := newProject(t, map[string]string{
		"flameox.hcl": `
workload "good" {
  command = ["sh", "-c", "echo $0", matrix.n]
  sources = ["in.txt"]
  matrix  = { n = [1, 2] }
}
workload "bad" {
  command = ["sh", "-c", "exit 3"]
  sources = []
}
workload "absent" {
  command = ["no-such-program"]
  sources = []
}
capture "command" "good" {
  workload = workload.good
  attempts = 2
}
capture "command" "bad" { workload = workload.bad }
capture "command" "absent" { workload = workload.absent }
output "median" { value = [for r in capture.command.good : r.wall.median] }
output "none" { value = capture.command.bad.exit }
check "c" {
  assert {
    condition     = false
    error_message = "never"
  }
}
`,
		"in.txt": "x",
	})
	fits(t, "plan", p.want(0, "plan", "-json"))
	lines := strings.Split(strings.TrimSpace(p.want(cmdline.ExitSome, "apply", "-json")), "\n")
	for _, l := range lines[:len(lines)-1] {
		fits(t, "apply-event", l)
	}
	fits(t, "apply", lines[len(lines)-1])
	var applied applyDocument
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &applied); err != nil {
		t.Fatal(err)
	}
	if applied.Done != 2 || applied.Failed != 1 || applied.Blocked != 1 || len(applied.Outputs) != 2 || len(applied.Checks) != 1 || len(applied.Failures) != 1 {
		t.Errorf("the apply reports %+v", applied)
	}
	p.write("in.txt", "y")
	fits(t, "plan", p.want(0, "plan", "-json"))
	fits(t, "why", p.want(0, "why", "-json", "capture.command.good:n=1"))
	fits(t, "why", p.want(0, "why", "capture.command.absent", "-json"))
	fits(t, "runs", p.want(0, "runs", "-json"))
	fits(t, "run", p.want(0, "show", "-json", "capture.command.bad"))
	fits(t, "run", p.want(0, "show", "capture.command.good:n=2", "-json"))
	fits(t, "diff", p.want(0, "diff", "-json", "capture.command.good:n=1", "capture.command.good:n=2"))
	fits(t, "diff", p.want(cmdline.ExitLost, "diff", "-json", "capture.command.good:n=1", "capture.command.bad"))
	fits(t, "graph", p.want(0, "graph", "-json"))
	fits(t, "tables", p.want(0, "tables", "-json"))
	fits(t, "tables", p.want(0, "tables", "runs", "-json"))
	fits(t, "validate", p.want(0, "validate", "-json"))
	fits(t, "fsck", p.want(0, "fsck", "-json"))
	fits(t, "gc", p.want(0, "gc", "-json"))
	fits(t, "gc", p.want(0, "gc", "-apply", "-measurements", "-json"))
	fits(t, "trash", p.want(0, "restore", "-json"))
	fits(t, "restore", p.want(0, "restore", "-all", "-json"))
	fits(t, "gc-empty", p.want(0, "gc", "-empty-trash", "-json"))
	p.want(0, "pin", "capture.command.good:n=1", "-reason", "schema")
	fits(t, "pins", p.want(0, "pins", "-json"))
	fits(t, "recover", p.want(0, "recover", "-json"))
	fits(t, "bundle", p.want(0, "bundle", "export", "b.flameox", "-all", "-json"))
	fits(t, "import", p.want(0, "bundle", "import", "b.flameox", "-json"))
	fits(t, "export", p.want(0, "evidence", "export", "-o", "tables", "-json"))
	p.write("old.txt", "BenchmarkX-2\t100\t12 ns/op\n")
	fits(t, "import-file", p.want(0, "import", "old.txt", "-json"))
	fits(t, "spans", p.want(0, "spans", "gaps", "-json"))
	fits(t, "console", p.want(0, "console", "-json", "-e", "[1, null, { a = true }]"))
	fits(t, "schema", p.want(0, "schema", "-json"))
	fits(t, "schema", p.want(0, "schema", "-json", "capture", "pprof"))
	fits(t, "tables", p.want(0, "schema", "-json", "tables", "runs"))
	fits(t, "setup", p.want(cmdline.ExitSome, "setup", "-json"))
	locked := newProject(t, map[string]string{
		"flameox.hcl": "environment \"python\" \"p\" { requirements = \"p.lock.txt\" }\n",
		"p.lock.txt":  "six==1.17.0 --hash=sha256:" + strings.Repeat("ab", 32) + "\n",
	})
	fits(t, "lock", locked.want(0, "lock", "-json"))
	fits(t, "recipe", p.want(0, "recipe", "failures", "-json"))
	fits(t, "recipe", p.want(0, "recipe", "memory", "-json"))
	profiled := newProject(t, map[string]string{
		"flameox.hcl": `
import "cpuprofile" "p" { path = "p.cpuprofile" }
extract "node" "p" { from = import.cpuprofile.p }
import "gobench" "b" {
  matrix = { n = [1, 2, 3] }
  path   = "b${matrix.n}.txt"
}
extract "gobench" "b" { from = import.gobench.b }
`,
		"b1.txt":       "BenchmarkX 1 5 ns/op\nPASS\n",
		"b2.txt":       "BenchmarkX 1 9 ns/op\nPASS\n",
		"b3.txt":       "BenchmarkX 1 14 ns/op\nPASS\n",
		"p.cpuprofile": `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"hitCount":0,"children":[2]},{"id":2,"callFrame":{"functionName":"f","scriptId":"1","url":"a.js","lineNumber":0,"columnNumber":0},"hitCount":2}],"startTime":0,"endTime":2000,"samples":[2,2],"timeDeltas":[0,1000]}`,
	})
	profiled.want(0, "apply")
	fits(t, "hotspots", profiled.want(0, "hotspots", "import.cpuprofile.p", "-json"))
	fits(t, "calls", profiled.want(0, "callers", "import.cpuprofile.p", "f", "-json"))
	fits(t, "calls", profiled.want(0, "callees", "import.cpuprofile.p", "f", "-json"))
	fits(t, "stacks", profiled.want(0, "stacks", "import.cpuprofile.p", "f", "-json"))
	fits(t, "scaling", profiled.want(0, "recipe", "scaling", "-json"))
	fits(t, "version", p.want(0, "version", "-json"))
	p.write("broken.flameox.hcl", "workload \"w\" {\n  comand = 1\n}\n")
	fits(t, "validate", p.want(1, "validate", "-json"))
}
