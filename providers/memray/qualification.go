package memray

import "github.com/flameox/flameox/providers"

// Locate is an interpreter that has memray.
func (Provider) Locate() providers.Location {
	return providers.Location{Programs: []string{"python", "python3"}, Library: "memray", Language: "python", Install: "add memray to the requirements of the workload's environment, or run `python -m pip install memray`"}
}

// Qualifications are of runs of memray: files of other versions cannot be read without it.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Version: "1.20.0", Series: "1.20",
		Platforms: []string{"linux/amd64"},
		Origin:    "made in the test by memray run",
		Exercised: []string{
			"known sizes, and totals compared with memray stats", "aggregated captures, forks, threads, native frames and Python's allocators", "a workload that is killed", "captures of another version are refused",
		},
		Blind: []string{"macOS", "attaching to a process that runs", "captures of more than a gigabyte"},
		Test:  "providers/memray.TestKnownSizesAndTotalsAreThoseOfMemray",
	}}
}
