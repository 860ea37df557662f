package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

type makerOptions struct {
	Rows bool `arg:"rows" default:"true" doc:"false leaves the rows out" facet:"exempt: decides about another stage"`
}

type rowsOptions struct {
	From Ref `arg:"from" kinds:"maker" doc:"what is read" facet:"inputs"`
}

// expandMakers expands a configuration in which a "maker" implies "rows".
func expandMakers(t *testing.T, src string) (*Expansion, string) {
	t.Helper()
	r := NewRegistry()
	r.Register(BlockType{Type: "maker", Labels: []string{"kind", "name"}, Doc: "makes", Schemas: map[string]*Schema{
		"a": {Doc: "makes rows", Options: &makerOptions{}, Stage: true, Implies: []string{"rows"}},
	}})
	r.Register(BlockType{Type: "rows", Labels: []string{"kind", "name"}, Doc: "rows", Schemas: map[string]*Schema{
		"a": {Doc: "rows", Options: &rowsOptions{}, Stage: true, Results: []Attr{{Name: "count", Type: cty.Number, Doc: "how many"}}},
	}})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "flameox.hcl"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	c, diags := Load(dir, r, Input{})
	x, more := c.Expand()
	var out strings.Builder
	for _, d := range append(diags, more...) {
		out.WriteString(d.Summary + ": " + d.Detail + "\n")
	}
	return x, out.String()
}

func TestAnImpliedStageHasTheAxesOfWhatImpliesItAndCanBeReferredTo(t *testing.T) {
	x, diags := expandMakers(t, `
maker "a" "m" { matrix = { n = [1, 2] } }
rows "a" "more" { from = maker.a.m }
output "o" { value = [for r in rows.a.m : r.count] }
`)
	if diags != "" {
		t.Fatal(diags)
	}
	implied := x.ByBlock("rows.a.m")
	if len(implied) != 2 || len(x.ByBlock("rows.a.more")) != 2 {
		t.Fatalf("%d implied and %d written instances, want 2 of each", len(implied), len(x.ByBlock("rows.a.more")))
	}
	for i, inst := range implied {
		by := x.ByBlock("maker.a.m")[i]
		if inst.ImpliedBy != by || inst.Axes.Key() != by.Axes.Key() || len(inst.Deps) != 1 || inst.Deps[0] != by || inst.Options != nil {
			t.Errorf("%s is implied by %v with options %v", inst.Address(), inst.ImpliedBy, inst.Options)
		}
	}
	v, d := x.Outputs[0].Value.Eval(func(inst *Instance) (cty.Value, error) {
		return cty.ObjectVal(map[string]cty.Value{"count": cty.NumberIntVal(int64(len(inst.Axes.Key())))}), nil
	})
	if d.HasErrors() || v.LengthInt() != 2 {
		t.Errorf("output is %#v: %v", v, d)
	}
}

func TestAnImpliedStageIsTurnedOffLiterallyAndNotWrittenTwice(t *testing.T) {
	for src, want := range map[string]string{
		`maker "a" "m" { rows = false }`: "",
		`maker "a" "m" { rows = false }
rows "a" "m" { from = maker.a.m }`: "",
		`maker "a" "m" {}
rows "a" "m" { from = maker.a.m }`: "comes with maker.a.m",
		`variable "v" { default = false }
maker "a" "m" { rows = var.v }`: "written literally",
		`maker "a" "m" { rows = false }
output "o" { value = rows.a.m.count }`: "Unknown reference",
		`maker "a" "m" {}
output "o" { value = rows.a.m.cuont }`: `Did you mean "count"?`,
	} {
		_, diags := expandMakers(t, src)
		if want == "" && diags != "" || !strings.Contains(diags, want) {
			t.Errorf("%s\nsays %q, want %q", src, diags, want)
		}
	}
}
