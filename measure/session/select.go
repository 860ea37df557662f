package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/flameox/flameox/measure/runner"
)

// filter is that of an order: the one that was given, or one for the exact names.
func (s *Settings) filter() string {
	if len(s.Cases) == 0 {
		return s.Filter
	}
	parts := make([]string, len(s.Cases))
	for i, name := range s.Cases {
		name = spelled(name)
		parts[i] = regexp.QuoteMeta(name)
		// The name of a parametrized benchmark means all its combinations.
		if s.Harness.Parameters && !strings.Contains(name, "(") {
			parts[i] += `(\(.*\))?`
		}
	}
	return exactly(parts)
}

// exactly is a filter for whole texts. Its parentheses are those that every harness's expressions have.
func exactly(parts []string) string {
	if len(parts) == 1 {
		return "^" + parts[0] + "$"
	}
	return "^(" + strings.Join(parts, "|") + ")$"
}

// spelled is name(a, b) with the one space after each comma that cases have; within quotes nothing changes.
func spelled(name string) string {
	open := strings.IndexByte(name, '(')
	if open < 0 || !strings.HasSuffix(name, ")") {
		return name
	}
	var b strings.Builder
	b.WriteString(name[:open+1])
	inside := name[open+1:]
	quote := byte(0)
	for i := 0; i < len(inside); i++ {
		c := inside[i]
		b.WriteByte(c)
		switch {
		case quote != 0 && c == '\\' && i+1 < len(inside):
			i++
			b.WriteByte(inside[i])
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ',':
			for i+1 < len(inside) && inside[i+1] == ' ' {
				i++
			}
			if i+1 < len(inside) && inside[i+1] != ')' { // (1,) is a tuple of one
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// named refuses exact names that no case has: the others would run, and the mistyped one would be missed by nobody.
func (s *Settings) named(list []runner.Case, side *Side) error {
	for _, name := range s.Cases {
		name = spelled(name)
		found := slices.ContainsFunc(list, func(c runner.Case) bool {
			return c.Text() == name || s.Harness.Parameters && c.Name == name
		})
		if !found {
			return fmt.Errorf("no case of %s in %s is called %s; names are exact, and --filter takes an expression", s.Suite.Value, side.Path(), name)
		}
	}
	return nil
}
