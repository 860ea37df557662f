package pythonstartup

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has pyperf.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "pyperf", Language: "python", Install: "add pyperf to the requirements of the workload's environment, or run `python -m pip install pyperf`"}
}

// Qualifications are of runs of pyperf and Python, and of their files.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "2.11.0", Series: "2.11",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by pyperf command and python -X importtime",
			Exercised: []string{"files, modules and code, with flags of the interpreter", "programs that fail, are killed, run too long, or print between imports", "the tree of imports, compared with what the program imports"},
			Blind:     []string{"Windows and macOS", "PyPy", "Python 3.15 and its lazy imports"},
			Test:      "providers/pythonstartup.TestRealRuns",
		},
		{
			Version:   "files of pyperf 2.10.0 and Python 3.11.2",
			Origin:    "a startup profile, and a trace that was made apart from it",
			Exercised: []string{"every sample, and sums of imports, compared with Python that reads the same file"},
			Blind:     []string{"captures: these versions are not run"},
			Test:      "providers/pythonstartup.TestFixturesAgreeWithPython",
		},
	}
}
