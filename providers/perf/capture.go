package perf

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// MediaType is what a recording is registered as. None is registered; this is ours.
const MediaType = "application/x-perf-data"

// Role of an artifact that is a recording or its text.
const Role = "profile"

// output is the recording.
const output = "perf.data"

// Provider captures and reads recordings of perf. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "perf" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "perf: where a program and what it starts spend time, sampled by Linux, down to C and the kernel"
}

// Options of a capture.
type Options struct {
	Event     string `arg:"event,optional" doc:"what is counted: cpu-clock, task-clock, cycles, instructions and others of perf list; what perf chooses where missing: cycles, or cpu-clock on a machine that cannot count" facet:"definition"`
	Frequency int    `arg:"frequency" default:"99" doc:"samples a second and CPU, 1 to 10000" facet:"definition"`
	CallGraph string `arg:"call_graph" default:"\"fp\"" doc:"how stacks are walked: fp, by frame pointers, which a program has to keep; dwarf, by its debug information, at many times the cost; lbr, by the CPU; none" facet:"definition"`
	StackSize *int   `arg:"stack_size,optional" doc:"of call_graph dwarf: bytes of stack in each sample, a multiple of 8 up to 65528; perf's own default is 8192" facet:"definition"`
	MaxSize   string `arg:"max_size,optional" doc:"where the recording ends, such as 500M; without end where missing" facet:"definition"`
	Program   string `arg:"program" default:"\"perf\"" doc:"perf itself: a name or a path" facet:"exempt: what it is, is in the executables facet, and its name in the command"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a profiled run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// events are those that may be counted: software events that every machine has, and the common ones of the CPU's own counters.
var events = []string{
	"cpu-clock", "task-clock", "page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations", "alignment-faults", "emulation-faults",
	"cycles", "cpu-cycles", "instructions", "ref-cycles", "bus-cycles", "cache-references", "cache-misses", "branches", "branch-instructions", "branch-misses",
	"stalled-cycles-frontend", "stalled-cycles-backend", "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses", "dTLB-load-misses", "iTLB-load-misses",
}

var (
	sizeText = pattern.Lazy{Expr: `^[1-9][0-9]*[BKMG]$`}
	modifier = pattern.Lazy{Expr: `^(.*?)(:[ukp]{1,5})?$`}
)

// NoCallGraph is the code of a capture without stacks.
const NoCallGraph = "call_graph_not_recorded"

// Plan runs the workload under perf record.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("perf: options are a %T, not *perf.Options", options)
	}
	if len(w.Argv) == 0 {
		return providers.Invocation{}, fmt.Errorf("the workload has no command to record")
	}
	if name := path.Base(token.Display(w.Argv[0])); name == "perf" {
		return providers.Invocation{}, fmt.Errorf("the workload's command is perf already; give the program that it records")
	}
	// Build ids stay, or perf would name places by whatever lies at a path later; they are not copied to a cache of the user's.
	inv := providers.Invocation{
		Argv: []string{o.Program, "record", "-N", "-F", strconv.Itoa(o.Frequency)},
		Scope: providers.Scope{Mode: "record", ProcessScope: "the process and those that it starts",
			Bounds: map[string]string{"frequency": strconv.Itoa(o.Frequency)}, Filters: map[string]string{"call_graph": o.CallGraph}},
		Outputs: []providers.DeclaredOutput{
			{Name: "profile", Path: output, Role: Role, MediaType: MediaType, Required: true},
			{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
			{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		},
	}
	switch {
	case o.Program == "":
		return inv, fmt.Errorf("program = \"\" names nothing; leave it out for perf of PATH")
	case o.Frequency < 1 || o.Frequency > 10000:
		return inv, fmt.Errorf("frequency = %d: give 1 to 10000 samples a second", o.Frequency)
	case o.StackSize != nil && o.CallGraph != "dwarf":
		return inv, fmt.Errorf("stack_size = %d has no effect with call_graph = %q; write call_graph = \"dwarf\", or take it out", *o.StackSize, o.CallGraph)
	case o.StackSize != nil && (*o.StackSize < 8 || *o.StackSize > 65528 || *o.StackSize%8 != 0):
		return inv, fmt.Errorf("stack_size = %d: give a multiple of 8 up to 65528", *o.StackSize)
	case o.MaxSize != "" && !sizeText.MatchString(o.MaxSize):
		return inv, fmt.Errorf("max_size = %q: give a number with B, K, M or G behind it, such as 500M", o.MaxSize)
	}
	switch o.CallGraph {
	case "fp", "lbr":
		inv.Argv = append(inv.Argv, "--call-graph", o.CallGraph)
	case "dwarf":
		walk := "dwarf"
		if o.StackSize != nil {
			walk += "," + strconv.Itoa(*o.StackSize)
			inv.Scope.Bounds["stack_size"] = strconv.Itoa(*o.StackSize)
		}
		inv.Argv = append(inv.Argv, "--call-graph", walk)
	case "none":
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: NoCallGraph, Text: "stacks were not asked for: each sample is one place, without its callers"})
	default:
		return inv, fmt.Errorf("call_graph = %q is not known; write fp, dwarf, lbr or none", o.CallGraph)
	}
	if o.Event != "" {
		if m := modifier.FindStringSubmatch(o.Event); m == nil || !slices.Contains(events, m[1]) {
			return inv, fmt.Errorf("event = %q is none of those that may be counted: %v, each with :u for the program or :k for the kernel alone", o.Event, events)
		}
		inv.Argv = append(inv.Argv, "-e", o.Event)
		inv.Scope.Filters["event"] = o.Event
	}
	if o.MaxSize != "" {
		inv.Argv = append(inv.Argv, "--max-size", o.MaxSize)
		inv.Scope.Bounds["max_size"] = o.MaxSize
	}
	inv.Argv = append(append(inv.Argv, "-o", token.Make("out.dir")+"/"+output, "--"), w.Argv...)
	if !token.Has(w.Argv[0]) { // what another stage made is an input already
		inv.Programs = []string{w.Argv[0]}
	}
	return inv, nil
}

var release = pattern.Lazy{Expr: `(?m)^perf version ([0-9][^\s]*)\s*$`}

func version(stdout []byte) string {
	if m := release.FindSubmatch(stdout); m != nil {
		return string(m[1])
	}
	return ""
}

// Probe records perf itself while it says its version: so the answer says too whether this user may record here, which no setting says for
// sure. The recording is left in the working directory.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "record", "-N", "-q", "-o", output, "--", argv[0], "--version"}, func(stdout, stderr []byte) (string, error) {
		if v := version(stdout); v != "" {
			return v, nil
		}
		first := ""
		for _, line := range bytesLines(stderr) {
			if first = line; first != "" {
				break
			}
		}
		if first == "" {
			return "", fmt.Errorf("asking %s to record itself: it answered %.40q, which is no version of perf", argv[0], stdout)
		}
		return "", &providers.Denial{Why: fmt.Sprintf("%s does not record here: %.200s", argv[0], first), Do: doPermit}
	}
}

const (
	paranoid      = "/proc/sys/kernel/perf_event_paranoid"
	capPerfmon    = 38
	capSysAdmin   = 21
	doPermit      = "allow it with `sysctl kernel.perf_event_paranoid=2` (1 for the kernel's part too), or run with CAP_PERFMON; in a container its profile of system calls has to allow perf_event_open"
	forbiddenFrom = 3 // of kernels of Debian, Ubuntu and Android; others never forbid a program's own part
)

// Settings is how far perf is allowed.
func (Provider) Settings() []string { return []string{paranoid} }

// Forbidden knows the levels from which nothing may be recorded.
func (Provider) Forbidden(settings map[string]string, has func(capability int) bool) *providers.Denial {
	level, ok := providers.Number(settings, paranoid)
	if !ok || level < forbiddenFrom || has(capPerfmon) || has(capSysAdmin) {
		return nil
	}
	return &providers.Denial{Why: fmt.Sprintf("kernel.perf_event_paranoid = %d", level), Do: doPermit}
}

// Locate is the perf command.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"perf"}, Install: "install it: `apt-get install linux-perf` (Debian), linux-tools-generic (Ubuntu), perf (Fedora, Arch)"}
}
