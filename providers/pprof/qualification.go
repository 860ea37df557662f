package pprof

import "github.com/flameox/flameox/providers"

// Locate is the Go toolchain. Its profilers write what is captured; a program that was built before, or writes its profile itself, needs none.
func (Provider) Locate() providers.Location { return providers.GoToolchain() }

// Probe asks the go command for its version.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return providers.ProbeGo(argv)
}

// Qualifications are of Go's own profilers, and of the format as others write it.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{
		{
			Version: "go1.26.8", Series: "1.26",
			Platforms: []string{"linux/amd64"},
			Origin:    "made in the test by go test and by a compiled test binary",
			Exercised: []string{"CPU, memory, block and mutex profiles of one run", "totals, compared with go tool pprof", "a profile that the workload writes itself"},
			Blind:     []string{"Windows and macOS", "goroutine and thread creation profiles", "profiles of programs with cgo frames"},
			Test:      "providers/pprof.TestTotalsAgreeWithGoToolPprof",
		},
		{
			Version:   "files of gperftools, Go 1.4 to 1.9 and others",
			Origin:    "test data of google/pprof",
			Exercised: []string{"files are told from others by content", "the protocol buffer form, gzipped and raw, with labels, mappings and dropped frames", "the older text and binary forms, as far as the format's reader takes them"},
			Blind:     []string{"captures: none of these producers is run"},
			Test:      "providers/pprof.TestRealProfilesAreDetectedAndRead",
		},
	}
}
