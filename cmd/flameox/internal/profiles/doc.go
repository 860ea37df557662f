// Package profiles has the commands that show the profile of one run: hotspots, callers, callees, stacks, flamegraph.
//
// They read the rows of the run's extraction from the store. An answer is bounded, and goes on behind a cursor that holds for nothing but
// the question it was given for. What the evidence lacks is said beside every answer.
package profiles
