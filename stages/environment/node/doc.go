// Package node is the environment of Node programs: a node_modules folder with exactly the packages of a package-lock.json, over a base
// interpreter.
//
// What it is follows from the lock and the interpreter, so the keys of its users are exact before anything is built. Building has two
// halves, as of a Python environment. The first lets npm fetch the locked tarballs into a private cache, from which they become blobs, each checked by
// the SHA-512 of the lock: the only step that may use a network. The second gives npm a cache made of the blobs, and no network. npm does both, and
// not code of ours, because what belongs where in node_modules (bundled packages, other platforms' packages, links of programs) is what npm says it is.
//
// Lifecycle scripts of packages never run unless the environment says scripts = true: they are programs that nobody named, and what they
// leave depends on the machine. Nothing is written into the project.
package node
