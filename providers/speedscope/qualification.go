package speedscope

import "github.com/flameox/flameox/providers"

// Qualifications are of files: nothing is run.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version:   "0.6.0",
			Origin:    "sample files of speedscope, sampled and evented, with the faults that it tests for",
			Exercised: []string{"every total by stack, worked out by hand", "events that are unclosed, and events that cross each other"},
			Blind:     []string{"files of other exporters"},
			Test:      "providers/speedscope.TestSampleFiles",
		},
		{
			Version:   "py-spy 0.4.2",
			Origin:    "a profile of four threads, from a public repository",
			Exercised: []string{"totals of each thread, compared with the sums of the document that a general reader of JSON makes"},
			Blind:     []string{"other versions of py-spy: its own provider captures with them"},
			Test:      "providers/speedscope.TestAProfileOfPySpy",
		},
	}
}
