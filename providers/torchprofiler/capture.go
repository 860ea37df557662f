package torchprofiler

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType of a trace that torch.profiler wrote. It is not registered; this is ours.
const MediaType = "application/x-torch-profiler-trace+json"

// The roles of artifacts.
const (
	Role            = "torch_trace"
	RoleExtra       = "torch_trace_extra"
	RoleDiagnostics = "torch_diagnostics"
)

//go:embed launcher.py
var launcher string

//go:embed sdk.py
var sdk string

// Provider captures and reads traces of torch.profiler. The zero value is ready.
type Provider struct{}

// Name is the producer's, as one word.
func (Provider) Name() string { return "torchprofiler" }

// Version is that of the rows.
func (Provider) Version() int { return 2 }

// Doc is one sentence.
func (Provider) Doc() string { return "traces of PyTorch programs by torch.profiler" }

// Options of a capture.
type Options struct {
	Mode       string            `arg:"mode" default:"\"whole_entrypoint\"" doc:"whole_entrypoint runs the command under the profiler; sdk leaves it as it is: the program takes its profiler from FLAMEOX_TORCH_SDK and says where steps end" facet:"definition"`
	Activities []string          `arg:"activities" default:"[\"cpu\", \"cuda_if_available\"]" doc:"cpu, and one of cuda and cuda_if_available; ROCm devices are cuda to PyTorch" facet:"definition"`
	Shapes     bool              `arg:"record_shapes" default:"true" doc:"record the shapes of operators' inputs" facet:"definition"`
	Memory     bool              `arg:"profile_memory" default:"true" doc:"record what operators allocate and free" facet:"definition"`
	Stacks     bool              `arg:"with_stack" default:"true" doc:"record the calls of Python functions too, which is most of a trace and of the profiler's cost" facet:"definition"`
	Flops      bool              `arg:"with_flops" default:"false" doc:"estimate floating-point operations of some operators, in the trace alone" facet:"definition"`
	Modules    bool              `arg:"with_modules" default:"false" doc:"record the modules of TorchScript programs" facet:"definition"`
	Schedule   map[string]string `arg:"schedule,optional" doc:"of mode sdk: wait, warmup and active steps of a cycle, how often it repeats, and skip_first steps before; by default 1, 1, 1, 1 and 0" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a profiled run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// The codes of what a capture leaves out.
const (
	Diagnostic   = "diagnostic_only"
	NoShapes     = "shapes_not_recorded"
	NoMemory     = "memory_not_recorded"
	NoStacks     = "python_calls_not_recorded"
	SomeFlops    = "flops_of_some_operators"
	ScriptOnly   = "modules_of_torchscript_only"
	OwnProcess   = "own_process_only"
	NotScheduled = "steps_outside_schedule"
)

// The defaults and the greatest values of a schedule.
var schedule = []struct {
	name               string
	value, least, most int
}{{"wait", 1, 0, 10000}, {"warmup", 1, 0, 10000}, {"active", 1, 1, 10000}, {"repeat", 1, 1, 100}, {"skip_first", 0, 0, 10000}}

// config is what the profiler is told.
type config struct {
	Mode       string          `json:"mode"`
	Activities []string        `json:"activities"`
	Record     map[string]bool `json:"record"`
	Schedule   map[string]int  `json:"schedule,omitempty"`
}

// Plan runs the workload under the launcher, or as it is with what it needs to profile itself.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("torchprofiler: options are a %T, not *torchprofiler.Options", options)
	}
	t, err := parse(w.Argv)
	if err != nil {
		return providers.Invocation{}, err
	}
	c, err := o.config()
	if err != nil {
		return providers.Invocation{}, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return providers.Invocation{}, err
	}
	inv := providers.Invocation{
		Env:         map[string]string{"KINETO_LOG_LEVEL": "5"}, // its warnings on a machine without a GPU are no output of the program
		Scope:       providers.Scope{Mode: o.Mode, ProcessScope: "the process of the command", Bounds: map[string]string{}, Filters: map[string]string{"activities": strings.Join(o.Activities, ", ")}},
		Limitations: o.limitations(),
	}
	out := token.Make("out.dir")
	if o.Mode == "sdk" {
		inv.Argv = slices.Clone(w.Argv)
		inv.Env["FLAMEOX_TORCH_SDK"], inv.Env["FLAMEOX_TORCH_CONFIG"], inv.Env["FLAMEOX_TORCH_OUTPUT"] = sdk, string(text), out
		inv.Collectors = []providers.Collector{{Name: "sdk.py", Content: []byte(sdk)}}
		for i := range c.Schedule["repeat"] {
			n := fmt.Sprintf("%04d", i+1)
			inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: "cycle-" + n, Path: "torch-trace-cycle-" + n + ".json.gz", Role: Role, MediaType: MediaType, Required: true})
		}
		// A cycle more than the schedule has says that the program did not profile as the capture says.
		inv.Outputs = append(inv.Outputs, providers.DeclaredOutput{Name: "extra", Path: "*.json*", Role: RoleExtra, MediaType: MediaType})
		for name, n := range c.Schedule {
			inv.Scope.Bounds[name] = strconv.Itoa(n)
		}
	} else {
		inv.Argv = slices.Concat([]string{w.Argv[0]}, t.flags, []string{
			"-c", launcher, "--output", out + "/torch-trace.json.gz", "--diagnostics", out + "/torch-diagnostics.json", "--config", string(text), t.kind, t.what, "--",
		}, t.args)
		inv.Collectors = []providers.Collector{{Name: "launcher.py", Content: []byte(launcher)}}
		inv.Outputs = []providers.DeclaredOutput{
			{Name: "trace", Path: "torch-trace.json.gz", Role: Role, MediaType: MediaType, Required: true},
			{Name: "diagnostics", Path: "torch-diagnostics.json", Role: RoleDiagnostics, MediaType: "application/json"},
		}
	}
	inv.Outputs = append(inv.Outputs,
		providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		providers.DeclaredOutput{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"})
	return inv, nil
}

// config checks the options.
func (o *Options) config() (config, error) {
	c := config{Mode: o.Mode, Activities: o.Activities, Record: map[string]bool{
		"record_shapes": o.Shapes, "profile_memory": o.Memory, "with_stack": o.Stacks, "with_flops": o.Flops, "with_modules": o.Modules,
	}}
	if o.Mode != "whole_entrypoint" && o.Mode != "sdk" {
		return c, fmt.Errorf("mode = %q is not known; write \"whole_entrypoint\" or \"sdk\"", o.Mode)
	}
	if len(o.Activities) == 0 {
		return c, fmt.Errorf("activities = [] records nothing; write \"cpu\", \"cuda\" or \"cuda_if_available\"")
	}
	for i, a := range o.Activities {
		switch {
		case a != "cpu" && a != "cuda" && a != "cuda_if_available":
			return c, fmt.Errorf("activities has %q; known are cpu, cuda and cuda_if_available", a)
		case slices.Contains(o.Activities[:i], a):
			return c, fmt.Errorf("activities has %q twice", a)
		}
	}
	if slices.Contains(o.Activities, "cuda") && slices.Contains(o.Activities, "cuda_if_available") {
		return c, fmt.Errorf("activities has both cuda and cuda_if_available; write cuda where a run without a device is to fail, or cuda_if_available where it is not")
	}
	if o.Mode != "sdk" {
		if len(o.Schedule) > 0 {
			return c, fmt.Errorf("schedule belongs to mode = \"sdk\": in mode whole_entrypoint the whole program is one step")
		}
		return c, nil
	}
	if o.Schedule == nil {
		return c, fmt.Errorf("mode = \"sdk\" needs a schedule, such as schedule = { wait = 1, warmup = 1, active = 3, repeat = 2 }")
	}
	c.Schedule = map[string]int{}
	for _, s := range schedule {
		c.Schedule[s.name] = s.value
	}
	for name, text := range o.Schedule {
		i := slices.IndexFunc(schedule, func(s struct {
			name               string
			value, least, most int
		}) bool {
			return s.name == name
		})
		if i < 0 {
			return c, fmt.Errorf("schedule has %q; known are wait, warmup, active, repeat and skip_first", name)
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < schedule[i].least || n > schedule[i].most {
			return c, fmt.Errorf("schedule has %s = %q; it is a whole number from %d to %d", name, text, schedule[i].least, schedule[i].most)
		}
		c.Schedule[name] = n
	}
	return c, nil
}

func (o *Options) limitations() []evidence.Limitation {
	list := []evidence.Limitation{
		{Code: Diagnostic, Text: "times are those of a run under torch.profiler, which costs every operator: they say where time goes, and are no benchmark"},
		{Code: OwnProcess, Text: "processes that the program starts, such as workers of a data loader, are not in the trace"},
	}
	say := func(is bool, code, text string) {
		if is {
			list = append(list, evidence.Limitation{Code: code, Text: text})
		}
	}
	say(!o.Shapes, NoShapes, "shapes were not recorded: calls of one operator are told apart by phase alone; record_shapes = true records them")
	say(!o.Memory, NoMemory, "allocations were not recorded; profile_memory = true records them")
	say(!o.Stacks, NoStacks, "calls of Python functions were not recorded, so operators stand without what called them; with_stack = true records them")
	say(o.Flops, SomeFlops, "floating-point operations are estimates of some operators, and in the trace alone")
	say(o.Modules, ScriptOnly, "modules are recorded of TorchScript programs alone")
	say(o.Mode == "sdk", NotScheduled, "only the active steps of the schedule are in the traces")
	return list
}

var release = pattern.Lazy{Expr: `^(\d+)\.(\d+)`}

// Probe asks the interpreter for the torch that it has, without loading it.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "-c", "import importlib.metadata as m; print(m.version('torch'))"}, func(stdout, stderr []byte) (string, error) {
		v := strings.TrimSpace(string(stdout))
		m := release.FindStringSubmatch(v)
		if m == nil {
			lines := strings.Split(strings.TrimSpace(string(stderr)), "\n")
			return "", fmt.Errorf("%s has no torch (%s)", argv[0], lines[len(lines)-1])
		}
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if major < 2 || major == 2 && minor < 7 {
			return v, fmt.Errorf("%s has torch %s; capture \"torchprofiler\" is made for 2.7 and later", argv[0], v)
		}
		return v, nil
	}
}
