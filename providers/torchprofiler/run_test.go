package torchprofiler_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/providers"
	"github.com/flameox/flameox/providers/providertest"
	"github.com/flameox/flameox/providers/torchprofiler"
)

// Real runs of a torch that is on this machine: it is too large to be installed for a test.

func torchPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("FLAMEOX_TORCH_PYTHON")
	if python == "" {
		var err error
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("there is no python3 on PATH; FLAMEOX_TORCH_PYTHON may name an interpreter that has torch")
		}
	}
	probe, version := p.Probe([]string{python})
	out, err := exec.CommandContext(t.Context(), probe[0], probe[1:]...).Output()
	if err != nil {
		t.Skipf("%s has no torch; FLAMEOX_TORCH_PYTHON may name an interpreter that has 2.7 or later", python)
	}
	if _, err := version(out, nil); err != nil {
		t.Skip(err)
	}
	return python
}

const network = `
import os, sys, torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
def step(batch):
    with torch.profiler.record_function("flameox.phase:train"):
        net(torch.randn(batch, 64)).sum().backward()
`

const whole = network + `
step(16); step(16); step(32)
print("arguments", sys.argv, __name__)
if "fail" in sys.argv: raise ValueError("ouch")
if "exit" in sys.argv: sys.exit(3)
if "gone" in sys.argv: os._exit(0)
`

const scheduled = network + `
import json
sdk = {}
exec(os.environ["FLAMEOX_TORCH_SDK"], sdk)
with sdk["profiler"]() as p:
    for i in range(int(sys.argv[1])):
        step(16)
        p.step()
        if i == 1: print(json.dumps({a.key: [a.count, a.self_cpu_time_total] for a in p.key_averages()}))
`

// start plans and runs a program.
func start(t *testing.T, o *torchprofiler.Options, source string, argv ...string) (providers.Input, providertest.Ran) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	inv, err := p.Plan(providers.Workload{Argv: argv}, o)
	if err != nil {
		t.Fatal(err)
	}
	ran := providertest.Start(t, inv, dir)
	in := providers.Input{Exit: ran.Exit, Paths: providers.Paths{Root: dir, Dir: dir}}
	taken := map[string]bool{}
	for _, out := range inv.Outputs {
		if out.Path == "" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(ran.Out, out.Path))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if taken[f] {
				continue
			}
			taken[f] = true
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			a := providertest.Input(t, out.Role, data).Artifacts[0]
			a.Name, a.MediaType = filepath.Base(f), out.MediaType
			in.Artifacts = append(in.Artifacts, a)
		}
	}
	return in, ran
}

func validate(t *testing.T, in providers.Input) providers.Receipt {
	t.Helper()
	r, err := p.Validate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRealRuns(t *testing.T) {
	python := torchPython(t)
	small := options(func(o *torchprofiler.Options) { o.Stacks = false })
	t.Run("a script, with its calls, phases and memory", func(t *testing.T) {
		in, ran := start(t, options(), whole, python, "train.py", "-x", "y")
		r := validate(t, in)
		if !r.Valid || !strings.HasPrefix(r.Producer, "2.") && !strings.HasPrefix(r.Producer, "3.") || !strings.Contains(string(ran.Stdout), "arguments ['train.py', '-x', 'y'] __main__") {
			t.Fatalf("%+v\n%s%s", r, ran.Stdout, ran.Stderr)
		}
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if out.State == evidence.Incompatible || len(tables["frames"]) == 0 {
			t.Fatalf("%+v", out)
		}
		shapes := map[any]int64{}
		for _, o := range tables["operators"] {
			if o["name"] == "aten::linear" && o["phase"] == "train" {
				shapes[o["shapes"]] += o["calls"].(int64)
				if o["allocated_bytes"].(int64) < 0 || o["device_ns"] != nil {
					t.Errorf("%v", o)
				}
			}
		}
		if len(shapes) != 4 { // two layers, two sizes of batches
			t.Errorf("shapes of aten::linear: %v", shapes)
		}
		found := false
		for _, f := range tables["frames"] {
			found = found || f["function"] == "step" && f["file"] == "train.py" && f["line"] != nil
		}
		if !found {
			t.Error("no frame is the function step of train.py")
		}
	})
	t.Run("a module and code", func(t *testing.T) {
		for _, argv := range [][]string{{python, "-m", "train", "z"}, {python, "-c", whole, "z"}} {
			in, ran := start(t, small, whole, argv...)
			if r := validate(t, in); !r.Valid || !strings.Contains(string(ran.Stdout), "'z'] __main__") {
				t.Errorf("%+v\n%s%s", r, ran.Stdout, ran.Stderr)
			}
		}
	})
	t.Run("a program that fails keeps its trace and its status", func(t *testing.T) {
		for arg, c := range map[string]struct {
			exit int
			code string
		}{"fail": {1, torchprofiler.UnexpectedExit}, "exit": {3, torchprofiler.UnexpectedExit}} {
			in, ran := start(t, small, whole, python, "train.py", arg)
			r := validate(t, in)
			if ran.Exit != c.exit || r.Valid || r.Reasons[0].Code != c.code {
				t.Errorf("%s: exit %d, %+v", arg, ran.Exit, r)
			}
			if _, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget()); len(tables["operators"]) == 0 {
				t.Errorf("%s: no operators", arg)
			}
			if arg == "fail" && !strings.Contains(string(ran.Stderr), "ValueError: ouch") {
				t.Errorf("%s", ran.Stderr)
			}
		}
	})
	t.Run("a process that ends by itself says how far it came", func(t *testing.T) {
		in, _ := start(t, small, whole, python, "train.py", "gone")
		if r := validate(t, in); r.Valid || r.Reasons[0].Code != torchprofiler.Unfinished || !strings.Contains(r.Reasons[0].Text, "workload_execution") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a device that is not there", func(t *testing.T) {
		if out, _ := exec.CommandContext(t.Context(), python, "-c", "import torch; print(torch.cuda.is_available())").Output(); strings.TrimSpace(string(out)) != "False" {
			t.Skip("this machine has a device")
		}
		in, ran := start(t, options(func(o *torchprofiler.Options) { o.Activities = []string{"cpu", "cuda"} }), whole, python, "train.py")
		if r := validate(t, in); ran.Exit == 0 || r.Valid || r.Reasons[0].Code != "cuda_unavailable" {
			t.Errorf("exit %d, %+v", ran.Exit, r)
		}
	})
	steps := func(repeat string) *torchprofiler.Options {
		return options(func(o *torchprofiler.Options) {
			o.Mode, o.Stacks, o.Schedule = "sdk", false, map[string]string{"wait": "0", "repeat": repeat}
		})
	}
	t.Run("a cycle agrees with PyTorch's own sums", func(t *testing.T) {
		in, ran := start(t, steps("1"), scheduled, python, "train.py", "2")
		if r := validate(t, in); !r.Valid {
			t.Fatalf("%+v\n%s", r, ran.Stderr)
		}
		var want map[string][2]float64
		if err := json.Unmarshal(ran.Stdout, &want); err != nil {
			t.Fatalf("%v\n%s", err, ran.Stdout)
		}
		_, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		got := map[string][2]float64{}
		for _, r := range tables["operators"] {
			v := got[r["name"].(string)]
			got[r["name"].(string)] = [2]float64{v[0] + float64(r["calls"].(int64)), v[1] + float64(r["self_ns"].(int64))/1000}
		}
		compared := 0
		for name, w := range want {
			g, ok := got[name]
			if !ok && !strings.Contains(name, "::") {
				continue // what PyTorch sums beside operators
			}
			compared++
			// PyTorch counts a call that does nothing but call its own name, as aten::sum of another signature, as one. Each beginning and end in the
			// trace is rounded to a nanosecond.
			if g[0] != w[0] && !(name == "aten::sum" && g[0] > w[0]) || g[1]-w[1] > 0.01*g[0]+0.01 || w[1]-g[1] > 0.01*g[0]+0.01 {
				t.Errorf("%s: %v calls in %v µs, PyTorch says %v in %v", name, g[0], g[1], w[0], w[1])
			}
		}
		if compared < 10 {
			t.Errorf("only %d operators were compared: %v", compared, want)
		}
	})
	t.Run("cycles are as many as the schedule has", func(t *testing.T) {
		in, _ := start(t, steps("2"), scheduled, python, "train.py", "4")
		out, tables := providertest.Extract(t, p, in, nil, evidence.DefaultBudget())
		if r := validate(t, in); !r.Valid || out.Results["cycles"] != int64(2) || len(tables["operators"]) == 0 {
			t.Errorf("%+v %+v", r, out)
		}
		in, _ = start(t, steps("2"), scheduled, python, "train.py", "2")
		if n := len(in.FindAll(torchprofiler.Role)); n != 1 { // the second one is required, so the capture fails
			t.Errorf("%d cycles", n)
		}
	})
}
