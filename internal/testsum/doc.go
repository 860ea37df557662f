// Command testsum runs `go test` and ends with one line that counts: N passed, N failed, N skipped.
//
// Plain `go test` says "ok" once for a package, whatever its tests did, so a suite in
// which half of the tests skip looks like one in which all of them ran. testsum reads
// go test's own JSON events and prints a line for each package, the output of what
// failed, the reason of what was skipped, and the count. It never decides what passes:
// it fails when go test failed, even if no test did.
//
//	go run ./internal/testsum ./... -- -race ./graph/...
//
// runs `go test -json ./...` and then `go test -json -race ./graph/...`.
package main
