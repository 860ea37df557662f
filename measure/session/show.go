package session

import (
	"strings"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/config"
	"github.com/flameox/flameox/measure/document"
)

// Setting is one effective value and where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // null where nothing says it
	From  string `json:"from"`  // "" where nothing says it
}

// Text is the value for people.
func (s Setting) Text() string {
	switch v := s.Value.(type) {
	case nil:
		return "not set"
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	}
	b, err := ijson.Canonical(s.Value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Show lists what the file and what is built in give without any flag.
func Show(c *config.Config, getenv func(string) string) ([]Setting, error) {
	s := &Settings{Config: c}
	if err := s.adapter(Flags{}); err != nil {
		return nil, err
	}
	p, err := ResolvePrecision(s.Harness, c.Adapter.Precision, Precision{})
	if err != nil {
		return nil, err
	}
	q, err := quantities("", c.Adapter.Quantities)
	if err != nil {
		return nil, err
	}
	var out []Setting
	add := func(key string, v any, from string) {
		if from == config.FromNowhere {
			v = nil
		}
		out = append(out, Setting{key, v, from})
	}
	text := func(key string, v config.Value[string]) { add(key, v.Value, v.From) }
	file := func(there bool) string {
		if there {
			return config.FromFile
		}
		return config.FromNowhere
	}
	text("project", config.Pick("", "", c.Project, ""))
	text("source.uri", config.Pick("", "", c.Source.URI, ""))
	add("provider.command", c.Provider, file(len(c.Provider) > 0))
	text("adapter.name", s.Adapter)
	text("adapter.suite", config.Pick("", "", c.Adapter.Suite, ""))
	add("adapter.quantities", q.Value, q.From)
	levels, _ := document.At(p.Document, "repetitions", "levels").([]any)
	for _, l := range levels {
		unit, _ := document.At(l, "unit").(string)
		add("adapter.precision.repetitions."+unit, document.At(l, "n"), p.From["repetitions."+unit])
	}
	add("adapter.precision.calibration", p.Document["calibration"], p.From["calibration"])
	add("adapter.precision.warmup", p.Document["warmup"], p.From["warmup"])
	for _, name := range document.Keys(c.Variables) {
		add("environment_variables."+name, c.Variables[name], config.FromFile)
	}
	for _, name := range document.Keys(c.Collectors) {
		add("collectors."+name, c.Collectors[name], config.FromFile)
	}
	seconds := func(key string, said, builtin float64) {
		v := config.Pick("", 0, said, builtin)
		add(key, v.Value, v.From)
	}
	seconds("timeouts.case_s", c.Timeouts.Case, config.DefaultCase)
	seconds("timeouts.order_s", c.Timeouts.Order, config.DefaultOrder)
	text("paths.store", c.Store(getenv))
	text("paths.results", c.Results())
	text("compare.profile", config.Pick("", "", c.Compare.Profile, ""))
	rounds := config.Pick("", 0, c.Compare.Rounds, 0)
	add("compare.rounds", float64(rounds.Value), rounds.From)
	k := config.Value[float64]{Value: config.DefaultK, From: config.FromDefault}
	if c.Compare.K != nil {
		k = config.Value[float64]{Value: *c.Compare.K, From: config.FromFile}
	}
	add("compare.k", k.Value, k.From)
	least := config.Pick("", 0, c.Compare.MinRounds, config.DefaultRounds)
	add("compare.min_rounds", float64(least.Value), least.From)
	return out, nil
}
