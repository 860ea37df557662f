package perf

import "github.com/flameox/flameox/providers"

// Qualifications are of runs of perf, and of files.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "6.1.192", Series: "6.1",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by perf record",
			Exercised: []string{
				"cpu-clock and task-clock, with the totals of perf report", "stacks by frame pointers and by debug information", "inlined calls, threads whose names look like fields, symbols of a runtime's map", "a workload that fails and one that is killed",
				"recordings that are cut, and samples that perf lost", "a recording in a pipe's form, from elsewhere",
			},
			Blind: []string{"counters of the CPU (cycles and others): the machine had none", "lbr", "other architectures", "a user without rights: only that it is said"},
			Test:  "providers/perf.TestRealRuns",
		},
		{
			Version:   "perf 3.13 to 6.1",
			Origin:    "texts of perf script, of speedscope's and FlameScope's samples",
			Exercised: []string{"totals by event, compared with sums that a few lines of another program make"},
			Blind:     []string{"texts with other fields than perf prints by itself", "tracepoints"},
			Test:      "providers/perf.TestTextsOfOtherMachines",
		},
	}
}
