package command

import "github.com/flameox/flameox/providers"

// Qualifications are of runs of a shell: there is no producer, and so no version.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Platforms: []string{"linux/amd64"},
		Origin:    "made in the test by sh",
		Exercised: []string{"streams and declared files of a program that writes both", "an exit status other than 0", "patterns that would leave the run's folder are refused"},
		Blind:     []string{"what the bytes mean: nothing is read out of them"},
		Test:      "providers/command.TestTheCommandRunsUnchangedAndItsStreamsAndFilesAreKept",
	}}
}
