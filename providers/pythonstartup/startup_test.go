package pythonstartup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pythonstartup"
)

var p pythonstartup.Provider

const header = "import time: self [us] | cumulative | imported package\n"

// some is a trace in which a imports b and c, and b imports d.
const some = header +
	"import time:        10 |         10 |     d\n" +
	"import time:        20 |         30 |   b\n" +
	"import time:        40 |         40 |   c\n" +
	"import time:       100 |        170 | a\n" +
	"import time:         7 |          7 | json.decoder\n"

// document is pyperf's JSON of the profile with one change.
func document(change func(suite map[string]any, runs []map[string]any)) string {
	var runs []map[string]any
	for i := range 5 {
		runs = append(runs, map[string]any{"metadata": map[string]any{"command_max_rss": 1000 + i, "date": "2026-11-30 01:45:09"}, "values": []any{0.014345026874991618 + float64(i)}})
	}
	suite := map[string]any{"version": "1.0", "metadata": map[string]any{"name": "python_startup", "unit": "second", "loops": 1, "perf_version": "2.10.0"}}
	if change != nil {
		change(suite, runs)
	}
	if suite["benchmarks"] == nil {
		suite["benchmarks"] = []any{map[string]any{"runs": runs}}
	}
	b, err := json.Marshal(suite)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func input(t *testing.T, samples, trace string) providers.Input {
	t.Helper()
	in := providertest.Input(t, pythonstartup.RoleSamples, []byte(samples))
	in.Artifacts = append(in.Artifacts, providertest.Input(t, pythonstartup.RoleTrace, []byte(trace)).Artifacts...)
	return in
}

func extract(t *testing.T, samples, trace string) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, input(t, samples, trace), nil, evidence.DefaultBudget())
}

// beside is the provider where one of its two artifacts is always the same, so that the suite can change the other.
type beside struct {
	pythonstartup.Provider
	other providers.Artifact
}

func (b beside) with(in providers.Input) providers.Input {
	in.Artifacts = append(slices.Clone(in.Artifacts), b.other)
	return in
}

func (b beside) Validate(ctx context.Context, in providers.Input) (providers.Receipt, error) {
	return b.Provider.Validate(ctx, b.with(in))
}

func (b beside) Extract(ctx context.Context, in providers.Input, options any, budget evidence.Budget, sink *evidence.Sink) (evidence.Outcome, error) {
	if budget.InputBytes > 0 {
		budget.InputBytes += b.other.Size
	}
	return b.Provider.Extract(ctx, b.with(in), options, budget, sink)
}

func TestTheSuiteOfProviders(t *testing.T) {
	plan := &providertest.Plan{Workload: providers.Workload{Argv: []string{"python3", "-c", "pass"}}}
	in := input(t, document(nil), some)
	t.Run("samples", func(t *testing.T) {
		providertest.Run(t, beside{other: in.Artifacts[1]}, &providertest.Cases{Valid: []byte(document(nil)), Role: pythonstartup.RoleSamples, Half: evidence.Incompatible}, plan)
	})
	t.Run("trace", func(t *testing.T) {
		providertest.Run(t, beside{other: in.Artifacts[0]}, &providertest.Cases{Valid: []byte(some), Role: pythonstartup.RoleTrace, Half: evidence.Partial}, plan)
	})
}

func TestEverySampleIsAMeasurement(t *testing.T) {
	out, tables := extract(t, document(nil), some)
	if out.State != evidence.Complete || out.Producer != "2.10.0" {
		t.Errorf("%+v", out)
	}
	var wall, rss []string
	for _, r := range tables["measurements"] {
		d := r["dimensions"].(map[string]string)
		switch r["name"] {
		case "python_startup.wall_time":
			wall = append(wall, fmt.Sprint(r["value_int"], r["unit"], r["phase"], r["worker_run"], d["cache_semantics"], d["profile_id"]))
		case "python_startup.peak_rss":
			rss = append(rss, fmt.Sprint(r["value_int"], r["unit"], d["rss_backend"]))
		}
	}
	if len(wall) != 5 || wall[0] != "14345027nsstartup0uncontrolled_initialpyperf-command-p5-n1-l1-w0" || !strings.Contains(wall[4], "startup4warm_process_restart") {
		t.Error(wall)
	}
	if len(rss) != 5 || rss[3] != "1003bytespyperf.command_max_rss" {
		t.Error(rss)
	}
}

func TestPeakMemoryThatAllSamplesShareIsFoundAboveThem(t *testing.T) {
	samples := document(func(suite map[string]any, runs []map[string]any) {
		suite["metadata"].(map[string]any)["command_max_rss"] = 12103680
		for _, r := range runs {
			delete(r["metadata"].(map[string]any), "command_max_rss")
		}
	})
	_, tables := extract(t, samples, some)
	n := 0
	for _, r := range tables["measurements"] {
		if r["name"] == "python_startup.peak_rss" && r["value_int"] == int64(12103680) {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d samples have it", n)
	}
}

func TestAMissingPeakMemoryStaysMissing(t *testing.T) {
	for _, value := range []any{nil, "12", -1, 1.5} {
		samples := document(func(_ map[string]any, runs []map[string]any) {
			m := runs[3]["metadata"].(map[string]any)
			delete(m, "command_max_rss")
			if value != nil {
				m["command_max_rss"] = value
			}
		})
		out, tables := extract(t, samples, some)
		n := 0
		for _, r := range tables["measurements"] {
			if r["name"] == "python_startup.peak_rss" {
				n++
			}
		}
		if n != 4 || out.State != evidence.Complete || !providertest.HasCode(out.Limitations, pythonstartup.NoMemory) {
			t.Errorf("%v: %d rows, %+v", value, n, out)
		}
	}
}

func TestWhatIsNotExactlyTheProfileIsRefused(t *testing.T) {
	for name, change := range map[string]func(suite map[string]any, runs []map[string]any){
		"four samples": func(s map[string]any, r []map[string]any) { s["benchmarks"] = []any{map[string]any{"runs": r[:4]}} },
		"six samples": func(s map[string]any, r []map[string]any) {
			s["benchmarks"] = []any{map[string]any{"runs": append(r, r[0])}}
		},
		"two benchmarks": func(s map[string]any, r []map[string]any) {
			b := map[string]any{"runs": r}
			s["benchmarks"] = []any{b, b}
		},
		"no benchmark":     func(s map[string]any, _ []map[string]any) { s["benchmarks"] = []any{} },
		"two loops":        func(_ map[string]any, r []map[string]any) { r[2]["metadata"].(map[string]any)["loops"] = 2 },
		"no loops":         func(s map[string]any, _ []map[string]any) { delete(s["metadata"].(map[string]any), "loops") },
		"two values":       func(_ map[string]any, r []map[string]any) { r[1]["values"] = []any{1.5, 1.5} },
		"no value":         func(_ map[string]any, r []map[string]any) { r[1]["values"] = []any{} },
		"a warm-up":        func(_ map[string]any, r []map[string]any) { r[1]["warmups"] = []any{[]any{1, 0.5}} },
		"another name":     func(s map[string]any, _ []map[string]any) { s["metadata"].(map[string]any)["name"] = "command" },
		"bytes":            func(s map[string]any, _ []map[string]any) { s["metadata"].(map[string]any)["unit"] = "byte" },
		"a negative time":  func(_ map[string]any, r []map[string]any) { r[1]["values"] = []any{-0.5} },
		"another version":  func(s map[string]any, _ []map[string]any) { s["version"] = "2.0" },
		"a pyperf to come": func(s map[string]any, _ []map[string]any) { s["metadata"].(map[string]any)["perf_version"] = "99.0.0" },
	} {
		t.Run(name, func(t *testing.T) {
			out, tables := extract(t, document(change), some)
			if out.State != evidence.Incompatible || len(tables) > 0 || len(out.Limitations) != 1 {
				t.Errorf("%+v", out)
			}
		})
	}
	for _, samples := range []string{"{}", `[]`, strings.Replace(document(nil), "0.014345", "NaN, 0.014345", 1), document(nil) + "x", strings.Replace(document(nil), `"version":`, `"version":"1.0","version":`, 1)} {
		if out, _ := extract(t, samples, some); out.State != evidence.Incompatible {
			t.Errorf("%.40s: %+v", samples, out)
		}
	}
}

// tree is the imports of a table as "parent > module depth self/cumulative".
func tree(tables map[string][]providertest.Row) (list []string) {
	for _, r := range tables["python_imports"] {
		list = append(list, fmt.Sprintf("%v > %v %v %v/%v", r["parent_module"], r["module"], r["depth"], r["self_us"], r["cumulative_us"]))
	}
	return list
}

func TestAnImportBelongsToTheNextOneThatIsLessDeep(t *testing.T) {
	_, tables := extract(t, document(nil), some)
	want := []string{"b > d 2 10/10", "a > b 1 20/30", "a > c 1 40/40", "<nil> > a 0 100/170", "<nil> > json.decoder 0 7/7"}
	if got := tree(tables); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if tables["python_imports"][0]["parent"] != int64(1) || tables["python_imports"][4]["package"] != "json" {
		t.Error(tables["python_imports"])
	}
}

// sum is one of the sums of a package.
func sum(tables map[string][]providertest.Row, name, pkg string) any {
	for _, r := range tables["measurements"] {
		if r["name"] == "python_startup.import."+name && r["dimensions"].(map[string]string)["package"] == pkg {
			return r["value_int"]
		}
	}
	return nil
}

func TestSumsOfPackages(t *testing.T) {
	trace := header +
		"import time:       522 |        522 | json\n" +
		"import time:       100 |        900 | json\n" +
		"import time:         1 |          1 | a.b\n" +
		"import time:         2 |          2 | a.c\n" +
		"import time:         3 |          3 | .rel.x\n"
	_, tables := extract(t, document(nil), trace)
	for _, c := range []struct {
		name, pkg string
		want      int64
	}{
		{"self_time", "json", 622}, {"max_cumulative_time", "json", 900}, {"module_count", "json", 1},
		{"module_count", "a", 2}, {"self_time", "a", 3}, {"max_cumulative_time", "a", 2}, {"self_time", "rel", 3},
	} {
		if got := sum(tables, c.name, c.pkg); got != c.want {
			t.Errorf("%s of %s is %v, want %d", c.name, c.pkg, got, c.want)
		}
	}
	if len(tables["python_imports"]) != 5 {
		t.Error("an import that happened twice is two rows")
	}
}

func TestLinesThatCannotBeReadAreCounted(t *testing.T) {
	out, tables := extract(t, document(nil), header+"import time: x | y | z\nimport time:         1 |          1 | ok\n")
	if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pythonstartup.BrokenLines) || len(tables["python_imports"]) != 1 {
		t.Errorf("%+v", out)
	}
}

func TestLinesOfTheProgramAreNotTheTraces(t *testing.T) {
	trace := "warning: x\r\n" + strings.Replace(some, "import time:        40", "no newline: import time:        40", 1) + strings.Repeat("y", 200_000) + "\n\nend"
	out, tables := extract(t, document(nil), trace)
	if out.State != evidence.Complete || !providertest.HasCode(out.Limitations, pythonstartup.OtherLines) || len(tables["python_imports"]) != 5 {
		t.Errorf("%+v %q", out, tree(tables))
	}
}

func TestATraceThatBreaksOffIsPartialAndNotValid(t *testing.T) {
	at := strings.Index(some, "import time:       100")
	for name, trace := range map[string]string{"between lines": some[:at], "in a line": some[:at+20]} {
		out, _ := extract(t, document(nil), trace)
		if out.State != evidence.Partial || !providertest.HasCode(out.Limitations, pythonstartup.TraceCut) {
			t.Errorf("%s: %+v", name, out)
		}
		if r, err := p.Validate(t.Context(), input(t, document(nil), trace)); err != nil || r.Valid {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

func TestATraceWithoutImportsIsEvidenceOfTheStart(t *testing.T) {
	out, tables := extract(t, document(nil), header)
	if out.State != evidence.Complete || !providertest.HasCode(out.Limitations, pythonstartup.NoImports) || len(tables["measurements"]) != 10 || len(tables["python_imports"]) != 0 {
		t.Errorf("%+v", out)
	}
	if out, _ = extract(t, document(nil), ""); out.State != evidence.Incompatible {
		t.Errorf("%+v", out)
	}
}

func TestNamesThatAreNotUTF8AreRepairedAndSaid(t *testing.T) {
	sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "pythonstartup", ProviderVersion: 1}, evidence.DefaultBudget())
	in := input(t, document(nil), header+"import time:         1 |          1 | caf\xe9\n")
	if _, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink); err != nil {
		t.Fatal(err)
	}
	if !providertest.HasCode(sink.Limitations(), "text_not_utf8") {
		t.Error(sink.Limitations())
	}
	if _, err := sink.Close(); err != nil {
		t.Error(err)
	}
}

func TestPlansOfStarts(t *testing.T) {
	options := func(timeout string) *pythonstartup.Options {
		o := lang.Defaults(p.Options()).(*pythonstartup.Options)
		if timeout != "" {
			if _, err := fmt.Sscan(timeout, (*seconds)(&o.Timeout)); err != nil {
				t.Fatal(err)
			}
		}
		return o
	}
	w := providers.Workload{Argv: []string{"python3", "-X", "dev", "-Wd", "-m", "app", "--help"}}
	inv, err := p.Plan(w, options("0.2"))
	if err != nil || !slices.Equal(inv.Argv[5:], append([]string{"1", "4"}, w.Argv...)) || inv.Argv[0] != "python3" {
		t.Errorf("%q %v", inv.Argv[3:], err)
	}
	o := options("")
	o.Python = "/opt/bench/bin/python"
	if inv, err = p.Plan(w, o); err != nil || inv.Argv[0] != o.Python || !slices.Equal(inv.Programs, []string{"python3"}) {
		t.Errorf("%q %v", inv.Programs, err)
	}
	for _, argv := range [][]string{{"node", "x.js"}, {"python3"}, {"python3", "-X", "importtime", "x.py"}, {"python3", "-Ximporttime", "x.py"}, {"python3", "-i", "x.py"}} {
		if _, err := p.Plan(providers.Workload{Argv: argv}, options("")); err == nil {
			t.Errorf("%q was planned", argv)
		}
	}
	if _, err := p.Plan(providers.Workload{Argv: w.Argv, ExpectExit: []int{3}}, options("")); err == nil {
		t.Error("a program that always fails was planned")
	}
}

// oracle sums up a trace as its documentation says.
const oracle = `
import json, re, sys
out = {}
for line in open(sys.argv[1], encoding="utf-8"):
    m = re.match(r"^import time:\s+(\d+)\s+\|\s+(\d+)\s+\|\s+(.+)$", line)
    if not m: continue
    p = out.setdefault(m[3].lstrip(".").split(".")[0], [set(), 0, 0])
    p[0].add(m[3]); p[1] += int(m[1]); p[2] = max(p[2], int(m[2]))
print(json.dumps({k: [len(v[0]), v[1], v[2]] for k, v in out.items()}))
`

func TestFixturesAgreeWithPython(t *testing.T) {
	trace := providertest.Fixture(t, "python-importtime/local-py3.11.2-importtime.txt")
	samples := providertest.Fixture(t, "pyperf/local-pyperf-git-command-startup.json")
	if out, _ := extract(t, string(samples), string(trace)); !providertest.HasCode(out.Limitations, pythonstartup.NotProfile) {
		t.Errorf("another benchmark's name was accepted: %+v", out)
	}
	out, tables := extract(t, strings.Replace(string(samples), `"name":"command"`, `"name":"python_startup"`, 1), string(trace))
	if out.State != evidence.Complete {
		t.Errorf("%+v", out)
	}
	in := input(t, "", string(trace))
	text, err := exec.Command("python3", "-c", oracle, in.Artifacts[1].Path).Output()
	if err != nil {
		t.Skip("there is no python3 to compare with: ", err)
	}
	var theirs map[string][3]int64
	if err := json.Unmarshal(text, &theirs); err != nil {
		t.Fatal(err)
	}
	for pkg, want := range theirs {
		if got := [3]any{sum(tables, "module_count", pkg), sum(tables, "self_time", pkg), sum(tables, "max_cumulative_time", pkg)}; got != [3]any{want[0], want[1], want[2]} {
			t.Errorf("%s: %v, and Python says %v", pkg, got, want)
		}
	}
	// Own times below an import add up to its own cumulative time, but for the rounding of each to microseconds.
	below := map[int64]int64{}
	size := map[int64]int64{}
	for _, r := range tables["python_imports"] {
		n := r["ordinal"].(int64)
		below[n] += r["self_us"].(int64)
		size[n]++
		if d := below[n] - r["cumulative_us"].(int64); d > size[n] || d < -size[n] {
			t.Errorf("%v: %d us below it, and %v by itself", r["module"], below[n], r["cumulative_us"])
		}
		if parent, ok := r["parent"].(int64); ok {
			below[parent] += below[n]
			size[parent] += size[n]
		}
	}
	if len(theirs) < 10 {
		t.Error(theirs)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(some))
	f.Add([]byte(header + "import time: 1 | 2 |       deep\nimport time: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := input(t, document(nil), string(data))
		sink := evidence.NewSink(t.TempDir(), evidence.FileMeta{Provider: "pythonstartup", ProviderVersion: 1}, evidence.DefaultBudget())
		defer sink.Discard()
		out, err := p.Extract(t.Context(), in, nil, evidence.DefaultBudget(), sink)
		if err != nil || out.State == evidence.Incompatible && sink.Rows() > 0 {
			t.Fatalf("%+v %v", out, err)
		}
	})
}

func FuzzSamples(f *testing.F) {
	f.Add([]byte(document(nil)))
	f.Add([]byte(`{"version":"1.0","benchmarks":[{"runs":[{"values":null}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _ := extract(t, string(data), some)
		if out.State == evidence.Incompatible && len(out.Limitations) == 0 {
			t.Fatal("refused without a reason")
		}
	})
}
