package facts

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/internal/host"
)

// Schema names the form of Machine's identity.
const Schema = "machine/v1"

// Machine is the environment as a result has it: identity is the machine, system the software that runs on it, metadata never decides anything.
func Machine() (identity, system, metadata map[string]any) {
	class, covariates := host.Class(), host.Covariates()
	identity, system, metadata = map[string]any{}, map[string]any{}, map[string]any{}
	put := func(into map[string]any, name, value string) {
		if value != "" {
			into[name] = value
		}
	}
	put(identity, "runner", host.Name())
	put(identity, "cpu", class["cpu.model"])
	if n, err := strconv.Atoi(class["cpu.logical"]); err == nil {
		identity["cores"] = float64(n)
	}
	put(system, "os", kernels[class["os"]])
	put(system, "kernel", class["kernel"])
	put(system, "libc", strings.ReplaceAll(covariates["libc"], " ", "-"))
	put(system, "governor", covariates["cpu.governor"])
	put(metadata, "architecture", class["arch"])
	return identity, system, metadata
}

// kernels are the names that systems have for themselves.
var kernels = map[string]string{"linux": "Linux", "darwin": "Darwin", "freebsd": "FreeBSD", "windows": "Windows"}

// Reserved are the names below environment.system that the runner and the harnesses write themselves.
var Reserved = []string{"os", "kernel", "libc", "governor", "process", "process.environment", "runtime", "setup", "google_benchmark", "pyperf", "asv"}

// Load is the number of tasks that wanted to run, averaged over the last minute, and how it was read.
func Load() (value float64, probe string, ok bool) {
	f, err := strconv.ParseFloat(host.Volatile()["load.1"], 64)
	if err != nil {
		return 0, "", false
	}
	if _, err := os.Stat("/proc/loadavg"); err == nil {
		return f, "proc-loadavg", true
	}
	return f, "getloadavg", true
}

// common are variables that decide how a program runs, and hold no secret.
var common = []string{
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD",
}

// AllowVariable holds further names of variables that may be recorded, separated by commas.
const AllowVariable = "BENCHX_ENV_ALLOWLIST"

// Recorded are the names of variables that may be recorded: the common ones, those of the harness, and those that the environment allows. Never the whole environment, which may hold secrets.
func Recorded(environ, harness []string) []string {
	names := append(slices.Clone(common), harness...)
	for n := range strings.SplitSeq(Lookup(environ, AllowVariable), ",") {
		if n = strings.TrimSpace(n); n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Lookup is the value of a variable in an environment, "" where it is not set.
func Lookup(environ []string, name string) string {
	value := ""
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// Environment are the named variables that are set.
func Environment(environ, names []string) map[string]any {
	out := map[string]any{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok && slices.Contains(names, name) {
			out[name] = value
		}
	}
	return out
}
