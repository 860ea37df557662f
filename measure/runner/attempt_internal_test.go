package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
	"github.com/flameox/flameox/measure/harness"
	"github.com/flameox/flameox/measure/source"
)

// odd is a harness whose translation is given.
type odd struct {
	harness.Harness
	t harness.Translation
}

func (o odd) Translate(harness.Raw) harness.Translation { return o.t }

func TestATranslationThatMakesNoValidDocumentBecomesAnErrorThatIsOne(t *testing.T) {
	for name, tr := range map[string]harness.Translation{
		"success with nothing":    {Measured: map[string]harness.Measured{"wall-time": {Status: "success"}}, Procedure: map[string]any{"inner_iterations": 5.0}},
		"an unknown status":       {Measured: map[string]harness.Measured{"wall-time": {Status: "fine", Observations: []any{1.0}}}},
		"an observation of text":  {Measured: map[string]harness.Measured{"wall-time": {Status: "success", Observations: []any{"fast"}}}},
		"a number that is none":   {Measured: map[string]harness.Measured{"wall-time": {Status: "success", Observations: []any{nan()}}}},
		"a procedure of nonsense": {Measured: map[string]harness.Measured{"wall-time": {Status: "success", Observations: []any{1.0}}}, Procedure: map[string]any{"inner_iterations": 0.0}},
		"a fact that is none":     {Measured: map[string]harness.Measured{"wall-time": {Status: "success", Observations: []any{1.0}}}, System: map[string]any{"x": nan()}},
		"a quantity unsaid":       {},
	} {
		p := small(tr)
		now := time.Now()
		a := attempt{p: p, raw: harness.Raw{Case: Case{Name: "c"}, Quantities: []string{"wall-time"}}, started: now, ended: now, load: loadAverage{1, "x", true}}
		list, err := a.documents()
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d := list[0]
		if err := valid(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, _ := document.At(d, "provenance", "info").(map[string]any)
		if document.At(d, "measurement", "status") != "error" || document.At(d, "measurement", "reason") != "adapter.mapping-failed" || info["mapping_error"] == nil && info["message"] == nil {
			t.Errorf("%s: %v", name, d)
		}
		if document.At(d, "procedure", "inner_iterations") != nil {
			t.Errorf("%s: it has a count of iterations", name)
		}
	}
}

// small is an order of a harness that translates so.
func small(tr harness.Translation) *prepared {
	about := harness.About{Name: "h", Producer: "benchx/h-adapter", Mapping: "1", Quantities: []harness.Quantity{{Name: "wall-time", Unit: "s"}, {Name: "cpu-time", Unit: "s"}}}
	return &prepared{
		order: map[string]any{"run_key": "r", "target": map[string]any{"source": map[string]any{"type": "git"}}, "requester": map[string]any{"kind": "person", "name": "x"}},
		hash:  "sha256:" + strings.Repeat("a", 64), harness: odd{t: tr}, about: about, uri: "https://example.org/a",
		subject: source.Identity{Revision: "1", State: source.Unknown}, benchmark: suiteOf{Identity: source.Identity{State: source.Unknown}},
		context: &surroundings{identity: map[string]any{"runner": "h"}, system: map[string]any{}, info: map[string]any{}, sources: map[string]any{}},
	}
}

func TestTheSameAttemptMakesTheSameBytes(t *testing.T) {
	tr := harness.Translation{
		Measured:  map[string]harness.Measured{"wall-time": {Status: "success", Observations: []any{1.0, 2.0}, OriginalUnit: "ns"}, "cpu-time": {Status: "success", Observations: []any{1.0}}},
		Procedure: map[string]any{"attempted_repetitions": 2.0}, System: map[string]any{"runtime": map[string]any{"v": "3"}, "x": 1.0}, Info: map[string]any{"a": 1.0}, Warnings: []string{"w", "w"},
		Environment: map[string]any{"A": "1"},
	}
	a := attempt{p: small(tr), raw: harness.Raw{Case: Case{Name: "50% of x"}, Quantities: []string{"wall-time", "cpu-time"}}, started: time.Unix(1, 0), ended: time.Unix(0, 0), load: loadAverage{1, "x", true}}
	var texts []string
	for range 3 {
		list, err := a.documents()
		if err != nil || len(list) != 3 {
			t.Fatalf("%v, %v", list, err)
		}
		text := ""
		for _, d := range list {
			b, err := ijson.Canonical(d)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b) + "\n"
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("%s\n%s", texts[0], texts[1])
	}
	for _, want := range []string{
		`"ingest_key":"r:50%25%20of%20x:cpu-time"`, `"name":"50%25%20of%20x"`, `"native_id":"50% of x"`, `"warnings":["w"]`, `"ended_at":"1970-01-01T00:00:01.000000Z"`,
		`"system":{"h":{"x":1},"process.environment":{"A":"1"},"runtime":{"v":"3"}}`,
	} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("without %s:\n%s", want, texts[0])
		}
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestAnInvalidOrderIsRefusedWithoutLookingAtTheMachine(t *testing.T) {
	_, err := Cases(context.Background(), map[string]any{"schema_version": "benchx/work-order/0.1.0"}, Options{})
	if err == nil || !strings.Contains(err.Error(), "the work order is refused") {
		t.Errorf("%v", err)
	}
}
