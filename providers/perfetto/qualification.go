package perfetto

import "github.com/flameox/flameox/providers"

// Qualifications are of traces that Perfetto's own library wrote, and of files of other producers.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version:   "0.59.1 of the Python library",
			Origin:    "made in the test by perfetto's proto_builder",
			Exercised: []string{"interned names, categories and places, incremental clocks, nested tracks, counters, flows, arguments", "slices by name, compared with Python that reads the same packets with Perfetto's own messages"},
			Blind:     []string{"Trace Processor: its binary is not where tests may load it from", "the tracing service's own compression", "scheduling, samples and memory, which are no rows"},
			Test:      "providers/perfetto.TestTracesOfPerfettosOwnLibraryAgreeWithItsMessages",
		},
		{
			Version:   "Chromium 156",
			Origin:    "made in the test by Chromium with --trace-startup, where it is installed",
			Exercised: []string{"clocks of each sequence, interned names, events of the older format", "slices by name, compared with Python as above"},
			Blind:     []string{"other platforms than Linux", "memory dumps and screenshots in the trace"},
			Test:      "providers/perfetto.TestChromiumsTracesAgreeWithPerfettosOwnMessages",
		},
		{
			Version:   "traces of Android and of the C++ SDK",
			Origin:    "sample traces of two projects",
			Exercised: []string{"what programs write with atrace, compared with Python as above", "a trace of packets without events"},
			Blind:     []string{"captures: neither producer is run"},
			Test:      "providers/perfetto.TestFixturesAgreeWithPerfettosOwnMessages",
		},
	}
}
