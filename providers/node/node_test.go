package node_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/node"
	"github.com/flameox/flameox/providers/providertest"
)

var p node.Provider

func options(change ...func(*node.Options)) *node.Options {
	o := lang.Defaults(p.Options()).(*node.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func extract(t *testing.T, data string, granularity string) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, node.Role, []byte(data)), &node.ExtractOptions{Granularity: granularity}, evidence.DefaultBudget())
}

// values are self, inclusive and samples of a metric by function and line.
func values(tables map[string][]providertest.Row, metric string) map[string][3]int64 {
	names := map[string]string{}
	for _, r := range tables["frames"] {
		s, _ := r["function"].(string)
		if n, ok := r["line"].(int64); ok {
			s += fmt.Sprint(":", n)
		}
		names[r["frame"].(string)] = s
	}
	out := map[string][3]int64{}
	for _, r := range tables["frame_values"] {
		if r["metric"] == metric {
			out[names[r["frame"].(string)]] = [3]int64{r["self"].(int64), r["inclusive"].(int64), int64(r["samples"].(uint64))}
		}
	}
	return out
}

func TestPlan(t *testing.T) {
	out := token.Make("out.dir")
	n := func(v int) *int { return &v }
	for _, c := range []struct {
		name string
		argv []string
		o    *node.Options
		want []string
		path string
	}{
		{"the defaults", []string{"node", "--expose-gc", "m.js", "--cpu-prof-is-the-script's"}, options(), []string{"node", "--cpu-prof", "--cpu-prof-dir=" + out, "--cpu-prof-name=cpu.cpuprofile", "--expose-gc", "m.js", "--cpu-prof-is-the-script's"}, "cpu.cpuprofile"},
		{"heap", []string{"/opt/n/bin/node", "-e", "1"}, options(func(o *node.Options) { o.Profiles = []string{"heap"}; o.HeapInterval = n(1024) }), []string{"/opt/n/bin/node", "--heap-prof", "--heap-prof-dir=" + out, "--heap-prof-name=heap.heapprofile", "--heap-prof-interval=1024", "-e", "1"}, "heap.heapprofile"},
		{"both and children", []string{token.Make("build.b.dir") + "/node", "m.js"}, options(func(o *node.Options) {
			o.Profiles, o.Children, o.CPUInterval = []string{"heap", "cpu"}, true, n(100)
		}),
			[]string{token.Make("build.b.dir") + "/node", "--cpu-prof", "--cpu-prof-dir=" + out, "--cpu-prof-interval=100", "--heap-prof", "--heap-prof-dir=" + out, "m.js"}, "*.cpuprofile"},
		{"no script", []string{"node"}, options(), []string{"node", "--cpu-prof", "--cpu-prof-dir=" + out, "--cpu-prof-name=cpu.cpuprofile"}, "cpu.cpuprofile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(providers.Workload{Argv: c.argv}, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(inv.Argv, c.want) || inv.Outputs[0].Path != c.path || !inv.Outputs[0].Required || len(inv.Limitations) != 1 {
				t.Errorf("argv %q, outputs %+v, limitations %v", inv.Argv, inv.Outputs, inv.Limitations)
			}
		})
	}
	for _, c := range []struct {
		name string
		w    providers.Workload
		o    *node.Options
		want string
	}{
		{"no command", providers.Workload{}, options(), "begins with node"},
		{"another program", providers.Workload{Argv: []string{"npm", "test"}}, options(), "begins with npm"},
		{"a shell", providers.Workload{Argv: []string{"sh", "-c", "node x"}}, options(), "begins with sh"},
		{"a name like it", providers.Workload{Argv: []string{"nodemon", "x.js"}}, options(), "nodemon"},
		{"said already", providers.Workload{Argv: []string{"node", "-r", "x", "--cpu-prof-dir=y", "m.js"}}, options(), "--cpu-prof-dir=y"},
		{"said in the environment", providers.Workload{Argv: []string{"node", "m.js"}, Env: map[string]string{"NODE_OPTIONS": "--max-old-space-size=99 --heap-prof"}}, options(), "NODE_OPTIONS"},
		{"no profile", providers.Workload{Argv: []string{"node", "m.js"}}, options(func(o *node.Options) { o.Profiles = nil }), "no profile"},
		{"an unknown profile", providers.Workload{Argv: []string{"node", "m.js"}}, options(func(o *node.Options) { o.Profiles = []string{"mem"} }), "mem"},
		{"a profile twice", providers.Workload{Argv: []string{"node", "m.js"}}, options(func(o *node.Options) { o.Profiles = []string{"cpu", "cpu"} }), "twice"},
		{"an interval of nothing", providers.Workload{Argv: []string{"node", "m.js"}}, options(func(o *node.Options) { o.HeapInterval = n(9) }), "heap_interval = 9"},
		{"an interval of zero", providers.Workload{Argv: []string{"node", "m.js"}}, options(func(o *node.Options) { o.CPUInterval = n(0) }), "cpu_interval = 0"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(c.w, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestVersionsThatAreRefused(t *testing.T) {
	probe, version := p.Probe([]string{"/bin/node", "m.js"})
	if !slices.Equal(probe, []string{"/bin/node", "--version"}) {
		t.Errorf("probe %q", probe)
	}
	for out, ok := range map[string]bool{
		"v20.16.0\n": true, "v22.4.1\n": true, "v24.1.0": true, "v20.15.9\n": false, "v21.7.3\n": false, "v22.3.0\n": false, "v18.20.0\n": false, "node 20": false, "": false, "v99999999999999999999.0.0": false,
	} {
		if v, err := version([]byte(out), nil); (err == nil) != ok || ok && v != strings.TrimSpace(out) {
			t.Errorf("%q: %q, %v", out, v, err)
		}
	}
}

const tree = `{"nodes":[
{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"hitCount":0,"children":[2,9]},
{"id":2,"callFrame":{"functionName":"main","scriptId":"7","url":"file:///home/u/my%20p/src/a.js","lineNumber":0,"columnNumber":13},"hitCount":1,"children":[3],"positionTicks":[{"line":3,"ticks":1}]},
{"id":3,"callFrame":{"functionName":"fib","scriptId":"7","url":"file:///home/u/my%20p/src/a.js","lineNumber":9,"columnNumber":1},"hitCount":2,"children":[4],"positionTicks":[{"line":11,"ticks":1}]},
{"id":4,"callFrame":{"functionName":"fib","scriptId":"7","url":"file:///home/u/my%20p/src/a.js","lineNumber":9,"columnNumber":1},"hitCount":3,"children":[5,6,7],"positionTicks":[{"line":11,"ticks":2},{"line":12,"ticks":1}]},
{"id":5,"callFrame":{"functionName":"","scriptId":"4","url":"","lineNumber":1,"columnNumber":0},"hitCount":1},
{"id":6,"callFrame":{"functionName":"","scriptId":"5","url":"","lineNumber":1,"columnNumber":0},"hitCount":1},
{"id":7,"callFrame":{"functionName":"read","scriptId":"8","url":"node:fs","lineNumber":5,"columnNumber":0},"hitCount":0},
{"id":9,"callFrame":{"functionName":"(idle)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"hitCount":1}
],"startTime":1000,"endTime":2000,"samples":[1,2,3,3,4,4,4,5,6,9,7],"timeDeltas":[100,10,10,10,10,10,10,10,10,10,300]}`

func TestCPUProfile(t *testing.T) {
	out, tables := extract(t, tree, "function")
	// Times: each sample until the next; the last, read, until the end: 2000 - 1490.
	want := map[string][3]int64{
		"(root)": {10_000, 900_000, 11}, "main:1": {10_000, 590_000, 9}, "fib:10": {50_000, 580_000, 8},
		"(anonymous):2": {10_000, 10_000, 1}, "read:6": {510_000, 510_000, 1}, "(idle)": {300_000, 300_000, 1},
	}
	if got := values(tables, "cpu.self_time"); !reflect.DeepEqual(got, want) {
		t.Errorf("times %v\nwant %v", got, want)
	}
	hits := map[string][3]int64{
		"(root)": {0, 9, 9}, "main:1": {1, 8, 8}, "fib:10": {5, 7, 7}, "(anonymous):2": {1, 1, 1}, "(idle)": {1, 1, 1},
	}
	if got := values(tables, "cpu.hit_count"); !reflect.DeepEqual(got, hits) {
		t.Errorf("hits %v\nwant %v", got, hits)
	}
	results := map[string]any{"profiles": int64(1), "kind": "cpu", "samples": int64(11), "duration_ns": int64(1_000_000), "idle_ns": int64(300_000), "default_metric": "cpu.self_time", "unit": "ns", "total": int64(900_000)}
	if out.State != evidence.Complete || !reflect.DeepEqual(out.Results, results) || !slices.Equal(providertest.Codes(out.Limitations), []string{node.Sampled}) {
		t.Errorf("%+v", out)
	}
	scripts := map[any]bool{}
	for _, r := range tables["frames"] {
		if r["function"] == "(anonymous)" {
			scripts[r["module"]] = true
		}
	}
	if !maps.Equal(scripts, map[any]bool{"v8-script:4": true, "v8-script:5": true}) {
		t.Errorf("functions without a name are of %v", scripts)
	}
}

func TestHitsByLine(t *testing.T) {
	out, tables := extract(t, tree, "line")
	hits := values(tables, "cpu.hit_count")
	for line, want := range map[string][3]int64{"fib:11": {3, 3, 3}, "fib:12": {1, 1, 1}, "fib:10": {1, 7, 7}, "main:3": {1, 1, 1}} {
		if line == "fib:10" {
			want = [3]int64{1, 6, 6} // the outer fib's own line 11 is not below it
		}
		if hits[line] != want {
			t.Errorf("%s has %v, want %v", line, hits[line], want)
		}
	}
	if got := values(tables, "cpu.self_time"); len(got) != 0 || !providertest.HasCode(out.Limitations, node.LinesMissing) {
		t.Errorf("times %v, limitations %v", got, out.Limitations)
	}
	heap, _ := extract(t, heapTree, "line")
	if heap.State != evidence.Incompatible {
		t.Errorf("a heap profile by line is %+v", heap)
	}
}

func TestWhatAFrameSays(t *testing.T) {
	in := providertest.Input(t, node.Role, []byte(tree))
	in.Paths = providers.Paths{Root: "/home/u/my p"}
	_, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	type frame struct{ file, language, line, column, symbols any }
	got := map[any]frame{}
	for _, r := range tables["frames"] {
		got[r["function"]] = frame{r["file"], r["language"], r["line"], r["column"], r["symbolization"]}
	}
	delete(got, "(anonymous)")
	want := map[any]frame{
		"main":   {"src/a.js", "JavaScript", int64(1), int64(14), "complete"},
		"fib":    {"src/a.js", "JavaScript", int64(10), int64(2), "complete"},
		"read":   {"node:fs", "JavaScript", int64(6), int64(1), "partial"},
		"(root)": {nil, nil, nil, nil, "partial"},
		"(idle)": {nil, nil, nil, nil, "partial"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

const heapTree = `{"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"selfSize":0,"id":1,"children":[
{"callFrame":{"functionName":"proxy","scriptId":"7","url":"/p/a.js","lineNumber":1,"columnNumber":1},"selfSize":2048,"id":2,"children":[
{"callFrame":{"functionName":"nested","scriptId":"7","url":"/p/a.js","lineNumber":5,"columnNumber":1},"selfSize":1024,"id":3,"children":[]}]}]},
"samples":[{"size":2000,"nodeId":2,"ordinal":1},{"size":48,"nodeId":2,"ordinal":2},{"size":4096,"nodeId":3,"ordinal":3},{"size":9,"nodeId":77,"ordinal":4}]}`

func TestHeapProfile(t *testing.T) {
	out, tables := extract(t, heapTree, "function")
	want := map[string][3]int64{"(root)": {0, 3072, 3}, "proxy:2": {2048, 3072, 3}, "nested:6": {1024, 1024, 1}}
	if got := values(tables, "memory.self_size"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if out.State != evidence.Complete || !slices.Equal(providertest.Codes(out.Limitations), []string{node.SizesDiffer, node.HeapSampled}) || !strings.Contains(out.Limitations[0].Text, "1 of 3 places differ in size and count as one sample, and 1 samples (9 bytes)") {
		t.Errorf("%+v", out)
	}
}

func TestSamplesOutOfOrderArePutInTheirOrder(t *testing.T) {
	node2 := `{"id":2,"callFrame":{"functionName":"f","scriptId":"1","url":"/a.js","lineNumber":0,"columnNumber":0},"hitCount":1}`
	root := `{"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2]},`
	// f at 110, (root) at 105 and 200, f at 190.
	out, tables := extract(t, `{"nodes":[`+root+node2+`],"startTime":100,"endTime":195,"samples":[2,1,1,2],"timeDeltas":[10,-5,95,-10]}`, "function")
	want := map[string][3]int64{"(root)": {5_000, 95_000, 4}, "f:1": {90_000, 90_000, 2}}
	if got := values(tables, "cpu.self_time"); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if codes := providertest.Codes(out.Limitations); !slices.Equal(codes, []string{node.OutOfOrder, node.EndsEarly, node.Sampled}) {
		t.Errorf("codes %v", codes)
	}
}

func TestSeveralProfilesStayApart(t *testing.T) {
	in := providertest.Input(t, node.Role, []byte(tree))
	for _, data := range []string{tree, heapTree} {
		in.Artifacts = append(in.Artifacts, providertest.Input(t, node.Role, []byte(data)).Artifacts...)
	}
	in.Artifacts[0].Name, in.Artifacts[1].Name, in.Artifacts[2].Name = "CPU.1.0", "CPU.1.1", "Heap.1.0"
	out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	if got := values(tables, "cpu.self_time")["main:1"]; got != [3]int64{20_000, 1_180_000, 18} {
		t.Errorf("main has %v", got)
	}
	weights := map[string]int64{}
	for _, r := range tables["stacks"] {
		weights[r["labels"].(map[string]string)["profile"]+" "+r["metric"].(string)] += r["weight"].(int64)
	}
	if want := map[string]int64{"CPU.1.0 cpu.self_time": 900_000, "CPU.1.1 cpu.self_time": 900_000, "CPU.1.0 cpu.hit_count": 9, "CPU.1.1 cpu.hit_count": 9, "Heap.1.0 memory.self_size": 3072}; !maps.Equal(weights, want) {
		t.Errorf("%v", weights)
	}
	modules := map[any]bool{}
	for _, r := range tables["frames"] {
		modules[r["module"]] = true
	}
	if !modules["v8-script:4@CPU.1.0"] || !modules["v8-script:4@CPU.1.1"] || out.Results["profiles"] != int64(3) {
		t.Errorf("scripts %v, results %v", modules, out.Results)
	}
}

func TestDeclaredMediaTypesWin(t *testing.T) {
	for media, data := range map[string]string{node.HeapMediaType: tree, node.CPUMediaType: heapTree} {
		in := providertest.Input(t, node.Role, []byte(data))
		in.Artifacts[0].MediaType = media
		out, _ := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if out.State != evidence.Incompatible || !slices.Equal(providertest.Codes(out.Limitations), []string{node.WrongKind}) {
			t.Errorf("%s: %+v", media, out)
		}
	}
}

func TestAbsurdFiguresAreRefused(t *testing.T) {
	for name, change := range map[string][2]string{
		"hits":    {`"hitCount":3`, `"hitCount":9223372036854775807`},
		"times":   {`"endTime":2000`, `"endTime":9223372036856000`},
		"a delta": {`"timeDeltas":[100`, `"timeDeltas":[-9223372036854775807`},
	} {
		out, _ := extract(t, strings.Replace(tree, change[0], change[1], 1), "function")
		if out.State != evidence.Incompatible {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestDetection(t *testing.T) {
	formats := map[string]func([]byte) bool{}
	for _, f := range p.Formats() {
		formats[f.Name] = f.Detect
	}
	for head, want := range map[string]string{
		tree: "cpuprofile", heapTree: "heapprofile", "\xEF\xBB\xBF" + tree: "cpuprofile",
		`{"nodes":[{"id":1,`:               "cpuprofile",
		`{"nodes":[{"id":1}]}`:             "",
		`{"head":{"functionName":"(root)"`: "",
		`{"snapshot":{"meta":{}}}`:         "",
		`{"nodes":[]}`:                     "",
		"":                                 "",
	} {
		got := ""
		for name, detect := range formats {
			if detect([]byte(head)) {
				got += name
			}
		}
		if got != want {
			t.Errorf("%.40q is %q, want %q", head, got, want)
		}
	}
}
