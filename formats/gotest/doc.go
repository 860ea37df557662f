// Package gotest knows how Go's test command and the test binaries that it builds spell their flags, so
// that every provider that adds flags to one adds them in the right place and the right spelling.
//
// `go test` takes -bench, before or after its packages and before -args; a test binary takes -test.bench, before
// its first positional argument. A flag that the user's own command already sets is a conflict and not
// overridden in either direction: the capture's record would otherwise say one thing and the process do another.
//
// It never starts a process and reads no output.
package gotest
