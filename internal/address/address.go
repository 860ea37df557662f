// Package address names the stages of an experiment and their instances.
//
//	capture.gobench.sort                        a block
//	capture.gobench.sort["impl=a,rows=1000"]    one instance of it
//	capture.gobench.sort:impl=a,rows=1000       the same, easier to type in a shell
//	capture.*.sort                              a pattern
package address

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Axis is one named coordinate of an instance. Value is the canonical string of a number or a string.
type Axis struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Axes are the coordinates of an instance, sorted by name, each name once.
type Axes []Axis

// Key is the part between the brackets: "impl=a,rows=1000"; "" for the only instance of a block.
// A value that holds one of , = " \ or a space is quoted as a Go string.
func (a Axes) Key() string {
	switch len(a) {
	case 0:
		return ""
	case 1:
		return a[0].Name + "=" + quote(a[0].Value)
	}
	var b strings.Builder
	for i, x := range a {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(x.Name)
		b.WriteByte('=')
		b.WriteString(quote(x.Value))
	}
	return b.String()
}

func quote(s string) string {
	if s == "" || strings.ContainsAny(s, ",=\"\\ []") || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// Get is the value of the axis called name.
func (a Axes) Get(name string) (string, bool) {
	for _, x := range a {
		if x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// Address is a block, or one instance of it.
type Address struct {
	Block string // "capture.gobench.sort"
	Axes  Axes
}

// String is the address as a person writes it in an expression.
func (a Address) String() string {
	if len(a.Axes) == 0 {
		return a.Block
	}
	return a.Block + "[" + strconv.Quote(a.Axes.Key()) + "]"
}

// Parse reads an address in either form. Axes may come in any order.
func Parse(s string) (Address, error) {
	block, key, err := split(s)
	if err != nil {
		return Address{}, err
	}
	a := Address{Block: block}
	if key == "" {
		return a, nil
	}
	if a.Axes, err = parseAxes(key); err != nil {
		return Address{}, fmt.Errorf("address %q: %w", s, err)
	}
	return a, nil
}

// split separates the block from the instance key, whichever form s has.
func split(s string) (block, key string, err error) {
	i := strings.IndexAny(s, "[:")
	block = s
	switch {
	case i >= 0 && s[i] == ':':
		block, key = s[:i], s[i+1:]
	case i >= 0:
		if !strings.HasSuffix(s, "]") {
			return "", "", fmt.Errorf("address %q: [ without ] at the end", s)
		}
		block, key = s[:i], s[i+1:len(s)-1]
		if q, err := strconv.Unquote(key); err == nil {
			key = q
		}
	}
	if block == "" {
		return "", "", fmt.Errorf("address %q has no block; write for example capture.gobench.sort", s)
	}
	return block, key, nil
}

func parseAxes(key string) (Axes, error) {
	var axes Axes
	for key != "" {
		name, rest, ok := strings.Cut(key, "=")
		if !ok || name == "" || strings.ContainsAny(name, "\"[]") {
			return nil, fmt.Errorf("%q is not name=value", key)
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("axis %s: the quote is not closed", name)
			}
			value, _ = strconv.Unquote(q)
			rest = rest[len(q):]
			if rest != "" && rest[0] != ',' {
				return nil, fmt.Errorf("axis %s: %q after the closing quote", name, rest)
			}
			key = strings.TrimPrefix(rest, ",")
		} else {
			value, key, _ = strings.Cut(rest, ",")
		}
		axes = append(axes, Axis{name, value})
	}
	sort.SliceStable(axes, func(i, j int) bool { return axes[i].Name < axes[j].Name })
	for i := 1; i < len(axes); i++ {
		if axes[i].Name == axes[i-1].Name {
			return nil, fmt.Errorf("axis %s is given twice", axes[i].Name)
		}
	}
	return axes, nil
}

// Pattern selects addresses: a block name with * and ?, and optionally an instance, whose axes may be
// fewer than the instance's and whose values may have * and ?.
type Pattern struct {
	text  string
	block string
	axes  Axes
}

// ParsePattern reads a pattern.
func ParsePattern(s string) (Pattern, error) {
	block, key, err := split(s)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{text: s, block: block}
	if key != "" && key != "*" {
		if p.axes, err = parseAxes(key); err != nil {
			return Pattern{}, fmt.Errorf("address %q: %w", s, err)
		}
	}
	return p, nil
}

// String is the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Match says whether a is selected. A pattern without an instance selects all instances of its blocks.
func (p Pattern) Match(a Address) bool {
	if !globMatch(p.block, a.Block) {
		return false
	}
	for _, want := range p.axes {
		have, ok := a.Axes.Get(want.Name)
		if !ok || !globMatch(want.Value, have) {
			return false
		}
	}
	return true
}

// globMatch says whether s fits a pattern in which * is any text, also none and also one with dots or slashes, and ? any one character.
// Everything else stands for itself.
func globMatch(pattern, s string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == s
	}
	p, star, back := 0, -1, 0 // after the last *, back is where in s what follows it was tried
	for i := 0; i < len(s); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, n := utf8.DecodeRuneInString(s[i:])
			p, i = p+1, i+n
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0: // let the last * take one byte more
			back++
			p, i = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
