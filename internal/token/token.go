// Package token writes and reads runtime tokens: places in an argument whose
// value exists only when a process starts, such as the folder of a build's
// output or the port of a server.
//
// A token travels through HCL expressions as an ordinary string delimited by
// NUL bytes, which no configuration can contain, so templates and lists carry
// it without knowing it. Keys hold the token's name and the identity of what it
// stands for, never the substituted value.
package token

import (
	"fmt"
	"strings"
)

const mark = "\x00"

// Make is the token called name as it travels inside a string. A name has no NUL byte.
func Make(name string) string { return mark + name + mark }

// Has says whether s holds a token, or a part of one.
func Has(s string) bool { return strings.Contains(s, mark) }

// Expand replaces every token in s by what value returns for its name. It fails
// where value fails and where a token was cut apart by a string function.
func Expand(s string, value func(name string) (string, error)) (string, error) {
	if !Has(s) {
		return s, nil
	}
	var b strings.Builder
	for {
		text, rest, ok := strings.Cut(s, mark)
		b.WriteString(text)
		if !ok {
			return b.String(), nil
		}
		name, after, ok := strings.Cut(rest, mark)
		if !ok || name == "" {
			return "", fmt.Errorf("a runtime value in %q was cut apart: string functions cannot look inside a value that exists only when the stage runs; use it in a template, such as \"${build.x.dir}/name\"", Display(s))
		}
		v, err := value(name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		s = after
	}
}

// Names are the tokens in s, in order, each as often as it stands there.
func Names(s string) (names []string) {
	Expand(s, func(n string) (string, error) { names = append(names, n); return "", nil })
	return names
}

// Display is s with every token written as a person wrote it: ${name}.
func Display(s string) string {
	if !Has(s) {
		return s
	}
	parts := strings.Split(s, mark)
	var b strings.Builder
	for i, p := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			b.WriteString("${" + p + "}")
		} else {
			b.WriteString(p)
		}
	}
	return b.String()
}
