package pyperf_test

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/pyperf"
)

var p pyperf.Provider

func options(change ...func(*pyperf.Options)) *pyperf.Options {
	o := lang.Defaults(p.Options()).(*pyperf.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func mode(m string) func(*pyperf.Options) { return func(o *pyperf.Options) { o.Mode = m } }

func extract(t *testing.T, data []byte) (evidence.Outcome, []providertest.Row) {
	t.Helper()
	out, tables := providertest.Extract(t, p, providertest.Input(t, pyperf.Role, data), nil, evidence.DefaultBudget())
	return out, tables["measurements"]
}

func TestPlan(t *testing.T) {
	out := token.Make("out.dir") + "/benchmark.json"
	n := func(v int) *int { return &v }
	std := []string{"--output", out, "--processes", "20", "--values", "3", "--warmups", "1", "--min-time", "0.1", "--copy-env"}
	fixed := []string{"--output", out, "--processes", "2", "--values", "1", "--warmups", "0", "--loops", "8", "--affinity", "1,3-4", "--track-memory", "--copy-env"}
	command := []string{"--output", out, "--processes", "20", "--values", "3", "--warmups", "1", "--min-time", "0.1", "--name=workload", "--copy-env", "--"}
	for _, c := range []struct {
		name string
		w    providers.Workload
		o    *pyperf.Options
		want []string
		mode string
	}{
		{"a script", providers.Workload{Argv: []string{"python", "b.py", "--rows", "9"}}, options(mode("script")), slices.Concat([]string{"python", "b.py", "--rows", "9"}, std), "script"},
		{"a script by its protocol", providers.Workload{Argv: []string{"./b.py"}, Protocol: "pyperf"}, options(), slices.Concat([]string{"./b.py"}, std), "script"},
		{"timeit", providers.Workload{Argv: []string{"python", "-m", "pyperf", "timeit", "-s", "x = 1", "x", "-p"}}, options(), slices.Concat([]string{"python", "-m", "pyperf", "timeit"}, std, []string{"-s", "x = 1", "x", "-p"}), "script"},
		{"everything said", providers.Workload{Argv: []string{"python3.12", "b.py"}}, options(mode("script"), func(o *pyperf.Options) {
			o.Processes, o.Values, o.Warmups, o.Loops, o.Affinity, o.Memory = 2, 1, 0, n(8), "1,3-4", true
		}),
			slices.Concat([]string{"python3.12", "b.py"}, fixed), "script"},
		{"a command", providers.Workload{Argv: []string{"./app", "-o", "x"}}, options(mode("command")), slices.Concat([]string{"python", "-m", "pyperf", "command"}, command, []string{"./app", "-o", "x"}), "command"},
		{"a command of Python", providers.Workload{Argv: []string{"/v/bin/python3", "-c", "pass"}}, options(mode("command")), slices.Concat([]string{"/v/bin/python3", "-m", "pyperf", "command"}, command, []string{"/v/bin/python3", "-c", "pass"}), "command"},
		{"another interpreter", providers.Workload{Argv: []string{"./app"}}, options(mode("command"), func(o *pyperf.Options) { o.Python = "pypy3" }), slices.Concat([]string{"pypy3", "-m", "pyperf", "command"}, command, []string{"./app"}), "command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inv, err := p.Plan(c.w, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(inv.Argv, c.want) || inv.Scope.Mode != c.mode || inv.Outputs[0].Path != "benchmark.json" || !inv.Outputs[0].Required {
				t.Errorf("argv %q\nwant %q\n%+v %+v", inv.Argv, c.want, inv.Scope, inv.Outputs)
			}
		})
	}
	t.Run("functions run in the driver, whose digest is that of a collector", func(t *testing.T) {
		inv, err := p.Plan(providers.Workload{Argv: []string{"python", "b.py"}}, options(mode("function"), func(o *pyperf.Options) { o.Functions = []string{"f(1, 'a')", "g"} }))
		if err != nil {
			t.Fatal(err)
		}
		if len(inv.Collectors) != 1 || inv.Argv[1] != "-c" || inv.Argv[2] != string(inv.Collectors[0].Content) || !slices.Equal(inv.Argv[3:5], []string{"b.py", `["f(1, 'a')","g"]`}) || !slices.Equal(inv.Argv[5:], std) {
			t.Errorf("%q", inv.Argv)
		}
	})
	t.Run("what a command costs is on the record", func(t *testing.T) {
		for argv0, programs := range map[string][]string{"sort": {"sort"}, "./sort": {"./sort"}, token.Make("build.x.dir") + "/sort": nil} {
			inv, err := p.Plan(providers.Workload{Argv: []string{argv0, "x"}}, options(mode("command")))
			if err != nil || !slices.Equal(providertest.Codes(inv.Limitations), []string{pyperf.StartupIncluded}) {
				t.Errorf("%s: %v %v", argv0, inv.Limitations, err)
			}
			if !slices.Equal(inv.Programs, programs) {
				t.Errorf("%s: the programs in the key are %q, want %q", argv0, inv.Programs, programs)
			}
		}
	})
	script := []string{"python", "b.py"}
	for _, c := range []struct {
		name string
		argv []string
		o    *pyperf.Options
		want string
	}{
		{"no command", nil, options(mode("script")), "no command"},
		{"a mode that is not said", script, options(), "mode = \"script\""},
		{"an unknown mode", script, options(mode("timeit")), "mode = \"timeit\""},
		{"no processes", script, options(mode("script"), func(o *pyperf.Options) { o.Processes = 0 }), "processes = 0"},
		{"no values", script, options(mode("script"), func(o *pyperf.Options) { o.Values = 0 }), "values = 0"},
		{"negative warm-ups", script, options(mode("script"), func(o *pyperf.Options) { o.Warmups = -1 }), "warmups = -1"},
		{"no loops", script, options(mode("script"), func(o *pyperf.Options) { o.Loops = n(0) }), "loops = 0"},
		{"no time", script, options(mode("script"), func(o *pyperf.Options) { o.MinTime = -time.Second }), "min_time"},
		{"no CPU", script, options(mode("script"), func(o *pyperf.Options) { o.Affinity = "1,;rm" }), "affinity"},
		{"the output said", []string{"python", "b.py", "--output=x"}, options(mode("script")), "--output=x"},
		{"the processes said", []string{"python", "b.py", "-p5"}, options(mode("script")), "-p5"},
		{"the values said of timeit", []string{"python", "-m", "pyperf", "timeit", "-n", "1", "x"}, options(), "-n"},
		{"nothing to measure", []string{"python", "-m", "pyperf", "stats", "x.json"}, options(), "timeit or command"},
		{"functions of a script", script, options(mode("script"), func(o *pyperf.Options) { o.Functions = []string{"f"} }), "mode = \"function\""},
		{"an interpreter of a script", script, options(mode("script"), func(o *pyperf.Options) { o.Python = "python3" }), "mode = \"command\""},
		{"functions of a program", []string{"./app", "b.py"}, options(mode("function")), "interpreter and a Python file"},
		{"options of the interpreter", []string{"python", "-O", "b.py"}, options(mode("function")), "interpreter and a Python file"},
		{"a function twice", script, options(mode("function"), func(o *pyperf.Options) { o.Functions = []string{"f", "f"} }), "twice"},
		{"a command without a name", script, options(mode("command"), func(o *pyperf.Options) { o.Name = " " }), "name"},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			if _, err := p.Plan(providers.Workload{Argv: c.argv}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// document is four runs: a calibration with seven warm-ups, and three with one warm-up and two values.
const document = `{"benchmarks":[{"metadata":{"unit":"second"},"runs":[
{"metadata":{"calibrate_loops":16},"warmups":[[1,0.02],[2,0.02],[4,0.02],[8,0.02],[16,0.02],[16,0.02],[16,0.02]]},
{"warmups":[[16,0.015]],"values":[0.014345026874991618,0.0144]},
{"warmups":[[16,0.015]],"values":[0.014,0.0144]},
{"metadata":{"loops":32,"inner_loops":2},"warmups":[[16,0.015]],"values":[0.014,3.6129383850121155e-07]}]}],
"metadata":{"loops":16,"name":"telco","perf_version":"2.10.0","hostname":"secret"},"version":"1.0"}`

func TestRows(t *testing.T) {
	out, rows := extract(t, []byte(document))
	if out.State != evidence.Complete || len(out.Limitations) != 0 || out.Producer != "2.10.0" || !reflect.DeepEqual(out.Results, map[string]any{"benchmarks": int64(1), "samples": int64(6), "warmups": int64(10)}) {
		t.Errorf("%+v", out)
	}
	warm := 0
	for _, r := range rows {
		if r["warmup"] == true {
			warm++
		}
		if r["name"] != "pyperf.telco" || r["unit"] != "ns" || r["aggregation"] != "sample" || r["scope"] != "workload" {
			t.Errorf("row %v", r)
		}
	}
	if warm != 10 || len(rows) != 16 {
		t.Errorf("%d rows, %d of them warm-ups", len(rows), warm)
	}
	type row struct{ value, worker, run, index, loops, phase, dims any }
	of := func(r providertest.Row) row {
		v := r["value_int"]
		if v == nil {
			v = r["value_float"]
		}
		return row{v, r["worker"], r["worker_run"], r["value_index"], r["loops"], r["phase"], r["dimensions"]}
	}
	plain := map[string]string{"benchmark": "telco", "pyperf_unit": "second"}
	calibration := map[string]string{"benchmark": "telco", "pyperf_unit": "second", "run_kind": "calibration"}
	inner := map[string]string{"benchmark": "telco", "pyperf_unit": "second", "inner_loops": "2"}
	for i, want := range map[int]row{
		3:  {int64(20_000_000), "telco:0", int64(0), int64(3), uint64(8), "warmup", calibration},
		7:  {int64(15_000_000), "telco:1", int64(1), int64(0), uint64(16), "warmup", plain},
		8:  {int64(14_345_027), "telco:1", int64(1), int64(0), uint64(16), "steady_state", plain},
		9:  {int64(14_400_000), "telco:1", int64(1), int64(1), uint64(16), "steady_state", plain},
		15: {361.29383850121155, "telco:3", int64(3), int64(1), uint64(32), "steady_state", inner},
	} {
		if got := of(rows[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("row %d is %+v\nwant %+v", i, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit, value, want string
		whole             bool
	}{
		{"byte", "12103680", "bytes", true}, {"byte", "8085504.0", "bytes", true}, {"byte", "1.5", "bytes", false}, {"integer", "3", "count", true},
		{"second", "9.5e-7", "ns", false}, {"second", "1e-6", "ns", true}, {"furlong", "3", "furlong", false}, {"second", "1e10", "ns", false},
	} {
		_, rows := extract(t, []byte(`{"version":"1.0","metadata":{"name":"x","loops":1,"perf_version":"2.0","unit":"`+c.unit+`"},"benchmarks":[{"runs":[{"values":[`+c.value+`]}]}]}`))
		if len(rows) != 1 || rows[0]["unit"] != c.want || (rows[0]["value_int"] != nil) != c.whole || (rows[0]["value_float"] != nil) == c.whole {
			t.Errorf("%s %s: %v", c.value, c.unit, rows)
		}
	}
	_, rows := extract(t, []byte(`{"version":"1.0","metadata":{"name":"x"},"benchmarks":[{"runs":[{"values":[1]}]}]}`))
	if len(rows) != 1 || rows[0]["unit"] != "ns" || rows[0]["loops"] != nil {
		t.Errorf("without a unit: %v", rows)
	}
}

func TestWhatIsRefusedAndWhatIsSaid(t *testing.T) {
	doc := func(old, new string) string {
		if !strings.Contains(document, old) {
			t.Fatalf("the document has no %q", old)
		}
		return strings.Replace(document, old, new, 1)
	}
	calibrated := `{"version":"1.0","metadata":{"name":"c","perf_version":"2.0"},"benchmarks":[{"runs":[{"metadata":{"calibrate_loops":1},"warmups":[[1,2]]}]}]}`
	for name, c := range map[string]struct {
		data  string
		state evidence.State
		codes []string
	}{
		"no bytes":                  {"", evidence.Incompatible, []string{pyperf.EmptyFile}},
		"an empty object":           {"{}", evidence.Incompatible, []string{pyperf.NotPyperf}},
		"a list":                    {"[]", evidence.Incompatible, []string{pyperf.NotPyperf}},
		"version 2.0":               {doc(`"version":"1.0"`, `"version":"2.0"`), evidence.Incompatible, []string{pyperf.FormatVersion}},
		"version 6":                 {doc(`"version":"1.0"`, `"version":6`), evidence.Incompatible, []string{pyperf.FormatVersion}},
		"no version":                {`{"benchmarks":[]}`, evidence.Incompatible, []string{pyperf.NotPyperf}},
		"cut":                       {document[:len(document)-20], evidence.Incompatible, []string{pyperf.Truncated}},
		"NaN":                       {doc("0.0144", "NaN"), evidence.Incompatible, []string{pyperf.NotJSON}},
		"a value of zero":           {doc("0.0144", "0"), evidence.Incompatible, []string{pyperf.Contradiction}},
		"a value below zero":        {doc("0.0144", "-1"), evidence.Incompatible, []string{pyperf.Contradiction}},
		"a value that is text":      {doc("0.0144", `"1"`), evidence.Incompatible, []string{pyperf.NotJSON}},
		"an endless value":          {doc("0.0144", "1e300"), evidence.Incompatible, []string{pyperf.Contradiction}},
		"a warm-up of three":        {doc("[16,0.015]", "[16,1,1]"), evidence.Incompatible, []string{pyperf.Contradiction}},
		"a warm-up without loops":   {doc("[16,0.015]", "[0,1]"), evidence.Incompatible, []string{pyperf.Contradiction}},
		"producer 99":               {doc("2.10.0", "99.0.0"), evidence.Incompatible, []string{pyperf.ProducerVersion}},
		"a producer that is none":   {doc("2.10.0", "newest"), evidence.Incompatible, []string{pyperf.ProducerVersion}},
		"no producer":               {doc(`"perf_version":"2.10.0",`, ""), evidence.Complete, []string{pyperf.NoProducer}},
		"a producer of its own":     {doc(`"calibrate_loops":16`, `"perf_version":"2.9.0"`), evidence.Complete, []string{pyperf.Producers}},
		"no loops":                  {doc(`"loops":16,`, ""), evidence.Complete, []string{pyperf.NoLoops}},
		"loops that are true":       {doc(`"loops":16`, `"loops":true`), evidence.Incompatible, []string{pyperf.NotJSON}}, // which Python takes for 1
		"no name":                   {doc(`"name":"telco",`, ""), evidence.Incompatible, []string{pyperf.Contradiction}},
		"another name in a run":     {doc(`"loops":32`, `"name":"x"`), evidence.Incompatible, []string{pyperf.Contradiction}},
		"another unit in a run":     {doc(`"loops":32`, `"unit":"byte"`), evidence.Incompatible, []string{pyperf.Contradiction}},
		"a benchmark twice":         {`{"version":"1.0","metadata":{"name":"c"},"benchmarks":[{"runs":[{"values":[1]}]},{"runs":[{"values":[1]}]}]}`, evidence.Incompatible, []string{pyperf.Contradiction}},
		"no benchmark":              {`{"version":"1.0","benchmarks":[]}`, evidence.Incompatible, []string{pyperf.Contradiction}},
		"no run":                    {`{"version":"1.0","metadata":{"name":"c"},"benchmarks":[{"runs":[]}]}`, evidence.Incompatible, []string{pyperf.Contradiction}},
		"an empty run":              {`{"version":"1.0","metadata":{"name":"c"},"benchmarks":[{"runs":[{}]}]}`, evidence.Incompatible, []string{pyperf.Contradiction}},
		"calibration alone":         {calibrated, evidence.Empty, []string{pyperf.NoValues}},
		"one of two is calibration": {`{"version":"1.0","metadata":{"perf_version":"2.0","loops":1},"benchmarks":[{"metadata":{"name":"c"},"runs":[{"warmups":[[1,2]]}]},{"metadata":{"name":"d"},"runs":[{"values":[1]}]}]}`, evidence.Complete, []string{pyperf.NoValues}},
	} {
		t.Run(name, func(t *testing.T) {
			out, rows := extract(t, []byte(c.data))
			if out.State != c.state || !slices.Equal(providertest.Codes(out.Limitations), c.codes) {
				t.Errorf("%s %v, want %s %v", out.State, out.Limitations, c.state, c.codes)
			}
			if (out.State == evidence.Complete) != (len(rows) > 0) {
				t.Errorf("%s with %d rows", out.State, len(rows))
			}
		})
	}
}

func TestCompressedResultsAreRead(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(document)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	out, rows := extract(t, b.Bytes())
	if out.State != evidence.Complete || len(rows) != 16 {
		t.Errorf("%+v with %d rows", out, len(rows))
	}
	if out, _ := extract(t, b.Bytes()[:60]); out.State != evidence.Incompatible || out.Limitations[0].Code != pyperf.Truncated {
		t.Errorf("cut: %+v", out)
	}
	in := providertest.Input(t, pyperf.Role, b.Bytes())
	small, _ := providertest.Extract(t, p, in, nil, evidence.Budget{Memory: 24 * 300})
	if small.State != evidence.Incompatible || small.Limitations[0].Code != pyperf.MemoryBudget {
		t.Errorf("beyond the memory: %+v", small)
	}
	if !p.Formats()[0].Detect(b.Bytes()) {
		t.Error("the compressed document is not detected")
	}
}

func TestDetection(t *testing.T) {
	detect := p.Formats()[0].Detect
	for head, want := range map[string]bool{
		document: true,
		`{"version": "1.0", "metadata": {"unit": "second", "loops": 4`: true,
		`{"benchmarks":[{"common_metadata":{`:                          true,
		`{"benchmarks":[{"metadata":{"name":"x"},"runs":[`:             true,
		`{"benchmarks":[{"group":null,"name":"test_x"`:                 false,
		`{"context":{},"benchmarks":[{"name":"BM_x"`:                   false,
		`{"benchmarks":[{"name":"BM_x","run_name"`:                     false,
		"":                            false,
		`{"version":"1.0","runs":[]}`: false,
	} {
		if got := detect([]byte(head)); got != want {
			t.Errorf("%.60q is %v", head, got)
		}
	}
	for name, want := range map[string]bool{
		"local-pyperf-git-command-startup.json": true, "local-pyperf-git-timeit.json": true, "mult_list_py36_tags.json": true, "outliers.json.gz": true,
		"pyperformance-mem1.json": true, "pyperformance-py36.json": true, "telco-legacy-perf0.x.json": true, "telco.json": true, "track_memory.json": true,
	} {
		data := providertest.Fixture(t, "pyperf/"+name)
		if got := detect(data[:min(len(data), 4096)]); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func TestConformance(t *testing.T) {
	providertest.Run(t, p, &providertest.Cases{
		Valid: []byte(document), Empty: []byte(`{"version":"1.0","metadata":{"name":"c"},"benchmarks":[{"runs":[{"warmups":[[1,2]]}]}]}`), Role: pyperf.Role, Half: evidence.Incompatible,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"python", "-m", "pyperf", "timeit", "pass"}}, Options: options()})
}
