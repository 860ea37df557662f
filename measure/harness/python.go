package harness

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Python is the interpreter that the harness's processes find on their PATH, never the one that something else runs with. It must have the modules.
func (at Place) Python(ctx context.Context, dir string, modules ...string) (string, error) {
	path := ""
	for _, e := range at.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, name := range []string{"python", "python3"} {
		for _, folder := range filepath.SplitList(path) {
			if !filepath.IsAbs(folder) {
				continue
			}
			python := filepath.Join(folder, name)
			if !executable(python) {
				continue
			}
			exit, _, stderr, err := at.Ask(ctx, dir, python, "-c", "import "+strings.Join(modules, ", "))
			if err != nil {
				return "", err
			}
			if how := exit.How(); how != "" {
				why := Exception(stderr, nil)
				if why == "" {
					why = how
				}
				return "", Refuse("suites.adapter", "%s cannot import %s: %s; install it there, or put another interpreter first on PATH", python, strings.Join(modules, ", "), why)
			}
			return python, nil
		}
	}
	return "", Refuse("suites.adapter", "there is no python on the PATH of the benchmark's processes, %q", path)
}

// Filter compiles the filter of an order; nil where there is none.
func Filter(filter string) (*regexp.Regexp, error) {
	if filter == "" {
		return nil, nil
	}
	x, err := regexp.Compile(filter)
	if err != nil {
		return nil, Refuse("suites.filter", "%q is no regular expression: %v", filter, err)
	}
	return x, nil
}

// Combine makes the cases of a benchmark: one for each combination of its parameters' values, the last parameter moving fastest. The values are as the harness spells them.
func Combine(name string, names []string, values [][]string, parametrized bool) ([]Case, error) {
	if !parametrized {
		return []Case{{Name: name, Index: -1}}, nil
	}
	seen := map[string]bool{}
	total := 1
	for i, list := range values {
		if seen[names[i]] {
			return nil, Refuse("suites.suite", "%s has two parameters called %s", name, names[i])
		}
		seen[names[i]] = true
		spelled := map[string]bool{}
		for _, v := range list {
			if strings.Contains(v, " at 0x") {
				return nil, Refuse("suites.suite", "%s has the value %s of %s, whose address is another one in every process, so it names no case; give it a __repr__", name, v, names[i])
			}
			if spelled[v] {
				return nil, Refuse("suites.suite", "%s has the value %s of %s twice", name, v, names[i])
			}
			spelled[v] = true
		}
		if total *= len(list); total > maxCases {
			return nil, Refuse("suites.suite", "%s has more than %d combinations of parameters", name, maxCases)
		}
	}
	cases := make([]Case, total)
	for i := range cases {
		c := Case{Name: name, Index: i, Parameters: make([]Parameter, len(values))}
		rest := i
		for j := len(values) - 1; j >= 0; j-- {
			c.Parameters[j] = Parameter{names[j], values[j][rest%len(values[j])]}
			rest /= len(values[j])
		}
		cases[i] = c
	}
	return cases, nil
}

const maxCases = 100_000

// executable says whether a path is a program.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
