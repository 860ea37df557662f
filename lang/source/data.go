package source

import (
	"fmt"
	"math"
	"strings"

	"github.com/flameox/flameox/internal/pattern"
)

// CheckJSON is an error where a JSON text would exhaust the stack of a recursive decoder.
func CheckJSON(text string) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return tooDeep(text[:i])
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

func tooDeep(before string) error {
	return fmt.Errorf("more than %d lists or objects are nested at line %d", MaxDepth, 1+strings.Count(before, "\n"))
}

var (
	yamlAnchor = pattern.Lazy{Expr: `(?:^|[\s\[{,:-])&[^\s,\]}]`}
	yamlAlias  = pattern.Lazy{Expr: `(?:^|[\s\[{,:-])\*[^\s,\]}]`}
)

// CheckYAML is CheckJSON for YAML, where lines nest by their indent as well, and where aliases can repeat each other until no memory
// holds what they stand for. It may refuse a text that is harmless but looks like one that is not.
func CheckYAML(text string) error {
	at, open := 0, 0
	for line := range strings.Lines(text) {
		// Each level of a block takes a character of indent or a dash.
		if n := len(line) - len(strings.TrimLeft(line, " -?:")); n > 2*MaxDepth {
			return tooDeep(text[:at])
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				if open++; open > MaxDepth {
					return tooDeep(text[:at])
				}
			case ']', '}':
				open = max(0, open-1)
			}
		}
		at += len(line)
	}
	if !yamlAnchor.MatchString(text) {
		return nil
	}
	// With n aliases of aliases the most that one node can be repeated is about the cube root of three to the power of n.
	n := len(yamlAlias.FindAllStringIndex(text, 1000))
	if math.Pow(1.45, float64(n))*float64(len(text)) > 1<<30 {
		return fmt.Errorf("%d aliases that stand for one another could fill the memory: write out what they stand for", n)
	}
	return nil
}
