package asv

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		Name: "asv", Producer: "benchx/asv-adapter", Mapping: "1", TargetKind: "working_tree",
		Quantities: []harness.Quantity{
			{Name: "wall-time", Unit: "s", Direction: "lower-is-better"},
			{Name: "peak-rss", Unit: "By", Direction: "lower-is-better"},
			{Name: "object-size", Unit: "By", Direction: "lower-is-better"},
		},
		Units: []string{"process", "value"},
		// asv's own: two rounds, and at most ten values over both.
		Defaults: harness.Precision{
			Levels: []harness.Level{{Unit: "process", N: 2}, {Unit: "value", N: 5}}, Seconds: 0.01, Warmup: harness.Warmup{Mode: "time", Seconds: 0.1},
		},
		Calibrations: []string{"adaptive", "fixed"}, Warmups: []string{"time"},
		Parameters: true,
		Protocol:   map[string]any{"timer": "perf_counter", "environment": "inherit-all"},
	}
}

// types are what asv's kinds of benchmarks measure. What a track_ benchmark measures only its author knows.
var types = map[string]string{"time": "wall-time", "timeraw": "wall-time", "peakmemory": "peak-rss", "memory": "object-size"}

func (adapter) Prepare(ctx context.Context, at harness.Place) (harness.Runnable, error) {
	r := harness.Runnable{Dir: at.Path, Program: at.Suite}
	if !filepath.IsAbs(r.Program) {
		r.Program = filepath.Join(at.Path, filepath.FromSlash(at.Suite))
	}
	info, err := os.Stat(r.Program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, harness.Refuse("suites.suite", "there is no %s; name the benchmark directory of the suite, or its asv.conf.json, by its path in %s", r.Program, at.Path)
	case err != nil:
		return r, harness.Refuse("suites.suite", "%s cannot be read: %v", r.Program, err)
	case info.Mode().IsRegular():
		if r.Program, err = configured(r.Program); err != nil {
			return r, err
		}
	}
	r.Python, err = at.Python(ctx, r.Dir, "asv_runner")
	return r, err
}

// configured is the benchmark directory that an asv.conf.json names.
func configured(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", harness.Refuse("suites.suite", "%s cannot be read: %v", path, err)
	}
	var conf struct {
		Directory string `json:"benchmark_dir"`
	}
	if err := json.Unmarshal(withoutComments(text), &conf); err != nil {
		return "", harness.Refuse("suites.suite", "%s is no configuration of asv: %v", path, err)
	}
	if conf.Directory == "" {
		conf.Directory = "benchmarks"
	}
	dir := filepath.Join(filepath.Dir(path), filepath.FromSlash(conf.Directory))
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", harness.Refuse("suites.suite", "%s names the benchmark directory %s, which is not there", path, dir)
	}
	return dir, nil
}

// withoutComments takes out what asv's configuration may have beside JSON: // to the end of a line, and commas behind the last member.
func withoutComments(text []byte) []byte {
	var out []byte
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			out = append(out, c, text[i+1])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			if i < len(text) {
				out = append(out, '\n')
			}
			continue
		case !quoted && (c == '}' || c == ']'):
			trimmed := strings.TrimRight(string(out), " \t\r\n")
			if s, ok := strings.CutSuffix(trimmed, ","); ok {
				out = append([]byte(s), out[len(trimmed):]...)
			}
		}
		out = append(out, c)
	}
	return out
}

// benchmark is what asv says of one.
type benchmark struct {
	Name    string     `json:"name"`
	Version any        `json:"version"`
	Type    string     `json:"type"`
	Unit    string     `json:"unit"`
	Names   []string   `json:"param_names"`
	Params  [][]string `json:"params"`
	Cache   any        `json:"setup_cache_key"`
}

func (adapter) Cases(ctx context.Context, at harness.Place, r harness.Runnable, filter string) (harness.Listed, error) {
	path := filepath.Join(at.Scratch, "driver.py")
	if err := os.WriteFile(path, driver, 0o600); err != nil {
		return harness.Listed{}, err
	}
	exit, stdout, stderr, err := at.Ask(ctx, r.Dir, r.Python, path, "list", r.Dir, r.Program)
	if err != nil {
		return harness.Listed{}, err
	}
	if how := exit.How(); how != "" {
		why := harness.Exception(stderr, nil)
		if why == "" {
			why = how
		}
		return harness.Listed{}, harness.Refuse("suites.suite", "the benchmarks of %s could not be found by %s: %s", at.Suite, r.Python, why)
	}
	var found []benchmark
	if err := json.Unmarshal(stdout, &found); err != nil {
		return harness.Listed{}, harness.Refuse("suites.suite", "%s was not listed as it should be: %v", at.Suite, err)
	}
	slices.SortFunc(found, func(a, b benchmark) int { return strings.Compare(a.Name, b.Name) })
	expression, err := harness.Filter(filter)
	if err != nil {
		return harness.Listed{}, err
	}
	var l harness.Listed
	for _, b := range found {
		quantity := types[b.Type]
		if quantity == "" {
			continue
		}
		cases, err := harness.Combine(b.Name, b.Names, b.Params, len(b.Params) > 0)
		if err != nil {
			return l, err
		}
		for _, c := range cases {
			c.Quantity, c.Cached = quantity, b.Cache != nil
			c.Version, _ = b.Version.(string)
			l.All = append(l.All, c.Text())
			if expression == nil || expression.MatchString(c.Text()) {
				l.Cases = append(l.Cases, c)
			}
		}
	}
	return l, nil
}

func (adapter) Command(r harness.Runnable, c harness.Case, p harness.Precision, paths harness.Paths) ([]string, error) {
	if err := os.WriteFile(paths.Driver, driver, 0o644); err != nil {
		return nil, fmt.Errorf("write the program that drives asv: %w", err)
	}
	options := map[string]any{"rounds": p.N("process"), "cache": c.Cached}
	if c.Quantity == "wall-time" {
		options["repeat"], options["sample_time"], options["number"], options["warmup_time"] = p.N("value"), p.Seconds, p.Iterations, p.Warmup.Seconds
		if p.Iterations > 0 {
			delete(options, "sample_time")
		}
	}
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	names := strings.Join(slices.Sorted(slices.Values(paths.Variables)), ",")
	return []string{r.Python, paths.Driver, "run", r.Dir, r.Program, c.Name, strconv.Itoa(c.Index), string(text), paths.Native, names}, nil
}
