package lang

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files")

func TestDiagnosticsLookAsInTheGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources := map[string]string{}
			for _, f := range a.Files {
				sources[f.Name] = string(f.Data)
			}
			c, _, diags := runFiles(t, sources, Input{
				Version: "0.4.0",
				Values:  Values{Vars: []string{"rows=1000", "token=hunter2-token"}, Environ: []string{"FLAMEOX_VAR_unset=x"}},
			})
			if name != "variables" {
				diags = slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool { return strings.HasPrefix(d.Detail, "-var sets") })
			}
			if !diags.HasErrors() {
				t.Error("no error")
			}
			for _, d := range diags {
				if !slices.Contains(Summaries(), d.Summary) {
					t.Errorf("the summary %q is not in the catalogue", d.Summary)
				}
			}
			got := show(diags, c)
			if strings.Contains(strings.ReplaceAll(got, `"hunter2-pin"`, ""), "hunter2") {
				t.Error("a sensitive value is shown")
			}
			golden := strings.TrimSuffix(file, ".txtar") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got (run with -update when it is meant):\n%s", diff)
			}
			var b bytes.Buffer
			if err := RenderJSON(&b, diags, c.Files); err != nil || bytes.Count(b.Bytes(), []byte(`"severity"`)) != len(diags) {
				t.Errorf("JSON: %v\n%s", err, b.String())
			}
		})
	}
}

func TestTheCatalogueHoldsEverySummaryOnce(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "diag.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "summary" {
			s, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, s)
		}
		return true
	})
	slices.Sort(declared)
	if diff := cmp.Diff(declared, Summaries()); diff != "" || len(slices.Compact(declared)) != len(Summaries()) {
		t.Errorf("constants and catalogue differ:\n%s", diff)
	}
}
