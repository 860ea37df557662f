// Package archtest holds the tests that keep the shape of the source tree: which
// package may import which, who may start a process, and how large a file may be.
//
// The rules are tests and not a linter's configuration because a failing test
// says which import is wrong and where the code belongs instead. It has no code
// of its own, and nothing imports it.
package archtest
