package harness

import (
	"fmt"
	"slices"
	"strings"
)

// Precision is how much is measured.
type Precision struct {
	Levels []Level // outermost first
	// Seconds is the least duration of a sample that the harness calibrates to; Iterations a fixed number instead. Exactly one is not zero.
	Seconds    float64
	Iterations int
	Warmup     Warmup
}

// Level is one level of repetition.
type Level struct {
	Unit string
	N    int
}

// Warmup is what runs before a sample. The zero value is none.
type Warmup struct {
	Mode    string // none, count, time
	Count   int
	Seconds float64
}

// N is the number of a level, 0 where there is none of the unit.
func (p Precision) N(unit string) int {
	for _, l := range p.Levels {
		if l.Unit == unit {
			return l.N
		}
	}
	return 0
}

// Attempted is the number of samples that are asked for.
func (p Precision) Attempted() int {
	n := 1
	for _, l := range p.Levels {
		n *= l.N
	}
	return n
}

// Document is the precision as an order and a protocol spell it.
func (p Precision) Document() map[string]any {
	levels := make([]any, len(p.Levels))
	for i, l := range p.Levels {
		levels[i] = map[string]any{"unit": l.Unit, "n": float64(l.N)}
	}
	calibration := map[string]any{"mode": "adaptive", "minimum_sample_seconds": p.Seconds}
	if p.Iterations > 0 {
		calibration = map[string]any{"mode": "fixed", "n_iterations": float64(p.Iterations)}
	}
	warmup := map[string]any{"mode": "none"}
	switch p.Warmup.Mode {
	case "count":
		warmup = map[string]any{"mode": "count", "n_warmup": float64(p.Warmup.Count)}
	case "time":
		warmup = map[string]any{"mode": "time", "seconds": p.Warmup.Seconds}
	}
	return map[string]any{"repetitions": map[string]any{"mode": "fixed", "levels": levels}, "calibration": calibration, "warmup": warmup}
}

// Precision reads an order's precision, which its schema has accepted, and puts the harness's defaults where it says nothing. The error is a *Refusal that names what
// the harness has no option for.
func (a About) Precision(order map[string]any) (Precision, error) {
	p := a.Defaults
	p.Levels = slices.Clone(p.Levels)
	if err := a.levels(&p, order["repetitions"]); err != nil {
		return Precision{}, err
	}
	if c, ok := order["calibration"].(map[string]any); ok {
		mode, _ := c["mode"].(string)
		if !slices.Contains(a.Calibrations, mode) {
			return Precision{}, Refuse("precision.calibration", "%s has no %s calibration; it has %s", a.Name, mode, strings.Join(a.Calibrations, " and "))
		}
		p.Seconds, _ = c["minimum_sample_seconds"].(float64)
		n, _ := c["n_iterations"].(float64)
		p.Iterations = int(n)
	}
	if w, ok := order["warmup"].(map[string]any); ok {
		mode, _ := w["mode"].(string)
		n, _ := w["n_warmup"].(float64)
		s, _ := w["seconds"].(float64)
		if mode != "none" && !slices.Contains(a.Warmups, mode) {
			return Precision{}, Refuse("precision.warmup", "%s has no warm-up by %s; it has %s", a.Name, mode, a.warmups())
		}
		p.Warmup = Warmup{Mode: mode, Count: int(n), Seconds: s}
		if mode == "count" && p.Warmup.Count == 0 {
			p.Warmup = Warmup{Mode: "none"} // one spelling of the same
		}
	}
	return p, nil
}

func (a About) levels(p *Precision, v any) error {
	units := strings.Join(a.Units, " and ")
	if n, ok := v.(float64); ok {
		if len(a.Units) > 1 {
			return Refuse("precision.repetitions", "%s has %d levels of repetition, %s; one number does not say which: write {mode: fixed, levels: [...]}", a.Name, len(a.Units), units)
		}
		p.Levels = []Level{{a.Units[0], int(n)}}
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	list, _ := m["levels"].([]any)
	seen := map[string]bool{}
	at := -1
	for _, l := range list {
		level, _ := l.(map[string]any)
		unit, _ := level["unit"].(string)
		n, _ := level["n"].(float64)
		i := slices.Index(a.Units, unit)
		switch {
		case i < 0:
			return Refuse("precision.repetitions", "%s has no level of repetition called %q; it has %s", a.Name, unit, units)
		case seen[unit]:
			return Refuse("precision.repetitions", "the level %s is there twice", unit)
		case i < at:
			return Refuse("precision.repetitions", "the levels of %s are %s, outermost first", a.Name, units)
		}
		seen[unit], at = true, i
		for j := range p.Levels {
			if p.Levels[j].Unit == unit {
				p.Levels[j].N = int(n)
			}
		}
	}
	return nil
}

func (a About) warmups() string {
	if len(a.Warmups) == 0 {
		return "none"
	}
	words := map[string]string{"count": "one that is count-based", "time": "one by time"}
	var out []string
	for _, w := range a.Warmups {
		out = append(out, words[w])
	}
	return fmt.Sprintf("none, or %s", strings.Join(out, ", or "))
}
