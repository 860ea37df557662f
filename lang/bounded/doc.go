// Package bounded keeps the evaluation of expressions within time and memory that a machine has.
//
// A configuration of ten lines can ask for a million times a million values, for a text of terabytes, or for a conversion whose
// cost grows with the square of a list: mistakes that must end in an error that names the place, and not in a machine that has to be
// restarted. What is bounded is counted, never timed, so the same configuration gives the same answer everywhere.
//
// The package knows values and syntax trees only: no blocks, no files, no functions by name.
package bounded
