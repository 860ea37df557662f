package googlebenchmark

import (
	"context"
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

type adapter struct{}

// New is the harness.
func New() harness.Harness { return adapter{} }

func (adapter) About() harness.About {
	return harness.About{
		Name: "google-benchmark", Producer: "benchx/gbench-adapter", Mapping: "1", TargetKind: "build",
		Quantities: []harness.Quantity{{Name: "wall-time", Unit: "s", Direction: "lower-is-better"}, {Name: "cpu-time", Unit: "s", Direction: "lower-is-better"}},
		Units:      []string{"repetition"},
		// What the library does when it is told nothing.
		Defaults:     harness.Precision{Levels: []harness.Level{{Unit: "repetition", N: 1}}, Seconds: 0.5, Warmup: harness.Warmup{Mode: "none"}},
		Calibrations: []string{"adaptive", "fixed"}, Warmups: []string{"time"},
	}
}

func (adapter) Prepare(ctx context.Context, at harness.Place) (harness.Runnable, error) {
	program, err := locate(at.Path, at.Suite)
	if err != nil {
		return harness.Runnable{}, err
	}
	r := harness.Runnable{Dir: at.Path, Program: program}
	if at.Precision.Iterations > 0 {
		// Before 1.8 a number of iterations cannot be asked for. Such a library does not know the unit of the time either, and says so without measuring anything.
		exit, _, stderr, err := at.Ask(ctx, r.Dir, program, "--benchmark_list_tests=true", "--benchmark_min_time=1x")
		if err != nil {
			return r, err
		}
		if exit.Status != 0 {
			return r, harness.Refuse("precision.calibration", "%s is linked with a Google Benchmark before 1.8, which cannot run a fixed number of iterations (%s); use adaptive calibration", at.Suite, harness.LastLine(stderr))
		}
	}
	return r, nil
}

// locate finds the executable of a suite.
func locate(dir, suite string) (string, error) {
	if strings.ContainsRune(suite, filepath.Separator) {
		path := suite
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if why := unusable(path); why != "" {
			return "", harness.Refuse("suites.suite", "%s %s", path, why)
		}
		return path, nil
	}
	var found []string
	why := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil: // a folder of others in a build directory
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "CMakeFiles"):
			return filepath.SkipDir
		case d.Name() != suite || path == dir:
			return nil
		}
		if w := unusable(path); w != "" {
			why = fmt.Sprintf("; %s %s", path, w)
			return nil
		}
		found = append(found, path)
		return nil
	})
	if err != nil {
		return "", harness.Refuse("target.path", "the build directory %s cannot be read: %v", dir, plain(err))
	}
	switch len(found) {
	case 0:
		return "", harness.Refuse("suites.suite", "there is no executable %s in %s%s; build it first, since nothing is built here", suite, dir, why)
	case 1:
		return found[0], nil
	}
	for i := range found {
		found[i], _ = filepath.Rel(dir, found[i])
	}
	slices.Sort(found)
	return "", harness.Refuse("suites.suite", "%d executables in %s are called %s: %s; name one by its path", len(found), dir, suite, strings.Join(found, ", "))
}

func unusable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is not there"
	case err != nil:
		return "cannot be read: " + plain(err).Error()
	case info.IsDir():
		return "is a folder"
	case !info.Mode().IsRegular():
		return "is no file"
	case info.Mode()&0o111 == 0:
		return "is not executable"
	}
	return ""
}

func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (adapter) Cases(ctx context.Context, at harness.Place, r harness.Runnable, filter string) (harness.Listed, error) {
	args := []string{r.Program, "--benchmark_list_tests=true"}
	if filter != "" {
		args = append(args, "--benchmark_filter="+filter)
	}
	exit, stdout, stderr, err := at.Ask(ctx, r.Dir, args...)
	if err != nil {
		return harness.Listed{}, err
	}
	if how := exit.How(); how != "" {
		return harness.Listed{}, harness.Refuse("suites.suite", "%s could not list its benchmarks: %s%s", at.Suite, how, said(stderr))
	}
	var l harness.Listed
	for line := range strings.Lines(string(stdout)) {
		if name := strings.TrimRight(line, "\r\n"); name != "" {
			l.Cases = append(l.Cases, harness.Case{Name: name})
		}
	}
	// An expression that cannot be compiled lists nothing and exits with 0.
	for line := range strings.Lines(string(stderr)) {
		if strings.Contains(line, "Could not compile") || strings.Contains(line, "Failed to match") {
			l.Said = strings.TrimSpace(line)
		}
	}
	return l, nil
}

func said(stderr []byte) string {
	if line := harness.LastLine(stderr); line != "" {
		return ": " + line
	}
	return ""
}

func (adapter) Command(r harness.Runnable, c harness.Case, p harness.Precision, paths harness.Paths) ([]string, error) {
	args := []string{
		r.Program, "--benchmark_filter=^" + regexp.QuoteMeta(c.Name) + "$", "--benchmark_out=" + paths.Native, "--benchmark_out_format=json",
		"--benchmark_repetitions=" + strconv.Itoa(p.N("repetition")),
	}
	if p.Iterations > 0 {
		args = append(args, fmt.Sprintf("--benchmark_min_time=%dx", p.Iterations))
	} else {
		// Libraries before 1.8 refuse the form with a unit, and those after it still take a bare number.
		args = append(args, "--benchmark_min_time="+number(p.Seconds))
	}
	if p.Warmup.Mode == "time" {
		args = append(args, "--benchmark_min_warmup_time="+number(p.Warmup.Seconds))
	}
	return args, nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
