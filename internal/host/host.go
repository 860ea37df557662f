package host

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Facts is everything known of the machine.
type Facts struct {
	Name       string // host name; for people, in no key
	Class      map[string]string
	Covariates map[string]string
	Volatile   map[string]string
}

// Observe is everything known of the machine now.
func Observe() Facts {
	return Facts{Name: Name(), Class: Class(), Covariates: Covariates(), Volatile: Volatile()}
}

// Name is the machine's host name, or "".
func Name() string {
	n, _ := os.Hostname()
	return n
}

// classNames are the facts that Class may hold, and whether they are counts.
var classNames = map[string]bool{
	"arch": false, "os": false, "cpu.model": false, "cpu.logical": true, "memory.gib": true, "kernel": false, "gpu.models": false, "gpu.driver_major": true,
}

// ClassNames are the names of the facts that Class may hold, sorted.
func ClassNames() []string { return slices.Sorted(maps.Keys(classNames)) }

// IsCount says of a fact of the class whether its text is a whole number.
func IsCount(name string) bool { return classNames[name] }

// Describe is a class in one line: "AMD EPYC 7763 · 2 cores · 24 GiB", joined by separator.
func Describe(class map[string]string, separator string) string {
	var parts []string
	add := func(name, before, after string) {
		if v := class[name]; v != "" {
			parts = append(parts, before+v+after)
		}
	}
	add("cpu.model", "", "")
	if class["cpu.logical"] == "1" {
		add("cpu.logical", "", " CPU")
	} else {
		add("cpu.logical", "", " CPUs")
	}
	add("memory.gib", "", " GiB")
	add("gpu.models", "", "")
	return strings.Join(parts, separator)
}

// facts collects texts and leaves out what is missing.
type facts map[string]string

func (f facts) set(name, value string) {
	if value = strings.TrimSpace(value); value != "" {
		f[name] = value
	}
}

// machine reads the files of one machine; root is "" except in tests.
type machine struct{ root string }

func (m machine) path(p string) string { return m.root + p }

// text is a small file without the white space around it, or "".
func (m machine) text(p string) string {
	b, err := os.ReadFile(m.path(p))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// glob is the sorted list of what matches, without the root.
func (m machine) glob(pattern string) []string {
	list, _ := filepath.Glob(m.path(pattern))
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], m.root)
	}
	return list
}

// distinct is the different values of many files: "performance", or "performance powersave" where CPUs differ.
func (m machine) distinct(pattern string) string {
	var values []string
	for _, p := range m.glob(pattern) {
		if v := m.text(p); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return strings.Join(values, " ")
}

// field is the value after "name:" in a block of such lines.
func field(block, name string) string {
	for line := range strings.Lines(block) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// countList is how many numbers a kernel list has: 6 of "0-3,8,10".
func countList(list string) int {
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			return 0
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(hi); err != nil || b < a {
				return 0
			}
		}
		n += b - a + 1
	}
	return n
}

// chosen is the word in brackets: "madvise" of "always [madvise] never".
func chosen(s string) string {
	_, s, ok := strings.Cut(s, "[")
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, "]")
	return s
}

// hashID hides a machine id behind a hash of our own, so that records of different programs cannot be joined by it.
func hashID(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("flameox host id\x00" + id))
	return hex.EncodeToString(sum[:8])
}
