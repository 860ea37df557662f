// Package target finds out what a command measures: it reads the arguments that name targets, asks a project's target provider, and reads what a build directory says of itself.
//
// A target is described and never made here: a provider may build, this package only starts it and reads its answer. What a description declares (how_built, activation, shell) is text to
// record; nothing executes it. A description that does not fit what was asked for is an error before anything is measured, so that a build directory that was copied or moved cannot
// speak for another.
package target
