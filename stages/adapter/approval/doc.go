// Package approval remembers which adapters a user trusts.
//
// An approval is a name, a version and the SHA-256 of the program's bytes, and all three must be those of what is about to run. It is kept with the user,
// not with the project: who clones a repository has approved nothing that is in it, whatever its files say. A changed program is
// another program.
//
// What it never does: run what it is asked about, or look at anything but bytes.
package approval
