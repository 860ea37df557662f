// Package collapsed reads collapsed stacks, the text that flame graphs are drawn from: a line is one call stack from the root to the leaf,
// frames with semicolons between them, and how often it was met.
//
//	main;parse;read 37
//
// The format has no header, no version, no unit and no way to write a semicolon or the end of a line in a name. So everything that a line
// does not say is missing here too: a weight is a count, and what it counts is not known. What can be read in two ways is an error: where every
// line ends in two numbers, the file compares two profiles, and no line says which of them is meant.
//
// Lines of other kinds are counted, never repaired, and the first is named. Lines that begin with # or // and have no count are
// comments, which some writers put in front.
//
// What it never does: take a name apart. What writers put into names (a module behind `, a kind in _[k], a line in parentheses) is
// their own, and is for the providers of those to read.
package collapsed
