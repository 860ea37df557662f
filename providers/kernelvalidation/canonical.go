package kernelvalidation

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
)

// quote is a string as JSON, without the escapes that are for browsers.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // no string fails
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// number is the shortest text of a float, as JSON has it.
func number(f float64) string {
	b, err := json.Marshal(f)
	if err != nil {
		return "null" // not finite, which no document holds
	}
	return string(b)
}

func integers(list []int64) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// object is an object of members that are JSON already, sorted by name.
func object(members map[string]string) string {
	parts := make([]string, 0, len(members))
	for _, name := range sortedKeys(members) {
		parts = append(parts, quote(name)+":"+members[name])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// cut keeps what is quoted of a document short.
func cut(s string) string {
	const shown = 60
	if len(s) <= shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown], "") + "…"
}
