package pyspy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/collapsed"
	"github.com/flameox/flameox/formats/speedscope"
	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/internal/token"
	"github.com/flameox/flameox/providers"
)

// Role of an artifact that is a profile.
const Role = "profile"

// Provider captures and reads profiles of py-spy. The zero value is ready.
type Provider struct{}

// Name is the producer's.
func (Provider) Name() string { return "pyspy" }

// Version is that of the rows.
func (Provider) Version() int { return 1 }

// Doc is one sentence.
func (Provider) Doc() string {
	return "py-spy: where a Python program spends its time, sampled from outside"
}

// Options of a capture.
type Options struct {
	Format       string   `arg:"format" default:"\"speedscope\"" doc:"speedscope: each sample with its thread; raw: counts by stack; chrometrace: when each frame began and ended" facet:"definition"`
	Rate         int      `arg:"rate" default:"100" doc:"samples a second, 1 to 1000" facet:"definition"`
	Native       bool     `arg:"native" default:"false" doc:"frames of C, C++, Rust and Cython too" facet:"definition"`
	GIL          bool     `arg:"gil" default:"false" doc:"only threads that hold Python's global lock" facet:"definition"`
	Idle         bool     `arg:"idle" default:"false" doc:"threads that wait too" facet:"definition"`
	Subprocesses bool     `arg:"subprocesses" default:"false" doc:"Python processes that the workload starts too" facet:"definition"`
	Nonblocking  bool     `arg:"nonblocking" default:"false" doc:"sample without stopping the workload, which costs it less and breaks some stacks" facet:"definition"`
	Duration     *float64 `arg:"duration,optional" doc:"seconds after which sampling ends, and with it the workload; to its end where missing" facet:"definition"`
	Program      string   `arg:"program" default:"\"py-spy\"" doc:"py-spy itself: a name or a path" facet:"exempt: what it is, is in the executables facet, and its name in the command"`
}

// Options are the capture's, before decoding.
func (Provider) Options() any { return new(Options) }

// Nature of a profiled run.
func (Provider) Nature() providers.Nature { return providers.Measurement }

// output is how py-spy is asked for a format.
type output struct{ name, file, media string }

var outputs = []output{
	{"speedscope", "profile.speedscope.json", speedscope.MediaType},
	{"raw", "profile.collapsed.txt", collapsed.MediaType},
	{"chrometrace", "profile.trace.json", TraceMediaType},
}

// The codes of what a capture leaves out.
const (
	ExitHidden  = "exit_status_hidden"
	MainProcess = "other_processes_not_sampled"
)

// Plan runs the workload under py-spy record.
func (Provider) Plan(w providers.Workload, options any) (providers.Invocation, error) {
	o, ok := options.(*Options)
	if !ok {
		return providers.Invocation{}, fmt.Errorf("pyspy: options are a %T, not *pyspy.Options", options)
	}
	i := slices.IndexFunc(outputs, func(f output) bool { return f.name == o.Format })
	duration := 0
	switch {
	case len(w.Argv) == 0:
		return providers.Invocation{}, fmt.Errorf("the workload has no command to sample; capture \"pyspy\" needs one that becomes Python, such as [\"python3\", \"main.py\"]")
	case len(w.ExpectExit) > 0 && !slices.Contains(w.ExpectExit, 0):
		return providers.Invocation{}, fmt.Errorf("the workload is to end with status %d, and py-spy ends with 0 whatever its workload ends with; sample a workload that is to end with 0", w.ExpectExit[0])
	case i < 0:
		return providers.Invocation{}, fmt.Errorf("format = %q is not known; write \"speedscope\", \"raw\" or \"chrometrace\"", o.Format)
	case o.Rate < 1 || o.Rate > 1000:
		return providers.Invocation{}, fmt.Errorf("rate = %d: give 1 to 1000 samples a second", o.Rate)
	case o.Format == "raw" && o.Subprocesses:
		return providers.Invocation{}, fmt.Errorf("format = \"raw\" cannot keep processes apart: py-spy writes their command lines among the frames, and a line end in one breaks the file; write format = \"speedscope\"")
	case o.Program == "":
		return providers.Invocation{}, fmt.Errorf("program = \"\" names nothing; leave it out for py-spy of PATH")
	case o.Duration != nil:
		if duration = int(*o.Duration); *o.Duration != float64(duration) || duration < 1 || duration > 86400 {
			return providers.Invocation{}, fmt.Errorf("duration = %v: py-spy takes whole seconds, 1 to 86400", *o.Duration)
		}
	}
	if name := path.Base(token.Display(w.Argv[0])); name == "py-spy" {
		return providers.Invocation{}, fmt.Errorf("the workload's command is py-spy already; give the program that it samples")
	}
	f := outputs[i]
	inv := providers.Invocation{
		// Whole names of files, so that they can be found below the project; what is printed on standard error is for people.
		Argv:    []string{o.Program, "record", "--format", f.name, "--rate", strconv.Itoa(o.Rate), "--full-filenames"},
		Outputs: []providers.DeclaredOutput{{Name: "profile", Path: f.file, Role: Role, MediaType: f.media, Required: true}},
		Scope: providers.Scope{
			Mode: "record", ProcessScope: "the process", Bounds: map[string]string{"rate": strconv.Itoa(o.Rate)}, Filters: map[string]string{},
		},
		Limitations: []evidence.Limitation{{Code: ExitHidden, Text: "py-spy ends with status 0 whatever the workload's own status was, so nothing shows whether the workload succeeded"}},
	}
	for _, flag := range []struct {
		on         bool
		name, flag string
	}{
		{o.Native, "native", "--native"}, {o.GIL, "gil", "--gil"}, {o.Idle, "idle", "--idle"},
		{o.Subprocesses, "subprocesses", "--subprocesses"}, {o.Nonblocking, "nonblocking", "--nonblocking"},
	} {
		inv.Scope.Filters[flag.name] = strconv.FormatBool(flag.on)
		if flag.on {
			inv.Argv = append(inv.Argv, flag.flag)
		}
	}
	if duration > 0 {
		inv.Argv = append(inv.Argv, "--duration", strconv.Itoa(duration))
		inv.Scope.Bounds["duration"] = strconv.Itoa(duration) + "s"
	}
	if o.Subprocesses {
		inv.Scope.ProcessScope = "the process and Python processes that it starts"
	} else {
		inv.Limitations = append(inv.Limitations, evidence.Limitation{Code: MainProcess, Text: "only the workload's own process is sampled; subprocesses = true samples the Python processes that it starts too"})
	}
	inv.Argv = append(append(inv.Argv, "--output", token.Make("out.dir")+"/"+f.file, "--"), w.Argv...)
	if !token.Has(w.Argv[0]) { // what another stage made is an input already
		inv.Programs = []string{w.Argv[0]}
	}
	inv.Outputs = append(inv.Outputs,
		providers.DeclaredOutput{Name: "stdout", Stream: providers.Stdout, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"},
		providers.DeclaredOutput{Name: "stderr", Stream: providers.Stderr, Role: providers.RoleLog, MediaType: "text/plain; charset=utf-8"})
	return inv, nil
}

var release = pattern.Lazy{Expr: `^py-spy ([0-9]+)\.([0-9]+)\.([0-9]+)\S*\s*$`}

// Probe asks py-spy for its version. Those before 0.4.2 are not known to read the Pythons of today, and 0.5 is not known at all.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return []string{argv[0], "--version"}, func(stdout, _ []byte) (string, error) {
		m := release.FindStringSubmatch(string(stdout))
		if m == nil {
			return "", fmt.Errorf("asking %s for its version: it answered %.40q, which is no version of py-spy", argv[0], stdout)
		}
		version := strings.TrimPrefix(strings.TrimSpace(m[0]), "py-spy ")
		patch, err := strconv.Atoi(m[3])
		if m[1] != "0" || m[2] != "4" || err != nil || patch < 2 {
			return version, fmt.Errorf("%s is py-spy %s, and this provider was made for 0.4.2 and later of 0.4", argv[0], version)
		}
		return version, nil
	}
}

const (
	ptraceScope  = "/proc/sys/kernel/yama/ptrace_scope"
	capSysPtrace = 19
)

// Settings is Yama's.
func (Provider) Settings() []string { return []string{ptraceScope} }

// Forbidden knows what Yama says. A process may always look at those that it started where the scope is 0 or 1.
func (Provider) Forbidden(settings map[string]string, has func(capability int) bool) *providers.Denial {
	switch scope, _ := providers.Number(settings, ptraceScope); {
	case scope == 2 && !has(capSysPtrace):
		return &providers.Denial{Why: "kernel.yama.ptrace_scope = 2: only a process with CAP_SYS_PTRACE may read another's memory", Do: "set it to 1 with `sysctl kernel.yama.ptrace_scope=1`, or run with CAP_SYS_PTRACE"}
	case scope >= 3:
		return &providers.Denial{Why: fmt.Sprintf("kernel.yama.ptrace_scope = %d: no process may read another's memory until the machine starts anew", scope), Do: "set it to 1 in /etc/sysctl.d, and restart the machine"}
	}
	return nil
}
