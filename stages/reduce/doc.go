// Package reduce is the stage kind that makes an artifact of a run smaller while a predicate keeps saying that it is interesting: with ShrinkRay, which
// proposes candidates. What is interesting only the declared predicate says. ShrinkRay never starts it: it starts a bridge, a hidden command of
// this program, which takes a candidate through the no-follow boundary, runs the predicate over it as often as is declared, and leaves a
// receipt. A candidate of which the repetitions do not agree, or one does not come to an end, is unresolved, and never becomes the basis.
//
// What is left at the end is tried twice again: by the bridge, on the file that lies there, and by the engine, on the bytes that it stored. Only then is
// it registered with the run that left the original, as sensitive as that is. That nothing smaller exists is never claimed.
//
// ShrinkRay runs with one fixed set of arguments, offlineV1: one candidate at a time, one seed, a local history, and no formatter, restart, reducer of
// its own for Python, language model or download.
package reduce
