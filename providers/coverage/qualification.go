package coverage

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has coverage.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "coverage", Language: "python", Install: "add coverage to the requirements of the workload's environment, or run `python -m pip install coverage`"}
}

// Qualifications are of runs of coverage, and of its files.
func (Provider) Qualifications() []providers.Qualification {
	exercised := []string{
		"lines and arcs with and without contexts, compared with coverage json", "multiprocessing, whose files are combined", "relative names, plugins, files outside the project", "files that are damaged or were never finished",
	}
	blind := []string{"Windows and macOS", "gevent, greenlet and eventlet", "sys.monitoring of Python 3.12 and later"}
	var list []providers.Qualification
	for _, v := range []string{"7.13", "7.14", "7.15"} {
		list = append(list, providers.Qualification{
			Version: v + ".0", Series: v, Platforms: []string{"linux/amd64"}, Origin: "made in the test by coverage run",
			Exercised: exercised, Blind: blind, Test: "providers/coverage.TestRealRuns",
		})
	}
	return append(list, providers.Qualification{
		Version:   "files of coverage 4 and 6.5.0",
		Origin:    "runs of coverage 6.5.0, read by coverage 7.15.0; a file of coverage 4, which is refused",
		Exercised: []string{"every line and arc, compared with SQL over the same file"},
		Blind:     []string{"captures: these versions are not run"},
		Test:      "providers/coverage.TestFixturesAgreeWithSQL",
	})
}
