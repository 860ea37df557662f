// Package python is the environment of Python programs: a virtual environment with exactly the packages of a hash-locked
// requirements file, over a base interpreter.
//
// What it is follows from the lock and the interpreter, so the keys of its users are exact before anything is built. Building has two halves.
// The first fetches the locked wheels, checked by their hashes, and keeps them as blobs: the only step that may use a network. The second makes
// the environment of them, offline, and is repeated whenever the folder is damaged or gone.
//
// Only wheels are installed: what a source distribution builds depends on what else is on the machine at that moment. A package that
// has no wheel is built by a build block, whose key says from what, and named in install; it takes the place of what is
// locked under its name. Console scripts are made and never relied on.
package python
