package hyperfine

import "github.com/flameox/flameox/providers"

// Locate is hyperfine itself.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"hyperfine"}, Install: "install hyperfine (Debian: apt-get install hyperfine; Homebrew: brew install hyperfine)"}
}

// Qualifications are of runs of hyperfine, and of its files.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "1.15.0", Series: "1.15",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by hyperfine",
			Exercised: []string{"without and through a shell", "arguments with quotes and spaces", "warm-up, prepare, setup and cleanup", "commands that fail, expected and not", "its own mean, computed again from the samples"},
			Blind:     []string{"Windows and macOS", "memory of runs, which 1.19 brought"},
			Test:      "providers/hyperfine.TestRealRuns",
		},
		{
			Version:   "files of hyperfine 1.15.0 and of versions that they do not say",
			Origin:    "exports in other projects",
			Exercised: []string{"every time of every run", "parameters", "statuses other than 0", "times that a shell's was taken off"},
			Blind:     []string{"captures: these versions are not run"},
			Test:      "providers/hyperfine.TestFixtures",
		},
	}
}
