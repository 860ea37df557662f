package node

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Media types of the two kinds of profile. Neither is registered; these are ours.
const (
	CPUMediaType  = "application/x-v8-cpuprofile+json"
	HeapMediaType = "application/x-v8-heapprofile+json"
)

// Role of an artifact that is a profile of either kind.
const Role = "profile"

// Provider captures and reads V8's profiles. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "node" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "CPU and heap profiles that Node writes of itself"
}

// Options of a capture.
type Options struct {
	Profiles     []string `arg:"profiles" default:"[\"cpu\"]" doc:"cpu, heap; each one costs the other accuracy" facet:"definition"`
	CPUInterval  *int     `arg:"cpu_interval,optional" doc:"microseconds between samples of the cpu profile; Node's own default is 1000" facet:"definition"`
	HeapInterval *int     `arg:"heap_interval,optional" doc:"bytes allocated between samples of the heap profile, on average; Node's own default is 524288" facet:"definition"`
	Children     bool     `arg:"children" default:"false" doc:"keep a profile of each worker thread and forked Node process too, not of the main thread alone" facet:"definition"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a profiled run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// The codes of what a capture leaves out.
const (
	MainThreadOnly = "main_thread_only"
	NotChildren    = "other_processes_not_profiled"
)

// kind is how Node is asked for one kind of profile.
type kind struct {
	name, flag, file, media string
	interval                func(*Options) (name string, value *int)
}

var kinds = []kind{
	{"cpu", "--cpu-prof", "cpu.cpuprofile", CPUMediaType, func(o *Options) (string, *int) { return "cpu_interval", o.CPUInterval }},
	{"heap", "--heap-prof", "heap.heapprofile", HeapMediaType, func(o *Options) (string, *int) { return "heap_interval", o.HeapInterval }},
}

// Plan puts the flags of the profiles in front of what Node is given.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("node: options are a %T, not *node.Options", options)
	}
	if err := workload(w); err != nil {
		return providers.Invocation{}, err
	}
	if len(o.Profiles) == 0 {
		return providers.Invocation{}, fmt.Errorf("profiles = [] asks for no profile; write \"cpu\", \"heap\", or both")
	}
	for i, name := range o.Profiles {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name }) {
			return providers.Invocation{}, fmt.Errorf("profiles has %q, which Node does not write; known are cpu and heap", name)
		}
		if slices.Contains(o.Profiles[:i], name) {
			return providers.Invocation{}, fmt.Errorf("profiles has %q twice", name)
		}
	}
	inv := providers.Invocation{Argv: []string{w.Argv[0]}, Scope: providers.Scope{Mode: "node", ProcessScope: "main thread", Bounds: map[string]string{}}}
	if o.Children {
		inv.Scope.ProcessScope = "threads and forked processes"
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: NotChildren, Text: "Node processes that the workload starts itself, not with child_process.fork or cluster, are not profiled; nor is a thread or process that is killed"})
	} else {
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: MainThreadOnly, Text: "worker threads and forked processes write their profiles under the main thread's name, and it is the last to write; children = true keeps all of them"})
	}
	for _, k := range kinds {
		name, interval := k.interval(o)
		wanted := slices.Contains(o.Profiles, k.name)
		switch {
		case interval != nil && !wanted:
			return providers.Invocation{}, fmt.Errorf("%s = %d without %q among profiles has no effect; add it or take the interval out", name, *interval, k.name)
		case interval != nil && *interval < 1:
			return providers.Invocation{}, fmt.Errorf("%s = %d: an interval is 1 or more", name, *interval)
		case !wanted:
			continue
		}
		out := providers.DeclaredOutput{Name: k.name, Path: k.file, Role: Role, MediaType: k.media, Required: true}
		inv.Argv = append(inv.Argv, k.flag, k.flag+"-dir="+token.Make("out.dir"))
		if o.Children {
			// Node's own names differ by process and thread.
			out.Path = "*" + path.Ext(k.file)
		} else {
			inv.Argv = append(inv.Argv, k.flag+"-name="+k.file)
		}
		if interval != nil {
			inv.Argv = append(inv.Argv, k.flag+"-interval="+strconv.Itoa(*interval))
			inv.Scope.Bounds[name] = strconv.Itoa(*interval)
		}
		inv.Outputs = append(inv.Outputs, out)
	}
	inv.Argv = append(inv.Argv, w.Argv[1:]...)
	inv.Outputs = append(inv.Outputs,
		providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		providers.DeclaredOutput{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"})
	return inv, nil
}

var program = pattern.Lazy{Expr: `^node(js)?(-?[0-9.]+)?(\.exe)?$`}

// valued are Node's options whose value is the next argument, so that the script behind them is found.
var valued = []string{"-r", "--require", "--import", "-e", "--eval", "-p", "--print", "-C", "--conditions", "--loader", "--experimental-loader", "--env-file", "--input-type"}

// workload checks that w is a command of Node that asks for no profile itself.
func workload(w providers.Workload) error {
	if len(w.Argv) == 0 {
		return fmt.Errorf("the workload has no command to profile; capture \"node\" needs one that begins with node, such as [\"node\", \"main.js\"]")
	}
	if name := path.Base(token.Display(w.Argv[0])); !program.MatchString(name) {
		return fmt.Errorf("capture \"node\" puts flags behind node, and the workload's command begins with %s; write what it starts in the end, such as [\"node\", \"main.js\"] (npm, npx and shell scripts start Node themselves)", token.Display(w.Argv[0]))
	}
	own := func(arg string) bool {
		return strings.HasPrefix(arg, "--cpu-prof") || strings.HasPrefix(arg, "--heap-prof")
	}
	for i := 1; i < len(w.Argv); i++ {
		arg := w.Argv[i]
		if arg == "--" || !strings.HasPrefix(arg, "-") {
			break
		}
		if own(arg) {
			return fmt.Errorf("the workload's command has %s, which the capture writes itself; take it out", arg)
		}
		if slices.Contains(valued, arg) {
			i++
		}
	}
	for _, arg := range strings.Fields(w.Env["NODE_OPTIONS"]) {
		if own(arg) {
			return fmt.Errorf("the workload's NODE_OPTIONS has %s, which the capture writes itself; take it out", arg)
		}
	}
	return nil
}

var release = pattern.Lazy{Expr: `^v([0-9]+)\.([0-9]+)\.([0-9]+)\S*\s*$`}

// Probe asks Node for its version, and refuses one in which the flags are not stable.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "--version"}, func(stdout, _ []byte) (string, error) {
		m := release.FindStringSubmatch(string(stdout))
		if m == nil {
			return "", fmt.Errorf("asking %s for its version: it answered %.40q, which is no version of Node", argv[0], stdout)
		}
		major, err1 := strconv.Atoi(m[1])
		minor, err2 := strconv.Atoi(m[2])
		if err1 != nil || err2 != nil || major < 20 || major == 20 && minor < 16 || major == 21 || major == 22 && minor < 4 {
			return strings.TrimSpace(m[0]), fmt.Errorf("%s is Node %s, in which --cpu-prof and --heap-prof are experimental; use Node 20.16, 22.4 or later", argv[0], strings.TrimSpace(m[0]))
		}
		return strings.TrimSpace(m[0]), nil
	}
}
