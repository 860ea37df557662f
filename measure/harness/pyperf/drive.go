package pyperf

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flameox/flameox/measure/harness"
)

//go:embed driver.py
var driver []byte

type adapter struct{}

// New is the harness.
func New() harness.Harness { return adapter{} }

func (adapter) About() harness.About {
	return harness.About{
		Name: "pyperf", Producer: "benchx/pyperf-adapter", Mapping: "1", TargetKind: "working_tree",
		Quantities: []harness.Quantity{{Name: "wall-time", Unit: "s", Direction: "lower-is-better"}},
		Units:      []string{"process", "value"},
		Defaults: harness.Precision{
			Levels: []harness.Level{{Unit: "process", N: 20}, {Unit: "value", N: 3}}, Seconds: 0.1, Warmup: harness.Warmup{Mode: "count", Count: 1},
		},
		Calibrations: []string{"adaptive", "fixed"}, Warmups: []string{"count"},
		Parameters: true, SuiteIsFile: true, Variables: []string{"PYTHONHASHSEED"},
		Protocol: map[string]any{"timer": "perf_counter", "gc": "enabled", "environment": "inherit-all"},
	}
}

func (adapter) Prepare(ctx context.Context, at harness.Place) (harness.Runnable, error) {
	r := harness.Runnable{Dir: at.Path, Program: at.Suite}
	if !filepath.IsAbs(r.Program) {
		r.Program = filepath.Join(at.Path, filepath.FromSlash(at.Suite))
	}
	switch info, err := os.Stat(r.Program); {
	case errors.Is(err, fs.ErrNotExist):
		return r, harness.Refuse("suites.suite", "there is no module %s; name it by its path in %s", r.Program, at.Path)
	case err != nil:
		return r, harness.Refuse("suites.suite", "the module %s cannot be read: %v", r.Program, err)
	case !info.Mode().IsRegular():
		return r, harness.Refuse("suites.suite", "%s is no file; a suite is one Python module", r.Program)
	}
	var err error
	r.Python, err = at.Python(ctx, r.Dir, "pyperf")
	return r, err
}

// function is what the driver says of one.
type function struct {
	Name         string     `json:"name"`
	Names        []string   `json:"names"`
	Values       [][]string `json:"values"`
	Parametrized bool       `json:"parametrized"`
	Default      bool       `json:"default"`
}

func (adapter) Cases(ctx context.Context, at harness.Place, r harness.Runnable, filter string) (harness.Listed, error) {
	path := filepath.Join(at.Scratch, "driver.py")
	if err := os.WriteFile(path, driver, 0o600); err != nil {
		return harness.Listed{}, err
	}
	exit, stdout, stderr, err := at.Ask(ctx, r.Dir, r.Python, path, "list", r.Program, at.Path)
	if err != nil {
		return harness.Listed{}, err
	}
	if how := exit.How(); how != "" {
		return harness.Listed{}, harness.Refuse("suites.suite", "%s cannot be imported by %s: %s", at.Suite, r.Python, reason(how, stderr))
	}
	var functions []function
	if err := json.Unmarshal(stdout, &functions); err != nil {
		return harness.Listed{}, harness.Refuse("suites.suite", "%s was not listed as it should be: %v", at.Suite, err)
	}
	var l harness.Listed
	expression, err := harness.Filter(filter)
	if err != nil {
		return l, err
	}
	for _, f := range functions {
		cases, err := harness.Combine(f.Name, f.Names, f.Values, f.Parametrized)
		if err != nil {
			return l, err
		}
		for _, c := range cases {
			l.All = append(l.All, c.Text())
			if selected(f, c, expression) {
				l.Cases = append(l.Cases, c)
			}
		}
	}
	return l, nil
}

// selected says whether a case runs: without a filter those of the functions that are called as benchmarks are, with one all whose text has it.
func selected(f function, c harness.Case, filter *regexp.Regexp) bool {
	if filter == nil {
		return f.Default
	}
	if !filter.MatchString(c.Text()) {
		return false
	}
	// A filter that is searched would find helpers by a part of their name. One that names a function as a whole means it.
	return f.Default || strings.HasPrefix(filter.String(), "^")
}

func reason(how string, stderr []byte) string {
	if line := harness.Exception(stderr, wrapper); line != "" {
		return line
	}
	return how
}

func (adapter) Command(r harness.Runnable, c harness.Case, p harness.Precision, paths harness.Paths) ([]string, error) {
	if err := os.WriteFile(paths.Driver, driver, 0o644); err != nil {
		return nil, fmt.Errorf("write the program that drives pyperf: %w", err)
	}
	args := []string{
		r.Python, paths.Driver, "run", r.Program, r.Dir, c.Name, strconv.Itoa(c.Index), strings.Join(slices.Sorted(slices.Values(paths.Variables)), ","), paths.Workers,
		"--processes", strconv.Itoa(p.N("process")), "--values", strconv.Itoa(p.N("value")),
	}
	if p.Iterations > 0 {
		args = append(args, "--loops", strconv.Itoa(p.Iterations))
	} else {
		args = append(args, "--min-time", strconv.FormatFloat(p.Seconds, 'f', -1, 64))
	}
	// Without its own environment a benchmark that needs a variable would fail.
	return append(args, "--warmups", strconv.Itoa(p.Warmup.Count), "--copy-env", "-o", paths.Native), nil
}
