// Package pylock reads hash-locked requirements files of Python, as uv, pip-tools and pip write and read them.
//
// A lock is what a Python environment is made of, so it is the identity of one: the canonical form holds every package with its version,
// its marker and its hashes, and nothing of how the file is laid out. Two files that lock the same are equal.
//
// It refuses what a lock cannot mean: a package without an exact version, or without a hash; another file; a path; a URL. It never looks
// at the network or runs a tool.
package pylock
