package lang

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/token"
)

// The block types of the tests. They are shaped like the product's, and lang knows neither.

type targetOptions struct {
	Path string `arg:"path" default:"\".\"" doc:"where it is" facet:"identity"`
}

type environmentOptions struct {
	Requirements string   `arg:"requirements,optional" doc:"lock file" facet:"executables"`
	Install      []string `arg:"install,optional" doc:"wheels" facet:"inputs"`
}

type buildOptions struct {
	Target      Ref      `arg:"target,optional" kinds:"target" doc:"what is built" facet:"identity"`
	Environment Ref      `arg:"environment,optional" kinds:"environment" doc:"where" facet:"executables"`
	Command     []string `arg:"command" doc:"argv" facet:"command"`
}

type workloadOptions struct {
	Environment Ref               `arg:"environment,optional" kinds:"environment" doc:"where" facet:"executables"`
	Command     []string          `arg:"command,optional" doc:"argv" facet:"command"`
	Env         map[string]string `arg:"env,optional" doc:"variables" facet:"command"`
	Timeout     time.Duration     `arg:"timeout" default:"\"5m\"" doc:"limit" facet:"exempt: a limit"`
	Memory      *Bytes            `arg:"memory" doc:"limit" facet:"exempt: a limit"`
	ExpectExit  []int             `arg:"expect_exit" default:"[0]" doc:"statuses" facet:"definition"`
	Ratio       float64           `arg:"ratio" default:"0.5" doc:"a ratio" facet:"definition"`
	Count       int64             `arg:"count,optional" doc:"a count" facet:"definition"`
	Shell       bool              `arg:"shell,optional" doc:"a flag" facet:"definition"`
	Text        string            `arg:"text,optional" doc:"a text" facet:"definition"`
}

type captureOptions struct {
	Workload  Ref    `arg:"workload" kinds:"workload" doc:"what runs" facet:"identity"`
	Processes int    `arg:"processes" default:"20" doc:"how many" facet:"definition"`
	Mode      string `arg:"mode" default:"\"auto\"" doc:"how" facet:"definition"`
}

type extractOptions struct {
	Units []string `arg:"units,optional" doc:"units" facet:"definition"`
	Input Ref      `arg:"input,optional" kinds:"capture" doc:"what is read" facet:"inputs"`
}

type compareOptions struct {
	Of   Refs `arg:"of" kinds:"capture" doc:"units" facet:"identity"`
	Vary Ref  `arg:"vary,optional" kinds:"target" doc:"what varies" facet:"identity"`
}

type reportOptions struct {
	Of    Refs     `arg:"of,optional" doc:"what is shown" facet:"identity"`
	Title Deferred `arg:"title,optional" doc:"a title" facet:"definition"`
}

func testRegistry() *Registry {
	r := NewRegistry()
	one := func(s Schema) map[string]*Schema { return map[string]*Schema{"": &s} }
	results := []Attr{
		{"status", cty.String, "state"}, {"wall.median", cty.Number, "ns"}, {"wall.mad", cty.Number, "ns"},
		{"units", cty.List(cty.Object(map[string]cty.Type{"name": cty.String})), "units"},
	}
	capture := Schema{Doc: "capture", Options: &captureOptions{}, Results: results, Stage: true, Measurement: true,
		Nested: map[string]Schema{"extract": {Doc: "extraction", Options: &extractOptions{}}}}
	memray := capture
	r.Register(BlockType{Type: "target", Labels: []string{"kind", "name"}, Doc: "target", Schemas: map[string]*Schema{"working_tree": {Doc: "tree", Options: &targetOptions{}}}})
	r.Register(BlockType{Type: "environment", Labels: []string{"kind", "name"}, Doc: "environment", Schemas: map[string]*Schema{
		"python": {Doc: "python", Options: &environmentOptions{}, Stage: true, Tokens: []Attr{{"bin", cty.String, "folder"}}},
		"host":   {Doc: "host", Options: &environmentOptions{}, Stage: true},
	}})
	r.Register(BlockType{Type: "build", Labels: []string{"name"}, Doc: "build", Schemas: one(Schema{Doc: "build", Options: &buildOptions{}, Stage: true,
		Tokens: []Attr{{"dir", cty.String, "folder"}, {"wheel", cty.String, "file"}}, Own: []Attr{{"out.dir", cty.String, "folder"}}, Results: results[:1]})})
	r.Register(BlockType{Type: "workload", Labels: []string{"name"}, Doc: "workload", Schemas: one(Schema{Doc: "workload", Options: &workloadOptions{}, Stage: true})})
	r.Register(BlockType{Type: "capture", Labels: []string{"provider", "name"}, Doc: "capture", Schemas: map[string]*Schema{"gobench": &capture, "memray": &memray}})
	r.Register(BlockType{Type: "compare", Labels: []string{"name"}, Doc: "compare", Schemas: one(Schema{Doc: "compare", Options: &compareOptions{}, Stage: true,
		Results: []Attr{{"regressed", cty.Number, "count"}}})})
	r.Register(BlockType{Type: "report", Labels: []string{"name"}, Doc: "report", Schemas: one(Schema{Doc: "report", Options: &reportOptions{}, Stage: true})})
	return r
}

// project writes files and returns their directory.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run loads and expands one source.
func run(t testing.TB, src string, in ...Input) (*Config, *Expansion, hcl.Diagnostics) {
	t.Helper()
	return runFiles(t, map[string]string{"flameox.hcl": src}, in...)
}

func runFiles(t testing.TB, files map[string]string, in ...Input) (*Config, *Expansion, hcl.Diagnostics) {
	t.Helper()
	var input Input
	if len(in) > 0 {
		input = in[0]
	}
	c, diags := Load(project(t, files), testRegistry(), input)
	x, more := c.Expand()
	return c, x, append(diags, more...)
}

// good is run for a source without errors or warnings.
func good(t testing.TB, src string, in ...Input) (*Config, *Expansion) {
	t.Helper()
	c, x, diags := run(t, src, in...)
	if len(diags) > 0 {
		t.Fatalf("unexpected diagnostics:\n%s", show(diags, c))
	}
	return c, x
}

func show(diags hcl.Diagnostics, c *Config) string {
	var b bytes.Buffer
	Render(&b, diags, c.Files, RenderOptions{Limit: 1000})
	return b.String()
}

func addresses(insts []*Instance) string {
	var list []string
	for _, i := range insts {
		list = append(list, i.Address().String())
	}
	return strings.Join(list, " ")
}

func keys(insts []*Instance) string {
	var list []string
	for _, i := range insts {
		list = append(list, i.Axes.Key())
	}
	return strings.Join(list, " ")
}

func options[T any](t testing.TB, x *Expansion, addr string, i int) *T {
	t.Helper()
	insts := x.ByBlock(addr)
	if i >= len(insts) {
		t.Fatalf("%s has %d instances", addr, len(insts))
	}
	return insts[i].Options.(*T)
}

func TestArgumentsAreDecodedIntoTheirFields(t *testing.T) {
	_, x := good(t, `
workload "a" {
  command     = ["x", 10, 0.5, true]
  env         = { A = 1, B = "b" }
  timeout     = "1m30s"
  memory      = "512 MiB"
  expect_exit = [0, 3]
  ratio       = 0.25
  count       = "7"
  shell       = true
  text        = upper("abc")
}
workload "b" {}
`)
	a := options[workloadOptions](t, x, "workload.a", 0)
	if !slices.Equal(a.Command, []string{"x", "10", "0.5", "true"}) || a.Env["A"] != "1" || a.Timeout != 90*time.Second || *a.Memory != 512<<20 ||
		!slices.Equal(a.ExpectExit, []int{0, 3}) || a.Ratio != 0.25 || a.Count != 7 || !a.Shell || a.Text != "ABC" {
		t.Errorf("%+v", a)
	}
	b := options[workloadOptions](t, x, "workload.b", 0)
	if b.Timeout != 5*time.Minute || b.Memory != nil || !slices.Equal(b.ExpectExit, []int{0}) || b.Ratio != 0.5 || b.Environment.Instance != nil {
		t.Errorf("defaults: %+v", b)
	}
}

func TestAxesGiveInstancesWithCanonicalKeysAndTypedValues(t *testing.T) {
	_, x := good(t, `
workload "a" {
  matrix  = { rows = [1e3, 0.5, 2], impl = ["a b", "c"] }
  command = ["x", matrix.rows, "--impl=${matrix.impl}"]
  count   = ceil(matrix.rows * 2)
}
workload "each" {
  for_each = { small = 1, large = { n = 2 } }
  command  = [each.key, try(each.value.n, each.value)]
}
workload "list" {
  for_each = ["p", "q"]
  text     = each.value
}
`)
	want := `impl="a b",rows=1000 impl="a b",rows=0.5 impl="a b",rows=2 impl=c,rows=1000 impl=c,rows=0.5 impl=c,rows=2`
	if got := keys(x.ByBlock("workload.a")); got != want {
		t.Errorf("keys\n got %s\nwant %s", got, want)
	}
	o := options[workloadOptions](t, x, "workload.a", 1)
	if !slices.Equal(o.Command, []string{"x", "0.5", "--impl=a b"}) || o.Count != 1 {
		t.Errorf("%+v", o)
	}
	if got := addresses(x.ByBlock("workload.each")); got != `workload.each["each=large"] workload.each["each=small"]` {
		t.Error(got)
	}
	if o := options[workloadOptions](t, x, "workload.each", 0); !slices.Equal(o.Command, []string{"large", "2"}) {
		t.Errorf("%+v", o.Command)
	}
	if o := options[workloadOptions](t, x, "workload.list", 1); o.Text != "q" {
		t.Errorf("%q", o.Text)
	}
}

func TestReferencesOfArityOneFanOutAndJoin(t *testing.T) {
	_, x := good(t, `
environment "python" "e" {
  matrix       = { py = ["3.11", "3.12"] }
  requirements = "${matrix.py}.txt"
}
workload "w" {
  environment = environment.python.e
  matrix      = { n = [1, 2] }
  command     = ["x", matrix.n, matrix.py, environment.python.e.bin]
}
capture "gobench" "all" { workload = workload.w }
capture "gobench" "some" {
  workload = workload.w
  matrix   = { n = [2] }
}
capture "gobench" "fixed" { workload = workload.w["py=3.12,n=1"] }
capture "memray" "pair" {
  workload   = workload.w
  profile_of = capture.gobench.all
  depends_on = [capture.gobench.some, workload.w["n=1,py=3.11"]]
}
compare "c" { of = [capture.gobench.all, capture.gobench.fixed, capture.gobench.all["n=1,py=3.11"]] }
`)
	for addr, want := range map[string]string{
		"workload.w":            "n=1,py=3.11 n=2,py=3.11 n=1,py=3.12 n=2,py=3.12",
		"capture.gobench.all":   "n=1,py=3.11 n=2,py=3.11 n=1,py=3.12 n=2,py=3.12",
		"capture.gobench.some":  "n=2,py=3.11 n=2,py=3.12",
		"capture.gobench.fixed": "",
		"capture.memray.pair":   "n=1,py=3.11 n=2,py=3.11 n=1,py=3.12 n=2,py=3.12",
		"compare.c":             "",
	} {
		if got := keys(x.ByBlock(addr)); got != want {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
	w := options[workloadOptions](t, x, "workload.w", 1)
	if w.Command[3] != token.Make(`environment.python.e["py=3.11"].bin`) || w.Environment.Instance != x.ByBlock("environment.python.e")[0] {
		t.Errorf("%q", w.Command)
	}
	if got := addresses(x.ByBlock("workload.w")[1].Deps); got != `environment.python.e["py=3.11"]` {
		t.Errorf("deps %s", got)
	}
	if got := options[captureOptions](t, x, "capture.gobench.fixed", 0).Workload.Instance.Axes.Key(); got != "n=1,py=3.12" {
		t.Errorf("fixed: %s", got)
	}
	pair := x.ByBlock("capture.memray.pair")[1]
	if got := pair.Meta.ProfileOf.Address().String(); got != `capture.gobench.all["n=2,py=3.11"]` {
		t.Errorf("profile_of %s", got)
	}
	if got := addresses(pair.Meta.DependsOn); got != `workload.w["n=1,py=3.11"] capture.gobench.some["n=2,py=3.11"]` {
		t.Errorf("depends_on %s", got)
	}
	if got := len(pair.Deps); got != 4 { // workload, profile_of, and the two
		t.Errorf("pair depends on %s", addresses(pair.Deps))
	}
	c := options[compareOptions](t, x, "compare.c", 0)
	if got := keys(c.Of.Instances); got != "n=1,py=3.11 n=2,py=3.11 n=1,py=3.12 n=2,py=3.12 " {
		t.Errorf("compare.of: %q", got)
	}
}

func TestInstancesComeAfterTheirDependenciesAndOtherwiseInFileOrder(t *testing.T) {
	_, x, diags := runFiles(t, map[string]string{
		"flameox.hcl":   "capture \"gobench\" \"z\" { workload = workload.late }\nworkload \"late\" {}\nworkload \"b\" {}",
		"a.flameox.hcl": "workload \"first\" {}\ncapture \"gobench\" \"y\" { workload = workload.b }",
		"other.hcl":     "not read {",
	})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if got, want := addresses(x.Instances), "workload.first workload.late capture.gobench.z workload.b capture.gobench.y"; got != want {
		t.Errorf("order\n got %s\nwant %s", got, want)
	}
}

func TestInstancesShareOptionsThatDoNotDependOnTheirAxes(t *testing.T) {
	_, x := good(t, `
workload "w" {
  matrix = { n = [1, 2] }
  text   = "same"
}`)
	if a, b := x.ByBlock("workload.w")[0], x.ByBlock("workload.w")[1]; a.Options != b.Options {
		t.Error("two structs for one set of values")
	}
}

func TestAnEmptyAxisGivesNoInstancesAndOneWarning(t *testing.T) {
	c, x, diags := run(t, `
workload "w" { matrix = { n = [] } }
capture "gobench" "c" { workload = workload.w }
compare "k" { of = capture.gobench.c }
`)
	if len(diags) != 1 || diags[0].Severity != hcl.DiagWarning || diags[0].Summary != string(sumEmptyAxis) {
		t.Errorf("diagnostics:\n%s", show(diags, c))
	}
	if got := addresses(x.Instances); got != "compare.k" {
		t.Errorf("instances: %s", got)
	}
}

func TestRuntimeTokensTravelThroughTemplatesAndFunctions(t *testing.T) {
	_, x := good(t, `
build "b" { command = ["make", "DEST=${out.dir}", jsonencode({ out = out.dir })] }
workload "w" {
  command = concat(["x"], ["${build.b.dir}/bin", join(":", [build.b.dir, build.b.wheel])])
  env     = { LIB = build.b.dir }
}`)
	b := options[buildOptions](t, x, "build.b", 0)
	if got := token.Display(strings.Join(b.Command, " ")); got != `make DEST=${out.dir} {"out":"${out.dir}"}` {
		t.Errorf("own: %s", got)
	}
	w := options[workloadOptions](t, x, "workload.w", 0)
	if got := token.Display(strings.Join(w.Command, " ") + w.Env["LIB"]); got != "x ${build.b.dir}/bin ${build.b.dir}:${build.b.wheel}${build.b.dir}" {
		t.Errorf("others: %s", got)
	}
	if got := addresses(x.ByBlock("workload.w")[0].Deps); got != "build.b" {
		t.Errorf("deps: %s", got)
	}
}

func TestNestedBlocksAreDecodedWherePresent(t *testing.T) {
	_, x := good(t, `
workload "w" { matrix = { n = [1, 2] } }
capture "gobench" "with" {
  workload = workload.w
  extract { units = ["n${matrix.n}"] }
}
capture "gobench" "without" { workload = workload.w }
`)
	for i, want := range []string{"n1", "n2"} {
		if got := x.ByBlock("capture.gobench.with")[i].Nested["extract"].(*extractOptions).Units[0]; got != want {
			t.Errorf("instance %d: %q", i, got)
		}
	}
	if n := x.ByBlock("capture.gobench.without")[0].Nested; n != nil {
		t.Errorf("nested without a block: %v", n)
	}
}

func TestMetaArgumentsAndTheirDefaults(t *testing.T) {
	_, x := good(t, `
flameox {
  defaults {
    attempts  = 3
    reuse     = "24h"
    sensitive = "internal"
    labels    = { team = "perf", area = "all" }
  }
}
workload "w" { matrix = { n = [1, 2] } }
capture "gobench" "own" {
  workload    = workload.w
  attempts    = matrix.n
  exclusive   = false
  reuse       = "never"
  sensitive   = true
  distinct    = "a"
  labels      = { area = "n${matrix.n}" }
  description = "text"
}
capture "gobench" "plain" { workload = workload.w }
`)
	m := x.ByBlock("capture.gobench.own")[1].Meta
	if m.Attempts != 2 || *m.Exclusive || m.Reuse != "never" || m.ReuseAge != 0 || m.Sensitive != "sensitive" || m.Distinct != "a" ||
		m.Labels["area"] != "n2" || m.Labels["team"] != "perf" || m.Description != "text" {
		t.Errorf("own: %+v", m)
	}
	m = x.ByBlock("capture.gobench.plain")[0].Meta
	if m.Attempts != 3 || m.Exclusive != nil || m.Reuse != "age" || m.ReuseAge != 24*time.Hour || m.Sensitive != "internal" || m.Labels["area"] != "all" {
		t.Errorf("defaults: %+v", m)
	}
	if m := x.ByBlock("workload.w")[0].Meta; m.Attempts != 1 || m.Reuse != "auto" || m.Sensitive != "internal" {
		t.Errorf("a stage that is no measurement: %+v", m)
	}
}
