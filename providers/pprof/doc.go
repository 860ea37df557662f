// Package pprof is the provider for profiles in pprof's format, from Go's own profilers or from any other
// producer, read with github.com/google/pprof/profile, the format's maintained reader.
//
// A capture adds the profile flags to `go test` or to a test binary, or takes a file that the workload writes
// itself. Profiles of one run share its tables; where two have a sample type of the same name and unit, the metric is named
// after the profile too: block.delay, mutex.delay.
//
// Frames are functions unless the extraction says otherwise: inclusive weights of functions can be compared and ranked as
// `go tool pprof -top` does, while those of lines cannot be added up to a function that recurses. Lines that
// the compiler inlined are frames of their own, root to leaf like all others. Addresses stand in for functions only
// where there is no symbol. Frames that the profile itself asks to drop (drop_frames, in heap profiles of some producers) are
// dropped as pprof's tools do, and that is said.
//
// Labels are the samples' own; a numeric label has its unit behind the figure where the profile gives one. Nothing is
// inferred from names: a sample type without a unit has none.
//
// What it never does: symbolize, run the pprof tool, trust the size that a compressed file pretends to have, or read a
// profile that breaks off in the middle.
package pprof
