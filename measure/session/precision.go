package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/harness"
)

// Precision is what flags say about how much is measured; nil says nothing.
type Precision struct {
	Repetitions, Processes, Values, Loops, Warmups *int
	MinTime                                        *float64 // seconds
}

// Resolved is a precision as orders hold it, complete, with where each part comes from.
type Resolved struct {
	Document map[string]any
	// From are the sources by key: repetitions.process, calibration, warmup.
	From map[string]string
}

// ResolvePrecision puts flags over the file over the harness's defaults. Levels of repetition are merged one by one; calibration and warm-up are replaced as a whole, since their modes exclude each other.
func ResolvePrecision(about harness.About, file map[string]any, f Precision) (Resolved, error) {
	p, err := about.Precision(file)
	if err != nil {
		var refusal *harness.Refusal
		if errors.As(err, &refusal) {
			return Resolved{}, fmt.Errorf("%s: adapter.%s", config.FileName, refusal.Error())
		}
		return Resolved{}, err
	}
	out := Resolved{From: map[string]string{}}
	out.sources(about, file)
	for _, l := range []struct {
		flag, unit string
		n          *int
	}{{"--repetitions", "repetition", f.Repetitions}, {"--processes", "process", f.Processes}, {"--values", "value", f.Values}} {
		if l.n == nil {
			continue
		}
		if !slices.Contains(about.Units, l.unit) {
			return Resolved{}, fmt.Errorf("%s has no %s: its levels of repetition are %s", about.Name, l.flag, strings.Join(about.Units, " and "))
		}
		if *l.n < 1 {
			return Resolved{}, fmt.Errorf("%s %d must be 1 or more", l.flag, *l.n)
		}
		i := slices.IndexFunc(p.Levels, func(x harness.Level) bool { return x.Unit == l.unit })
		if i < 0 {
			return Resolved{}, fmt.Errorf("%s has no default for its level %s", about.Name, l.unit)
		}
		p.Levels[i].N = *l.n
		out.From["repetitions."+l.unit] = l.flag
	}
	if err := calibrate(about, &p, f, out.From); err != nil {
		return Resolved{}, err
	}
	if f.Warmups != nil {
		switch n := *f.Warmups; {
		case n < 0:
			return Resolved{}, fmt.Errorf("--warmups %d must be 0 or more", n)
		case !slices.Contains(about.Warmups, "count"):
			return Resolved{}, fmt.Errorf("%s has no --warmups: it does not count its warm-ups", about.Name)
		case n == 0:
			p.Warmup = harness.Warmup{Mode: "none"}
		default:
			p.Warmup = harness.Warmup{Mode: "count", Count: n}
		}
		out.From["warmup"] = "--warmups"
	}
	out.Document = p.Document()
	return out, nil
}

func calibrate(about harness.About, p *harness.Precision, f Precision, from map[string]string) error {
	switch {
	case f.MinTime != nil && f.Loops != nil:
		return errors.New("--min-time and --loops exclude each other: the number of loops is either calibrated to a time or fixed")
	case f.MinTime != nil:
		if !slices.Contains(about.Calibrations, "adaptive") {
			return fmt.Errorf("%s has no --min-time: it does not calibrate", about.Name)
		}
		if !(*f.MinTime > 0) {
			return fmt.Errorf("--min-time %v must be more than 0 seconds", *f.MinTime)
		}
		p.Seconds, p.Iterations = *f.MinTime, 0
		from["calibration"] = "--min-time"
	case f.Loops != nil:
		if !slices.Contains(about.Calibrations, "fixed") {
			return fmt.Errorf("%s has no --loops: it always calibrates", about.Name)
		}
		if *f.Loops < 1 {
			return fmt.Errorf("--loops %d must be 1 or more", *f.Loops)
		}
		p.Seconds, p.Iterations = 0, *f.Loops
		from["calibration"] = "--loops"
	}
	return nil
}

// sources are those of the file and the harness.
func (r *Resolved) sources(about harness.About, file map[string]any) {
	inFile := map[string]bool{}
	switch v := file["repetitions"].(type) {
	case float64:
		inFile[about.Units[0]] = true
	case map[string]any:
		levels, _ := v["levels"].([]any)
		for _, l := range levels {
			level, _ := l.(map[string]any)
			unit, _ := level["unit"].(string)
			inFile[unit] = true
		}
	}
	source := func(said bool) string {
		if said {
			return config.FromFile
		}
		return config.FromHarness
	}
	for _, unit := range about.Units {
		r.From["repetitions."+unit] = source(inFile[unit])
	}
	r.From["calibration"] = source(file["calibration"] != nil)
	r.From["warmup"] = source(file["warmup"] != nil)
}
