package pyperf

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has pyperf.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "pyperf", Language: "python", Install: "add pyperf to the requirements of the workload's environment, or run `python -m pip install pyperf`"}
}

// Qualifications are of runs of pyperf, and of its files.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "2.11.0", Series: "2.11",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by pyperf",
			Exercised: []string{"modes script, function and command", "parameters as asv has them", "memory in place of time", "calibration", "the environment that workers get"},
			Blind:     []string{"Windows and macOS", "PyPy and GraalPy", "hooks of pyperf"},
			Test:      "providers/pyperf.TestRealRuns",
		},
		{
			Version:   "files of pyperf 1.6 to 2.10 and of pyperformance",
			Origin:    "test data of pyperf and pyperformance",
			Exercised: []string{"every value, compared with pyperf's own loader"},
			Blind:     []string{"captures: these versions are not run", "files of versions before 1.0, which are refused"},
			Test:      "providers/pyperf.TestFixturesAgreeWithPyperf",
		},
	}
}
