package googlebenchmark

import "github.com/flameox/flameox/providers"

// Qualifications are of programs that the tests build and run, and of files.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version:   "1.7.1",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by a C++ program that is linked with Debian's library",
			Exercised: []string{"repetitions, aggregates, complexities, counters, labels, units of time, threads", "NaN and Infinity", "errors and skips", "a program that aborts", "the flag for iterations, which it refuses"},
			Blind:     []string{"memory managers", "performance counters"},
			Test:      "providers/googlebenchmark.TestRealRuns",
		},
		{
			Version: "1.9.5", Series: "1.9",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by the library's Python bindings, which hold the same C++ code",
			Exercised: []string{"every flag of a capture, iterations too", "version and schema of the document", "skips"},
			Blind:     []string{"C++ programs of this version"},
			Test:      "providers/googlebenchmark.TestRealRunsOfTheNewestLibrary",
		},
		{
			Version:   "files of Google Benchmark 1.7.1 and of versions that they do not say",
			Origin:    "test data of other projects",
			Exercised: []string{"what is a sample and what is not", "a file whose name says another format"},
			Blind:     []string{"captures: these versions are not run"},
			Test:      "providers/googlebenchmark.TestFixtures",
		},
	}
}
