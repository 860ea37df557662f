package gobench

import "github.com/flameox/flameox/providers"

// Locate is the Go toolchain. A test binary that was built before needs none.
func (Provider) Locate() providers.Location { return providers.GoToolchain() }

// Probe asks the go command for its version.
func (Provider) Probe(argv []string) ([]string, func(stdout, stderr []byte) (string, error)) {
	return providers.ProbeGo(argv)
}

// Qualifications are of runs of `go test` and of test binaries.
func (Provider) Qualifications() []providers.Qualification {
	return []providers.Qualification{{
		Version: "go1.26.8", Series: "1.26",
		Platforms: []string{"linux/amd64"},
		Origin:    "made in the test by go test -bench and by a compiled test binary",
		Exercised: []string{
			"every figure of a run, compared with golang.org/x/perf/benchfmt", "B/op, allocs/op, MB/s and reported units", "several packages and several GOMAXPROCS",
			"benchmarks that print into their result, fail, panic and are skipped", "go test -json put together again",
		},
		Blind: []string{"Windows and macOS", "toolchains before Go 1.26, whose files are read and whose runs are not tried", "benchmarks that run for hours"},
		Test:  "providers/gobench.TestRealRuns",
	}}
}
