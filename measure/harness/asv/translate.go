package asv

import (
	"fmt"
	"strconv"

	"github.com/flameox/flameox/measure/harness"
)

// outcome is what became of one round.
type outcome struct {
	failed, notApplicable bool
	values                []float64
	number                float64
}

func (adapter) Translate(raw harness.Raw) harness.Translation {
	t := harness.Translation{Procedure: map[string]any{}, System: map[string]any{}, Info: map[string]any{}}
	processes := raw.Precision.N("process")
	attempted := processes
	if raw.Case.Quantity == "wall-time" {
		attempted = raw.Precision.Attempted()
	}
	t.Procedure["attempted_repetitions"], t.Procedure["completed_repetitions"] = float64(attempted), 0.0
	if raw.Case.Version != "" {
		t.Info["asv_version"] = raw.Case.Version
	}
	v, err := harness.JSON(raw.Native)
	document, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Unknown = true
		t.Warnings = append(t.Warnings, "env-capture-missing")
		m := raw.Failed(harness.Exception(raw.Stderr, nil))
		if raw.Native != nil && raw.Exit.How() == "" {
			m = harness.Measured{Status: harness.Failed, Reason: harness.ReasonMapping, Message: fmt.Sprintf("what asv_runner left cannot be read: %v", err)}
		}
		t.Measured = raw.All(m)
		return t
	}
	facts(&t, document, raw)
	var rounds []outcome
	list, _ := document["rounds"].([]any)
	skipped, failed := 0, 0
	var observations, numbers []any
	for i, e := range list {
		o := read(e)
		rounds = append(rounds, o)
		switch {
		case o.notApplicable:
			skipped++
		case o.failed:
			failed++
		}
		for _, value := range o.values {
			observations = append(observations, map[string]any{"value": value, "group": strconv.Itoa(i), "ordinal": float64(len(observations))})
		}
		if len(o.values) > 0 && o.number >= 1 {
			numbers = append(numbers, o.number)
		}
	}
	t.Procedure["completed_repetitions"] = float64(len(observations))
	done := 0
	for _, o := range rounds {
		if len(o.values) > 0 {
			done++
		}
	}
	levels := []any{map[string]any{"unit": "process", "attempted": float64(processes), "completed": float64(done)}}
	if raw.Case.Quantity == "wall-time" {
		levels = append(levels, map[string]any{"unit": "value", "attempted": float64(attempted), "completed": float64(len(observations))})
	}
	t.Procedure["repetition_levels"] = levels
	inner(&t, numbers)
	m := harness.Measured{Status: harness.Success, Observations: observations}
	message := harness.Exception(raw.Stderr, nil)
	switch {
	case len(observations) == 0 && skipped > 0 && failed == 0:
		m = harness.Measured{Status: harness.Skipped, Reason: harness.ReasonNotApplicable, Message: message}
	case len(observations) == 0 && failed > 0:
		m = harness.Measured{Status: harness.Failed, Reason: harness.ReasonError, Message: message}
	case len(observations) == 0:
		m = raw.Failed(message)
	case len(observations) < attempted:
		m.Status, m.Reason, m.Message = harness.Partial, harness.ReasonPartial, message
	}
	t.Measured = raw.All(m)
	return t
}

// read takes the result of one round apart: samples of a timing, or one number.
func read(v any) outcome {
	m, _ := v.(map[string]any)
	code, _ := m["errcode"].(float64)
	yes, _ := m["not_applicable"].(bool)
	o := outcome{failed: code != 0, notApplicable: yes}
	switch result := m["result"].(type) {
	case float64:
		o.values = []float64{result}
	case map[string]any:
		o.number, _ = result["number"].(float64)
		samples, _ := result["samples"].([]any)
		for _, s := range samples {
			if f, ok := s.(float64); ok {
				o.values = append(o.values, f)
			}
		}
	}
	return o
}

func inner(t *harness.Translation, numbers []any) {
	for _, n := range numbers {
		if n != numbers[0] {
			t.Info["iterations"] = numbers
			return
		}
	}
	if len(numbers) > 0 {
		t.Procedure["inner_iterations"] = numbers[0]
	}
}

func facts(t *harness.Translation, document map[string]any, raw harness.Raw) {
	versions, _ := document["versions"].(map[string]any)
	// asv_runner is what measures.
	t.HarnessVersion, _ = versions["asv_runner"].(string)
	if runtime, ok := document["runtime"].(map[string]any); ok {
		t.System["runtime"] = runtime
	}
	info := map[string]any{"versions": document["versions"], "python_executable": document["executable"]}
	t.Info["asv"] = info
	environment, ok := document["environment"].(map[string]any)
	if !ok {
		t.Unknown = true
		t.Warnings = append(t.Warnings, "env-capture-missing")
		return
	}
	t.Environment = map[string]any{}
	for _, name := range raw.Recorded {
		if v, there := environment[name]; there {
			t.Environment[name] = v
		}
	}
	for name, value := range raw.Variables {
		if environment[name] != value {
			t.Warnings = append(t.Warnings, "env-mismatch")
			return
		}
	}
}
