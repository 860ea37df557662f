// Package funcs is the table of functions that expressions may call: the go-cty standard library under the names
// users know from other HCL languages, and a few that read files, variables or revisions through a
// recording reader.
//
// A configuration must mean the same on every evaluation, so there is no clock and no randomness here, and an
// environment variable has to be declared before it can be read. Functions keep runtime tokens whole: where a function would
// escape the NUL bytes that delimit a token, they are put back.
package funcs
