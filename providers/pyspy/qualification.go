package pyspy

import "github.com/flameox/flameox/providers"

// Locate is the py-spy command.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"py-spy"}, Install: "run `pipx install py-spy`, or `python3 -m pip install py-spy` in an environment whose bin folder is on PATH"}
}

// Qualifications are of runs of py-spy, and of a file.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "0.4.3", Series: "0.4",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by py-spy record",
			Exercised: []string{
				"all three formats; totals of speedscope's compared with what a general reader of JSON makes of the same file", "threads whose names hold semicolons, functions whose names are not ASCII", "processes that are started", "a workload that fails, whose status py-spy hides",
			},
			Blind: []string{"macOS and Windows", "attaching to a process that runs", "native frames beyond that there are some"},
			Test:  "providers/pyspy.TestRealRuns",
		},
		{
			Version:   "0.4.2",
			Origin:    "a profile of four threads made on macOS, from a public repository",
			Exercised: []string{"totals by thread", "numbers of threads in hexadecimal"},
			Blind:     []string{"captures"},
			Test:      "providers/pyspy.TestAProfileOfAnotherMachine",
		},
	}
}
