package torchprofiler_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/chrometrace"
	"github.com/flameox/flameox/lang"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/torchprofiler"
)

var p = torchprofiler.Provider{}

func trace(members string, events ...string) []byte {
	return []byte("{\n  \"schemaVersion\": 1," + members + " \"traceEvents\": [\n" + strings.Join(events, ",\n") + "\n]}\n")
}

func x(cat, name string, ts, dur any, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":1,"ts":%v,"dur":%v,"args":{%s}}`, cat, name, ts, dur, args)
}

func options(change ...func(*torchprofiler.Options)) *torchprofiler.Options {
	o := lang.Defaults(p.Options()).(*torchprofiler.Options)
	for _, f := range change {
		f(o)
	}
	return o
}

func extract(t *testing.T, data []byte) (evidence.Outcome, map[string][]providertest.Row) {
	t.Helper()
	return providertest.Extract(t, p, providertest.Input(t, torchprofiler.Role, data), &torchprofiler.ExtractOptions{Full: true}, evidence.DefaultBudget())
}

func TestConformance(t *testing.T) {
	var events []string
	for i := range 30 {
		events = append(events, x("cpu_op", fmt.Sprintf("aten::op%d", i%5), 100+10*i, 9, fmt.Sprintf(`"External id": %d, "Input Dims": [[%d]]`, i, i%3)))
	}
	providertest.Run(t, p, &providertest.Cases{
		Valid: trace("", events...), Empty: trace(""), EmptyValid: true, Role: torchprofiler.Role, Half: evidence.Partial, Cuttable: true, Several: true,
	}, &providertest.Plan{Workload: providers.Workload{Argv: []string{"python3", "train.py", "--epochs", "1"}}})
}

func TestPlansRunTheProgramAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		argv, want []string
	}{
		"a script": {[]string{"python3", "-X", "dev", "-u", "train.py", "--a", "-c"}, []string{"--script", "train.py", "--", "--a", "-c"}},
		"a module": {[]string{"/opt/py/bin/python3.11", "-m", "pkg.train", "x"}, []string{"--module", "pkg.train", "--", "x"}},
		"code":     {[]string{"python", "-c", "import torch", "y"}, []string{"--inline", "import torch", "--", "y"}},
	} {
		inv, err := p.Plan(providers.Workload{Argv: c.argv}, options())
		if err != nil || !slices.Equal(inv.Argv[len(inv.Argv)-len(c.want):], c.want) || inv.Argv[0] != c.argv[0] || len(inv.Collectors) != 1 {
			t.Errorf("%s: %q %v", name, inv.Argv, err)
		}
	}
	w := providers.Workload{Argv: []string{"python3", "train.py"}}
	inv, err := p.Plan(w, options(func(o *torchprofiler.Options) {
		o.Mode, o.Schedule = "sdk", map[string]string{"repeat": "2", "active": "3"}
	}))
	if err != nil || !slices.Equal(inv.Argv, w.Argv) || inv.Outputs[1].Path != "torch-trace-cycle-0002.json.gz" || !inv.Outputs[1].Required || inv.Scope.Bounds["active"] != "3" {
		t.Errorf("%+v %v", inv, err)
	}
	if !strings.Contains(inv.Env["FLAMEOX_TORCH_CONFIG"], `"schedule":{"active":3,"repeat":2,"skip_first":0,"wait":1,"warmup":1}`) {
		t.Error(inv.Env["FLAMEOX_TORCH_CONFIG"])
	}
}

func TestPlansThatMakeNoSenseSayWhatToChange(t *testing.T) {
	python := []string{"python3", "train.py"}
	for want, c := range map[string]struct {
		argv   []string
		change func(*torchprofiler.Options)
	}{
		"both cuda and cuda_if_available": {python, func(o *torchprofiler.Options) { o.Activities = []string{"cuda", "cuda_if_available"} }},
		`has "gpu"`:                       {python, func(o *torchprofiler.Options) { o.Activities = []string{"gpu"} }},
		`has "cpu" twice`:                 {python, func(o *torchprofiler.Options) { o.Activities = []string{"cpu", "cpu"} }},
		"records nothing":                 {python, func(o *torchprofiler.Options) { o.Activities = nil }},
		"belongs to mode":                 {python, func(o *torchprofiler.Options) { o.Schedule = map[string]string{"wait": "1"} }},
		"needs a schedule":                {python, func(o *torchprofiler.Options) { o.Mode = "sdk" }},
		`mode = "step"`:                   {python, func(o *torchprofiler.Options) { o.Mode = "step" }},
		`active = "0"`:                    {python, func(o *torchprofiler.Options) { o.Mode, o.Schedule = "sdk", map[string]string{"active": "0"} }},
		`schedule has "actve"`:            {python, func(o *torchprofiler.Options) { o.Mode, o.Schedule = "sdk", map[string]string{"actve": "1"} }},
		`repeat = "101"`:                  {python, func(o *torchprofiler.Options) { o.Mode, o.Schedule = "sdk", map[string]string{"repeat": "101"} }},
		"starts with torchrun":            {[]string{"torchrun", "train.py"}, func(*torchprofiler.Options) {}},
		"standard input":                  {[]string{"python3", "-"}, func(*torchprofiler.Options) {}},
		"names no program":                {[]string{"python3", "-u"}, func(*torchprofiler.Options) {}},
		"cannot be kept":                  {[]string{"python3", "-h"}, func(*torchprofiler.Options) {}},
	} {
		if _, err := p.Plan(providers.Workload{Argv: c.argv}, options(c.change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestOlderTorchIsRefused(t *testing.T) {
	_, version := p.Probe([]string{"python3"})
	for in, ok := range map[string]bool{"2.7.1+cpu\n": true, "3.0\n": true, "2.10.0\n": true, "2.6.0\n": false, "1.13.0": false, "": false} {
		if _, err := version([]byte(in), []byte("PackageNotFoundError: torch")); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestOperatorsAreSummedByShapesAndPhase(t *testing.T) {
	_, tables := extract(t, trace("",
		x("user_annotation", "flameox.phase:train", 1, 100, ""),
		x("cpu_op", "aten::mm", 2, 40, `"External id": 1, "Input Dims": [[2, 2]]`), x("cpu_op", "aten::mm", 3, 10, `"External id": 2, "Input Dims": [[2, 2]]`),
		x("cpu_op", "aten::mm", 50, 5, `"External id": 3, "Input Dims": [[4, 4]]`),
		`{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":20,"args":{"Bytes":512,"Total Allocated":512,"Device Id":-1}}`,
		`{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":51,"args":{"Bytes":-128,"Total Allocated":384,"Device Id":-1}}`,
		`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":60,"dur":7,"args":{"External id":2,"correlation":9,"device":0,"stream":7}}`,
		`{"ph":"X","cat":"kernel","name":"lost","pid":0,"tid":7,"ts":0,"dur":7,"args":{"External id":2}}`))
	var got []string
	for _, r := range tables["operators"] {
		shapes := "-"
		if s, ok := r["shapes"].(string); ok {
			shapes = s
		}
		got = append(got, fmt.Sprintf("%v %s %v calls=%v self=%v total=%v max=%v device=%v/%v mem=%v/%v", r["name"], shapes, r["phase"], r["calls"], r["self_ns"], r["total_ns"], r["max_ns"], r["device_ns"], r["launches"], r["allocated_bytes"], r["freed_bytes"]))
	}
	want := []string{
		"flameox.phase:train - train calls=1 self=55000 total=100000 max=100000 device=0/0 mem=0/0",
		"aten::mm [[2, 2]] train calls=2 self=40000 total=40000 max=40000 device=7000/1 mem=512/0",
		"aten::mm [[4, 4]] train calls=1 self=5000 total=5000 max=5000 device=0/0 mem=0/128",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestDeviceEventsWithoutATimeAreCountedAndNoRows(t *testing.T) {
	out, tables := extract(t, trace("", x("kernel", "k", 0, 0, ""), x("kernel", "k", 0, 5, ""), x("kernel", "k", "1747132800123456.789", 5, "")))
	if len(tables["trace_events"]) != 1 || !providertest.HasCode(out.Limitations, torchprofiler.DeviceTimeLost) || !providertest.HasCode(out.Limitations, chrometrace.EventsBad) {
		t.Errorf("%d rows, %v", len(tables["trace_events"]), out.Limitations)
	}
}

func TestAPythonFunctionIsAFunctionInAFile(t *testing.T) {
	in := providertest.Input(t, torchprofiler.Role, trace("", x("python_function", "/src/app/train.py(12): step", 1, 5, ""), x("python_function", "<built-in method run>", 2, 1, "")))
	in.Paths = providers.Paths{Root: "/src/app"}
	_, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
	found := false
	for _, f := range tables["frames"] {
		found = found || f["function"] == "step" && f["file"] == "train.py" && f["line"] == int64(12) && f["symbolization"] == "complete"
	}
	if !found {
		t.Errorf("%v", tables["frames"])
	}
}

func TestALegacyArrayIsReadToo(t *testing.T) {
	out, tables := extract(t, []byte(`[{"name":"aten::add","ph":"X","ts":1.5,"dur":2.25,"tid":"1","pid":"CPU functions","args":{}}]`))
	if out.State != evidence.Complete || tables["trace_events"][0]["start_ns"] != int64(1500) || tables["trace_events"][0]["process"] != "CPU functions" {
		t.Errorf("%+v %v", out, tables["trace_events"])
	}
}

func TestCyclesTooManyAndWhatTheLauncherSaysMakeARunInvalid(t *testing.T) {
	good := trace("", x("cpu_op", "aten::mm", 1, 5, ""))
	for code, more := range map[string]providers.Artifact{
		torchprofiler.ExtraCycles: providertest.Input(t, torchprofiler.RoleExtra, good).Artifacts[0],
		"cuda_unavailable":        providertest.Input(t, torchprofiler.RoleDiagnostics, []byte(`{"phase":"profiler_initialization","torch":"2.7.1","error":{"code":"cuda_unavailable","text":"no device"}}`)).Artifacts[0],
		torchprofiler.Unfinished:  providertest.Input(t, torchprofiler.RoleDiagnostics, []byte(`{"phase":"workload_execution"}`)).Artifacts[0],
	} {
		in := providertest.Input(t, torchprofiler.Role, good)
		in.Artifacts = append(in.Artifacts, more)
		r, err := p.Validate(t.Context(), in)
		if err != nil || r.Valid || r.Reasons[0].Code != code {
			t.Errorf("%s: %+v %v", code, r, err)
		}
	}
}

var fixtures = []string{
	"distributed_info_not_found.json.gz", "event_sync_trace.json.gz", "gpu_only_trace.json.gz", "mi250_minitoy_train_ROCm6_2_kineto.json.gz",
	"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "torch_compile_triton.json.gz", "triton_example.json.gz", "vllm_decode_graph_execution.json.gz",
}

// reference sums operators and what they launched with its own reading of the file.
const reference = `
import gzip, json, sys
from decimal import Decimal
ns = lambda v: int((Decimal(str(v)) * 1000).to_integral_value())
trace = json.loads(gzip.open(sys.argv[1]).read().decode(), parse_float=Decimal)
events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
device = {}
for e in events:
    if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["ts"] != 0:
        i = e.get("args", {}).get("External id", 0)
        if i: device[i] = [device.get(i, [0, 0])[0] + ns(e["dur"]), device.get(i, [0, 0])[1] + 1]
out = {}
for e in events:
    if e.get("cat") not in ("cpu_op", "user_annotation"): continue
    row = out.setdefault(e["name"], [0, 0, 0, 0])
    row[0] += 1
    row[1] = max(row[1], ns(e["dur"]))
    d = device.get(e.get("args", {}).get("External id"), [0, 0])
    row[2] += d[0]; row[3] += d[1]
print(json.dumps({"slices": len(events), "operators": out, "device": bool(device)}))
`

func TestFixturesAgreeWithPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on PATH")
	}
	for _, name := range fixtures {
		t.Run(name, func(t *testing.T) {
			in := providertest.Input(t, torchprofiler.Role, providertest.Fixture(t, filepath.Join("torch-profiler", name)))
			out, tables := providertest.Extract(t, p, in, &torchprofiler.ExtractOptions{Full: true}, evidence.DefaultBudget())
			t.Log(out.State, out.Results, out.Limitations)
			b, err := exec.CommandContext(t.Context(), python, "-c", reference, in.Artifacts[0].Path).Output()
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Slices    int64
				Operators map[string][4]int64
				Device    bool
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			got := map[string][4]int64{}
			for _, r := range tables["operators"] {
				v := got[r["name"].(string)]
				v[0] += r["calls"].(int64)
				v[1] = max(v[1], r["max_ns"].(int64))
				if want.Device {
					v[2] += r["device_ns"].(int64)
					v[3] += r["launches"].(int64)
				}
				got[r["name"].(string)] = v
			}
			if out.Results["slices"] != want.Slices || fmt.Sprint(sorted(got)) != fmt.Sprint(sorted(want.Operators)) {
				t.Errorf("%d slices, want %d\n%v\n%v", out.Results["slices"], want.Slices, sorted(got), sorted(want.Operators))
			}
		})
	}
}

func sorted(m map[string][4]int64) (out []string) {
	for k, v := range m {
		out = append(out, fmt.Sprint(k, v))
	}
	sort.Strings(out)
	return out
}

func TestOtherFilesOfPyTorchAreRefusedAsWhatTheyAre(t *testing.T) {
	for name, want := range map[string]string{"benchmark_simple_add_et.json.gz": "execution trace", "memory_timeline.raw.gz": "another kind of JSON"} {
		out, _ := extract(t, providertest.Fixture(t, filepath.Join("torch-profiler", name)))
		if out.State != evidence.Incompatible || !strings.Contains(out.Limitations[0].Text, want) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	registry := providers.New(p)
	for _, name := range fixtures {
		data := providertest.Fixture(t, filepath.Join("torch-profiler", name))
		if found := registry.Detect(data[:min(len(data), 4096)]); len(found) != 1 {
			t.Errorf("%s is not recognized", name)
		}
	}
}
