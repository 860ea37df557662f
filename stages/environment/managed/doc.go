// Package managed keeps environments that flameox builds: each in a folder whose name is its key, below .flameox/env.
//
// An environment is built in place, because what it holds knows where it lies, and is never moved. It is not a tree of the store: it
// has links and files that name it. What is in the store are the files it was made from, so a folder that was damaged, lost or left
// half made is made again without a network. The stamp is written last and is what makes a folder an environment; the manifest lists what
// was built. Both are in docs/formats/environments.md.
//
// The package knows no language: how a folder is filled is its callers' to say.
package managed
