package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flameox/flameox/measure/runner"
)

// variants prepares the two orders of a round: the same target, and of its cases those that have one value of a parameter.
func (c *Comparing) variants(ctx context.Context, h *Host, text string, a Asked) error {
	s := c.Settings
	if !s.Harness.Parameters {
		return fmt.Errorf("the benchmarks of %s have no parameters, so they have no variants: compare two builds with the profile environments", s.Harness.Name)
	}
	side, err := s.Side(ctx, h, text, "target")
	if err != nil {
		return err
	}
	if err := side.known(); err != nil {
		return err
	}
	cases, err := s.cases(ctx, h, side, s.filter())
	if err != nil {
		return err
	}
	if c.Vary, err = s.parameter(cases, a.Vary); err != nil {
		return err
	}
	values, err := c.values(cases)
	if err != nil {
		return err
	}
	c.Baseline = values[0]
	if a.Baseline != "" {
		i := slices.Index(values, a.Baseline)
		if i < 0 {
			return fmt.Errorf("--baseline %s is none of the values of %s, which are typed as they are recorded: %s", a.Baseline, c.Vary, quotedForShell(values))
		}
		c.Baseline = values[i]
	}
	var texts [2][]string
	for _, one := range cases {
		switch value, ok := valueOf(one, c.Vary); {
		case !ok:
			if !slices.Contains(c.Left, one.Name) {
				c.Left = append(c.Left, one.Name)
			}
		case value == c.Baseline:
			texts[0] = append(texts[0], regexp.QuoteMeta(one.Text()))
		default:
			texts[1] = append(texts[1], regexp.QuoteMeta(one.Text()))
		}
	}
	c.sides = [2]*Side{side, side}
	c.filters = [2]string{exactly(texts[0]), exactly(texts[1])}
	return nil
}

// parameter is the one whose values are compared.
func (s *Settings) parameter(cases []runner.Case, vary string) (string, error) {
	who := map[string][]string{} // by parameter
	for _, c := range cases {
		for _, p := range c.Parameters {
			if !slices.Contains(who[p.Name], c.Name) {
				who[p.Name] = append(who[p.Name], c.Name)
			}
		}
	}
	for name := range s.Variables {
		who[name] = append(who[name], "-e")
	}
	names := slices.Sorted(maps.Keys(who))
	declared := make([]string, len(names))
	for i, name := range names {
		by := who[name]
		if len(by) > 4 {
			by = append(slices.Clone(by[:3]), fmt.Sprintf("%d more", len(by)-3))
		}
		declared[i] = name + " (" + strings.Join(by, ", ") + ")"
	}
	switch {
	case len(names) == 0:
		return "", errors.New("none of the selected benchmarks has a parameter, so there are no variants of them")
	case vary == "" && len(names) > 1:
		return "", fmt.Errorf("there are several parameters, so say which one varies with --vary NAME: %s", strings.Join(declared, "; "))
	case vary == "":
		vary = names[0]
	}
	if _, ok := who[vary]; !ok {
		return "", fmt.Errorf("--vary %s: none of the selected benchmarks has that parameter; they have %s", vary, strings.Join(declared, "; "))
	}
	if _, fixed := s.Variables[vary]; fixed {
		return "", fmt.Errorf("%s is a variable of the environment that has one value in all cases, so it cannot vary: run each value by its own bench calls that share a --run-key", vary)
	}
	return vary, nil
}

// values are the two that the cases have, in the order of their declaration. Every benchmark that has the parameter must take both.
func (c *Comparing) values(cases []runner.Case) ([]string, error) {
	var all, benchmarks []string
	by := map[string][]string{} // benchmark and its other parameters to values
	for _, one := range cases {
		v, ok := valueOf(one, c.Vary)
		if !ok {
			continue
		}
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
		rest := other(one, c.Vary)
		if by[rest] == nil {
			benchmarks = append(benchmarks, rest)
		}
		by[rest] = append(by[rest], v)
	}
	if len(all) != 2 {
		return nil, fmt.Errorf("the selected cases take %d values of %s, and a comparison has two sides; select two values with --filter: %s", len(all), c.Vary, quotedForShell(all))
	}
	for _, b := range benchmarks {
		if len(by[b]) != 2 {
			return nil, fmt.Errorf("%s takes only the value %s of %s among the selected cases, and others take %s: a filter that selects both values of every benchmark makes them comparable", b, strings.Join(by[b], ", "), c.Vary, strings.Join(all, " and "))
		}
	}
	return all, nil
}

func valueOf(c runner.Case, name string) (string, bool) {
	for _, p := range c.Parameters {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// other names a case without one of its parameters, as a comparison names its units.
func other(c runner.Case, name string) string {
	var kept []string
	for _, p := range c.Parameters {
		if p.Name != name {
			kept = append(kept, p.Name+"="+p.Value)
		}
	}
	if kept == nil {
		return c.Name
	}
	return c.Name + " [" + strings.Join(kept, ", ") + "]"
}

// quotedForShell lists values as they must be typed.
func quotedForShell(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		switch {
		case !strings.ContainsAny(v, "'\"\\$` \t*?[]{}()<>|&;#~!"):
			out[i] = v
		case !strings.Contains(v, "'"):
			out[i] = "'" + v + "'"
		case !strings.ContainsAny(v, "\"\\$`!"):
			out[i] = `"` + v + `"`
		default:
			out[i] = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, ", ")
}
