package lang

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

func TestSettingsOfTheFlameoxBlock(t *testing.T) {
	c, _ := good(t, `
flameox {
  required_version = ">= 0.3, < 1.0"
  project          = "sortlib"
  source           = "https://example.org/sortlib"
  env              = ["HOME"]
  store {
    path = "evidence"
    keep = "30d"
  }
}
locals { home = env("HOME") }
output "home" { value = local.home }
`, Input{Version: "0.4.1", Values: Values{Environ: []string{"HOME=/h"}}})
	s := c.Settings
	if s.Project != "sortlib" || s.Source == "" || s.StorePath != "evidence" || s.StoreKeep != 30*24*time.Hour || s.Env[0] != "HOME" {
		t.Errorf("%+v", s)
	}
	c, _ = good(t, "")
	if c.Settings.StoreKeep != 90*24*time.Hour {
		t.Errorf("keep without a block: %v", c.Settings.StoreKeep)
	}
}

func TestVersionConstraints(t *testing.T) {
	for _, tc := range []struct {
		version, constraint string
		want                bool
	}{
		{"0.4.1", ">= 0.3, < 1.0", true}, {"1.0.0", ">= 0.3, < 1.0", false}, {"0.4.1", "~> 0.4", true}, {"0.5.0", "~> 0.4.1", false},
		{"0.4.9", "~> 0.4.1", true}, {"1.2", "~> 0.4", false}, {"0.3.0", "0.3", true}, {"0.3.0", "!= 0.3", false}, {"v0.3.0-dirty", "> 0.2", true},
		{"devel", "> 99", true}, {"", "> 99", true},
	} {
		if got, err := versionFits(tc.version, tc.constraint); err != nil || got != tc.want {
			t.Errorf("%s with %q: %v, %v", tc.version, tc.constraint, got, err)
		}
	}
	for _, bad := range []string{"=> 1", "abc", ">= 1.2.3.4", ""} {
		if _, err := versionFits("1.0", bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestEverythingThatIsLookedAtIsRecorded(t *testing.T) {
	dir := project(t, map[string]string{
		"flameox.hcl": `
flameox { env = ["A"] }
variable "v" { default = "d" }
workload "w" {
  matrix  = { f = fileset("data", "*.csv") }
  command = [file("a.txt"), env("A"), git_revision("main"), filesha256("data/${matrix.f}")]
}`,
		"a.txt": "hello", "data/1.csv": "1", "vars.hcl": "v = \"file\"",
	})
	vars := filepath.Join(dir, "vars.hcl")
	c, diags := Load(dir, testRegistry(), Input{Values: Values{VarFiles: []string{vars}}, GitRevision: func(string) (string, error) { return "c0ffee", nil }})
	_, more := c.Expand()
	if len(more) == 0 || diags.HasErrors() { // env("A") is null, which is no element of a command
		t.Fatalf("%v %v", diags, more)
	}
	want := []string{
		"dir .", "file flameox.hcl", "env FLAMEOX_VAR_v", "file vars.hcl", "dir data", "file a.txt", "env A", "git main", "file data/1.csv",
	}
	var got []string
	for _, r := range c.Reads {
		name := r.Name
		if rel, err := filepath.Rel(dir, r.Name); err == nil && filepath.IsAbs(r.Name) {
			name = rel
		}
		got = append(got, string(r.Kind)+" "+name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("reads\n got %v\nwant %v", got, want)
	}
}

func TestExpandingTwiceGivesTheSame(t *testing.T) {
	c, x := good(t, `
workload "w" { matrix = { n = [1, 2] } }
capture "gobench" "c" { workload = workload.w }
output "o" { value = capture.gobench.c[*].wall.median }
`)
	y, diags := c.Expand()
	if len(diags) > 0 || addresses(x.Instances) != addresses(y.Instances) || len(y.Outputs) != 1 {
		t.Errorf("second expansion: %s, %v", addresses(y.Instances), diags)
	}
	if v, d := y.Outputs[0].Value.Eval(fakeResults); d.HasErrors() || v.LengthInt() != 2 {
		t.Errorf("%#v %v", v, d)
	}
}

// fakeResults are results of the shape that the test registry's captures declare.
func fakeResults(inst *Instance) (cty.Value, error) {
	n := int64(100)
	if v, ok := inst.Axes.Get("n"); ok {
		fmt.Sscan(v, &n)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"status": cty.StringVal("ok"),
		"wall":   cty.ObjectVal(map[string]cty.Value{"median": cty.NumberIntVal(n * 10), "mad": cty.NumberIntVal(1)}),
		"units":  cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("u" + fmt.Sprint(n))})}),
	}), nil
}
