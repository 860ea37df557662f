package pyperf

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
	"github.com/flameox/flameox/measure/harness"
)

// manager is what the process that starts the workers says where one of them failed: true, and no reason.
var manager = pattern.Lazy{Expr: `failed with exit code -?\d+$`}

func wrapper(line string) bool { return manager.MatchString(line) }

// run is one of pyperf's runs: one worker process.
type run struct {
	metadata map[string]any // with what it inherits
	values   []float64
	warmups  int
}

func (a adapter) Translate(raw harness.Raw) harness.Translation {
	t := harness.Translation{Procedure: map[string]any{}, System: map[string]any{}, Info: map[string]any{}}
	attempted := raw.Precision.Attempted()
	t.Procedure["attempted_repetitions"] = float64(attempted)
	runs, unit, problem := read(raw.Native)
	measured := slices.Collect(func(yield func(run) bool) {
		for _, r := range runs {
			if len(r.values) > 0 && !yield(r) {
				return
			}
		}
	})
	completed := 0
	for _, r := range measured {
		completed += len(r.values)
	}
	environment(&t, raw, measured)
	if raw.Native == nil || problem == "" && completed == 0 || problem != "" && raw.Exit.How() != "" {
		t.Procedure["completed_repetitions"], t.Procedure["repetition_levels"] = 0.0, levels(raw.Precision, 0, 0)
		t.Measured = raw.All(raw.Failed(harness.Exception(raw.Stderr, wrapper)))
		return t
	}
	facts(&t, runs)
	if problem == "" && unit != "second" {
		problem = fmt.Sprintf("pyperf measured in %s, and wall-time is in seconds", unit)
	}
	if problem != "" {
		t.Measured = raw.All(harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: problem})
		return t
	}
	t.Procedure["completed_repetitions"], t.Procedure["repetition_levels"] = float64(completed), levels(raw.Precision, len(measured), completed)
	warmups, loops := 0, []any{}
	var observations []any
	for i, r := range measured {
		warmups += r.warmups
		loops = append(loops, inner(r.metadata))
		for _, v := range r.values {
			observations = append(observations, map[string]any{"value": v, "group": strconv.Itoa(i), "ordinal": float64(len(observations))})
		}
	}
	t.Procedure["warmups_performed"] = float64(warmups)
	if n := calibrations(runs); n > 0 {
		t.Procedure["calibration_runs"] = float64(n)
	}
	if same(loops) {
		t.Procedure["inner_iterations"] = loops[0]
	} else {
		t.Info["iterations"] = loops
	}
	m := harness.Measured{Status: harness.Success, Observations: observations}
	if completed < attempted {
		m.Status, m.Reason = harness.Partial, harness.ReasonPartial
	}
	t.Measured = raw.All(m)
	return t
}

// levels are how many repetitions of each level there were, counted over all levels above it.
func levels(p harness.Precision, processes, values int) []any {
	attempted := 1
	var out []any
	for _, l := range p.Levels {
		attempted *= l.N
		completed := values
		if l.Unit == "process" {
			completed = processes
		}
		out = append(out, map[string]any{"unit": l.Unit, "attempted": float64(attempted), "completed": float64(completed)})
	}
	return out
}

// read takes a suite of one benchmark apart. The problem is why it cannot be.
func read(native []byte) (runs []run, unit, problem string) {
	if native == nil {
		return nil, "", ""
	}
	v, err := harness.JSON(native)
	if err != nil {
		return nil, "", fmt.Sprintf("what pyperf wrote cannot be read: %v", err)
	}
	suite, _ := v.(map[string]any)
	benchmarks, _ := suite["benchmarks"].([]any)
	if version := suite["version"]; version != "1.0" {
		return nil, "", fmt.Sprintf("what pyperf wrote is of version %v of its format, and 1.0 is known", version)
	}
	if len(benchmarks) != 1 {
		return nil, "", fmt.Sprintf("pyperf wrote %d benchmarks, and the case is one", len(benchmarks))
	}
	benchmark, _ := benchmarks[0].(map[string]any)
	unit = "second"
	list, _ := benchmark["runs"].([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		r := run{metadata: map[string]any{}}
		// The most specific wins.
		for _, level := range []map[string]any{suite, benchmark, m} {
			metadata, _ := level["metadata"].(map[string]any)
			maps.Copy(r.metadata, metadata)
		}
		if u, ok := r.metadata["unit"].(string); ok {
			unit = u
		}
		values, _ := m["values"].([]any)
		for _, v := range values {
			if f, ok := v.(float64); ok { // one that is no number shrinks the batch
				r.values = append(r.values, f)
			}
		}
		warmups, _ := m["warmups"].([]any)
		r.warmups = len(warmups)
		runs = append(runs, r)
	}
	return runs, unit, ""
}

func calibrations(runs []run) int {
	n := 0
	for _, r := range runs {
		if len(r.values) == 0 && (r.metadata["calibrate_loops"] != nil || r.metadata["recalibrate_loops"] != nil || r.metadata["calibrate_warmups"] != nil || r.metadata["recalibrate_warmups"] != nil) {
			n++
		}
	}
	return n
}

// inner is how often a value ran the function: pyperf leaves out what is one.
func inner(metadata map[string]any) any {
	n := 1.0
	for _, name := range []string{"loops", "inner_loops"} {
		if f, ok := metadata[name].(float64); ok && f >= 1 {
			n *= f
		}
	}
	return n
}

func same(values []any) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return len(values) > 0
}

// facts of the interpreter are matched; those of the moment, and where things lie, are only kept.
func facts(t *harness.Translation, runs []run) {
	if len(runs) == 0 {
		return
	}
	m := runs[0].metadata
	take := func(names ...string) map[string]any {
		out := map[string]any{}
		for _, n := range names {
			if m[n] != nil {
				out[n] = m[n]
			}
		}
		return out
	}
	if v, ok := m["perf_version"].(string); ok {
		t.HarnessVersion = v
	}
	put := func(into map[string]any, name string, facts map[string]any) {
		if len(facts) > 0 {
			into[name] = facts
		}
	}
	put(t.System, "runtime", take("python_version", "python_implementation", "python_compiler", "python_cflags"))
	put(t.System, "pyperf", take("cpu_config", "cpu_affinity", "aslr", "platform", "python_gc"))
	put(t.Info, "pyperf", take("hostname", "cpu_model_name", "cpu_count", "python_executable", "boot_time", "timer"))
}

// environment is what the workers say of theirs. It was captured where one of them wrote it down, and is what it should be where all had the same as the process that started them, with every variable of the
// order.
func environment(t *harness.Translation, raw harness.Raw, measured []run) {
	var worker, manager struct {
		SHA256    string            `json:"sha256"`
		Variables map[string]string `json:"variables"`
	}
	if text, ok := raw.Files[harness.WorkerEnv]; !ok || json.Unmarshal(text, &worker) != nil {
		t.Unknown = true
		t.Warnings = append(t.Warnings, "env-capture-missing")
	} else {
		t.Environment = map[string]any{}
		for _, name := range raw.Recorded {
			if v, there := worker.Variables[name]; there {
				t.Environment[name] = v
			}
		}
	}
	if text, ok := raw.Files[harness.ManagerEnv]; ok && json.Unmarshal(text, &manager) != nil {
		manager.SHA256 = ""
	}
	mismatch := false
	for _, r := range measured {
		mismatch = mismatch || r.metadata["benchx_env_sha256"] != manager.SHA256 || manager.SHA256 == ""
	}
	if !t.Unknown {
		for name, value := range raw.Variables {
			mismatch = mismatch || worker.Variables[name] != value
		}
	}
	if mismatch {
		t.Warnings = append(t.Warnings, "env-mismatch")
	}
	if v := strings.TrimSpace(manager.SHA256); v != "" {
		t.Info["environment_sha256"] = v
	}
}
