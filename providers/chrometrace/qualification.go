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
			Version:   "traces of Chrome 86 to 141, Hermes and Perfetto's tests",
			Origin:    "sample traces of catapult, Lighthouse, Perfetto and speedscope",
			Exercised: []string{"every one is read, or refused as what it is", "slices of the small ones, one by one"},
			Blind:     []string{"samples in a trace (Profile, ProfileChunk), which are counted alone", "captures: Chrome is not run"},
			Test:      "providers/chrometrace.TestFixturesAreRead",
		},
	}
}
