package chrometrace

import "github.com/flameox/flameox/providers"

// Qualifications are of traces that Node wrote, and of files of Chrome and of other readers' tests.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version:   "Node 20",
			Origin:    "made in the test by node --trace-event-categories",
			Exercised: []string{"slices, begun and ended ones, asynchronous ones, instants and threads, compared with JavaScript that reads the same file"},
			Blind:     []string{"traces that Node rotates into several files"},
			Test:      "providers/chrometrace.TestNodesTracesAgreeWithJavaScript",
		},
		{
			Version:   "Node 20",
			Origin:    "made in the test by node --cpu-prof --trace-event-categories",
			Exercised: []string{"samples of V8 in a trace, compared with the profile that Node wrote of the same samples"},
			Blind:     []string{"profiles of several threads"},
			Test:      "providers/chrometrace.TestNodesSamplesInATraceAreThoseOfItsProfile",
		},
		{
			Version:   "traces of Chrome 86 to 141, Hermes and Perfetto's tests",
			Origin:    "sample traces of catapult, Lighthouse, Perfetto and speedscope",
			Exercised: []string{"every one is read, or refused as what it is", "slices of the small ones, one by one", "samples in the traces of Chrome 86 and 141, compared with another reading of them"},
			Blind:     []string{"samples of Hermes, in the members samples and stackFrames", "captures: Chrome is not run"},
			Test:      "providers/chrometrace.TestSamplesOfChromeWeighWhatTheDocumentSays",
		},
	}
}
