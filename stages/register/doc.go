// Package register is the stage kind that appends a document to the run that left it: what a program found out about its own results.
//
// The run stays the authority on everything but the document: its command, machine, sources and key are not copied into anything, and no
// second run is made up. The document is taken from what the run left, or from a file beside the configuration, through the no-follow
// boundary; it is validated and extracted from the immutable payload; and only then the run's record gains a revision that has it as one more output,
// by compare-and-swap on the revision that was looked at. The stage's own record holds the rows, as an extraction's does, and is linked to the run.
//
// A run has one document of a kind, and one verdict. Registering the same bytes again changes nothing. Other bytes, or a second document that says
// something else of the same results, are refused: there is no telling which of them is about what ran.
//
// What it never does: change what a run left, make a run valid or invalid, or let a document decide whether a measurement is reused. A
// kernel that is wrong was measured all the same; that it is wrong is what the verdict says.
package register
